"""Losses of programs: reference values, closed forms, algebra, monotonicity, refusals."""

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import inf, log
from operator import add

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from support.curves import encloses, gaussian, number, response, sampled_gaussian
from tacit.base import InputError, LossError, Relation, RelationError
from tacit.loss import (
    GDP,
    PLD,
    ZCDP,
    Approx,
    DiscreteLaplacePart,
    DiscreteNormal,
    Loss,
    Normal,
    Poisson,
    Pure,
    ResponsePart,
    composed,
    from_json,
)
from tacit.loss.compose import Composition
from tacit.loss.pld import directions
from tacit.loss.sampling import PoissonReplace, WithoutReplacement
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

F = Fraction
FAST = 1e-4


def sgd(rate: str, sigma: str, steps: int, relation: Relation = Relation.ADD_REMOVE) -> PLD:
    """Poisson-sampled Gaussian noise on clipped gradients; replacing one moves the sum twice as far."""
    far = 1 if relation is Relation.ADD_REMOVE else 2
    loss = steps * GDP(far / F(sigma), relation=relation).sampled(F(rate), clipped=relation is Relation.REPLACE)
    assert isinstance(loss, PLD)
    return loss


@pytest.mark.parametrize(
    ("loss", "delta", "low", "high"),
    [
        (sgd("256/60000", "1.1", 14063), "1e-5", 2.381648, 2.381691),
        (sgd("0.01", "1", 10_000), "1e-5", 6.187699, 6.187713),
        (sgd("0.01", "1", 10_000, Relation.REPLACE), "1e-5", 10.880774, 10.880782),
        (sgd("0.08192", "3", 2500), "1e-5", 6.578892, 6.578896),
        (sgd("0.01", "1", 1000), "1e-20", 6.361695, 6.361700),
    ],
    ids=["mnist", "q=.01", "replace", "cifar", "far"],
)
def test_dp_sgd_reference_values(loss: PLD, delta: str, low: float, high: float) -> None:
    found = loss.epsilon(delta, accuracy=FAST)
    assert found.lower <= high
    assert low <= found.upper
    assert found.upper - found.lower <= FAST * found.upper


@pytest.mark.parametrize(("count", "epsilon"), [(1, 4.886554117), (10, 19.423656474), (10_000, 5474.365500195)])
def test_gaussian_reference_values(count: int, epsilon: float) -> None:
    found = (count * GDP(1)).epsilon("1e-6")
    assert found.lower <= epsilon * (1 + 1e-10)
    assert found.upper == pytest.approx(epsilon, rel=1e-10)


def test_laplace_reference_value() -> None:
    """b = 1 × 1000; the lattice is a thousandth of a thousandth of the scale, so nearly continuous."""
    loss = 1000 * PLD.of(((DiscreteLaplacePart(F(10**6), F(10**6)), 1),))
    found = loss.epsilon("1e-6", accuracy=1e-5)
    assert found.lower <= 486.29751 * (1 + 1e-6)
    assert found.upper * (1 + 1e-6) >= 486.29751
    assert found.upper - found.lower <= 1e-5 * found.upper


@pytest.mark.parametrize(
    ("epsilon", "count", "value", "tolerance"), [("0.1", 100, 4.774567588, 1e-9), ("1e-4", 10**6, 0.396856887, 1e-6)]
)
def test_pure_reference_values(epsilon: str, count: int, value: float, tolerance: float) -> None:
    found = (count * Pure(epsilon)).epsilon("1e-6")
    assert found.lower <= value * (1 + tolerance)
    assert value <= found.upper <= value * (1 + tolerance)


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.3, 1.0, 10.0, 1000.0])
def test_gaussian_closed_form_encloses_the_truth(mu: float) -> None:
    """Relative errors of the closed form grow with the cancellation in ε/μ ± μ/2: the interval must know."""
    loss = GDP(mu)
    with mpmath.workdps(60):
        truth = gaussian(number(F(repr(mu)) if F(repr(mu)) > F(mu) else F(mu)))  # a float is read upwards
        for sd in (-9, -3, 0, 1, 4, 10, 30):
            epsilon = max(0.0, mu * mu / 2 + sd * mu)
            found = loss.delta(epsilon)
            assert found.lower <= truth(mpf(epsilon)) <= found.upper
            assert found.upper - found.lower <= 1e-9 * found.upper
        for delta in (0.4, 0.1, 1e-5, 1e-20, 1e-100, 1e-290):
            at = loss.epsilon(F(delta))
            assert encloses(at.lower, at.upper, [truth], F(delta))
            assert at.upper - at.lower <= 1e-10 * at.upper


