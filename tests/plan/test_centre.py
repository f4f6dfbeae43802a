"""What averages are measured from, where the clip is chosen privately: its ranks, its price, its measures."""

from fractions import Fraction
from typing import Any

import pytest

from support.databases import CATALOG
from tacit.base import Relation
from tacit.mechanism import BinnedQuantiles
from tacit.plan.centre import ONE, centre_part, with_centre
from tacit.plan.choice import units_above
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.price import Budget, PricedPlan, price
from tacit.program import Program
from tacit.sql import lower, parse

FREE = Contribution(rows=PRIVATE)
PURE = Budget(currency="epsilon", amount=Fraction(1))
BY_WARD = "SELECT ward, AVG(cost) FROM visits GROUP BY ward"
RHO = Budget(currency="rho", amount=Fraction(1, 2), delta=Fraction(1, 10**6))


def planned(sql: str, said: Contribution = FREE, budget: Budget = PURE, **how: Any) -> PricedPlan:
    terms = {"relation": Relation.ADD_REMOVE, "unit": "patient", "contribution": said, **how}
    return price(lower(parse(sql), CATALOG), budget, **terms)


@pytest.mark.parametrize(
    ("sql", "said", "centres"),
    [
        ("SELECT AVG(cost) FROM visits", FREE, 1),
        ("SELECT ward, AVG(cost), AVG(cost) + 1, AVG(age) FROM visits GROUP BY ward", FREE, 2),
        ("SELECT AVG(cost) FROM visits", Contribution(rows=Fraction(3)), 0),
        ("SELECT AVG(cost), SUM(cost), COUNT(cost) FROM visits", FREE, 1),
        ("SELECT STDDEV(cost) FROM visits", FREE, 0),
        ("SELECT AVG(bonus) FROM staff", FREE, 0),  # rows are units
    ],
)
def test_which_averages_have_one(sql: str, said: Contribution, centres: int) -> None:
    plan = planned(sql, said)
    assert len(plan.parts[0].centres) == centres
    assert [task.kind for task, _ in plan.steps].count("centre") == centres


@pytest.mark.parametrize("budget", [PURE, RHO])
@pytest.mark.parametrize("relation", list(Relation)[:2])
def test_its_step_is_a_small_part_of_the_price(budget: Budget, relation: Relation) -> None:
    plan = planned("SELECT ward, AVG(cost) FROM visits GROUP BY ward", budget=budget, relation=relation)
    kinds = [task.kind for task, _ in plan.steps]
    assert kinds == ["centre", "choose", "noise"]  # in the order in which they are needed
    step = plan.steps[0][1]
    assert isinstance(step.mechanism, BinnedQuantiles)
    assert step.sensitivity is not None
    assert step.sensitivity.dimension == 1
    assert step.sensitivity.require("l1") == ONE
    loss = step.loss(relation=relation, unit="patient").cost()
    part = loss.epsilon if budget is PURE else loss.rho
    assert part is not None
    assert Fraction(1, 20) < part / budget.amount < Fraction(1, 8)
    assert Program.from_json(plan.program.json()) == plan.program


def test_a_unit_weighs_as_much_as_a_row() -> None:
    part = planned("SELECT ward, AVG(cost) FROM visits GROUP BY ward").parts[0]
    alone = centre_part(part, part.centres[0], "l1")
    assert not alone.keys
    assert not alone.measures
    assert [clip.bound for clip in alone.clips] == [alone.ranks[0].one] == [ONE]
    assert not alone.clips[0].exempt


@pytest.mark.parametrize("cells", [(0, 0), (0, 255), (100, 160), (250, 251)])
def test_measures_from_it_reach_both_ends(cells: tuple[int, int]) -> None:
    part = planned("SELECT AVG(change) FROM visits").parts[0]  # of −40..25
    last = part.centres[0].ranks.cells - 1
    found = with_centre(part, 0, (min(cells[0], last), min(cells[1], last)))
    (centre,), (count, total), (clip,) = found.centres, found.measures, found.clips
    assert centre.middle is not None
    assert centre.row is not None
    assert -41 < centre.middle < 26
    assert total.low * centre.step + centre.middle <= -40 < 25 <= total.high * centre.step + centre.middle
    assert count.low == count.high == centre.row == clip.edges[0]
    assert 2**10 <= centre.row <= total.high - total.low
    assert (clip.bound, clip.by_rows) == (None, False)


def test_units_above_its_bound_go_by_a_root_of_their_number() -> None:
    """More than for totals, the more groups there are; but few beside a count or a sum, which lose what is clipped."""
    for sql in ("SELECT AVG(cost) FROM visits", BY_WARD):
        total, task = planned(sql.replace("AVG", "SUM")).steps[0][0], planned(sql).steps[1][0]
        beside = planned(sql.replace("AVG(cost)", "AVG(cost), COUNT(cost)")).steps[1][0]
        assert task.kind == total.kind == beside.kind == "choose"
        assert (task.target, total.root, beside.root) == (None, None, None)
        assert task.root is not None
        assert task.most is not None
        assert total.target is not None
        assert beside.target is not None
        assert total.target <= beside.target <= 1.5 * total.target
        assert units_above(task, 20_000) > 4 * total.target
        assert units_above(task, 10**9) == task.most < 16 * total.target  # or it would lean beyond its noise
    one, many = planned("SELECT AVG(cost) FROM visits").steps[1][0], planned(BY_WARD).steps[1][0]
    assert units_above(one, 20_000) < units_above(many, 20_000)


def test_units_above_the_bound_of_a_quantile_do_not_go_on_growing() -> None:
    """Half of all, until what that takes from weights moves a quantile farther than noise does."""
    for budget, most in ((PURE, 50 * 4), (RHO, 50 * 4 / 4)):  # of 4 wards, over ε² or 8ρ of the quantile alone
        task = planned(BY_WARD.replace("AVG", "MEDIAN"), budget=budget).steps[0][0]
        assert (task.kind, task.target, task.root) == ("choose", None, None)
        assert task.most is not None
        assert most < task.most < 2 * most
        assert units_above(task, 100) == 50
        assert units_above(task, 10**6) == task.most


def test_rows_count_twice_as_much_where_few_numbers_are_told() -> None:
    """A large part of a clip for rows makes little of unusual values, which intervals do not cover."""
    more = BY_WARD.replace("AVG(cost)", "AVG(cost), COUNT(cost)")
    for sql, times in ((BY_WARD, 1), ("SELECT AVG(cost) FROM visits", 2), (more, 2)):
        assert [centre.times for centre in planned(sql).parts[0].centres] == [times]


def test_keys_are_not_shown_by_a_count_beside_it() -> None:
    """What a row counts there is chosen later, so nothing tells beforehand how many rows a group needs."""
    beside, apart = (
        planned(f"SELECT note, COUNT(*), AVG({x}) FROM visits GROUP BY note", budget=RHO) for x in ("narrow", "cost")
    )
    assert len(beside.parts[0].clips) == 1
    assert beside.parts[0].counted is None
    assert [task.kind for task, _ in beside.steps] == ["centre", "choose", "select", "noise"]
    (counts, averages) = apart.parts[0].clips
    assert apart.parts[0].counted in (None, counts.names[0])
    assert apart.parts[0].counted not in averages.names
