"""The trade-off and the comparison of accountants as charts."""

from typing import Any

from tacit.plot import Claim, Panel, compare, page, tradeoff


def layers(chart: Panel) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart.to_dict()["layer"]
    return found


def rows(chart: Panel) -> list[dict[str, Any]]:
    return [row for data in chart.to_dict()["datasets"].values() for row in data]


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
    Claim("sum", 11297.0, True, "11298"),
    Claim("zCDP", None, False, "no rho"),
    Claim("CLT", 6.0, False, "≈ 6"),
    Claim("tacit", 6.18773, True, "6.1878", lower=6.18768),
]


def test_compare_tells_bounds_from_guesses() -> None:
    found = {row["label"]: row for row in rows(compare(CLAIMS, axis="ε")) if "label" in row}
    assert found["sum"]["role"] == "proven upper bound"
    assert found["CLT"]["role"] == "approximation, not a bound"
    assert found["tacit"]["role"] == "proven from both sides"
    assert found["zCDP"]["text"] == "– no rho –"
    assert {"value": 6.18768} in rows(compare(CLAIMS, axis="ε"))


def test_far_apart_is_logarithmic_and_near_is_not() -> None:
    def axis(claims: list[Claim]) -> tuple[str, str]:
        scales = [layer["encoding"]["x"] for layer in layers(compare(claims, axis="ε"))]
        return next((x["scale"]["type"], x["title"]) for x in scales if "scale" in x)

    assert axis(CLAIMS) == ("log", "ε, logarithmic")
    assert axis(CLAIMS[1:]) == ("linear", "ε")


def test_nothing_to_compare_is_still_a_picture() -> None:
    nothing = compare([Claim("tacit", 0.0, True, "0")], axis="ε")
    assert page([[nothing]], title="t", subtitle="s").to_dict()["vconcat"]