@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-9])
def test_one_sampled_step_is_the_worse_of_two_closed_forms(delta: float) -> None:
    for mu, rate in ((1.0, "0.1"), (3.0, "0.5"), (0.2, "0.9")):
        found = GDP(F(mu)).sampled(rate).epsilon(F(delta), accuracy=FAST)
        assert encloses(found.lower, found.upper, sampled_gaussian(mu, F(rate)), F(delta))


@pytest.mark.parametrize("mu", [10, 38, 100])
def test_a_large_gaussian_beside_something_else(mu: int) -> None:
    """e^L is no double there. A Gaussian is any number of smaller ones, so nothing need overflow, or be wide."""
    loss = GDP(mu) + Pure(1)
    assert isinstance(loss, PLD)
    found = loss.epsilon("1e-6", accuracy=1e-3)
    assert encloses(found.lower, found.upper, [response(1).then(gaussian(mu))], "1e-6")
    assert found.upper - found.lower <= 1e-2 * found.upper


def test_leaks_compose_exactly() -> None:
    """Σδ overstates the leak of several: 1 − Π(1 − δ) is what happens, and ε is finite from there on."""
    loss = 2 * Approx(1, "0.1")
    assert loss.epsilon("0.18").upper == inf
    for delta in ("0.195", "0.2", "0.3"):
        found = loss.epsilon(delta)
        assert encloses(found.lower, found.upper, [response(1, "0.1").times(2).curve], delta)
    at = loss.delta(10)
    assert at.lower <= 0.19 <= at.upper < 0.19 + 1e-9


def test_pure_at_delta_zero_is_the_sum() -> None:
    assert (3 * Pure("0.7")).epsilon(0).upper >= 2.1
    assert (3 * Pure("0.7")).epsilon(0).lower == pytest.approx(2.1)
    assert (3 * Pure("0.7")).delta(F("2.1")).upper == 0
    assert (3 * Pure("0.7")).delta(2.0999999999999996).upper > 0


@pytest.mark.parametrize("delta", ["1e-17", "1e-30", "1e-300"])
@pytest.mark.parametrize(("epsilon", "count"), [("0.7", 3), ("0.1", 3), ("1/3", 7), ("0.3", 1)])
def test_pure_near_its_top_is_not_rounded_below_the_truth(epsilon: str, count: int, delta: str) -> None:
    found = (count * Pure(epsilon)).epsilon(delta)
    with mpmath.workdps(400):
        assert response(epsilon).times(count).curve(mpf(found.upper)) <= number(delta)


def test_without_replacement_covers_neighbours_that_take_turns() -> None:
    """Two queries, one told apart by the old record and one by the new: (mix, Q) in one step and (Q, mix) in the other.

    Both steps cost the same loss, so the program of two must bound them; neither order alone does.
    """
    for base, rate in (("2", "0.01"), ("2", "0.3"), ("1", "0.5")):
        step = Pure(base, relation=Relation.REPLACE).sampled_without_replacement(rate)
        ahead = response(base).sampled(F(rate))
        turns = ahead * ahead.swapped
        for part in (0.2, 0.5, 0.9):
            epsilon = float(part * mpmath.log1p(number(rate) * mpmath.expm1(number(base))))
            assert (2 * step).delta(epsilon, accuracy=FAST).upper >= turns.curve(mpf(epsilon))


programs: st.SearchStrategy[PLD] = st.one_of(
    st.builds(Pure, st.fractions(F(1, 10), 2, max_denominator=10)),
    st.builds(Approx, st.fractions(F(1, 10), 2, max_denominator=10), st.just(F(1, 10**8))),
    st.builds(GDP, st.fractions(F(1, 10), 3, max_denominator=10)),
    st.builds(
        lambda mu, rate: GDP(mu).sampled(rate),
        st.fractions(F(1, 10), 2, max_denominator=10),
        st.fractions(F(1, 20), F(1, 2), max_denominator=20),
    ),
)


@given(programs, st.integers(1, 40))
def test_n_times_is_n_fold_addition(loss: PLD, n: int) -> None:
    total: Loss = loss
    for _ in range(n - 1):
        total = total + loss
    assert n * loss == total
    assert type(n * loss) is type(total)


@given(programs, programs, programs)
def test_addition_commutes_and_associates(a: PLD, b: PLD, c: PLD) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert hash(a + b) == hash(b + a)


