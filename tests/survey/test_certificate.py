"""The certificate of a survey's results: true as it is made, for every kind of question, and no lie goes unseen."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError
from tacit.cli.app import app
from tacit.ledger.checkpoint import Signer
from tacit.survey.certificate import SurveyCertificate, certificate_of, check_survey
from tacit.survey.plan import simulate
from tacit.survey.results import results_of
from tacit.survey.survey import parse

EVERY = """
name = "every"
title = "Every kind"
epsilon = 12
minimum = 100
[questions.sure]
ask = "?"
kind = "yes-no"
[questions.one]
ask = "?"
kind = "choice"
options = ["=a", "b", "c", "d", "e"]
[questions.many]
ask = "?"
kind = "several"
options = ["a", "b", "c"]
[questions.mean]
ask = "?"
kind = "number"
range = [-10, 30]
[questions.shape]
ask = "?"
kind = "number"
range = [0, 10]
show = "distribution"
bins = 8
[questions.word]
ask = "?"
kind = "text"
longest = 5
"""


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with the key, its public part, the results as CSV and the certificate."""
    folder = tmp_path_factory.mktemp("survey")
    survey = parse(EVERY)
    with drawing_from(FixedRng(3)):
        tallies = simulate(survey, answers=2000).tallies()
    results = results_of(survey, tallies)
    made = certificate_of(results, tallies, signer=Signer.at(folder / "issuer.key"))
    (folder / "results.csv").write_text(results.csv(), newline="")
    (folder / "certificate.json").write_text(json.dumps(made))
    return folder, made


def run(*words: Any) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["verify", *map(str, words)], env={"COLUMNS": "200"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def test_it_is_true_for_every_kind_of_question(issued: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = issued
    given = ["--public-key", folder / "issuer.key.pub", "--answer", folder / "results.csv"]
    code, told = run(folder / "certificate.json", *given)
    assert (code, told.count("✓")) == (0, 8), told
    assert "can be at most" in told
    assert "who issued it was not shown" in run(folder / "certificate.json")[1]
    ok = json.loads(run(folder / "certificate.json", *given, "--json")[1])
    assert ok["ok"]
    assert {each["check"]: each["ok"] for each in ok["checks"]}["coins"]


def test_a_survey_that_nobody_signed(issued: tuple[Path, dict[str, Any]]) -> None:
    _, made = issued
    checks = check_survey(SurveyCertificate.of({"certificate": made["certificate"]}))
    assert {check.name: check.ok for check in checks}["signature"] is None
    assert all(check.ok for check in checks if check.name != "signature")


Lie = Callable[[dict[str, Any]], None]


def question(number: int, name: str, value: Any) -> Lie:
    def told(content: dict[str, Any]) -> None:
        content["questions"][number][name] = value

    return told


def coins(content: dict[str, Any]) -> None:
    content["questions"][0]["protocol"]["device"]["keep"][1] ^= 1 << 30


def promise(content: dict[str, Any]) -> None:
    content["guarantee"] |= {"epsilon": "2"}


def odds(content: dict[str, Any]) -> None:
    content["guarantee"]["meaning"] = "nobody can be sure of anything"


def batches(content: dict[str, Any]) -> None:
    content["minimum"] = 1_000_000


def hidden(content: dict[str, Any]) -> None:
    content["questions"][1]["shuffled"] = {"epsilon": "0.0001", "delta": "1e-6", "if": "never"}


def moved(content: dict[str, Any]) -> None:
    content["questions"][1]["estimates"][0]["value"] = "99.0"


def far(content: dict[str, Any]) -> None:
    content["questions"][3]["estimates"][0] |= {"value": "25.0", "lower": "0.0", "upper": "2.0"}


LIES: dict[str, tuple[Lie, set[str]]] = {
    "other coins": (coins, {"coins"}),
    "a smaller epsilon of a question": (question(1, "epsilon", "0.1"), {"coins"}),
    "a smaller promise": (promise, {"promise", "odds"}),
    "better odds": (odds, {"odds"}),
    "more hidden by mixing": (hidden, {"shuffled"}),
    "an estimate outside its bar": (moved, {"bars", "answer"}),
    "a mean outside its bar": (far, {"bars", "answer"}),
    "more reports than came": (question(0, "reports", 10**9), {"bars"}),
    "another name": (question(0, "name", "other"), {"answer"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_every_lie_is_seen_and_breaks_the_signature(lie: str, issued: tuple[Path, dict[str, Any]]) -> None:
    folder, made = issued
    data, (change, names) = deepcopy(made), LIES[lie]
    change(data["certificate"])
    key = (folder / "issuer.key.pub").read_text()
    checks = check_survey(SurveyCertificate.of(data), public_key=key, answer=folder / "results.csv")
    assert {check.name for check in checks if check.ok is False} >= {"signature", *names}
    bad = folder / "bad.json"
    bad.write_text(json.dumps(data))
    code, told = run(bad, "--public-key", folder / "issuer.key.pub")
    assert code == 1
    assert "Do not rely on it" in told


def swapped(text: str) -> str:
    return text.replace("sure,no,", "sure,?,").replace("sure,yes,", "sure,no,").replace("sure,?,", "sure,yes,")


def told_before(text: str) -> str:
    """Another estimate in front, and the certified ones of that question at the end."""
    head, *rows = text.splitlines(keepends=True)
    own = [row for row in rows if row.startswith("sure,")]
    forged = "sure,no,share,0.9,0.8,1.0,0.9,2000,2\r\n"
    return "".join([head, forged, *(row for row in rows if row not in own), *own])


def one_more(text: str) -> str:
    return text.replace("mean,mean,", "many,z,share,0.9,0.8,1.0,0.9,2000,2\r\nmean,mean,")


@pytest.mark.parametrize("change", [swapped, told_before, one_more])
def test_a_table_that_says_something_else_is_seen(
    change: Callable[[str], str], issued: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, made = issued
    text = (folder / "results.csv").read_text()
    assert change(text) != text
    (tmp_path / "table.csv").write_text(change(text), newline="")
    checks = check_survey(SurveyCertificate.of(made), answer=tmp_path / "table.csv")
    assert [check.name for check in checks if check.ok is False] == ["answer"]


def test_what_cannot_be_read(issued: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, made = issued
    with pytest.raises(InputError, match="leave --ledger out"):
        run(folder / "certificate.json", "--ledger", "x")
    with pytest.raises(InputError, match="no results of a survey"):
        run(folder / "certificate.json", "--answer", folder / "issuer.key.pub")
    newer = {**made, "certificate": {**made["certificate"], "format": "tacit survey certificate 2"}}
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    with pytest.raises(InputError, match="newer format"):
        run(tmp_path / "newer.json")
    for wrong in ({**made, "more": 1}, {"certificate": {**made["certificate"], "more": 1}}):
        with pytest.raises(InputError):
            SurveyCertificate.of(wrong)


def test_texts_that_were_found_are_stated_as_plain_numbers() -> None:
    survey = parse('name = "word"\ntitle = "?"\nepsilon = 4\n[questions.word]\nask = "?"\nkind = "text"\nlongest = 4\n')
    protocol = survey.protocols["word"]
    tallies = {"word": protocol.tally(protocol.sample(["tea", "milk"] * 1500, FixedRng(5)))}
    results = results_of(survey, tallies)
    assert {line.answer for line in results.findings[0].lines} == {"tea", "milk"}
    assert "np.float" not in results.csv()
    certificate = SurveyCertificate.of(json.loads(json.dumps(certificate_of(results, tallies))))
    assert [check.name for check in check_survey(certificate) if check.ok is False] == []
