"""Arguments that had another name: the former one still works, with a warning that says the new one."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["former_names", "warn_former"]

P = ParamSpec("P")
T = TypeVar("T")


def warn_former(old: str, new: str, *, where: str = "", level: int = 3) -> None:
    """Tell whoever wrote `old` how it is spelled now."""
    before = f"{where}: " if where else ""
    warnings.warn(f"{before}{old} is now spelled {new}; {old} will not be read for ever", FutureWarning, level)


def former_names(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take arguments by the names they had: `former_names(key="idempotency_key")`."""

    def accept(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> T:
            arguments: dict[str, Any] = given
            for old in names.keys() & arguments.keys():
                if names[old] in arguments:
                    raise TypeError(f"{function.__name__}() got {names[old]} twice: {old} is its former name")
                warn_former(f"{old}=", f"{names[old]}=")
                arguments[names[old]] = arguments.pop(old)
            return function(*args, **given)

        return call

    return accept
