"""Differencing: the textbook cases exactly, and what is left of them in tacit's answers."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.differencing import GuardedDesk, PrivateDesk, equals, find_tracker, leaver, stage, track
from tacit.base import InputError, Refused
from tacit.policy import Currency
from tacit.session.single import OneTable

STAFF = pa.table(
    {
        "name": [f"person {i}" for i in range(40)],
        "sex": ["f", "m"] * 20,
        "year": [1960 + i for i in range(40)],
        "salary": [30_000 + 1_000 * i for i in range(40)],
    }
)


def private(place: Path, budget: int) -> OneTable:
    ledger = place / "ledger"
    return OneTable(
        data=STAFF,
        unit_column="name",
        bounds={"salary": (0, 100_000)},
        currency=Currency.EPSILON,
        budget=budget,
        clip_rows=1,
        ledger=ledger,
    )


def test_mr_gluble() -> None:
    """Ten people earn 50,000 on average; nine without him 45,000: he had 95,000."""
    assert leaver(before=50_000, after=45_000, people=10) == 95_000
    with pytest.raises(InputError, match="more than one"):
        leaver(before=1, after=1, people=1)


def test_the_desk_refuses_small_groups_and_their_complements() -> None:
    desk = GuardedDesk(STAFF, "salary", 5)
    alone = equals("name", "person 7")
    for group in (alone, ~alone):
        with pytest.raises(Refused, match="fewer than 5"):
            desk.ask(group)
    assert desk.ask() == (40, sum(30_000 + 1_000 * i for i in range(40)))


def test_a_tracker_gets_round_the_refusal() -> None:
    desk = GuardedDesk(STAFF, "salary", 5)
    tracker = find_tracker(desk, [equals("year", 1977), equals("sex", "f")])
    assert tracker.sql == equals("sex", "f").sql
    for i in range(40):
        found = track(desk, equals("name", f"person {i}"), tracker)
        assert (found.count, found.total, found.questions) == (1, 30_000 + 1_000 * i, 4)
    several = track(desk, equals("year", 1963) | equals("year", 1966), tracker)
    assert (several.count, several.total) == (2, 33_000 + 36_000)


def test_no_tracker_among_the_candidates() -> None:
    with pytest.raises(InputError, match="no candidate"):
        find_tracker(GuardedDesk(STAFF, "salary", 5), [equals("year", 1977)])


def test_conditions_are_written_as_sql() -> None:
    both = equals('odd"name', "O'Hara") & ~(equals("a", 3) | equals("b", "x"))
    assert both.sql == '(("odd""name" = \'O\'\'Hara\') AND NOT (("a" = 3) OR ("b" = \'x\')))'
    with pytest.raises(InputError, match="text or a whole number"):
        equals("a", 1.5)  # type: ignore[arg-type]  # wrong on purpose


def test_both_desks_understand_a_condition_alike(tmp_path: Path) -> None:
    """With a huge budget tacit's noise is small, so the two answers to the same SQL must be close."""
    person = equals("name", "person 3")
    groups = [equals("sex", "f"), ~equals("sex", "f"), person | equals("sex", "f"), person & ~equals("sex", "f")]
    one = private(tmp_path, 10_000)
    exact = GuardedDesk(STAFF, "salary", 1)
    with one.session() as session:
        noisy = PrivateDesk(session, "salary", 1_000)
        for group in groups:
            assert noisy.ask(group) == pytest.approx(exact.ask(group), abs=20_000)
        assert noisy.asked == exact.asked


def test_the_same_questions_to_tacit_say_nothing_of_one_person(tmp_path: Path) -> None:
    one = private(tmp_path, 10)
    with one.session() as session:
        desk = PrivateDesk(session, "salary", 0.25)
        off = [
            track(desk, equals("name", f"person {i}"), equals("sex", "f")).total - 30_000 - 1_000 * i for i in (1, 2, 3)
        ]
        # four Laplace noises of scale 100,000/0.125: three sums below 10,000 happen once in millions of times
        assert np.abs(off).max() > 10_000
        assert session.left().epsilon == 10 - 8 * Fraction(1, 4)


def test_bad_desks() -> None:
    with pytest.raises(InputError, match="no column"):
        GuardedDesk(STAFF, "wage", 5)
    with pytest.raises(InputError, match="at least 1"):
        GuardedDesk(STAFF, "salary", 0)


def test_the_stage() -> None:
    told: list[float] = []
    outcome = stage(people=60, targets=4, progress=told.append)
    assert told == [0.25, 0.5, 0.75, 1]
    assert outcome.undefended.success == 1
    assert outcome.defended.success <= 0.5
    assert outcome.facts["gluble"]["exact"] == pytest.approx(outcome.facts["gluble"]["salary"])
    assert len(outcome.facts["questions"]) == 4
    assert outcome.plot().to_dict()["layer"]
    with pytest.raises(InputError, match="at least 40 people"):
        stage(people=30)
