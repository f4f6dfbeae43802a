"""A chart that fits the page it is for."""

from typing import Any

import pytest

from tacit.base import InputError
from tacit.plot.answers import ROOM, fitted

LOOK: dict[str, Any] = {"accent": "#0f766e", "ink": "#17211f"}


@pytest.mark.parametrize("key", ["x", "a ward with a name that is rather long, as names can be", None])
@pytest.mark.parametrize("width", [260, 390, 900])
def test_labels_and_chart_are_as_wide_as_was_wished(key: str | None, width: int) -> None:
    found = fitted([{"ward": key, "n": 1}], {"n": ([0.0], [2.0])}, width=width, **LOOK)
    panel = found["vconcat"][0]
    label = panel["layer"][0]["encoding"]["y"]["axis"]["labelLimit"]
    assert 140 <= panel["width"] <= width - ROOM
    assert label <= max(60, width * 3 // 10)
    assert panel["width"] + min(label, len(str(key)) * 7) <= width


def test_it_says_what_it_shows_and_has_the_colours_of_the_page() -> None:
    found = fitted([{"ward": "x", "n": 1}], {"n": ([0.0], [2.0])}, width=500, **LOOK)
    assert found["description"].startswith("Noisy answers for n,")
    assert "'#0f766e'" in str(found)
    assert "'#17211f'" in str(found)


def test_nothing_is_no_picture() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        fitted([], {"n": ([], [])}, width=500, **LOOK)
