"""What ε is this, how much noise does it need, what does it mean, and what would others say."""

import json
import sys
from fractions import Fraction
from math import e
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit import MECHANISMS, Approx, Gaussian, Laplace, TacitError
from tacit.base import InputError, Relation
from tacit.cli import app, main
from tacit.cli.account import between
from tacit.loss import PLD, Interval, from_json

TRAINING = ("--rate", "0.01", "--steps", "10000", "--delta", "1e-5")


def run(*words: str) -> str:
    """What the command prints; its error is raised."""
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["account", *words])
    if result.exception:
        raise result.exception
    assert result.exit_code == 0
    return result.output


def answer(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


@pytest.mark.parametrize(
    ("relation", "low", "high"), [("add_remove", 6.187699, 6.187713), ("replace", 10.880774, 10.880782)]
)
def test_epsilon_of_training(relation: str, low: float, high: float) -> None:
    found = answer("epsilon", "gaussian", "--sigma", "1", *TRAINING, "--relation", relation, "--clip", "1")
    assert found["epsilon"]["lower"] <= high
    assert found["epsilon"]["upper"] >= low
    assert found["epsilon"]["upper"] - found["epsilon"]["lower"] < 2e-5 * low
    assert found["epsilon"]["rigorous"] is True
    assert found["program"]["sensitivity"] == (1 if relation == "add_remove" else 2)
    assert found["program"]["relation"] == relation


def test_epsilon_says_what_it_means_and_fits_a_terminal() -> None:
    text = run("epsilon", "gaussian", "--sigma", "1", *TRAINING, "--unit", "person")
    assert all(len(line) <= 80 for line in text.splitlines())
    for part in ("10,000 × Gaussian noise", "6.1877", "at rate 0.01", "adding or removing one", "person", "99.80 %"):
        assert part in text


def test_the_json_holds_the_loss_itself() -> None:
    found = answer("epsilon", "laplace", "--scale", "10", "--steps", "7", "--rate", "256/60000")
    assert set(found) == {"program", "delta", "epsilon", "meaning", "loss"}
    assert from_json(found["loss"]) == 7 * Laplace(scale=Fraction(10)).loss(1).sampled(Fraction(256, 60000))
    assert found["delta"] == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("laplace", "--scale", "10", "--steps", "100"), 10),
        (("laplace", "--scale", "10", "--steps", "100", "--relation", "replace"), 20),
        (("laplace", "--scale", "10", "--steps", "100", "--sensitivity", "3"), 30),
        (("discrete-laplace", "--scale", "2", "--steps", "3"), 1.5),
        (("pure", "--epsilon", "0.1", "--steps", "100", "--delta", "1e-6"), 4.774567588),
        (("gaussian", "--sigma", "1", "--delta", "1e-6"), 4.886554117),
        (("gaussian", "--sigma", "2", "--delta", "1e-6", "--relation", "replace"), 4.886554117),
        (("discrete-gaussian", "--sigma", "100", "--steps", "10000", "--delta", "1e-6"), 4.886554117),
        (("pure", "--epsilon", "1", "--rate", "0.1", "--relation", "replace", "--sampling", "fixed"), 0.158565),
    ],
)
def test_epsilon_of_each_mechanism(words: tuple[str, ...], expected: float) -> None:
    found = answer("epsilon", *words)["epsilon"]
    assert found["upper"] == pytest.approx(expected, rel=1e-4)
    assert found["lower"] == pytest.approx(expected, rel=1e-4)


SAMPLED = ("--rate", "0.3", "--delta", "1e-5", "--relation", "replace")


@pytest.mark.parametrize("sensitivity", [(), ("--sensitivity", "1")])
@pytest.mark.parametrize(
    "command",
    [
        ("epsilon", "gaussian", "--sigma", "1"),
        ("calibrate", "gaussian", "--epsilon", "1"),
        ("explain", "gaussian", "--sigma", "1"),
        ("compare", "gaussian", "--sigma", "1"),
    ],
)
def test_nobody_is_taken_to_have_clipped(command: tuple[str, ...], sensitivity: tuple[str, ...]) -> None:
    far, half = ("1", "0.5") if sensitivity else ("2", "1")
    with pytest.raises(InputError, match=f"--clip {half} if vectors are clipped .* --clip {far} for values in"):
        run(*command, *SAMPLED, *sensitivity)