@given(programs, st.lists(st.sampled_from([0.5, 0.1, 1e-3, 1e-6, 1e-10]), min_size=2, max_size=3, unique=True))
def test_epsilon_falls_with_delta(loss: PLD, deltas: list[float]) -> None:
    found = [loss.epsilon(F(delta), accuracy=1e-2) for delta in sorted(deltas, reverse=True)]
    for more, less in pairwise(found):
        assert more.lower <= less.upper
        assert 0 <= more.lower <= more.upper


@given(programs, st.lists(st.floats(0, 6), min_size=2, max_size=3))
def test_delta_falls_with_epsilon_and_inverts_it(loss: PLD, epsilons: list[float]) -> None:
    found = [loss.delta(epsilon, accuracy=1e-2) for epsilon in sorted(epsilons)]
    for more, less in pairwise(found):
        assert more.upper >= less.lower
    assert loss.delta(loss.epsilon("1e-3", accuracy=1e-2).upper, accuracy=1e-2).lower <= 1e-3


@given(programs, programs)
def test_more_mechanisms_never_cost_less(a: PLD, b: PLD) -> None:
    both = a + b
    assert isinstance(both, PLD)
    together = both.epsilon("1e-4", accuracy=1e-2)
    assert together.upper >= max(x.epsilon("1e-4", accuracy=1e-2).lower for x in (a, b))


@pytest.mark.parametrize(
    "ladder",
    [
        [sgd("0.01", "1", n) for n in (1, 10, 200, 3000)],
        [sgd(rate, "1", 100) for rate in ("0.0001", "0.01", "0.3", "0.999")],
        [sgd("0.05", sigma, 100) for sigma in ("20", "2", "1", "0.5")],
        [n * Pure("0.2") for n in (1, 2, 30, 1000)],
    ],
    ids=["count", "rate", "mu", "pure"],
)
def test_more_steps_a_higher_rate_and_less_noise_cost_more(ladder: list[PLD]) -> None:
    found = [loss.epsilon("1e-6", accuracy=1e-3) for loss in ladder]
    for less, more in pairwise(found):
        assert less.upper < more.lower or less.upper == more.upper == 0


def test_sampling_at_rate_one_changes_nothing_and_amplifies_below() -> None:
    assert GDP(1).sampled(1) == GDP(1)
    assert GDP(1).sampled("0.5").epsilon("1e-6", accuracy=FAST).upper < GDP(1).epsilon("1e-6").lower


def test_kinds_are_as_narrow_as_they_can_be() -> None:
    assert type(Pure(1) + Pure(2)) is Pure
    assert type(Pure(1) + Approx(1, "1e-9")) is Approx
    assert GDP(3) + GDP(4) == GDP(5)
    assert type(GDP(1) + Pure(1)) is PLD
    assert type(Pure(1).sampled("0.1")) is Pure
    assert type(GDP(1).sampled("0.1")) is PLD
    assert type(Pure(1) + ZCDP(1)) is ZCDP


def test_composition_is_tighter_than_adding_up() -> None:
    assert (100 * Pure("0.1")).epsilon("1e-6").upper < 5
    mixed = GDP(1) + Pure(1)
    assert isinstance(mixed, PLD)
    assert mixed.epsilon("1e-6").upper < GDP(1).epsilon("1e-6").upper + 1


def test_groups_of_a_program() -> None:
    assert (10 * Pure("0.1")).grouped(3) == 10 * Pure("0.3")
    assert GDP(1).grouped(2) == GDP(2)
    assert (Pure(1) + GDP(1)).grouped(2) == Pure(2) + GDP(2)
    for loss in (10 * Pure("0.1"), GDP("0.5"), Approx(1, "1e-6")):
        assert loss.grouped(1) == loss
        assert loss.grouped(4).epsilon("1e-2").upper >= loss.epsilon("1e-2").lower
        assert loss.grouped(2).grouped(2).epsilon("1e-2").upper == pytest.approx(loss.grouped(4).epsilon("1e-2").upper)
    with pytest.raises(LossError, match="no form for groups"):
        GDP(1, relation=Relation.REPLACE).sampled("0.1", clipped=True).grouped(2)


def test_the_lower_end_is_what_values_on_the_lattice_attain() -> None:
    found = PLD.of(((DiscreteLaplacePart(F(2), F(5, 2)), 4),)).epsilon(
        0
    )  # two steps of the lattice, told as two and a half
    assert found.lower == pytest.approx(4)
    assert found.upper == pytest.approx(5)
    sampled = Pure(1).sampled("0.3").epsilon(0)
    exact = mpmath.log1p(mpf("0.3") * mpmath.expm1(1))
    assert sampled.lower <= exact <= sampled.upper


