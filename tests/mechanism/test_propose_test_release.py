"""Propose-test-release: distances against brute force, the guarantee on every small dataset, answers and refusals."""

import itertools
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cache, partial
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError, Relation, RelationError
from tacit.loss import Approx, Pure
from tacit.mechanism.mechanism import Pmf
from tacit.mechanism.propose_test_release import ProposeTestRelease, distance_to_gap, least_threshold
from tacit.noise import uniform

Records = tuple[Any, ...]


def hockey_stick(left: Pmf, right: Pmf, epsilon: float) -> float:
    return sum(max(0.0, p - exp(epsilon) * right.get(o, 0.0)) for o, p in left.items())


def both_ways(left: Pmf, right: Pmf, epsilon: float) -> float:
    return max(hockey_stick(left, right, epsilon), hockey_stick(right, left, epsilon))


def numeric(
    statistic: str, *, bound: int, top: int, test: str = "1", noise: str = "1", delta: str = "0.05"
) -> ProposeTestRelease:
    return ProposeTestRelease(
        statistic=statistic,
        test_scale=Fraction(test),
        delta=Fraction(delta),
        bound=Fraction(bound),
        noise_scale=Fraction(noise) if bound else None,
        lower=Fraction(0),
        upper=Fraction(top),
    )


def mode(relation: Relation = Relation.REPLACE, *, test: str = "1", delta: str = "0.05") -> ProposeTestRelease:
    return ProposeTestRelease(
        statistic="mode",
        test_scale=Fraction(test),
        delta=Fraction(delta),
        categories=("a", "b", "c"),
        relation=relation,
    )


def replaced(x: Records, domain: Records) -> set[Records]:
    return {tuple(sorted((*x[:i], v, *x[i + 1 :]))) for i in range(len(x)) for v in domain}


def grown(x: Records, domain: Records) -> set[Records]:
    return {x[:i] + x[i + 1 :] for i in range(len(x))} | {tuple(sorted((*x, v))) for v in domain}


