"""ROLLUP and its like after the fit: totals are the sums of their parts, errors are smaller, and intervals hold."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.clinic import CLINIC
from support.hospital import hospital
from tacit.base import Relation
from tacit.plan.contribution import Contribution
from tacit.plan.levels import LevelTables
from tacit.plan.price import Budget, PricedPlan, price
from tacit.session import Session
from tacit.sql import lower, parse
from tacit.sql.assemble import assemble
from tacit.sql.fitted import fitted, level_of
from tacit.sql.noise import declared_groups
from tacit.sql.stored import Noisy, NoisyPart

SQL = "SELECT ward, urgent, COUNT(*) AS n, SUM(age) AS s, AVG(age) AS m FROM visits GROUP BY {}"
GROUPINGS = ("ROLLUP (ward, urgent)", "CUBE (ward, urgent)", "GROUPING SETS ((ward), (urgent))")


def planned(grouping: str, **amount: Any) -> PricedPlan:
    budget = Budget(**(amount or {"currency": "rho", "amount": 1}))
    question = lower(parse(SQL.format(grouping)), CLINIC)
    said = Contribution(rows=Fraction(3))
    return price(question, budget, relation=Relation.ADD_REMOVE, unit="patient", contribution=said)


def drawn(priced: PricedPlan, truth: np.ndarray, rng: np.random.Generator) -> NoisyPart:
    """A part whose every measure has this truth in the groups of each level, in steps of a row."""
    part = priced.parts[0]
    groups = declared_groups(part)
    level = level_of(groups)
    measures = {}
    for task, step in priced.steps:
        for name in task.measures:
            shares = next(measure.shares for measure in part.measures if measure.name == name)
            share = np.array(shares or [1] * (level.max() + 1))[level]
            size = float(step.mechanism.magnitude)
            measures[name] = Noisy(truth * share + rng.normal(0, size, len(truth)), "gaussian", size)
    return NoisyPart(groups=groups, measures=measures, quantiles={}, ends={})


def totals(groups: Any, cells: dict[tuple[Any, ...], float]) -> np.ndarray:
    """What each group is the sum of."""
    columns = [groups.column(place) for place in range(3)]
    level, *keys = columns
    there = {}
    for number in set(level):
        some = [row for row in zip(*columns, strict=True) if row[0] == number]
        there[number] = [any(row[1 + place] is not None for row in some) for place in range(2)]
    found = []
    for number, *key in zip(level, *keys, strict=True):
        wanted = [value for cell, value in cells.items()
                  if all(not there[number][i] or cell[i] == key[i] for i in range(2))]  # fmt: skip
        found.append(sum(wanted))
    return np.array(found)


@pytest.fixture(scope="module")
def cells() -> dict[tuple[Any, ...], float]:
    groups = declared_groups(planned("ROLLUP (ward, urgent)").parts[0])
    rng = np.random.default_rng(3)
    rows = zip(groups.column(0), groups.column(1), groups.column(2), strict=True)
    return {(ward, urgent): float(rng.integers(100, 900)) * 2**10 for level, ward, urgent in rows if level == 0}


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_errors_are_smaller_and_known(grouping: str, cells: dict[tuple[Any, ...], float]) -> None:
    priced = planned(grouping)
    part = priced.parts[0]
    groups = declared_groups(part)
    level, truth, rng = level_of(groups), totals(groups, cells), np.random.default_rng(5)
    (name, *_) = part.measures[0].name, None
    runs = [fitted(part, drawn(priced, truth, rng)).measures[name] for _ in range(400)]
    errors = np.array([run.values - truth for run in runs])
    found = np.sqrt((errors**2).mean(axis=0))
    assert np.allclose(found, runs[0].size, rtol=0.15)  # 400 draws: 3.5 % each
    inside = np.abs(errors) <= 1.96 * runs[0].size
    assert abs(inside.mean() - 0.95) < 0.01
    # before: the same clip and price with equal shares, each level as it was measured
    shares = part.measures[0].shares or (1,) * (level.max() + 1)
    size = float(drawn(priced, truth, rng).measures[name].size)
    before = size * np.sqrt(len(shares) / sum(share**2 for share in shares))
    assert (runs[0].size <= before * (1 + 1e-6)).all()
    assert runs[0].size.mean() < 0.95 * before  # type: ignore[union-attr]  # one for each group


@pytest.mark.parametrize("grouping", GROUPINGS[:2])
def test_totals_are_the_sums_of_their_parts(grouping: str, cells: dict[tuple[Any, ...], float]) -> None:
    priced = planned(grouping)
    groups = declared_groups(priced.parts[0])
    rng = np.random.default_rng(7)
    found = fitted(priced.parts[0], drawn(priced, totals(groups, cells), rng))
    for noisy in found.measures.values():
        finest = {
            (ward, urgent): value
            for number, ward, urgent, value in zip(*(groups.column(i) for i in range(3)), noisy.values, strict=True)
            if number == 0
        }
        assert np.allclose(totals(groups, finest), noisy.values, rtol=1e-9, atol=1e-3)


def test_intervals_of_an_answer_are_those_of_the_fit(cells: dict[tuple[Any, ...], float]) -> None:
    priced = planned("ROLLUP (ward, urgent)")
    groups = declared_groups(priced.parts[0])
    truth, rng = totals(groups, cells), np.random.default_rng(9)
    inside = []
    for _ in range(150):
        answer = assemble(priced, [drawn(priced, truth, rng)])
        for name, low, high in (("n", *answer.intervals["n"]), ("m", *answer.intervals["m"])):
            half = next(recipe.half for recipe in priced.recipes if recipe.name.startswith("count"))
            middle = next(recipe for recipe in priced.recipes if recipe.name.startswith("avg"))
            # every measure has the same truth, so the average is one half of the range above its middle
            wanted = truth / half if name == "n" else [float(middle.middle + middle.step * middle.half)] * len(truth)
            inside += [a <= b <= c for a, b, c in zip(low, wanted, high, strict=True)]
    assert np.mean(inside) > 0.94
    table = assemble(priced, [drawn(priced, truth, rng)]).table
    assert len(table) == len(groups)


def test_laplace_noise_is_not_fitted() -> None:
    priced = planned("ROLLUP (ward, urgent)", currency="epsilon", amount=1)
    part = priced.parts[0]
    assert priced.norm == "l1"
    assert not any(measure.shares for measure in part.measures)
    groups = declared_groups(part)
    noisy = Noisy(np.arange(len(groups), dtype=float), "laplace", 3.0)
    found = fitted(part, NoisyPart(groups=groups, measures={part.measures[0].name: noisy}, quantiles={}, ends={}))
    assert found.measures[part.measures[0].name] is noisy


def test_shares_move_the_noise_and_not_the_truth() -> None:
    """Without noise a fit changes nothing that adds up."""
    tables = LevelTables((3, 2), ((0, 1), (0,), ()), (9, 7, 8))
    finest = np.arange(6.0).reshape(3, 2)
    found = tables.fitted([finest, finest.sum(axis=1), finest.sum()])
    assert np.allclose(found[0], finest)
    assert np.allclose(found[1], finest.sum(axis=1))
    assert np.isclose(found[2], finest.sum())


def test_the_levels_of_a_whole_question_add_up(tmp_path: Path) -> None:
    """Through the engine, with what comes before and after."""
    sql = "SELECT ward, urgent, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ROLLUP (ward, urgent)"
    with Session(hospital(tmp_path, limit=1000), "ana") as session:
        quoted = session.quote(sql, rho=2)
        assert "by grouping" in quoted.expected[0].words
        found = session.ask(sql, rho=2).table.to_pylist()
    by_ward = {row["ward"]: row["s"] for row in found if row["urgent"] is None and row["ward"] is not None}
    for ward, total in by_ward.items():
        parts = [row["s"] for row in found if row["ward"] == ward and row["urgent"] is not None]
        assert abs(sum(parts) - total) < 0.02 * len(parts) + 1e-6 * abs(total)
    (whole,) = [row for row in found if row["ward"] is None]
    assert abs(sum(by_ward.values()) - whole["s"]) < 1e-3 + 1e-6 * abs(whole["s"])
