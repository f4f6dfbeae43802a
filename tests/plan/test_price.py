"""Programs cost what was offered, and state what the relation makes of a clip."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import pytest

from support.databases import CATALOG
from tacit.base import InputError, Refused, Relation
from tacit.loss import ZCDP
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, Exponential, KeyedCounts, KeySelection
from tacit.plan.bound import bound
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.describe import describe
from tacit.plan.keys import by_counts
from tacit.plan.price import Budget, PricedPlan, price, reach, rho_of
from tacit.sql import lower, parse

DELTA = Fraction(1, 10**6)
ROWS = Contribution(rows=Fraction(3))
SHOWING = KeySelection | KeyedCounts
ADD, SWAP = Relation.ADD_REMOVE, Relation.REPLACE


def priced(sql: str, said: Contribution = ROWS, relation: Relation = ADD, **offer: Any) -> PricedPlan:
    currency: Literal["rho", "epsilon"] = "rho" if "rho" in offer else "epsilon"
    budget = Budget(currency=currency, amount=Fraction(offer[currency]), delta=Fraction(offer.get("delta", 0)))
    return price(lower(parse(sql), CATALOG), budget, relation=relation, unit="patient", contribution=said)


BY_WARD = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"


def only_reach(sql: str, relation: Relation, **offer: Any) -> Fraction:
    found = priced(sql, relation=relation, **offer)
    part = found.parts[0]
    (clip,) = part.clips
    assert clip.bound is not None
    return reach(clip, relation, part) / clip.bound


@pytest.mark.parametrize(
    ("sql", "l1", "square"),
    [
        ("SELECT COUNT(*) FROM visits", 1, 1),  # one number, never negative
        ("SELECT SUM(cost) FROM visits", 1, 1),
        ("SELECT SUM(change) FROM visits", 2, 4),
        ("SELECT AVG(cost) FROM visits", 2, 4),  # two numbers, one with a sign
        (BY_WARD, 2, 2),  # from one group to another
        ("SELECT ward, SUM(cost) FROM visits GROUP BY ward", 2, 2),
        ("SELECT ward, SUM(change) FROM visits GROUP BY ward", 2, 4),
        ("SELECT ward, COUNT(DISTINCT note, max_values_per_unit => 2) FROM visits GROUP BY ward", 2, 2),
    ],
)
def test_reach(sql: str, l1: int, square: int) -> None:
    assert only_reach(sql, ADD, epsilon=1) == only_reach(sql, ADD, rho=1) == 1
    assert only_reach(sql, SWAP, epsilon=1) == l1
    found = only_reach(sql, SWAP, rho=1)
    assert square <= found**2 <= square + Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("said", "kinds", "classes"),
    [
        (
            PRIVATE,
            ["choose", "select", "noise"],
            [Exponential, KeySelection, DiscreteGaussian],
        ),  # a choice for both clips
        (Fraction(2), ["noise"], [KeyedCounts]),  # the count decides on keys, for no share of the price
        (Fraction(9), ["select", "noise"], [KeySelection, DiscreteGaussian]),
    ],
)
def test_mechanisms_of_a_question(said: Any, kinds: list[str], classes: list[type]) -> None:
    sql = "SELECT note, COUNT(*), MEDIAN(cost) FROM visits GROUP BY note"
    found = priced(sql, Contribution(rows=said), rho=1, delta=DELTA)
    assert [task.kind for task, _ in found.steps] == [*kinds, "quantiles", "ends"]
    assert [type(step.mechanism) for _, step in found.steps] == [*classes, BinnedQuantiles, BinnedQuantiles]
    assert found.program.cost.rho is not None
    assert Fraction(999, 1000) < found.program.cost.rho <= 1
    assert found.program.cost.delta == DELTA


BY_NOTE = "SELECT note, COUNT(*) FROM visits GROUP BY note"


def test_unlisted_keys_in_an_account_in_epsilon() -> None:
    """Half of δ is for the keys, and Gaussian noise is for clips that may cut much, or are not known."""
    for said, norm in ((Fraction(1), "l1"), (Fraction(3), "l2"), (Fraction(9), "l2"), (PRIVATE, "l2")):
        found = priced(BY_NOTE, Contribution(rows=said), epsilon=1, delta=DELTA)
        cost = found.program.cost
        assert found.norm == norm
        assert cost.epsilon is not None
        assert cost.epsilon <= 1
        assert cost.delta == DELTA
        (delta,) = [step.mechanism.delta for _, step in found.steps if isinstance(step.mechanism, SHOWING)]
        assert delta == (DELTA / 2 if norm == "l2" else DELTA)
        assert found.program.delta == (DELTA if norm == "l2" else None)


@pytest.mark.parametrize("said", [Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("offer", [{"epsilon": 1}, {"rho": 1}])
@pytest.mark.parametrize("relation", [ADD, SWAP])
def test_a_threshold_is_for_all_that_a_unit_may_count(said: Any, offer: dict[str, Any], relation: Relation) -> None:
    """It hides keys of vectors as large as the clip lets through, and the noise is for as large ones: of a bound that
    is chosen later both are in units of it."""
    found = priced("SELECT note, COUNT(DISTINCT patient_id) FROM visits GROUP BY note", Contribution(rows=said),
                   relation, delta=DELTA, **offer)  # fmt: skip
    ((task, step),) = [(t, s) for t, s in found.steps if isinstance(s.mechanism, KeyedCounts)]
    assert isinstance(step.mechanism, KeyedCounts)
    most = found.clip_of(task).bound
    assert task.scaled == (most is None)
    assert step.mechanism.most == (1 if most is None else most)
    norm = step.mechanism.norm
    assert step.sensitivity is not None
    assert step.sensitivity.require(norm) >= step.mechanism.reach(relation).require(norm) > 0


def test_which_count_decides_on_keys() -> None:
    said = Contribution(rows=Fraction(1))
    asked = {
        "COUNT(*)": "m1",
        "SUM(age), COUNT(*)": "m2",
        "COUNT(*), COUNT(DISTINCT patient_id)": "m2",
        "COUNT(cost)": None,  # of rows with a cost: a group may have none
        "COUNT_IF(urgent)": None,
        "COUNT(DISTINCT age, max_values_per_unit => 2)": None,
        "SUM(cost)": None,
        "MEDIAN(cost)": None,
    }
    for what, name in asked.items():
        part = priced(f"SELECT note, {what} FROM visits GROUP BY note", said, rho=1, delta=DELTA).parts[0]
        assert (part.counted, part.presence is None) == (name, name is not None), what
        assert ("counted" in describe(part)) == (name is not None)  # programs of old keep their names
    for what, there in (("AVG(age)", False), ("AVG(level)", True)):  # age may be NULL
        lowered = lower(parse(f"SELECT note, {what} FROM visits GROUP BY note"), CATALOG)
        assert (by_counts(bound(lowered, norm="l2", contribution=said)) is not None) == there


@pytest.mark.parametrize("relation", [ADD, SWAP])
@pytest.mark.parametrize("said", [ROWS, Contribution(rows=PRIVATE)])
@pytest.mark.parametrize("amount", ["0.001", "1", "1000"])
def test_the_whole_budget_is_used_and_no_more(amount: str, said: Contribution, relation: Relation) -> None:
    sql = "SELECT note, AVG(cost), SUM(change), MEDIAN(age), COUNT(DISTINCT patient_id) FROM visits GROUP BY note"
    for offer in ({"rho": amount}, {"epsilon": amount}):
        cost = priced(sql, said, relation, **offer, delta=DELTA).program.cost
        spent = cost.rho if "rho" in offer else cost.epsilon
        assert spent is not None
        least = Fraction(99, 100) if "rho" in offer else Fraction(93, 100)  # ε buys Gaussian noise by its ρ
        assert Fraction(amount) * least <= spent <= Fraction(amount)
        assert cost.delta == DELTA


def test_many_groups_are_cheaper_with_gaussian_noise() -> None:
    by_day = "SELECT ward, day, COUNT(*) FROM visits GROUP BY ward, day"
    spread = Contribution(max_groups=100, rows_per_group=1)
    gaussian = priced(by_day, spread, epsilon=1, delta=DELTA)
    assert isinstance(gaussian.steps[0][1].mechanism, DiscreteGaussian)
    assert gaussian.program.cost.epsilon is not None
    assert gaussian.program.cost.epsilon <= 1
    assert gaussian.program.cost.delta == DELTA
    for same in (priced(by_day, spread, epsilon=1), priced("SELECT COUNT(*) FROM visits", epsilon=1, delta=DELTA)):
        assert isinstance(same.steps[0][1].mechanism, DiscreteLaplace)
        assert same.program.cost.delta == 0


def test_unknown_groups_need_a_delta() -> None:
    with pytest.raises(Refused, match="delta"):
        priced("SELECT note, COUNT(*) FROM visits GROUP BY note", epsilon=1)


def test_rho_within_epsilon_and_delta() -> None:
    for epsilon in (Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(20), Fraction(10**4)):
        for delta in (DELTA, Fraction(1, 10**12), Fraction(1, 3)):
            rho = rho_of(epsilon, delta)
            assert ZCDP(rho).epsilon(delta).upper <= epsilon
            assert ZCDP(rho * (1 + Fraction(1, 10**8))).epsilon(delta).upper > epsilon
    with pytest.raises(InputError, match="raise one"):
        rho_of(Fraction(1, 10**30), Fraction(1, 10**300))


def test_the_same_measures_shown_in_another_way_are_the_same_program() -> None:
    """What is stored is the noisy measures, so another view of them is free."""
    views = [
        BY_WARD,
        BY_WARD.lower(),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) + 1 FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 9",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 2 DESC",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 1",
        "SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward",
    ]
    others = [
        "SELECT ward, COUNT(*) FROM visits WHERE urgent GROUP BY ward",
        "SELECT ward, COUNT(cost) FROM visits GROUP BY ward",
        "SELECT urgent, COUNT(*) FROM visits GROUP BY urgent",
    ]
    same = {priced(sql, epsilon=1).program.hash for sql in views}
    assert len(same) == 1
    assert len(same | {priced(sql, epsilon=1).program.hash for sql in others}) == 1 + len(others)
    assert priced(BY_WARD, epsilon=2).program.hash not in same


def test_the_step_whose_noise_an_aggregate_has() -> None:
    found = priced("SELECT SUM(cost), SUM(age), MEDIAN(age) FROM visits", epsilon=1)
    for recipe in found.recipes:
        step, clip = found.noise_in(recipe)
        assert step.task is not None
        assert step.task.measures == clip.names == recipe.inputs
        assert step.task.kind == ("ends" if recipe.function == "quantile" else "noise")
    with pytest.raises(InputError, match="no step adds noise to m9"):
        found.noise_in(replace(found.recipes[0], inputs=("m9",)))
