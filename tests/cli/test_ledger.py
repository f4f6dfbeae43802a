"""`tacit ledger …`: what each command prints, writes and refuses."""

import json
import sqlite3
from functools import partial
from pathlib import Path
from stat import S_IMODE
from time import sleep
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.books import account, cost, opened, program, terms
from support.policies import CLINIC
from tacit.base import CorruptLedger, PolicyError, TacitError
from tacit.base.bar import progress_bar
from tacit.cli import app
from tacit.cli.screen import counting_bar
from tacit.ledger import Ledger
from tacit.policy import Claim, load

BOOK = ("--ledger", "a.ledger")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with opened("a.ledger", terms()) as ledger:
        for n in range(5):
            ledger.charge(account(), program(scale=4).cost, program(f"q{n}", scale=4), f"{n}")
        ledger.void(ledger.charge(account(), cost(1), program(), "void"))
    return tmp_path


def invoke(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["ledger", *words])


def run(*words: str) -> str:
    result = invoke(*words)
    if result.exception:
        raise result.exception
    return result.output


def test_the_log_shows_the_newest_or_those_after_one() -> None:
    text = run("log", *BOOK, "--last", "2")
    assert "alice pays 1 epsilon for count" in text
    assert "entry 9 taken back" in text
    assert "q0" not in text
    found = json.loads(run("log", *BOOK, "--after", "3", "--json"))
    assert [entry["seq"] for entry in found["entries"]] == list(range(4, 11))
    assert found["entries"][0]["body"]["program"]["query"] == "q0"
    assert json.loads(run("log", *BOOK, "--accounts", "--json"))["entries"][0]["body"]["people"] == "patients"


def test_as_many_of_the_newest_as_were_asked_for_though_kept_answers_lie_between() -> None:
    with Ledger.open("a.ledger") as ledger:
        for n in range(4):
            receipt = ledger.charge(account(), program(scale=4).cost, program(f"p{n}", scale=4), f"kept {n}")
            ledger.begin(receipt)
            ledger.keep(receipt, b"answer", version="1", kind="answer")
    for last in ("1", "3", "4"):
        found = json.loads(run("log", *BOOK, "--last", last, "--json"))["entries"]
        assert [entry["body"]["program"]["query"] for entry in found] == ["p0", "p1", "p2", "p3"][-int(last) :]


def test_verify_goes_on_from_its_own_note() -> None:
    first = json.loads(run("verify", *BOOK, "--note", "mine.note", "--json"))
    again = json.loads(run("verify", *BOOK, "--note", "mine.note", "--json"))
    assert (first["entries"] > 6, again["entries"], again["charges"]) == (True, 0, 6)
    Path("mine.note").write_text("x")
    assert "not a note of" in str(invoke("verify", *BOOK, "--note", "mine.note").exception)


def test_verify_says_whole_or_what_is_wrong_by_its_exit_code() -> None:
    assert "whole" in run("verify", *BOOK)
    assert "whole" in run("verify", "a.ledger")
    assert json.loads(run("verify", *BOOK, "--json"))["charges"] == 6
    raw = sqlite3.connect("a.ledger")
    with raw:
        raw.execute("UPDATE tacit_balances SET spent_spend = '0' WHERE holder = 'dataset'")
    raw.close()
    bad = invoke("verify", *BOOK)
    assert bad.exit_code == 1
    assert "spent_spend of dataset is not the one that follows from its" in bad.output
    assert "keep-the-ledger.md" in bad.output
    bad = invoke("verify", *BOOK, "--json")
    assert bad.exit_code == 1
    found = json.loads(bad.output)
    assert found["ok"] is False
    assert found["findings"][0]["people"] == "patients"


