"""Going on from a verification: after every step it comes to what a walk from the first entry does, and what was done
to the rest is found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.books import account, cost, opened, program, terms
from support.busy import alter, busy
from support.forged import said
from tacit.base import InputError
from tacit.ledger import Ledger
from tacit.ledger.store import EntryDraft
from tacit.ledger.verified import VerifiedLedger
from tacit.ledger.verify import verify
from tacit.program import canonical


def test_after_every_step_both_ways_come_to_the_same(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note"
    steps: list[int] = []
    opening = Ledger.open

    def followed(work: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any) -> Any:
            done = work(*given)
            full = verify(where)
            report = verify(where, since=VerifiedLedger.read(note) if steps else None)
            assert (said(full), said(report)) == ("", "")
            assert full.verified is not None
            assert report.verified is not None
            report.verified.write(note)
            steps.append(report.entries)
            full.verified.write(tmp_path / "full")
            assert json.loads(note.read_text()) == json.loads((tmp_path / "full").read_text())
            assert {head.people: head for head in report.heads} == {head.people: head for head in full.heads}
            assert report.charges == full.charges
            return done

        return step

    def watched(*given: Any, **named: Any) -> Ledger:
        made = opening(*given, **named)
        for name in ("write", "charge"):
            monkeypatch.setattr(made.store, name, followed(getattr(made.store, name)))
        return made

    monkeypatch.setattr(Ledger, "open", watched)
    busy(where)
    assert len(steps) > 20
    assert max(steps[1:]) <= 6, "each time only what was new"


def noted(where: str) -> VerifiedLedger:
    busy(where)
    found = verify(where).verified
    assert found is not None
    with opened(where) as book:
        book.keep(book.charge(account("bob"), cost("1/4"), program("other"), "three"), b"late", version="1")
        book.charge(account(), cost(), program("new"), "new")
    return found


@pytest.mark.parametrize(
    ("what", "finds"),
    [
        ("UPDATE tacit_entries SET time = time + 1 WHERE key = 'new'", "was altered"),
        ("DELETE FROM tacit_entries WHERE key = 'new'", "should end with entry"),
        ("UPDATE tacit_balances SET each_spend = 5 WHERE holder = 'analyst:bob'", "each_spend of analyst:bob"),
        ("DELETE FROM tacit_balances WHERE holder = 'analyst:alice'", "the balance of analyst:alice is missing"),
        (
            "UPDATE tacit_answers SET scope = 'analyst:eve' WHERE entry = (SELECT MAX(entry) FROM tacit_answers)",
            "for somebody else",
        ),
        ("DELETE FROM tacit_answers WHERE entry = (SELECT MAX(entry) FROM tacit_answers)", "it is gone"),
        ("UPDATE tacit_claims SET unit = 'x' WHERE place = 'file:/srv/b'", "its claim of file:/srv/b"),
        ("UPDATE tacit_accounts SET sealed = 1 WHERE people = 'patients'", "its sealed is not"),
    ],
)
def test_what_was_done_since_is_found(tmp_path: Path, what: str, finds: str) -> None:
    where = str(tmp_path / "book")
    since = noted(where)
    assert said(verify(where, since=since)) == ""
    alter(where, what)
    found = verify(where, since=since)
    assert finds in said(found)
    assert found.verified is None, "nothing to go on from"


def test_the_last_entry_that_was_seen_must_be_there(tmp_path: Path) -> None:
    where = str(tmp_path / "book")
    since = noted(where)
    alter(where, "UPDATE tacit_entries SET digest = x'00' WHERE account = 1 AND seq = " + str(since.last(1)))
    assert "is not the entry that was there" in said(verify(where, since=since))


@pytest.mark.parametrize("before", ["nothing", "void", "begin", "answer"])
def test_what_became_of_a_charge_before_counts_after(tmp_path: Path, before: str) -> None:
    """A void with the right hashes: it is right only if nothing had come of the charge when the note was made."""
    where = str(tmp_path / "book")
    with opened(where, terms()) as book:
        receipt = book.charge(account(), cost(), program(), "one")
        if before == "void":
            book.void(receipt)
        if before == "answer":
            book.keep(receipt, b"answer", version="1")
        if before == "begin":
            with Ledger.open(where) as other:
                other.begin(receipt)
        since = verify(where).verified
        body = canonical({"kind": "void", "charge": receipt.seq})
        draft = EntryDraft("void", body, key=str(receipt.seq))
        book.store.write(lambda page: page.append(page.account("patients"), [draft]))
    taken = "takes back entry" in said(verify(where, since=since))
    assert taken == ("takes back entry" in said(verify(where))) == (before != "nothing")


def test_a_note_of_another_ledger_or_no_note(tmp_path: Path) -> None:
    for name in "ab":
        with opened(tmp_path / name, terms()):
            pass
    with pytest.raises(InputError, match="another ledger"):
        verify(tmp_path / "a", since=verify(tmp_path / "b").verified)
    for text in ("", "{}", '{"format": "x"}', "[1]"):
        (tmp_path / "note").write_text(text)
        with pytest.raises(InputError, match="not a note"):
            VerifiedLedger.read(tmp_path / "note")