def test_a_clip_is_what_a_sample_under_replace_costs() -> None:
    found = answer("epsilon", "gaussian", "--sigma", "1", *SAMPLED, "--clip", "1")
    assert found["program"]["clip"] == 1
    assert found["program"]["sensitivity"] == 2
    unit = Gaussian(sigma=Fraction(1)).loss(2, relation=Relation.REPLACE)
    assert isinstance(unit, PLD)
    assert from_json(found["loss"]) == unit.sampled("0.3", clipped=True)
    values = answer(
        "epsilon", "gaussian", "--sigma", "1", "--rate", "0.3", "--delta", "1e-5"
    )  # one of [0, 1] is 1 or 0
    assert values["epsilon"]["upper"] < found["epsilon"]["lower"]
    text = run("epsilon", "gaussian", "--sigma", "1", *SAMPLED, "--clip", "1/2")
    assert "clipped to 0.5 (sensitivity 1)" in text
    assert answer("epsilon", "laplace", "--scale", "4", "--clip", "2")["epsilon"]["upper"] == pytest.approx(0.5)


def test_an_estimate_is_not_called_proven() -> None:
    assert between(Interval(1.0, 1.0, rigorous=False)) == "an approximation, not a bound"
    assert between(Interval(1.0, 1.5)) == "proven to lie between 1 and 1.5"


def test_calibrate_and_epsilon_agree() -> None:
    found = answer("calibrate", "gaussian", "--target-epsilon", "1", *TRAINING)
    sigma = found["sigma"]
    assert set(found) == {"program", "target", "sigma"}
    assert 3.81 < sigma["lower"] < sigma["upper"] == sigma["value"] < 3.815
    price = answer("epsilon", "gaussian", "--sigma", str(sigma["value"]), *TRAINING)["epsilon"]
    assert 0.999 < price["lower"] <= price["upper"] <= 1
    assert "3.8129" in run("calibrate", "gaussian", "--epsilon", "1", *TRAINING)


def test_calibrate_offers_the_round_number_that_is_enough() -> None:
    text = run("calibrate", "laplace", "--epsilon", "1", "--steps", "10")
    assert "scale    10   proven to be enough" in text


def test_calibrate_pure_seeks_the_most_that_a_run_may_spend() -> None:
    found = answer("calibrate", "pure", "--epsilon", "1", "--steps", "3")["epsilon"]
    assert found["value"] == found["lower"] == pytest.approx(1 / 3, rel=1e-3)
    assert found["upper"] > 1 / 3 * (1 - 1e-12)
    assert "0.333333   proven to be enough" in run("calibrate", "pure", "--epsilon", "1", "--steps", "3")


def test_explain_a_guarantee() -> None:
    found = answer("explain", "--epsilon", "1", "--delta", "1e-6", "--prior", "0.1")
    assert found["guarantee"] == "(1, 1e-06)-differential privacy"
    assert found["odds_factor"] == pytest.approx(e)
    assert found["posterior"]["upper"] == pytest.approx(e / (e + 9), rel=1e-6)
    assert [row["false_positives"] for row in found["membership_power"]] == [0.01, 0.1]
    assert 0.01 * e + 1e-6 <= found["membership_power"][0]["at_most"] < 0.01 * e * 1.01
    assert found["warnings"] == []
    assert "heuristic" in run("explain", "--epsilon", "1")


def test_explain_warns_of_a_delta_that_protects_nobody() -> None:
    words = ("explain", "--epsilon", "1", "--delta", "1e-6", "--population", "10000000")
    assert "population" in answer(*words)["warnings"][0]
    assert "! delta = 1e-06 is not below" in run(*words)


def test_explain_a_mechanism_knows_more_than_its_epsilon() -> None:
    mechanism = answer("explain", "gaussian", "--sigma", "1", "--delta", "1e-6")
    stated = Approx(mechanism["epsilon"], 1e-6).meaning(delta=1e-6)
    assert mechanism["membership_power"][1]["at_most"] < stated.power[1][1] / 1.5


def test_explain_draws_the_tradeoff(tmp_path: Path) -> None:
    path = tmp_path / "e.svg"
    assert f"The picture is in {path}" in run("explain", "--epsilon", "1", "--delta", "1e-6", "--plot", str(path))
    text = path.read_text()
    for part in ("type I error", "type II error", "guessing", "finds at most 2.8 %", "finds at most 27.2 %"):
        assert part in text


def test_compare_training() -> None:
    found = answer("compare", "gaussian", "--sigma", "1", *TRAINING)
    rows = {row["method"]: row for row in found["methods"]}
    assert list(rows) == ["sum", "advanced", "optimal", "zCDP", "Rényi", "CLT", "tacit"]
    best = rows["tacit"]["epsilon"]
    assert best["lower"] <= 6.187713
    assert best["upper"] >= 6.187699
    assert rows["zCDP"]["epsilon"] is None
    assert "ρ" in rows["zCDP"]["note"]
    assert rows["CLT"]["epsilon"]["rigorous"] is False
    assert rows["CLT"]["epsilon"]["upper"] < best["lower"], "the limit is too low here"
    proven = [row["epsilon"]["upper"] for row in rows.values() if row["epsilon"] and row["epsilon"]["rigorous"]]
    assert min(proven) == best["upper"]


