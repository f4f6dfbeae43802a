"""Panels next to each other keep their own colours."""

from tacit.plot.attacks import Curve, curves
from tacit.plot.page import beside


def test_panels_stand_from_left_to_right_each_with_its_own_colours() -> None:
    panels = [
        curves([Curve(name, (1, 2), (0.5, 0.6))], title=(name,), axes=("x", "y"), width=100) for name in ("a", "b")
    ]
    whole = beside(panels).to_dict()
    assert [panel["title"]["text"] for panel in whole["hconcat"]] == ["a", "b"]
    assert whole["resolve"]["scale"]["color"] == "independent"
