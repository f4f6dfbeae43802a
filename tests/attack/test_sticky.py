"""Sticky answers: linear reconstruction from answers that are stored and given again, which broke Diffix.

A desk with sticky noise answers every question about every subset, and the same subset always with the same noise, so
that asking again gains nothing. That is no defence: thousands of other subsets are as good, and none of them has a
price (Cohen and Nissim 2020, on Diffix). tacit's stored answers are sticky too. Here the same attack is made on a real
session: what is asked again, or in other words, is the stored answer or costs like a new one, so the attacker ends with
what the budget paid for.
"""

from collections.abc import Iterator
from hashlib import sha256
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.attack.reconstruction import reconstruct
from tacit.base import Denied
from tacit.policy import Currency
from tacit.session import Session
from tacit.session.single import OneTable

PEOPLE, SUBSETS = 100, 150
SPREAD = 2.0  # of sticky noise: a few rows, as in Diffix, whatever was asked before
BUDGET = 0.5


def table(seed: int, subsets: int = SUBSETS) -> tuple[np.ndarray, np.ndarray, pa.Table]:
    """Secret bits, the subsets that are asked about, and the table."""
    source = np.random.default_rng(seed)
    secret, asked = source.integers(0, 2, PEOPLE), source.integers(0, 2, (subsets, PEOPLE))
    return secret, asked, pa.table({"person": np.arange(PEOPLE), "secret": secret})


def sql(subset: np.ndarray) -> str:
    members = ", ".join(str(person) for person in np.flatnonzero(subset))
    return f"SELECT COUNT(*) AS n FROM data WHERE secret = 1 AND person IN ({members})"


def other_words(subset: np.ndarray) -> Iterator[str]:
    """The same question as an attacker rewrites it, hoping for fresh noise."""
    members = [str(person) for person in np.flatnonzero(subset)]
    yield f"select count(*) as n from data where person in ({', '.join(reversed(members))}) and secret = 1"
    yield f"SELECT COUNT(*) AS n FROM data WHERE NOT (secret <> 1) AND person IN ({', '.join([*members, members[0]])})"
    yield f"SELECT COUNT(*) AS n FROM data WHERE secret > 0 AND secret < 2 AND person IN ({', '.join(members)})"
    yield f"SELECT COUNT(secret) AS n FROM data WHERE secret = 1 AND person IN ({', '.join(members)})"


def sticky(secret: np.ndarray, subset: np.ndarray) -> float:
    """The desk without a price: noise that the subset itself seeds."""
    seed = int.from_bytes(sha256(subset.tobytes()).digest()[:8], "big")
    return float(subset @ secret + np.random.default_rng(seed).normal(0, SPREAD))


def private(place: Path, data: pa.Table, budget: float) -> OneTable:
    return OneTable(
        data=data,
        unit_column="person",
        currency=Currency.EPSILON,
        budget=budget,
        clip_rows=1,
        ledger=place / "ledger",
    )


def bought(session: Session, subsets: np.ndarray, budget: float) -> np.ndarray:
    """All the answers that the budget buys, each for the same price."""
    each = budget / len(subsets) * (1 - 1e-9)
    return np.array([session.ask(sql(subset), epsilon=each).value() for subset in subsets])


def test_sticky_noise_without_a_price_gives_everybody_away() -> None:
    secret, subsets, _ = table(1, 6 * PEOPLE)
    answers = np.array([sticky(secret, subset) for subset in subsets])
    again = np.array([sticky(secret, subset) for subset in subsets])
    assert (answers == again).all()
    assert reconstruct(subsets, answers).share(secret) > 0.9


def test_asking_again_and_in_other_words_gains_nothing_over_the_price(tmp_path: Path) -> None:
    secret, subsets, data = table(2)
    with drawing_from(FixedRng(2)), private(tmp_path, data, BUDGET).session() as session:
        answers = bought(session, subsets, BUDGET)
        left = session.left()
        each = BUDGET / len(subsets) * (1 - 1e-9)
        for number, subset in enumerate(subsets[::25]):
            again = session.ask(sql(subset), epsilon=each)
            assert again.cached
            assert again.value() == answers[25 * number]
            for words in other_words(subset):
                try:
                    told = session.ask(words, epsilon=each)
                except Denied:  # a question of its own, which nothing is left for
                    continue
                assert told.cached
                assert told.value() == answers[25 * number]
        assert session.left() == left
    found = reconstruct(subsets, answers).share(secret)
    ceiling = 1 / (1 + exp(-BUDGET))  # no attack finds a fair bit more often
    assert found <= ceiling + 2 * sqrt(ceiling * (1 - ceiling) / PEOPLE) < 0.75


def test_other_words_for_a_question_pay_or_are_the_stored_answer(tmp_path: Path) -> None:
    """With budget to spare: fresh noise is never free."""
    _, subsets, data = table(3)
    with drawing_from(FixedRng(3)), private(tmp_path, data, 20).session() as session:
        first = session.ask(sql(subsets[0]), epsilon=0.5)
        for words in other_words(subsets[0]):
            before = session.left()
            told = session.ask(words, epsilon=0.5)
            if session.left() == before:
                assert told.cached
                assert told.value() == first.value()
            else:
                assert not told.cached


def test_the_attack_works_where_it_was_paid_for(tmp_path: Path) -> None:
    secret, subsets, data = table(4)
    with drawing_from(FixedRng(4)), private(tmp_path, data, 1000).session() as session:
        assert reconstruct(subsets, bought(session, subsets, 1000)).share(secret) > 0.9


def test_stored_answers_share_no_noise(tmp_path: Path) -> None:
    """Layers of sticky noise cancel in the difference of two questions that share them (Gadotti et al. 2019): here a
    person's bit, taken from a subset with and without the person, is as blurred as two independent noises."""
    secret, subsets, data = table(5)
    each, apart = 0.5, []
    with drawing_from(FixedRng(5)), private(tmp_path, data, 100).session() as session:
        for person in range(40):
            inside, outside = subsets[person].copy(), subsets[person].copy()
            inside[person], outside[person] = 1, 0
            values = [float(session.ask(sql(subset), epsilon=each).value()) for subset in (inside, outside)]
            apart.append(values[0] - values[1] - secret[person])
    spread = float(np.mean(np.square(apart)))  # two noises of variance about 2/ε² = 8 each
    assert spread == pytest.approx(16, rel=0.5)
