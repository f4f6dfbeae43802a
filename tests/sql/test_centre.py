"""Averages from a private centre: near the truth however wide the bounds, with intervals that hold, profile or not."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.policy import Currency
from tacit.session import Session
from tacit.session.single import OneTable
from tacit.sql.stored import StoredAnswer

PEOPLE = 2000
TRIALS = 12
PRICES = {Currency.EPSILON: Fraction(1), Currency.RHO: Fraction(1, 2)}


def alike(draw: np.random.Generator, rows: int, _: Any) -> Any:
    """Values that tell nothing of whose they are."""
    return draw.gamma(1.2, 25, rows)


def unlike(draw: np.random.Generator, rows: int, person: Any) -> Any:
    """Some people have larger values than others."""
    return draw.gamma(2, np.exp(draw.normal(2, 0.5, PEOPLE))[person], rows)


def narrow(draw: np.random.Generator, rows: int, _: Any) -> Any:
    """Far from both bounds, and close together."""
    return draw.normal(70, 5, rows)


def people(values: Any, seed: int = 5) -> pa.Table:
    """Of each 1 to 18 rows, in five regions."""
    draw = np.random.default_rng(seed)
    person = np.repeat(np.arange(PEOPLE), draw.integers(1, 19, PEOPLE))
    found = np.clip(values(draw, len(person), person), 0, 200).round(2)
    return pa.table({"person": person, "region": draw.integers(0, 5, len(person)), "x": found})


@contextmanager
def session(data: pa.Table, currency: Currency = Currency.EPSILON, high: int = 200, **known: Any) -> Iterator[Session]:
    one = OneTable(
        data=data,
        unit_column="person",
        bounds={"x": (0, high)},
        steps={"x": Fraction(1, 100)},
        group_keys={"region": range(5)},
        table="t",
        currency=currency,
        budget=60,
        delta=Fraction(1, 10**6) if currency is Currency.RHO else 0,
        **known,
    )
    with one.session(progress=False) as made:
        yield made


def answers(made: Session, sql: str, trials: int = TRIALS) -> list[Any]:
    """Each at a price of its own, or it would be remembered."""
    currency = made.policy.privacy.currency
    with drawing_from(FixedRng(11)):
        prices = [PRICES[currency] * (1 + Fraction(turn, 1000)) for turn in range(trials)]
        return [made.ask(sql, **{currency.value: price}) for price in prices]  # type: ignore[arg-type]  # an amount


@pytest.mark.parametrize("currency", PRICES)
@pytest.mark.parametrize("values", [alike, unlike, narrow])
def test_intervals_hold_without_a_profile(values: Any, currency: Currency) -> None:
    """Of 12 at least 10; from the middle of the bounds, none of 20 did for values that are alike."""
    data = people(values)
    truth = float(np.mean(data["x"].to_numpy()))
    with session(data, currency) as made:
        found = answers(made, "SELECT AVG(x) AS y FROM t")
    ends = [(answer.intervals["y"][0][0], answer.intervals["y"][1][0]) for answer in found]
    assert sum(low - 0.005 <= truth <= high + 0.005 for low, high in ends) >= 0.8 * TRIALS
    errors = [answer.table["y"][0].as_py() - truth for answer in found]
    assert np.sqrt(np.mean(np.square(errors))) < 0.25


def test_wide_bounds_cost_little() -> None:
    """Ten times the range was ten times the noise."""
    data = people(alike)
    truth = float(np.mean(data["x"].to_numpy()))
    sizes = []
    for high in (200, 20_000):
        with session(data, high=high) as made:
            found = answers(made, "SELECT AVG(x) AS y FROM t", 6)
        sizes.append(np.sqrt(np.mean([(answer.table["y"][0].as_py() - truth) ** 2 for answer in found])))
    assert sizes[1] < max(4 * sizes[0], 0.3)


def test_counts_and_sums_beside_it() -> None:
    """One noise serves all three, and is as large as that of each alone."""
    data = people(alike)
    rows, total = len(data), float(np.sum(data["x"].to_numpy()))
    with session(data) as made:
        (answer,) = answers(made, "SELECT COUNT(x) AS n, SUM(x) AS s, AVG(x) AS y FROM t", 1)
        assert [step["task"]["kind"] for step in answer.facts["steps"]] == ["centre", "choose", "noise"]
        assert 20 < float(Fraction(answer.facts["clips"][0]["centre"])) < 60
    assert answer.table["n"][0].as_py() == pytest.approx(rows, rel=0.02)
    assert answer.table["s"][0].as_py() == pytest.approx(total, rel=0.02)
    assert answer.table["y"][0].as_py() == pytest.approx(total / rows, abs=1)


def test_groups_have_one_centre() -> None:
    data = people(unlike)
    regions, values = data["region"].to_numpy(), data["x"].to_numpy()
    with session(data) as made:
        found = answers(made, "SELECT region AS k, AVG(x) AS y FROM t GROUP BY region", 4)
    for answer in found:
        shown = dict(zip(answer.table["k"].to_pylist(), answer.table["y"].to_pylist(), strict=True))
        assert all(abs(shown[k] - values[regions == k].mean()) < 2 for k in range(5))
        assert [step["task"]["kind"] for step in answer.facts["steps"]].count("centre") == 1


def test_what_was_kept_tells_the_centre() -> None:
    """A stored answer is shown from itself alone; those without a centre are read as they were."""
    with session(people(alike)) as made:
        (answer,) = answers(made, "SELECT AVG(x) AS y FROM t", 1)
        again = made.ask("SELECT AVG(x) AS y FROM t", epsilon=PRICES[Currency.EPSILON])
        assert again.cached
        assert again.table == answer.table
        (plain,) = answers(made, "SELECT COUNT(*) AS y FROM t", 1)
    assert "centre" not in plain.facts["clips"][0]
    assert (
        StoredAnswer(parts=(), facts={}).to_bytes()
        == StoredAnswer.from_bytes(StoredAnswer(parts=(), facts={}).to_bytes()).to_bytes()
    )
