"""Rows of small pictures."""

from tacit.plot.attacks import pictures


def test_every_pixel_is_drawn() -> None:
    rows = {"true": [[[0.0, 1.0], [0.5, 0.25]]] * 3, "guessed": [[[0.0, 0.0], [0.0, 0.0]]] * 3}
    spec = pictures(rows, title=("Pictures",)).to_dict()
    values = next(iter(spec["datasets"].values()))
    shown = {(v["row"], v["column"], x, v["y"]): v["shade"] for v in values for x in range(v["x"], v["x2"])}
    assert shown == {
        (name, column, x, y): shade
        for name, row in rows.items()
        for column, picture in enumerate(row)
        for y, line in enumerate(picture)
        for x, shade in enumerate(line)
    }
    assert all(v["y2"] == v["y"] + 1 for v in values)
    assert len(values) == 3 * (4 + 2)  # neighbours of one shade are one mark
    assert spec["facet"]["row"]["sort"] == ["true", "guessed"]
    assert (spec["spec"]["width"], spec["spec"]["height"]) == (14, 14)
