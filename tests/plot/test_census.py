"""The picture of a census's errors."""

from tacit.plot import CountError, census_errors


def test_each_way_has_a_point_at_each_level_and_query() -> None:
    errors = [
        CountError(level, query, way, error)
        for level in ("state", "block")
        for query in ("total", "age")
        for way, error in (("noise", 20.0), ("census", 0.0))
    ]
    spec = census_errors(errors, title=("Errors",)).to_dict()
    (rows,) = spec["datasets"].values()
    assert len(rows) == 8
    assert {row["drawn"] for row in rows} == {20.0, 0.1}  # nothing is drawn at the end of the scale
    inner = spec["spec"]["encoding"]
    assert inner["y"]["sort"] == ["total", "age"]
    assert inner["color"]["scale"]["domain"] == ["noise", "census"]
    assert spec["facet"]["column"]["sort"] == ["state", "block"]
