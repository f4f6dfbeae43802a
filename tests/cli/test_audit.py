"""`tacit audit`: mechanisms by name, functions of the user's, exit codes, reports, and mistakes."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.tree import ROOT
from tacit import MECHANISMS, Approx, Laplace, Mechanism, Pure
from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.cli import app
from tacit.cli.audit import kebab, read_subject

SURE = ("--confidence", "0.9999999")  # what must pass does, but for one run in ten million
MODULE = """
import numpy as np
from tacit import Laplace

SOURCE = np.random.default_rng()
pair = ([1, 2], [1, 3])
bad = 5
whole = Laplace(scale=1, granularity=1)  # the parameters of an example, which brings neighbours

def coarse(scale, size):
    return np.round(SOURCE.laplace(0, scale, size) * 1024) / 1024  # a lattice: the last bits are not the point

def half(data, size):
    return data + coarse(0.5, size)

def total(data):
    return sum(data) + coarse(1, 1)[0]

def pairs():
    yield [1, 1], [1, 1]
    yield [1, 1], [1, 2]

def broken(data):
    return 1 / 0

def fixed(data, size):
    return data + np.random.default_rng(1).laplace(0, 1, size)

class Inside:
    @staticmethod
    def half(data, size):
        return half(data, size)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # puts sys.path back afterwards
    (tmp_path / "noisy_things.py").write_text(MODULE)
    (tmp_path / "needs_others.py").write_text("import not_installed_anywhere\n")
    (tmp_path / "unfinished.py").write_text("x = (\n")
    yield tmp_path
    for name in ("noisy_things", "needs_others", "unfinished"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["audit", *words])


def verdict(*words: str) -> Any:
    return json.loads(run(*words, "--json").stdout)


def test_a_right_mechanism_passes() -> None:
    result = run("laplace", "--epsilon", "1/2", "--samples", "20000", *SURE)
    assert result.exit_code == 0, result.exception
    assert "pass: Laplace claims ε = 0.5" in result.stdout
    assert "built for this claim and a sensitivity of 1: Laplace(scale = 2, granularity = " in result.stdout


def test_half_the_noise_is_violated_and_exits_with_1() -> None:
    result = run("noisy_things:half", "--epsilon", "1", "--samples", "20000", *SURE)
    assert result.exit_code == 1
    assert "violated: half claims ε = 1, but its ε is at least 1." in result.stdout
    assert "neighbours: the numbers 0 and 1" in result.stdout


def test_too_few_samples_are_inconclusive_and_exit_with_3() -> None:
    result = run("noisy_things:half", "--epsilon", "1", "--samples", "20", *SURE)
    assert result.exit_code == 3
    assert result.stdout.startswith("inconclusive: ")


def test_neighbours_are_a_pair_or_a_function_that_gives_some() -> None:
    words = ("noisy_things:total", "--epsilon", "1", "--samples", "2000", *SURE)
    one = verdict(*words, "--neighbours", "noisy_things:pair")
    assert one["neighbours"] == ["[1, 2]", "[1, 3]"]
    assert one["notes"] == []
    many = verdict(*words, "--neighbours", "noisy_things:pairs")
    assert many["pairs"] == 2


def test_functions_within_and_mechanisms_of_the_users() -> None:
    assert verdict("noisy_things:Inside.half", "--epsilon", "1", "--samples", "9000", *SURE)["status"] == "violated"
    found = verdict("noisy_things:whole", "--samples", "2000", *SURE)
    assert found["target"] == "Laplace"
    assert found["claimed"] == pytest.approx(1)


def test_other_processes_import_the_users_module() -> None:
    found = run("noisy_things:total", "--epsilon", "1", "--samples", "500", "--workers", "2", *SURE, "--neighbours")
    assert found.exit_code == 2  # --neighbours names nothing
    words = ("--neighbours", "noisy_things:pair", "--workers", "2")
    assert run("noisy_things:total", "--epsilon", "1", "--samples", "500", *words, *SURE).exit_code in {0, 3}


