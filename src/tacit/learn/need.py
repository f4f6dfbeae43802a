"""torch, which training needs and nothing else does: imported when it is used."""

from typing import Any

from tacit.base import InputError

__all__ = ["need_torch"]


def need_torch() -> Any:
    """The module torch, or what to install."""
    try:
        import torch
    except ImportError:
        raise InputError(
            "training a network needs torch, which is not installed: pip install 'tacit[learn]'. Plans and prices work "
            "without it"
        ) from None
    return torch
