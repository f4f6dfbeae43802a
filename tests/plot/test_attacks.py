"""Rows of small pictures."""

from tacit.plot.attacks import pictures


def test_every_pixel_is_drawn() -> None:
    rows = {"true": [[[0.0, 1.0], [0.5, 0.25]]] * 3, "guessed": [[[0.0, 0.0], [0.0, 0.0]]] * 3}
    spec = pictures(rows, title=("Pictures",)).to_dict()
    values = next(iter(spec["datasets"].values()))
    assert len(values) == 2 * 3 * 4
    assert {"row": "true", "column": 2, "x": 0, "y": 1, "shade": 0.5} in values
    assert spec["facet"]["row"]["sort"] == ["true", "guessed"]
    assert (spec["spec"]["width"], spec["spec"]["height"]) == (14, 14)
