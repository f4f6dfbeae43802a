"""The picture of an audit holds both laws, the event, and claimed against certified ε."""

from typing import Any

from tacit.plot.privacy import RocLine, audit, roc


def rows(chart: Any) -> list[dict[str, Any]]:
    return [row for data in chart.to_dict()["datasets"].values() for row in data]


BARS = [
    {"label": "0", "low": 0.0, "high": 1.0, "first": 0.7, "second": 0.2, "inside": 1.0},
    {"label": "1", "low": 1.0, "high": 2.0, "first": 0.3, "second": 0.8, "inside": 0.0},
]


def test_numbers_have_bars_and_a_shade() -> None:
    found = rows(audit(BARS, claimed=1, certified=1.2, estimate=1.25, axis="x", title=("t", "event")))
    assert {(row["low"], row["share"]) for row in found if row.get("side") == "first neighbour"} == {(0, 0.7), (1, 0.3)}
    assert [(row["low"], row["high"]) for row in found if "top" in row] == [(0.0, 1.0)]
    assert {row["epsilon"] for row in found if "epsilon" in row} == {1, 1.2, 1.25}


def test_names_have_bars_side_by_side() -> None:
    named = [{key: value for key, value in bar.items() if key not in {"low", "high"}} for bar in BARS]
    found = rows(audit(named, claimed=1, certified=0.5, estimate=None, axis="x", title=("t", "event")))
    assert {row["label"] for row in found if "share" in row} == {"● 0", "1"}
    assert {row["epsilon"] for row in found if "epsilon" in row} == {1, 0.5}


def test_a_long_event_is_broken_into_lines() -> None:
    chart = audit(BARS, claimed=1, certified=1, estimate=1, axis="x", title=("t", "word " * 60)).to_dict()
    assert len(chart["vconcat"][0]["title"]["subtitle"]) == 4


def test_every_line_and_bound_is_drawn_within_the_axes() -> None:
    lines = [
        RocLine("strong", [0.001, 1.0], [0.2, 1.0], defended=False),
        RocLine("weak", [0.001, 1.0], [0.0, 1.0], defended=True),
    ]
    spec = roc(lines, bounds={"most": ([0.001, 1.0], [0.002, 1.0])}, title=("Who?",)).to_dict()
    rows = next(iter(spec["datasets"].values()))
    assert {row["label"] for row in rows} == {"strong", "weak", "most", "guessing"}
    assert min(row["y"] for row in rows) == 0.001, "a logarithmic axis has no zero"
    colour = spec["layer"][0]["encoding"]["color"]["scale"]
    by_name = dict(zip(colour["domain"], colour["range"], strict=True))
    assert by_name["strong"] != by_name["weak"]