def test_an_outsider_verifies_by_export_and_checkpoint(here: Path) -> None:
    run("key", "new", "owner.key")
    run("export", *BOOK, "--signing-key", "owner.key", "--out", "point.json")
    run("export", *BOOK, "--redact", "--out", "book.jsonl")
    run("export", *BOOK, "--out", "full.jsonl")
    signed = ("--checkpoint", "point.json", "--public-key", "owner.key.pub")
    for words in (("book.jsonl",), ("full.jsonl",), BOOK):
        assert "only grew" in run("verify", *words, *signed)
    assert "their contents left out" in run("verify", "book.jsonl")
    assert run("export", *BOOK).count("\n") == 13
    kept = {ending: Path(f"a.ledger{ending}").read_bytes() for ending in ("", ".mark")}
    with Ledger.open("a.ledger") as ledger:
        ledger.charge(account(), cost(1), program(), "newer")
    run("export", *BOOK, "--signing-key", "owner.key", "--out", "newer.json")
    for ending, content in kept.items():
        Path(f"a.ledger{ending}").write_bytes(content)
    assert "whole" in run("verify", *BOOK)  # nothing in it tells that it is an old copy
    old = invoke("verify", *BOOK, "--checkpoint", "newer.json", "--public-key", "owner.key.pub")
    assert old.exit_code == 1
    assert "is not the entry that the checkpoint was signed over" in " ".join(old.output.split())


def test_recompute_shows_what_changed_under_its_caveat() -> None:
    text = " ".join(run("recompute", *BOOK).split())
    assert "charges 5 charged epsilon 1.25 priced today epsilon 1.25" in text
    assert "for reading only, not a guarantee" in text
    (found,) = json.loads(run("recompute", *BOOK, "--json"))["accounts"]
    assert found["composed"]["guarantee"] is False
    with Ledger.open("a.ledger") as ledger:
        ledger.charge(account(), cost("1/8"), program(scale=4), "cheap")
    assert "MORE than was counted" in run("recompute", *BOOK)


def test_apply_shows_asks_and_records(here: Path) -> None:
    (here / "tacit.toml").write_text(CLINIC)
    asked = invoke("apply")
    assert "nobody to ask here, so add --yes" in str(asked.exception)
    assert not (here / "clinic.ledger").exists()
    assert "with 6 entries" in run("apply", "--yes")
    assert "Nothing was recorded" in run("apply")
    (here / "tacit.toml").write_text(CLINIC.replace("budget = 2.0", "budget = 1.5").replace("each = 0.1", "each = 0.2"))
    found = json.loads(run("apply", "tacit.toml", "--yes", "--json"))
    assert [change.split(":")[0] for change in found["changes"]] == ["dataset", "analyst"]
    assert [entry["body"]["holder"] for entry in found["entries"]] == ["dataset", "analyst:ana"]
    policy = load("tacit.toml")
    with Ledger.open(policy.ledger()) as ledger:
        assert ledger.apply(policy.terms()) == []


def test_what_apply_announces_is_what_is_recorded(here: Path) -> None:
    (here / "tacit.toml").write_text(CLINIC)
    run("apply", "--yes")
    changed = CLINIC.replace("delta = 1e-6", 'delta = 1e-6\nreset = "30 days"\nlifetime = 10')
    (here / "tacit.toml").write_text(changed)
    found = json.loads(run("apply", "--yes", "--json"))
    assert found["changes"][0] == "reset window: none → 30 days"
    assert found["changes"][1].startswith("lifetime limit: none → 10 rho")
    assert [entry["body"]["holder"] for entry in found["entries"]] == ["window"]


def test_adopt_takes_an_older_copy_and_says_so(here: Path) -> None:
    (here / "a.ledger.mark").unlink()
    with pytest.raises(CorruptLedger):
        run("log", *BOOK)
    assert "Lower the limits" in run("adopt", "--why", "restored", "--yes", *BOOK)
    assert "whole" in run("verify", *BOOK)
    assert "restored" in run("log", *BOOK, "--accounts")


def test_seal_and_rename() -> None:
    assert 'called "clients" now' in run("rename", "patients", "clients", *BOOK)
    run("seal", "clients", "--why", "the study ended", "--yes", *BOOK)
    with Ledger.open("a.ledger") as ledger:
        assert ledger.standing("clients").sealed
    assert "the study ended" in run("log", *BOOK, "--last", "1")


