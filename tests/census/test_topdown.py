"""Every invariant, every sum and every whole number, in every run, of geographies of all shapes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import Relation
from tacit.census.allocation import shares_of, steps_of
from tacit.census.invariants import Invariants, invariants_of
from tacit.census.measure import SparseCounts, measured
from tacit.census.schema import VACANT, CellSchema, Recode
from tacit.census.spine import Spine
from tacit.census.topdown import LevelCounts, top_down

QUICK, LONG = 40, 1000
CATEGORIES: dict[str, tuple[Any, ...]] = {"race": ("a", "b", "c"), "age": (0, 1, 2), "sex": ("f", "m")}
RECODE = {"grown": Recode(column="age", groups={0: "minor", 1: "adult", 2: "adult"})}
POOL: list[Any] = ["total", "race", "age", "sex", "grown*sex", "race*age", "detail"]
HELD: list[list[str]] = [
    [],
    ["first.total"],
    ["first.total", "last.vacant"],
    ["first.race", "first.age", "second.total"],
    ["last.total"],
    ["second.race", "last.race*age", "last.vacant"],
    ["last.detail"],
    ["second.vacant", "first.detail"],
]


def geography(rng: np.random.Generator) -> Spine:
    """Of one to five levels, whose places have one to six children each."""
    rows: list[tuple[str, ...]] = [(f"p{number}",) for number in range(rng.integers(1, 4))]
    for level in range(rng.integers(0, 5)):
        rows = [(*row, f"l{level}.{at}.{child}") for at, row in enumerate(rows) for child in range(rng.integers(1, 7))][
            :150
        ]
    return Spine(*(f"level {at}" for at in range(len(rows[0]))), places=rows)


def case(seed: int) -> tuple[SparseCounts, Invariants, dict[str, Any], float, bool]:
    """People, what is held, the queries' weights, ρ, and whether totals are first."""
    rng = np.random.default_rng(seed)
    spine = geography(rng)
    zeros = ({"age": 0, "sex": "m"}, {"race": "c", "grown": "minor"}) if rng.random() < 0.4 else ()
    schema = CellSchema(categories=CATEGORIES, recodes=RECODE, zeros=zeros)
    named = {"first": spine.levels[0], "second": spine.levels[min(1, len(spine) - 1)], "last": spine.leaf}
    pick = HELD[rng.integers(len(HELD))]
    texts = [f"{named[level]}.{query}" for level, _, query in (each.partition(".") for each in pick)]
    queries = {query: int(rng.integers(1, 9)) for query in POOL if rng.random() < 0.6} or {"detail": 1}
    if rng.random() < 0.3:  # not measured at every level
        only = next(iter(queries))
        queries[only] = {spine.leaf: 3}  # type: ignore[assignment]
        queries |= {"total": 1}
    held = invariants_of(dict.fromkeys(texts), spine, schema)
    leaves, cells = len(spine.names[-1]), np.flatnonzero(schema.possible)
    sizes = rng.poisson(rng.gamma(0.7, 20, leaves)) * (rng.random(leaves) < 0.7)
    if rng.random() < 0.05:
        sizes[:] = 0  # nobody at all
    dense = np.zeros((leaves, schema.cells), dtype=np.int64)
    for place, size in enumerate(sizes):
        np.add.at(dense[place], rng.choice(cells, size), 1)
    places, at = np.nonzero(dense)
    counts = SparseCounts(spine=spine, schema=schema, places=places, cells=at, counts=dense[places, at])
    return counts, held, queries, float(rng.choice([0.01, 0.3, 5.0])), bool(rng.random() < 0.4)


def solved(seed: int, **more: Any) -> tuple[SparseCounts, Invariants, LevelCounts]:
    counts, held, queries, rho, totals_first = case(seed)
    shares = shares_of(counts.spine, counts.schema, queries, None)
    steps = steps_of(shares, rho, Relation.REPLACE, 1)
    noisy = measured(counts, steps, tuple(shares), FixedRng(seed))
    return counts, held, top_down(noisy, counts.held(held), totals_first=counts.spine.levels * totals_first, **more)


