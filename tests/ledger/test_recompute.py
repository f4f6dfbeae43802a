"""Charges priced again by today's proofs: for reading, and only that."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from support.books import account, amount, cost, opened, program, terms
from support.forged import said
from tacit.base import LedgerError
from tacit.ledger import Ledger
from tacit.ledger.recompute import CAVEAT, recompute
from tacit.ledger.verify import verify
from tacit.loss import Pure
from tacit.policy.account import DATASET, Amount


def test_each_charge_is_priced_and_all_are_composed(where: str) -> None:
    with opened(where, terms(), terms("visitors")) as ledger:
        for n in range(50):
            ledger.charge(account(), program(scale=10).cost, program(scale=10), f"{n}")
        ledger.charge(account(), cost(3), program(scale=1), "dear")  # 1 would have been enough
        ledger.void(ledger.charge(account(), cost(7), program("void"), "taken back"))
        before = ledger.standing("patients")
    found, empty = recompute(where)
    assert (found.people, found.charges) == ("patients", 51)
    assert found.charged == amount(8)
    assert found.now == amount(6)
    assert [(len(line.seqs), line.now, line.why) for line in found.priced] == [
        (50, amount("1/10"), ""),
        (1, amount(1), ""),
    ]
    together = (50 * program(scale=10).loss + program().loss).epsilon(Fraction(1, 10**6))
    assert found.whole is not None
    assert found.whole.upper == together.upper < 6
    assert found.json()["composed"] == {
        "epsilon": together.upper,
        "delta": 1e-6,
        "guarantee": False,
        "caveat": CAVEAT,
        "why_not": None,
    }
    assert (empty.people, empty.charges, empty.charged) == ("visitors", 0, amount(0))
    assert [one.people for one in recompute(where, "visitors")] == ["visitors"]
    with pytest.raises(LedgerError, match='no account for "nobody"'):
        recompute(where, "nobody")
    with opened(where) as ledger:
        assert ledger.standing("patients") == before
    assert verify(where).ok


def test_charges_that_were_too_cheap_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        ledger.charge(account(), cost("1/2"), program(), "one")
    (found,) = recompute(path)
    assert found.priced[0].dearer
    assert found.now == amount(1)


def test_a_program_without_a_price_today_counts_as_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        ledger.charge(account(), cost(1), program(), "one")
        ledger.charge(account(), cost(2), program("unreadable"), "two")
    monkeypatch.setattr("tacit.program.program.VERSION", 1)  # a release that reads no programs of version 2
    (found,) = recompute(path)
    assert [line.now for line in found.priced] == [None, None]
    assert "version" in found.priced[0].why
    assert found.now == found.charged == amount(3)
    assert found.whole is None
    assert "cannot be priced" in found.why


def test_the_composition_is_of_the_losses_and_not_of_the_charges(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        ledger.charge(account(), cost(9), program(), "one")
    (found,) = recompute(path)
    assert found.whole is not None
    assert found.whole.upper <= Pure(1).epsilon(0).upper


def test_programs_of_version_1_are_priced_for_ever(tmp_path: Path) -> None:
    """A ledger that was written when programs were stored in their first form (version2/make.py)."""
    for name in ("tacit.ledger", "tacit.ledger.mark"):
        shutil.copy(Path(__file__).parent / "version2" / name, tmp_path)
    path = tmp_path / "tacit.ledger"
    report = verify(path)
    assert said(report) == ""
    assert (report.entries, report.charges, report.answers) == (23, 8, 3)
    patients, shoppers = recompute(path)
    half, both, whole = patients.priced
    assert [len(line.seqs) for line in patients.priced] == [2, 1, 1]  # without the one that was voided
    assert (half.now, both.now) == (Amount(5 * 10**11), Amount(666_666_666_667, 10**21))
    assert whole.charged == Amount(534_761_776_406, 10**21)
    assert whole.now is not None
    assert not whole.dearer
    assert [(line.now, len(line.seqs)) for line in shoppers.priced] == [
        (Amount(11_250_000_000_000_000), 2),
        (Amount(5_312_500_000_000_000), 1),
    ]
    assert shoppers.now == shoppers.charged == Amount(27_812_500_000_000_000)
    assert patients.whole is not None
    assert shoppers.whole is not None
    with Ledger.open(path) as ledger:
        for one in (patients, shoppers):
            standing = ledger.standing(one.people)
            dataset = standing.balance(DATASET)
            assert dataset is not None
            assert dataset.spent == one.charged
            assert [str(claim.unit) for claim in standing.claims] == [
                'column "pid"' if one is patients else 'column "id"'
            ]
    assert said(verify(path)) == ""
