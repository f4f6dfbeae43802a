"""What options stand for."""

from dataclasses import dataclass
from inspect import signature
from typing import Any

import pytest

from tacit.base import TacitError
from tacit.cli.options import extra, flat


def test_an_extra_that_is_not_installed_is_named_with_the_remedy() -> None:
    told = r"^serving needs fastapi, .* not installed: pip install 'tacit\[server\]'$"
    with pytest.raises(TacitError, match=told), extra("server", "serving"):
        raise ImportError(name="fastapi")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Two options."""

    file: str = "a"
    line: int = 1


def test_a_class_of_options_is_spread_and_put_together_again() -> None:
    found: list[Any] = []

    def command(word: str, place: Place, loud: bool = False) -> None:
        """Says it."""
        found.append((word, place, loud))

    told = flat(command)
    defaults = {name: each.default for name, each in signature(told).parameters.items()}
    assert defaults == {"word": signature(command).empty, "file": "a", "line": 1, "loud": False}
    assert told.__doc__ == "Says it."
    told(word="x", file="b", line=2, loud=True)
    assert found == [("x", Place(file="b", line=2), True)]
