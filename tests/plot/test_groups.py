"""The picture of who pays for privacy."""

from tacit.plot import GroupBar, groups


def test_each_model_has_a_point_and_an_interval_in_each_group() -> None:
    bars = [GroupBar(group, role, 0.8, 0.7, 0.9) for group in ("b", "a") for role in ("private", "reference")]
    spec = groups(bars, title=("Who pays",)).to_dict()
    assert len(next(iter(spec["datasets"].values()))) == 4
    rule, point = spec["layer"]
    assert rule["encoding"]["x2"]["field"] == "high"
    assert point["encoding"]["y"]["sort"] == ["b", "a"]
    assert point["encoding"]["color"]["scale"]["domain"] == ["private", "reference"]


def test_without_a_reference_there_is_one_colour() -> None:
    spec = groups([GroupBar("a", "private", 0.8, 0.7, 0.9)], title=("Who pays",)).to_dict()
    assert spec["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["private"]