def test_compare_pure() -> None:
    found = answer("compare", "pure", "--epsilon", "0.1", "--steps", "100", "--delta", "1e-6")
    said = {row["method"]: row["epsilon"]["upper"] for row in found["methods"]}
    assert said["sum"] == pytest.approx(10)
    assert said["optimal"] == pytest.approx(4.774567588, rel=1e-8)
    assert said["tacit"] == pytest.approx(4.774567588, rel=1e-4)
    assert said["zCDP"] >= said["Rényi"] >= said["optimal"]


def test_compare_without_delta_says_why_the_others_are_silent() -> None:
    text = run("compare", "laplace", "--scale", "1", "--steps", "100")
    assert text.count("needs a δ above 0") == 5
    assert "exactly" in text


def test_compare_shows_guesses_apart(tmp_path: Path) -> None:
    path = tmp_path / "c.png"
    text = run("compare", "gaussian", "--sigma", "1", *TRAINING, "--plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert all(len(line) <= 80 for line in text.splitlines() if str(path) not in line)
    assert "≈ 6.00" in text
    assert "an approximation, not a bound" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("epsilon gauss", "choose one of gaussian, laplace"),
        ("epsilon gaussian", "gaussian needs --sigma"),
        ("epsilon gaussian --sigma 1", "gaussian needs --delta"),
        ("epsilon gaussian --sigma 1 --delta 0", "no finite epsilon"),
        ("epsilon gaussian --sigma 1 --delta 1", r"delta must lie in \[0, 1\)"),
        ("epsilon gaussian --sigma 1 --delta -1", r"delta must lie in \[0, 1\)"),
        ("epsilon gaussian --sigma 0 --delta 1e-5", "--sigma must be greater than 0"),
        ("epsilon gaussian --sigma nan --delta 1e-5", "--sigma must be a finite number"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --rate -0.1", "--rate must lie strictly between 0 and 1"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --rate 0", "--rate must lie strictly between 0 and 1"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --steps 2.5", "--steps must be a whole number"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --accuracy 0", "--accuracy must lie between"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --scale 2", "gaussian does not take --scale"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --relation swap", "relation must be one of"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --sampling dice", "--sampling must be one of"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --sampling fixed", "--relation replace"),
        ("epsilon laplace --scale 1 --rate 0.1 --relation replace", "--sampling fixed"),
        ("epsilon pure --epsilon 1 --sensitivity 2", "pure does not take --sensitivity"),
        ("epsilon pure --epsilon 1 --clip 2", "pure does not take --clip"),
        ("epsilon laplace --scale 1 --clip 2 --sensitivity 2", "not both"),
        ("epsilon gaussian --sigma 1 --delta 1e-5 --clip 0", "--clip must be greater than 0"),
        ("explain --epsilon 1 --clip 1", "--clip belongs to a mechanism"),
        ("calibrate gaussian --delta 1e-5", "calibrate needs --epsilon"),
        ("calibrate gaussian --epsilon 0 --delta 1e-5", "--epsilon must be greater than 0"),
        ("explain", "nothing to explain"),
        ("explain --epsilon 1 --rate 0.1", "--rate belongs to a mechanism"),
        ("explain --epsilon 1 --prior 2", "prior must lie strictly between"),
        ("explain --epsilon 1 --plot tradeoff.pdf", r"must end in \.svg or \.png"),
        ("compare gaussian --sigma 1 --delta 1e-5 --plot c.pdf", r"must end in \.svg or \.png"),
    ],
)
def test_errors_name_the_option_and_the_remedy(words: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        run(*words.split())
    assert "\n" not in str(caught.value)


def test_an_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tacit", "account", "epsilon", "gaussian", "--delta", "1e-5"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "tacit: gaussian needs --sigma: add --sigma NUMBER\n"


def test_without_altair_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "altair" or name.startswith("tacit.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(TacitError, match=r"pip install 'tacit\[plot\]'"):
        run("explain", "--epsilon", "1", "--plot", str(tmp_path / "e.svg"))


@pytest.mark.parametrize("command", ["epsilon", "calibrate", "explain", "compare"])
def test_help_has_an_example_that_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = " ".join(CliRunner(env={"COLUMNS": "200"}).invoke(app, ["account", command, "--help"]).output.split())
    example = text.partition(f"Example: tacit account {command} ")[2].partition("╭")[0]
    assert run(command, *example.split())


def test_mechanisms() -> None:
    listed = json.loads(run("mechanisms", "--json"))
    assert [row["name"] for row in listed] == [mechanism.__name__ for mechanism in MECHANISMS]
    assert all(row["summary"] and row["theory"].startswith("docs/theory/") for row in listed)
    table = run("mechanisms")
    assert all(mechanism.__name__ in table for mechanism in MECHANISMS)
