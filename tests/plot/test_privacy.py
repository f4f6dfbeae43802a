"""Audits, trade-offs, comparisons of accountants and attackers' curves as charts hold the numbers they were given."""

from typing import Any

from tacit.plot import Panel, PlottedClaim, compare, page, tradeoff
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


def layers(chart: Panel) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.to_dict()["layer"]
    return found


def test_tradeoff_has_curve_diagonal_and_marks() -> None:
    chart = tradeoff([0, 0.25, 1], [1, 0.25, 0], marks=[(0.01, 0.97281), (0.1, 0.7281)])
    found = rows(chart)
    assert {"x": 0.25, "y": 0.25} in found
    assert [row for row in found if row in ({"x": 0, "y": 1}, {"x": 1, "y": 0})]
    texts = [row["text"] for row in found if "text" in row]
    assert "1 % false alarms: finds at most 2.8 %" in texts, "rounded up"
    assert "10 % false alarms: finds at most 27.2 %" in texts
    assert "no test gets here" in texts


def test_a_curve_too_low_to_write_below_is_left_clear() -> None:
    found = rows(tradeoff([0, 0.05, 1], [1, 0.05, 0], marks=[]))
    assert "no test gets here" not in [row.get("text") for row in found]


CLAIMS = [
    PlottedClaim("sum", 11297.0, True, "11298"),
    PlottedClaim("zCDP", None, False, "no rho"),
    PlottedClaim("CLT", 6.0, False, "≈ 6"),
    PlottedClaim("tacit", 6.18773, True, "6.1878", lower=6.18768),
]


def test_compare_tells_bounds_from_guesses() -> None:
    found = {row["label"]: row for row in rows(compare(CLAIMS, axis="ε")) if "label" in row}
    assert found["sum"]["role"] == "proven upper bound"
    assert found["CLT"]["role"] == "approximation, not a bound"
    assert found["tacit"]["role"] == "proven from both sides"
    assert found["zCDP"]["text"] == "– no rho –"
    assert {"value": 6.18768} in rows(compare(CLAIMS, axis="ε"))


def test_far_apart_is_logarithmic_and_near_is_not() -> None:
    def axis(claims: list[PlottedClaim]) -> tuple[str, str]:
        scales = [layer["encoding"]["x"] for layer in layers(compare(claims, axis="ε"))]
        return next((x["scale"]["type"], x["title"]) for x in scales if "scale" in x)

    assert axis(CLAIMS) == ("log", "ε, logarithmic")
    assert axis(CLAIMS[1:]) == ("linear", "ε")


def test_nothing_to_compare_is_still_a_picture() -> None:
    nothing = compare([PlottedClaim("tacit", 0.0, True, "0")], axis="ε")
    assert page([[nothing]], title="t", subtitle="s").to_dict()["vconcat"]