def rank_statistic(name: str) -> Callable[[Records], Any]:
    def at(x: Records, share: Fraction) -> Any:
        return sorted(x)[-int(-share * len(x) // 1) - 1]

    if name == "median":
        return lambda x: at(x, Fraction(1, 2))
    return lambda x: at(x, Fraction(3, 4)) - at(x, Fraction(1, 4))


def brute_distance(x: Records, near: Callable[[Records], set[Records]], unstable: Callable[[Records], bool]) -> int:
    """Walk outward from x until something unstable is met."""
    seen, shell, steps = {x}, {x}, 0
    while not any(unstable(y) for y in shell):
        shell = {z for y in shell for z in near(y)} - seen
        seen |= shell
        steps += 1
    return steps


@pytest.mark.parametrize("statistic", ["median", "iqr"])
@pytest.mark.parametrize(("top", "n"), [(4, 1), (5, 2), (4, 3), (3, 4), (3, 5), (2, 6), (2, 7), (2, 8)])
def test_distance_is_the_definition(statistic: str, top: int, n: int) -> None:
    if statistic == "iqr" and n == 1:
        return
    value, domain = rank_statistic(statistic), tuple(range(top + 1))

    @cache
    def near(x: Records) -> set[Records]:
        return replaced(x, domain)

    @cache
    def local(x: Records) -> int:
        return int(max(abs(value(x) - value(y)) for y in near(x)))

    def above(limit: int, x: Records) -> bool:
        return local(x) > limit

    for bound in range(top):
        m = numeric(statistic, bound=bound, top=top)
        for x in itertools.combinations_with_replacement(domain, n):
            assert m._measured(x) == (value(x), brute_distance(x, near, partial(above, bound)))


@pytest.mark.parametrize("relation", list(Relation))
def test_distance_of_the_mode_is_the_definition(relation: Relation) -> None:
    m, domain = mode(relation), ("a", "b", "c")

    def winner(x: Records) -> str:
        return max(domain, key=lambda c: (x.count(c), -domain.index(c)))

    @cache
    def near(x: Records) -> set[Records]:
        return replaced(x, domain) if relation is Relation.REPLACE else grown(x, domain)

    @cache
    def unstable(x: Records) -> bool:
        return any(winner(y) != winner(x) for y in near(x))

    for n in range(0 if relation is Relation.ADD_REMOVE else 1, 7):
        for x in itertools.combinations_with_replacement(domain, n):
            assert m._measured(x) == (winner(x), brute_distance(x, near, unstable))


@pytest.mark.parametrize("statistic", ["median", "iqr"])
@pytest.mark.parametrize(("top", "n"), [(4, 2), (3, 4), (2, 6)])
@pytest.mark.parametrize(("test", "noise", "delta"), [("1", "1", "0.05"), ("1/3", "1", "0.2"), ("3", "1/2", "0.001")])
def test_guarantee_on_all_small_neighbours(statistic: str, top: int, n: int, test: str, noise: str, delta: str) -> None:
    domain, pairs, spent = tuple(range(top + 1)), 0, 0.0
    for bound in range(top):
        m = numeric(statistic, bound=bound, top=top, test=test, noise=noise, delta=delta)
        claim = m.loss()
        laws = {x: m.pmf(x) for x in itertools.combinations_with_replacement(domain, n)}
        for x in laws:
            for y in replaced(x, domain):
                pairs += 1
                worst = hockey_stick(laws[x], laws[y], float(claim.bound))
                assert worst <= float(claim.slack) * (1 + 1e-9)
                spent = max(spent, worst)
    assert pairs > 50
    assert spent > 0  # unstable neighbours that pass are told apart: delta is needed


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("test", "delta"), [("1", "0.05"), ("1/4", "0.3"), ("4", "0.01")])
def test_guarantee_of_the_mode_on_all_small_neighbours(relation: Relation, test: str, delta: str) -> None:
    m, domain = mode(relation, test=test, delta=delta), ("a", "b", "c")
    claim, spent = m.loss(), 0.0
    for n in range(1, 9):
        for x in itertools.combinations_with_replacement(domain, n):
            for y in replaced(x, domain) if relation is Relation.REPLACE else grown(x, domain):
                worst = hockey_stick(m.pmf(x), m.pmf(y), float(claim.bound))
                assert worst <= float(claim.slack) * (1 + 1e-9)
                spent = max(spent, worst)
    # two winners one change apart, each released with the probability of passing at distance 0
    rate = 1 / float(m.test_scale)
    assert spent == pytest.approx(exp(-rate * m.threshold) / (1 + exp(-rate)), rel=1e-9)


@pytest.mark.parametrize("index", range(len(ProposeTestRelease.examples())))
def test_claims_hold_and_are_attained(index: int) -> None:
    example = ProposeTestRelease.examples()[index]
    claim = example.claim
    assert isinstance(claim, Approx)
    left, right = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    epsilon, delta = float(claim.bound), float(claim.slack)
    assert both_ways(left, right, epsilon) <= delta
    assert example.tight
    assert both_ways(left, right, 0.99 * epsilon) > delta


@pytest.mark.parametrize("delta", ["0.9", "0.3", "1e-6", "1e-400"])
@pytest.mark.parametrize("scale", ["1/7", "1", "25"])
def test_threshold_is_the_least_with_a_small_enough_tail(scale: str, delta: str) -> None:
    # compared in logarithms, in which the tail is −m/scale − log(1 + r)
    s, d = Fraction(scale), Fraction(delta)
    found = least_threshold(s, d)
    limit = np.log(float(d.numerator)) - float(len(str(d.denominator)) - 1) * np.log(10) + np.log1p(exp(-1 / float(s)))
    assert -found / float(s) <= limit + 1e-9
    assert found == 0 or -(found - 1) / float(s) > limit - 1e-9


def test_unstable_records_pass_with_probability_below_delta() -> None:
    m = numeric("median", bound=1, top=10, delta="1e-4", test="2")
    refused = m.pmf((0, 10))[None]
    assert 0.3e-4 < 1 - refused <= 1e-4


def test_loss_formula_and_from_loss() -> None:
    m = numeric("median", bound=3, top=10, test="4", noise="12")
    assert m.loss(unit="user") == Approx("1/2", "0.05", relation=Relation.REPLACE, unit="user")
    for share in ("1/2", "1/5"):
        claim = Approx("0.8", "1e-6", relation=Relation.REPLACE)
        fitted = ProposeTestRelease.from_loss(claim, statistic="iqr", bound=3, lower=0, upper=10, test_share=share)
        assert fitted.loss() == claim
        assert fitted.test_scale == 1 / (Fraction("0.8") * Fraction(share))
    both = Approx("0.8", "1e-6", relation=Relation.ADD_REMOVE)
    fitted = ProposeTestRelease.from_loss(both, statistic="mode", categories=("a", "b"), relation=Relation.ADD_REMOVE)
    assert fitted.loss() == both
    assert fitted.test_scale == Fraction(5, 4)


@pytest.mark.parametrize(
    ("m", "values"),
    [
        (numeric("median", bound=1, top=6, test="2"), (0, 2, 2, 2, 3, 3, 4, 6)),
        (numeric("iqr", bound=2, top=6, test="2", noise="1/2"), (0, 2, 2, 2, 3, 3, 4, 6)),
        (numeric("median", bound=0, top=6, test="2"), (2,) * 9),
        (mode(test="2"), ("a",) * 9 + ("b",) * 2),
    ],
)
def test_sample_follows_pmf(m: ProposeTestRelease, values: Records) -> None:
    runs, rng, law = 4_000, FixedRng(1), m.pmf(values)
    seen: Counter[Hashable] = Counter(m.sample(values, rng) for _ in range(runs))
    assert sum(law.values()) == pytest.approx(1, rel=1e-9)
    assert 0.02 < law[None] < 0.98
    for output, p in law.items():
        assert abs(seen[output] - runs * p) <= 6 * sqrt(runs * p * (1 - p)) + 6


def test_stable_records_are_answered_and_unstable_ones_refused() -> None:
    claim = Approx(1, "1e-6", relation=Relation.REPLACE)
    rng = FixedRng(2)
    m = ProposeTestRelease.from_loss(claim, statistic="median", bound=10, lower=0, upper=10_000)
    stable, torn = 5_000 + uniform(200, 2_000, rng), np.repeat([0, 10_000], 1_000)
    answers = [m.sample(stable, rng) for _ in range(200)]
    true, width = int(np.sort(stable)[999]), m.error("0.99")
    assert None not in answers
    assert sum(abs(a - true) > width for a in answers) <= 12  # 2 expected
    assert {m.sample(torn, rng) for _ in range(200)} == {None}
    spread = ProposeTestRelease.from_loss(claim, statistic="iqr", bound=10, lower=0, upper=10_000)
    lopsided = np.repeat([0, 10_000], [1_500, 500])  # the third quartile hangs on one record
    assert None not in [spread.sample(stable, rng) for _ in range(50)]
    assert {spread.sample(lopsided, rng) for _ in range(50)} == {None}


def test_mode_is_exact_or_refused() -> None:
    m, rng = mode(test="2", delta="1e-6"), FixedRng(3)
    clear, tie = ["b"] * 500 + ["a"] * 100, ["a"] * 300 + ["b"] * 300
    assert {m.sample(clear, rng) for _ in range(200)} == {"b"}
    assert {m.sample(tie, rng) for _ in range(200)} == {None}
    assert m._measured(("c", "b", "b", "c")) == ("b", 0)  # the first category wins a tie


def test_many_records_are_fast_and_order_does_not_matter() -> None:
    records = uniform(10**9, 100_000, FixedRng(4))
    ordered = np.sort(records)
    far = distance_to_gap(ordered, 50_000, 10**9, 10**6)
    assert 50 < far < 150  # ten thousand steps a record
    m = numeric("median", bound=10**6, top=10**9)
    assert m._measured(records) == m._measured(ordered) == (int(ordered[49_999]), far)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"statistic": "mean"}, "statistic"),
        ({"test_scale": 0}, "test_scale"),
        ({"test_scale": float("inf")}, "test_scale"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"bound": "1/2"}, "bound"),
        ({"bound": -1}, "bound"),
        ({"bound": 10}, "bound"),
        ({"bound": 0}, "noise_scale"),
        ({"noise_scale": None}, "noise_scale"),
        ({"noise_scale": 0}, "noise_scale"),
        ({"lower": None}, "lower"),
        ({"upper": 0}, "lower"),
        ({"granularity": 0}, "granularity"),
        ({"categories": ("a", "b")}, "categories"),
        ({"relation": "neighbour"}, "relation"),
        ({"statistic": "mode", "categories": ("a", "b")}, "leave out"),
    ],
)
def test_bad_parameters_are_named(wrong: dict[str, Any], cause: str) -> None:
    good: dict[str, Any] = {
        "statistic": "median", "test_scale": 1, "delta": "0.1", "bound": 2, "noise_scale": 1, "lower": 0, "upper": 10
    }  # fmt: skip
    with pytest.raises(InputError, match=cause):
        ProposeTestRelease(**(good | wrong))


