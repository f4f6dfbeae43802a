"""The law of what is measured, exactly, on domains so small that all of it can be listed; and what a mistake costs."""

from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from support.fixed_rng import FixedRng
from support.statistics import ALARM
from tacit.base import InputError, Relation
from tacit.census.allocation import moved_by, shares_of, steps_of
from tacit.census.invariants import invariants_of
from tacit.census.measure import NoisyCounts, SparseCounts, check_size, measured
from tacit.census.schema import CellSchema
from tacit.census.spine import Spine
from tacit.program import Program, Step

SPINE = Spine("state", "block", places=[("s", "b0"), ("s", "b1"), ("t", "b2")])
SCHEMA = CellSchema(categories={"sex": ("f", "m"), "age": (0, 1)}, recodes={})
QUERIES = {"total": 1, "sex": 2, "detail": 3}
SHARES = shares_of(SPINE, SCHEMA, QUERIES, {"state": 1, "block": 2})


def counts(*people: tuple[int, int]) -> SparseCounts:
    """People as (block, cell)."""
    pairs = sorted(set(people))
    return SparseCounts(
        spine=SPINE,
        schema=SCHEMA,
        places=np.array([place for place, _ in pairs], dtype=np.int64),
        cells=np.array([cell for _, cell in pairs], dtype=np.int64),
        counts=np.array([people.count(pair) for pair in pairs], dtype=np.int64),
    )


def law(variance: float, reach: int = 120) -> dict[int, float]:
    """Pr[z] ∝ exp(−z²/2σ²), by its definition."""
    raw = {z: exp(-z * z / (2 * variance)) for z in range(-reach, reach + 1)}
    whole = sum(raw.values())
    return {z: p / whole for z, p in raw.items()}


def divergence(alpha: float, variance: float, shift: int) -> float:
    """The Rényi divergence of order alpha between the law at 0 and at `shift`, summed over all that matters, in
    logarithms; both laws have the same normalisation."""
    whole = logsumexp([-z * z / (2 * variance) for z in range(-300, 301)])
    powers = [-(alpha * z**2 + (1 - alpha) * (z - shift) ** 2) / (2 * variance) for z in range(-300, 301)]
    return float(logsumexp(powers) - whole) / (alpha - 1)


def worst(steps: tuple[Step, ...], one: SparseCounts, other: SparseCounts, alpha: float) -> float:
    """The divergence of all that is measured of two datasets: coordinates are independent, so theirs add up."""
    found = 0.0
    for step, (level, query) in zip(steps, SHARES, strict=True):
        moved = one.dense(level, query) - other.dense(level, query)
        variance = float(step.mechanism.sigma) ** 2  # type: ignore[attr-defined]
        found += sum(divergence(alpha, variance, abs(int(shift))) for shift in moved.ravel() if shift)
    return found


CROWD = [(0, 0), (0, 1), (1, 1), (2, 3), (2, 3)]
BEFORE = counts((0, 0), *CROWD)
FAR, NEAR = counts((2, 3), *CROWD), counts((0, 1), *CROWD)  # into another state; into another cell of the same block
GONE = counts(*CROWD)
ALPHAS = (1.5, 2, 3, 5)


@pytest.mark.parametrize("rho", [0.2, 1.0, 3.0])
def test_replacing_one_person_moves_the_law_by_rho_and_no_more(rho: float) -> None:
    steps = steps_of(SHARES, rho, Relation.REPLACE, 1)
    for alpha in ALPHAS:
        found = worst(steps, BEFORE, FAR, alpha)  # every query of every level moves by √2
        assert found <= rho * alpha * (1 + 1e-9)
        assert worst(steps, BEFORE, NEAR, alpha) < found  # totals and states stay as they are
    assert worst(steps, BEFORE, FAR, 2) > 0.999 * rho * 2  # nothing is wasted


@pytest.mark.parametrize("rho", [0.2, 1.0, 3.0])
def test_adding_one_person_costs_what_its_account_is_told(rho: float) -> None:
    steps = steps_of(SHARES, rho, Relation.ADD_REMOVE, 1)
    for alpha in ALPHAS:
        assert worst(steps, BEFORE, GONE, alpha) <= rho * alpha * (1 + 1e-9)
    assert worst(steps, BEFORE, GONE, 2) > 0.999 * rho * 2
    assert worst(steps, BEFORE, FAR, 2) > 1.9 * rho * 2  # replaced is two steps: the reason for having a relation