def test_a_part_that_holds_for_replace_alone_is_not_said_of_anything_else() -> None:
    for part in (PoissonReplace(F(1), F(1, 2)), WithoutReplacement(Normal(F(1)), F(1, 2))):
        with pytest.raises(RelationError, match="say relation='replace'"):
            PLD.of(((part, 1),))
        assert PLD.of(((part, 1),), relation=Relation.REPLACE).relation is Relation.REPLACE


def test_bad_input_is_named() -> None:
    for build, message in (
        (lambda: GDP(1).sampled(-0.1), "rate must lie strictly between 0 and 1"),
        (lambda: GDP(1).sampled(1.5), "rate must lie strictly between 0 and 1"),
        (lambda: GDP(1).sampled(0), "rate must lie strictly between 0 and 1"),
        (lambda: GDP(1).sampled(float("nan")), "rate must be finite"),
        (lambda: GDP(-1), "mu must be greater than 0"),
        (lambda: GDP(1).epsilon(-1e-9), "delta must lie in"),
        (lambda: GDP(1).epsilon(1), "delta must lie in"),
        (lambda: GDP(1).epsilon(float("nan")), "delta must be finite"),
        (lambda: GDP(1).delta(-0.1), "epsilon must not be negative"),
        (lambda: GDP(1).delta(inf), "epsilon must be finite"),
        (lambda: GDP(1).grouped(0), "size must be a whole number of at least 1"),
        (lambda: 0 * GDP(1), "times must be a whole number of at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            build()


def test_delta_zero_is_refused_where_no_epsilon_is_enough() -> None:
    """Gaussian noise has no pure guarantee: ∞, not a large number and not an exception half-way."""
    assert GDP(1).epsilon(0).upper == inf
    assert (GDP(1) + Pure(1)).epsilon(0).upper == inf
    assert (10 * GDP(1).sampled("0.1")).epsilon(0).upper == inf
    assert Approx(1, "1e-6").epsilon("1e-7").upper == inf
    with pytest.raises(LossError, match="no pure epsilon"):
        _ = GDP(1).bound


def test_deltas_too_small_for_a_double_are_not_taken_for_zero_loss() -> None:
    for loss in (Pure(1), 3 * Pure("0.5"), 5 * GDP(1).sampled("0.1"), GDP(1)):
        found = loss.epsilon(F(1, 10**400))
        assert found.upper >= loss.epsilon("1e-200").lower


def test_relations_units_and_compositions_are_kept_apart() -> None:
    with pytest.raises(RelationError, match="replace"):
        GDP(1) + GDP(1, relation=Relation.REPLACE)
    with pytest.raises(RelationError, match="household"):
        GDP(1) + Pure(1, unit="household")
    with pytest.raises(LossError, match="sample each first"):
        (Pure(1) + GDP(1)).sampled("0.1")
    with pytest.raises(LossError, match="sample each first"):
        (2 * Pure(1)).sampled("0.1")
    with pytest.raises(LossError, match="belongs to relation='replace'"):
        GDP(1).sampled_without_replacement("0.1")
    with pytest.raises(LossError, match="clipped vectors with Gaussian noise only"):
        Pure(1, relation=Relation.REPLACE).sampled("0.1")
    with pytest.raises(LossError, match="clipped=True"):  # a count may move from 1 to 0: the opposite is not the worst
        GDP(1, relation=Relation.REPLACE).sampled("0.1")


@pytest.mark.parametrize("accuracy", [0.0, -1.0, inf, float("nan")])
def test_an_accuracy_that_means_nothing_is_refused(accuracy: float) -> None:
    with pytest.raises(InputError, match="accuracy"):
        (3 * GDP(1).sampled("0.1")).epsilon("1e-5", accuracy=accuracy)


def test_answers_are_cached_by_value() -> None:
    first, second = (20 * GDP("0.5").sampled("0.11") for _ in range(2))
    assert first.epsilon("1e-5", accuracy=1e-3) is second.epsilon("1e-5", accuracy=1e-3)
    assert first.epsilon("1e-5", accuracy=1e-3) != first.epsilon("1e-6", accuracy=1e-3)


def test_parts_of_one_kind_are_counted_once() -> None:
    part = Poisson(Normal(F(1)), F(1, 10))
    twice = PLD.of(((part, 2), (ResponsePart(F(1)), 1), (part, 3)))
    assert dict(twice.parts) == {part: 5, ResponsePart(F(1)): 1}
    assert twice == PLD.of(((ResponsePart(F(1)), 1), (part, 5)))


def test_many_compositions_stay_small() -> None:
    """10⁶ steps need no more memory than one: the answer is near the Gaussian limit."""
    found = sgd("0.001", "1", 10**6).epsilon("1e-6", accuracy=1e-3)
    limit = GDP(log(2) / 1000 * 1000 * 1.3).epsilon("1e-6").upper  # the central limit has μ = q√T(e − 1), about 1.3
    assert 0.8 * limit < found.upper < 2 * limit
    assert found.upper - found.lower < 2e-3 * found.upper


@pytest.mark.parametrize("epsilon", [700, 746, 3000])
def test_many_samples_of_a_mechanism_that_hides_nothing_are_a_breach(epsilon: int) -> None:
    """Whoever is drawn is seen: δ is the chance to be drawn at all. Beyond e^745 it came out as nothing."""
    found = (100 * Pure(epsilon).sampled("0.01")).delta(1)
    assert found.lower <= (1 - 0.99**100) * (1 + 1e-9)
    assert found.upper >= (1 - 0.99**100) * (1 - 1e-9)
    assert (100 * Pure(epsilon).sampled("0.01")).epsilon("0.1").lower > epsilon


def test_a_discrete_gaussian_without_noise_is_a_breach_on_samples_too() -> None:
    loss = PLD.of(((DiscreteNormal(Fraction(1, 2000), Fraction(1)), 1),)).sampled("0.01")
    for times in (1, 2, 100):
        found = (times * loss).delta(1, accuracy=1e-2)
        assert found.lower * (1 - 1e-9) <= 1 - 0.99**times <= found.upper * (1 + 1e-9)


def test_steps_that_a_unit_cannot_move_change_nothing() -> None:
    alone = Pure(1).epsilon("1e-6")
    for still in (Laplace(scale=2), DiscreteLaplace(scale=2), Gaussian(sigma=2), DiscreteGaussian(sigma=2)):
        loss = still.loss(0)
        assert loss.epsilon("1e-6").upper == 0
        assert loss.delta(1).upper <= 1e-299
        assert repr(loss)
        both = (10 * loss + Pure(1)).epsilon("1e-6")
        assert both.lower <= alone.upper
        assert both.upper >= alone.lower
        assert (loss + Pure(1)).tradeoff()(0.1) == pytest.approx(Pure(1).tradeoff()(0.1), rel=1e-3)
        assert from_json(loss.json()) == loss


@pytest.mark.parametrize("leak", [Fraction(1, 10**15), Fraction(1, 10**7)])
def test_a_gaussian_with_a_leak_is_known_in_closed_form(leak: Fraction) -> None:
    """As the grid has it, but exact and at once."""
    loss = GDP(1) + Approx(0, leak)
    parts = loss.parts  # type: ignore[attr-defined]  # a PLD
    for epsilon in (0.0, 0.5, 3.0):
        found, grid = loss.delta(epsilon), Composition(directions(parts)[0], 1e-4).delta(epsilon)
        true = float(leak) + (1 - float(leak)) * GDP(1).delta(epsilon).upper
        assert grid.lower <= found.upper
        assert found.lower <= grid.upper
        assert found.lower <= true * (1 + 1e-12)
        assert true * (1 - 1e-12) <= found.upper <= true * (1 + 1e-6)
    found, grid = loss.epsilon("1e-6"), Composition(directions(parts)[0], 1e-4).epsilon(1e-6)
    assert grid.lower <= found.upper
    assert found.lower <= grid.upper <= found.upper * (1 + 1e-4)
    assert loss.epsilon(leak).upper == float("inf")


def test_many_losses_are_composed_as_one_after_the_other() -> None:
    pairs = [Pure("0.1"), GDP("0.5"), GDP("0.2").sampled("0.1"), Pure("0.1"), Approx("0.3", "1e-9")]
    unlike = [Pure("0.1"), ZCDP("0.01"), GDP("0.5"), ZCDP("0.2")]
    for losses in (pairs, pairs[:1], unlike, unlike[1:2]):
        assert composed(losses) == reduce(add, losses)
    with pytest.raises(RelationError):
        composed([Pure(1), Pure(1, relation=Relation.REPLACE)])