@pytest.mark.parametrize("categories", [(), ("a",), ("a", "a"), ("a", None)])
def test_bad_categories_are_refused(categories: Records) -> None:
    with pytest.raises(InputError, match="categories"):
        ProposeTestRelease(statistic="mode", test_scale=Fraction(1), delta=Fraction("0.1"), categories=categories)


def test_relations_are_kept_apart() -> None:
    with pytest.raises(RelationError, match="replacement"):
        ProposeTestRelease(
            statistic="median", test_scale=Fraction(1), delta=Fraction("0.1"), lower=Fraction(0), upper=Fraction(9),
            relation=Relation.ADD_REMOVE,
        )  # fmt: skip
    with pytest.raises(RelationError, match="replace"):
        mode().loss(relation=Relation.ADD_REMOVE)
    with pytest.raises(RelationError, match="relation"):
        ProposeTestRelease.from_loss(Approx(1, "1e-6"), statistic="mode", categories=("a", "b"))
    with pytest.raises(InputError, match="delta > 0"):
        ProposeTestRelease.from_loss(Pure(1, relation=Relation.REPLACE), statistic="mode", categories=("a", "b"))
    with pytest.raises(InputError, match="sensitivity"):
        mode().loss(1)


def test_bad_records_are_refused() -> None:
    for m, values in (
        (mode(), ("a", "z")),
        (mode(), ()),
        (numeric("median", bound=1, top=5), ()),
        (numeric("median", bound=1, top=5), (6,)),
        (numeric("iqr", bound=1, top=5), (1,)),
    ):
        with pytest.raises(InputError):
            m.sample(values)
