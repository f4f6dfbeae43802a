"""The script that draws in a browser."""

import sys

import pytest

from tacit.base import TacitError
from tacit.plot.page import _made, script


def test_it_is_made_once_and_is_whole() -> None:
    found = script()
    assert found is script()
    assert len(found) > 300_000
    assert b"window.vegaEmbed" in found


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    _made.cache_clear()
    with pytest.raises(TacitError, match=r"pip install 'tacit\[plot\]'"):
        script()