@pytest.mark.parametrize("mistake", [0.95, 0.5**0.5])
def test_too_little_noise_is_seen(mistake: float) -> None:
    """σ a twentieth too small, or a sensitivity of 1 in the place of √2."""
    steps = tuple(
        replace(step, mechanism=step.mechanism.scaled(mistake)) for step in steps_of(SHARES, 1.0, Relation.REPLACE, 1)
    )
    assert worst(steps, BEFORE, FAR, 2) > 2 * 1.05


def test_the_program_says_what_it_costs() -> None:
    for relation in Relation:
        for rho in ("0.1", "2.5562", 40):
            steps = steps_of(SHARES, rho, relation, 1)
            program = Program(steps=steps, relation=relation, unit="person")
            assert program.cost.rho is not None
            # each step by itself is rounded up to a whole unit of the ledger's
            assert program.cost.rho == pytest.approx(float(Fraction(str(rho))), rel=1e-9)
            assert all(step.sensitivity is not None and step.sensitivity.l2 == moved_by(relation, 1) for step in steps)
    assert float(moved_by(Relation.REPLACE, 1)) ** 2 >= 2
    assert moved_by(Relation.REPLACE, 3) == 3 * moved_by(Relation.REPLACE, 1)
    one, three = (steps_of(SHARES, 1, Relation.REPLACE, rows)[0].mechanism.sigma for rows in (1, 3))  # type: ignore[attr-defined]
    assert float(three / one) == pytest.approx(3, rel=1e-9)


def drawn(steps: tuple[Step, ...], rounds: int) -> dict[tuple[str, str], Any]:
    rng = FixedRng(3)
    found = [measured(BEFORE, steps, tuple(SHARES), rng).counts for _ in range(rounds)]
    return {name: np.stack([each[name] for each in found]) for name in SHARES}


def suspicious(samples: Any, truth: Any, variance: float) -> bool:
    """A χ² test of all noises against the law that was stated."""
    noise = (samples - truth).ravel()
    expected = law(variance)
    cells = [z for z, p in expected.items() if p * len(noise) >= 25]
    inner = {z: expected[z] * len(noise) for z in cells}
    rest = len(noise) - sum(inner.values())
    statistic = sum(((noise == z).sum() - n) ** 2 / n for z, n in inner.items())
    statistic += (len(noise) - np.isin(noise, cells).sum() - rest) ** 2 / max(rest, 1e-9) if rest > 5 else 0.0
    return bool(chi2.sf(statistic, len(cells)) < ALARM)


def test_what_is_drawn_has_the_law_that_is_stated() -> None:
    steps = steps_of(SHARES, 2, Relation.REPLACE, 1)
    samples = drawn(steps, 4000)
    for step, (level, query) in zip(steps, SHARES, strict=True):
        truth, variance = BEFORE.dense(level, query), float(step.mechanism.sigma) ** 2  # type: ignore[attr-defined]
        assert samples[level, query].shape[1:] == truth.shape
        assert not suspicious(samples[level, query], truth, variance)
        if truth.size > 4:  # so much is seen of a twentieth
            assert suspicious(samples[level, query], truth, variance / 0.95**2)
            assert suspicious(samples[level, query], truth + 1, variance)


def test_noise_is_independent_everywhere() -> None:
    steps = steps_of(SHARES, 2, Relation.REPLACE, 1)
    samples = drawn(steps, 3000)
    noises = np.concatenate([samples[name].reshape(3000, -1) for name in SHARES], axis=1)
    apart = np.corrcoef(noises.T) - np.eye(noises.shape[1])
    assert np.abs(apart).max() < 6 / np.sqrt(3000)


def test_counts_of_every_level_and_query() -> None:
    assert BEFORE.dense("state", "total").tolist() == [[4], [2]]
    assert BEFORE.dense("block", "total").tolist() == [[3], [1], [2]]
    assert BEFORE.dense("block", "sex").tolist() == [[3, 0], [1, 0], [0, 2]]
    assert BEFORE.dense("state", "detail").tolist() == [[2, 2, 0, 0], [0, 0, 0, 2]]
    assert BEFORE.dense("block", "sex", 1, 3).tolist() == [[1, 0], [0, 2]]
    assert BEFORE.dense("state", "total", 1).tolist() == [[2]]
    assert repr(BEFORE) == "<SparseCounts>"


