"""Files that people write: TOML with exact numbers, read strictly, with a sentence for whatever is wrong."""

import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tacit.base import PolicyError

__all__ = ["read_text", "read_toml"]


def read_text(path: str | Path, *, what: str, made_by: str, megabytes: int) -> str:
    """The text of a file that holds a `what`, which the command `made_by` would write."""
    place = Path(path)
    try:
        if place.stat().st_size > megabytes * 1024 * 1024:
            raise PolicyError(f"{place.name}: is larger than {megabytes} MB: this is not a {what}")
        return place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{place.name}: there is no such file: write one with `{made_by}`") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{place.name}: is not UTF-8 text: save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PolicyError(f"{place.name}: cannot be read: {reason}") from None


def read_toml(text: str, file: str) -> dict[str, Any]:
    """The data of a text; `file` is how messages call it."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise PolicyError(f"{file}: is nested too deeply") from None
    except ValueError as error:  # also tomllib's own; a number with thousands of digits is a plain one
        raise PolicyError(f"{file}: is not valid TOML: {error}. Text needs quotes, lists need [ ]") from None


def _decimal(text: str) -> Decimal:
    """A number as it was written; one that even a decimal cannot hold is out of every range."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("a number is out of range") from None