def check(seed: int) -> None:
    truth, held, found = solved(seed)
    assert found.count.dtype == np.int64
    assert (found.count > 0).all()
    assert truth.schema.possible[found.cell].all()
    released = SparseCounts(
        spine=truth.spine, schema=truth.schema, places=found.place, cells=found.cell, counts=found.count
    )
    for level, query in held.read:  # of any level, from the one table of the narrowest: so levels agree
        if query == VACANT:
            empty = truth.dense(level, "total")[:, 0] == 0
            assert not released.dense(level, "total")[empty].any(), (level, query)
        else:
            assert np.array_equal(released.dense(level, query), truth.dense(level, query)), (level, query)
    assert len(set(zip(found.place.tolist(), found.cell.tolist(), strict=True))) == len(found.place)


@pytest.mark.parametrize("block", range(4))
def test_random_geographies(block: int) -> None:
    for seed in range(block * QUICK // 4, (block + 1) * QUICK // 4):
        check(seed)


@pytest.mark.slow
def test_a_thousand_random_geographies() -> None:
    for seed in range(QUICK, QUICK + LONG):
        check(seed)


def test_the_cases_hold_everything_there_is() -> None:
    """So that the tests above are not about nothing."""
    cases = [case(seed) for seed in range(QUICK)]
    assert {text for _, held, *_ in cases for _, text in held.read} >= {"total", "vacant", "race", "detail", "race*age"}
    assert {len(counts.spine) for counts, *_ in cases} == {1, 2, 3, 4, 5}
    assert any(not counts.schema.possible.all() for counts, *_ in cases)
    assert sum(first for *_, first in cases) > 5


def test_families_may_be_solved_anywhere() -> None:
    with ThreadPoolExecutor(3) as pool:
        for seed in range(6):
            _, _, here = solved(seed)
            _, _, there = solved(seed, spread=pool.map)
            for name in ("place", "cell", "count"):
                assert np.array_equal(getattr(here, name), getattr(there, name))


def test_much_rho_gives_the_truth() -> None:
    for seed in range(4):
        counts, held, *_ = case(seed)
        shares = shares_of(counts.spine, counts.schema, {"total": 1, "detail": 1}, None)
        steps = steps_of(shares, 10_000, Relation.REPLACE, 1)
        found = top_down(measured(counts, steps, tuple(shares), FixedRng(seed)), counts.held(held))
        assert np.array_equal(found.place, counts.places)
        assert np.array_equal(found.cell, counts.cells)
        assert np.array_equal(found.count, counts.counts)


def test_counts_of_all_levels_are_used() -> None:
    """The same share at each level: a state's total is better known than by its own measurement, since the sums below
    it say something too (1/σ² + 1/nσ² of it, for n counties)."""
    spine = Spine("state", "county", places=[("s", f"c{n}") for n in range(3)])
    schema = CellSchema(categories={"x": ("only",)}, recodes={})
    full = np.array([1000, 2000, 3000])
    counts = SparseCounts(
        spine=spine, schema=schema, places=np.arange(3), cells=np.zeros(3, dtype=np.int64), counts=full
    )
    shares = shares_of(spine, schema, {"total": 1}, None)
    steps = steps_of(shares, 2 / 100, Relation.REPLACE, 1)  # σ = 10
    rng, errors = FixedRng(5), []
    for _ in range(800):
        noisy = measured(counts, steps, tuple(shares), rng)
        found = top_down(noisy, counts.held(invariants_of((), spine, schema)))
        errors.append([found.count.sum() - 6000, *(np.array([found.count[n] for n in range(3)]) - full)])
    state, *counties = np.mean(np.square(errors), axis=0)
    best = 1 / (1 / 100 + 1 / 300)  # 75
    assert state == pytest.approx(best, rel=0.25)  # 800 squares: a twentieth is one standard deviation
    assert np.mean(counties) == pytest.approx(100 * (1 - 1 / 3) + best / 9, rel=0.12)