def test_json_picture_and_page(folder: Path) -> None:
    words = ("randomized-response", "--epsilon", "1", "--samples", "2000", *SURE)
    found = verdict(*words, "--html", "a.html", "--plot", "a.svg")
    assert found["status"] == "pass"
    assert found["notes"] == ["built for this claim: RandomizedResponse(epsilon = 1)"]
    page = (folder / "a.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "RandomizedResponse: pass" in page
    assert (folder / "a.svg").read_text().startswith("<svg")
    assert "The report is in b.html" in run(*words, "--html", "b.html").stdout


@pytest.mark.parametrize("kind", MECHANISMS, ids=kebab)
def test_every_mechanism_is_built_for_its_claim(kind: type[Mechanism]) -> None:
    slack = Fraction(1, 10_000) if kind.__name__ in WITH_DELTA else Fraction(0)
    if slack:
        with pytest.raises(InputError, match="say --delta too"):
            read_subject(kebab(kind), epsilon="3/4", delta=None, neighbours=None)
    subject = read_subject(kebab(kind), epsilon="3/4", delta=str(slack), neighbours=None)
    assert isinstance(subject.target, kind), "an example as it is: the mechanism needs an entry in SHAPE"
    example = next(each for each in kind.examples() if each.tight)
    sized = {} if kind.__name__ in OWN else {"sensitivity": 1}
    loss = subject.target.loss(**sized, relation=example.claim.relation, unit=example.claim.unit)
    assert 0.6 < float(loss.epsilon(slack)) <= 0.75 * (1 + 1e-9)
    pairs = [(each.left, each.right) for each in kind.examples() if each.claim.relation == example.claim.relation]
    assert subject.neighbours
    assert all(pair in pairs for pair in subject.neighbours)


WITH_DELTA = {
    *("Gaussian", "DiscreteGaussian", "NoisyVote", "SmoothMedian", "SmoothNoise", "ProposeTestRelease"),
    *("PartitionSelection", "KeySelection", "KeyedCounts", "StableHistogram"),
}
OWN = {  # know themselves how far one unit moves things
    *("SmoothMedian", "SmoothNoise", "ProposeTestRelease", "PartitionSelection", "KeySelection", "KeyedCounts"),
    *("StableHistogram", "BoundedMean", "BoundedVariance", "RandomizedResponse", "KaryResponse", "CoinFlipSurvey"),
}


def test_neighbours_further_apart_than_one_unit_are_left_out() -> None:
    subject = read_subject("laplace", epsilon="1", delta=None, neighbours=None)
    assert subject.neighbours == [(0, 1)]
    assert subject.target == Laplace(scale=Fraction(1))
    wide = read_subject("laplace", epsilon="1e-9", delta=None, neighbours=None).target
    assert wide.granularity == 1, "on its usual lattice 0 and 1 would be the same"


def test_without_an_epsilon_an_example_is_taken_as_it_is() -> None:
    subject = read_subject("stable-histogram", epsilon=None, delta=None, neighbours=None)
    assert subject.claim is None
    assert subject.target.claim in (Pure(1), Approx(1, "1e-5"))
    assert "parameters and the claim of its example: StableHistogram(epsilon = 1" in subject.said[0]


def test_a_mechanism_that_cannot_be_built_is_audited_as_its_example_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laplace, "from_loss", None)
    subject = read_subject("laplace", epsilon="1/10", delta=None, neighbours=None)
    assert subject.claim is None
    assert "laplace cannot be built for an ε; audited with" in subject.said[0]
    monkeypatch.setattr(Laplace, "from_loss", lambda loss, sensitivity=1: Laplace(scale=Fraction(1)))
    subject = read_subject("laplace", epsilon="1/10", delta=None, neighbours=None)
    assert subject.claim is None, "what does not keep the claim is not audited against it"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("laplac --epsilon 1", 'did you mean "laplace"'),
        ("zebra --epsilon 1", "planar-laplace. A function of yours is written module:function"),
        ("gaussian --epsilon 1", "say --delta too"),
        ("laplace --epsilon much", "--epsilon must be a finite number"),
        ("laplace --epsilon 0", "--epsilon must be greater than 0"),
        ("laplace --epsilon 1 --delta 1", "--delta must be below 1"),
        ("laplace --epsilon 1 --samples 3", "--samples must be a whole number of at least 10"),
        ("laplace --epsilon 1 --workers 0", "--workers must be"),
        ("laplace --epsilon 1 --confidence 95", "confidence must lie strictly between 0 and 1"),
        ("laplace --epsilon 1 --html a.pdf", "must end in .html"),
        ("laplace --epsilon 1 --plot a.pdf", "must end in .svg or .png"),
        ("noisy_things:half", "--epsilon is missing: say what noisy_things:half claims"),
        ("noisy_things:haf --epsilon 1", "did you mean half?"),
        ("noisy_things:bad --epsilon 1", "is int, not a function"),
        ("noisy_things:broken --epsilon 1", "noisy_things:broken failed with ZeroDivisionError: division by zero"),
        ("noisy_things:fixed --epsilon 1", "gave the same 64 outputs twice"),
        ("noisy_things.py:half --epsilon 1", "without .py and folders"),
        ("noisy_things: --epsilon 1", "is not module:name"),
        ("nowhere_at_all:f --epsilon 1", "there is no module nowhere_at_all: looked for here"),
        ("needs_others:f --epsilon 1", "there is no module not_installed_anywhere"),
        ("unfinished:f --epsilon 1", "importing it failed with SyntaxError"),
        ("laplace --epsilon 1 --neighbours noisy_things:bad", "neighbours must be a pair"),
        ("laplace --epsilon 1 --neighbours noisy_things", "--neighbours"),
    ],
)
def test_mistakes_are_named(words: str, message: str) -> None:
    result = run(*words.split())
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_the_help_has_the_exit_codes_and_every_mechanism() -> None:
    text = " ".join(run("--help").stdout.split())
    assert "0 pass, 1 violated, 3 inconclusive" in text
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    assert "Exit code 3" in page
    assert all(kebab(kind) in text for kind in MECHANISMS)


def test_a_bar_comes_when_it_takes_longer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("waiting", after=0) as told:
        told(0.5, "going")  # nobody watches a file
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar("waiting") as told:
        told(0.5, "going")
    assert not capsys.readouterr().err
    with progress_bar("waiting", after=0) as told:
        told(0.5, "going on")
        text = ""
        for _ in range(200):
            sleep(0.05)
            text += capsys.readouterr().err
            if "going on" in text:
                break
        assert "going on" in text
