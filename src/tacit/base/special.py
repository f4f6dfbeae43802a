"""The special functions of SciPy, which is imported with the first of them that is called: that takes a fifth of a
second, and most questions need none."""

from importlib import import_module
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    found = globals()[name] = getattr(import_module("scipy.special"), name)
    return found