def test_levels_are_combined_by_their_variances() -> None:
    noisy = NoisyCounts(
        spine=SPINE,
        schema=SCHEMA,
        counts={("state", "total"): np.array([[10.0], [5.0]]), ("block", "total"): np.array([[2.0], [4.0], [9.0]])},
        variances={("state", "total"): 4.0, ("block", "total"): 1.0},
    )
    values, variances = noisy.combined[0]["total"]
    assert values[:, 0].tolist() == pytest.approx([6 + (10 - 6) * 2 / 6, 9 + (5 - 9) * 1 / 5])
    assert variances.tolist() == pytest.approx([4 * 2 / 6, 4 / 5])
    only = NoisyCounts(
        spine=SPINE, schema=SCHEMA, counts={("block", "sex"): np.ones((3, 2))}, variances={("block", "sex"): 1.0}
    )
    assert only.combined[0]["sex"][0].tolist() == [[2, 2], [1, 1]]


def test_what_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spine = Spine("state", "block", places=[("s", str(n)) for n in range(100_000)])
    wide = CellSchema(categories={"x": tuple(range(2016))}, recodes={})
    check_size(spine, wide, [("state", "detail"), ("block", "detail")])
    monkeypatch.setattr("tacit.census.measure.MOST_COUNTS", 200_000_000)
    with pytest.raises(InputError, match=r"block\.detail has 201,600,000 counts, and 200,000,000 is the most"):
        check_size(spine, wide, [("state", "detail"), ("block", "detail")])


@pytest.mark.parametrize("in_memory", [2**28, 0])
def test_counts_are_exact_in_as_few_bytes_as_will_do(monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    """Whatever comes first: a place that needs more bytes than those before, in memory or in a file."""
    monkeypatch.setattr("tacit.census.measure.IN_MEMORY", in_memory)
    monkeypatch.setattr("tacit.census.measure.BLOCK", 64)
    spine = Spine("block", places=[str(n) for n in range(200)])
    wide = CellSchema(categories={"x": tuple(range(2))}, recodes={})
    steps = steps_of(shares_of(spine, wide, {"detail": 1}, None), 10**9, Relation.REPLACE, 1)
    for top, kind in ((5, np.int8), (-128, np.int8), (300, np.int16), (2**24 + 1, np.int32), (2**40, np.int64)):
        for place in (7, 150):
            at, cell, number = np.array([place, 3]), np.array([1, 0]), np.array([top, 100])
            full = SparseCounts(spine=spine, schema=wide, places=at, cells=cell, counts=number)
            found = measured(full, steps, (("block", "detail"),), FixedRng(1)).counts["block", "detail"]
            assert found.dtype == kind
            assert found.shape == (200, 2)
            assert (found[place, 1], found[3, 0]) == (top, 100)
            assert np.count_nonzero(found) == 2
            assert isinstance(found, np.memmap) == (not in_memory)


def test_rows_that_cannot_be_count_nowhere() -> None:
    """Each by itself: so one row never changes how another counts."""
    from tacit.engine.result import Result, ResultTable

    schema = CellSchema(categories={"sex": ("f", "m"), "age": (0, 1)}, recodes={}, zeros=({"sex": "m", "age": 0},))
    held = invariants_of({"block.vacant": ["b1"]}, SPINE, schema)
    rows = [
        ("b0", "f", 1, 3),
        ("b0", "m", 0, 5),
        ("b1", "f", 0, 7),
        ("b9", "f", 0, 2),
        ("b2", "x", 0, 4),
        ("b2", "m", 1, 6),
    ]
    columns = list(zip(*rows, strict=True))
    table = ResultTable(keys=tuple(columns[:3]), columns={"m1": np.array(columns[3])})
    found = SparseCounts.of(Result(groups=table, presence=None, ranks={}), held)
    assert list(zip(found.places, found.cells, found.counts, strict=True)) == [(0, 1, 3), (2, 3, 6)]