MISTAKES: dict[tuple[str, ...], str] = {
    ("log",): "There is no tacit.toml here",
    ("log", "--ledger", "nope"): "there is no ledger at nope",
    ("log", *BOOK, "--people", "zed"): 'no account for "zed"',
    ("verify", "nope.jsonl"): "there is no file nope.jsonl",
    ("verify", "--ledger", "nope"): "there is no ledger at nope",
    ("verify", "some.txt"): "damaged, or not a ledger",
    ("verify", *BOOK, "--checkpoint", "x"): "go together",
    ("verify", *BOOK, "--checkpoint", "nope", "--public-key", "nope"): "nope cannot be read",
    ("export", *BOOK, "--out", "some.txt"): "exists already",
    ("export", *BOOK, "--out", "no/folder"): "cannot be written",
    ("export", *BOOK, "--signing-key", "nope"): "nope cannot be read",
    ("export", *BOOK, "--signing-key", "some.txt"): "is not a private key",
    ("export", *BOOK, "--signing-key", "some.txt", "--redact"): "--redact is for entries",
    ("recompute", *BOOK, "--people", "zed"): 'no account for "zed"',
    ("apply",): "there is no such file",
    ("apply", "some.txt", "--yes"): "not valid TOML",
    ("adopt", *BOOK): "--why is missing",
    ("adopt", *BOOK, "--why", "x"): "nobody to ask",
    ("seal", "patients", *BOOK): "--why is missing",
    ("seal", "zed", "--why", "x", "--yes", *BOOK): 'no account for "zed"',
    ("seal", "patients", "--why", "x", *BOOK): "nobody to ask",
    ("rename", "zed", "x", *BOOK): 'no account for "zed"',
    ("rename", "patients", "", *BOOK): "people must be a text",
    ("rename", "patients", "patients", *BOOK): "already",
    ("key", "new", "some.txt"): "exists already",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_named(here: Path, words: tuple[str, ...]) -> None:
    (here / "some.txt").write_text("a text that is neither a key nor a ledger " * 50)
    before = (here / "a.ledger").read_bytes()
    result = invoke(*words)
    assert isinstance(result.exception, TacitError), result.output
    assert MISTAKES[words] in str(result.exception)
    assert (here / "a.ledger").read_bytes() == before
    assert not (here / "nope").exists()


def test_an_export_that_fails_leaves_nothing_behind(here: Path) -> None:
    result: Any = invoke("export", "--ledger", "nope", "--out", "half.jsonl")
    assert isinstance(result.exception, TacitError)
    assert not (here / "half.jsonl").exists()


def test_claims_are_listed_and_given_up_with_a_reason() -> None:
    assert "has read no data yet" in run("claims", *BOOK)
    with opened("a.ledger", terms("staff")) as ledger:
        ledger.claim("patients", [Claim("file:/srv/a.csv", unit="each row"), Claim("inode:1:7")])
        with pytest.raises(PolicyError, match='tacit ledger unclaim "patients" "inode:1:7"'):
            ledger.claim("staff", [Claim("inode:1:7")])
    shown = run("claims", *BOOK, "--people", "patients")
    assert shown == "file:/srv/a.csv, counted by each row\ninode:1:7\n"
    found = json.loads(run("claims", *BOOK, "--people", "patients", "--json"))
    assert found["claims"][0] == {"claim": "file:/srv/a.csv", "unit": "each row"}
    with pytest.raises(TacitError, match="--why is missing"):
        run("unclaim", "patients", "inode:1:7", *BOOK, "--yes")
    run("unclaim", "patients", "inode:1:7", *BOOK, "--yes", "--why", "deleted in May")
    with opened("a.ledger") as ledger:
        ledger.claim("staff", [Claim("inode:1:7")])
    told = run("log", *BOOK, "--accounts")
    assert "patients: file:/srv/a.csv and 1 more" in told
    assert "unclaim" in told
    assert "whole" in run("verify", *BOOK)


def test_an_export_is_its_owners_alone(here: Path) -> None:
    run("export", *BOOK, "--out", "book.jsonl")
    assert S_IMODE((here / "book.jsonl").stat().st_mode) == 0o600


def test_a_long_check_counts_entries(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("tacit.cli.screen.progress_bar", partial(progress_bar, after=0))
    text = ""
    with counting_bar("verifying") as (begin, tick):
        begin(4000)
        tick(1000)
        tick(1000)
        for _ in range(200):
            sleep(0.05)
            text += capsys.readouterr().err
            if "2,000" in text:
                break
    assert "verifying 2,000 of 4,000" in " ".join(text.split())
