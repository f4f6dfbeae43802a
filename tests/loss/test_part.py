"""Parts: plain data that goes to JSON and back, pairs that are the mechanism's, closed forms that agree with them."""

import json
from fractions import Fraction
from math import exp, inf

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mpf

from support.curves import (
    Finite,
    discrete_laplace,
    discrete_normal,
    number,
    replaced_gaussian,
    replaced_vectors,
    response,
)
from tacit.base import InputError, LossError
from tacit.loss.lattice import LatticePair, common_lattice
from tacit.loss.pair import Atoms, GaussianPair
from tacit.loss.part import DiscreteLaplacePart, DiscreteNormal, Normal, Part, ResponsePart, Reversed, part_from_json
from tacit.loss.sampling import Poisson, PoissonReplace, WithoutReplacement

F = Fraction
positives = st.fractions(F(1, 1000), 50, max_denominator=10**6).filter(lambda x: x > 0)
rates = st.fractions(F(1, 1000), F(999, 1000), max_denominator=1000)
slacks = st.fractions(0, F(1, 100), max_denominator=10**9)
simple: st.SearchStrategy[Part] = st.one_of(
    st.builds(ResponsePart, positives, slacks),
    st.builds(Normal, positives),
    st.builds(DiscreteLaplacePart, positives, st.integers(1, 40).map(F)),
    st.builds(DiscreteNormal, positives, st.integers(1, 5).map(F)),
)
parts: st.SearchStrategy[Part] = st.one_of(
    simple,
    st.builds(Poisson, simple, rates),
    st.builds(WithoutReplacement, simple, rates),
    st.builds(PoissonReplace, positives, rates),
    st.builds(Reversed, st.builds(Poisson, simple, rates)),
)


@given(parts)
def test_json_round_trip_is_exact(part: Part) -> None:
    text = json.dumps(part.json())
    again = part_from_json(json.loads(text))
    assert again == part
    assert hash(again) == hash(part)
    assert type(again) is type(part)
    assert "." not in text.replace("0.", "") or part_from_json(json.loads(text)).json() == part.json()


def test_json_that_is_not_a_part_is_named() -> None:
    with pytest.raises(InputError, match=r"unknown kind of loss 'magic': this version knows .*response"):
        part_from_json({"kind": "magic"})
    with pytest.raises(InputError, match="unknown kind of loss None"):
        part_from_json({"epsilon": "1"})


def laws_agree(pair: Atoms, exact: Finite) -> None:
    """The same masses of P and of Q at the same losses."""
    outcomes: dict[float, list[mpf]] = {}
    only_p = only_q = mpf(0)
    for p, q in exact.outcomes:
        if p and q:
            places = [x for x in outcomes if abs(x - mpmath.log(p / q)) < 1e-12 * (1 + abs(x))]
            place = places[0] if places else float(mpmath.log(p / q))
            before = outcomes.get(place, [mpf(0), mpf(0)])
            outcomes[place] = [before[0] + p, before[1] + q]
        only_p += p if not q else 0
        only_q += q if not p else 0
    order = np.argsort(pair.losses)
    wanted = sorted(outcomes)
    assert pair.losses[order] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    assert pair.p[order] == pytest.approx([float(outcomes[x][0]) for x in wanted], rel=1e-12)
    assert pair.q[order] == pytest.approx([float(outcomes[x][1]) for x in wanted], rel=1e-11)
    assert pair.leaks == pytest.approx((float(only_p), float(only_q)), rel=1e-12)


@pytest.mark.parametrize(
    "part", [ResponsePart(F(1)), ResponsePart(F(1, 3), F(1, 50)), ResponsePart(F(30)), ResponsePart(F(0), F(1, 9))]
)
def test_response_pair_is_randomised_response(part: ResponsePart) -> None:
    pair = part.pair()
    assert isinstance(pair, Atoms)
    laws_agree(pair, response(part.epsilon, part.delta))


@pytest.mark.parametrize(("scale", "shift"), [("1", 1), ("5/2", 7), ("1/3", 4), ("40", 30)])
def test_discrete_laplace_pair_is_its_law(scale: str, shift: int) -> None:
    pair = DiscreteLaplacePart(F(scale), F(shift)).pair()
    assert isinstance(pair, Atoms)
    laws_agree(pair, discrete_laplace(F(scale), shift))


@pytest.mark.parametrize(("variance", "shift"), [("1", 1), ("7/2", 2)])
def test_discrete_normal_pair_is_its_law(variance: str, shift: int) -> None:
    pair = DiscreteNormal(F(variance), F(shift)).pair()
    assert isinstance(pair, Atoms)
    exact = discrete_normal(F(variance), shift)
    for e in (-2.0, 0.0, 0.5, 3.0):
        found = float(np.sum(pair.p * np.maximum(0.0, -np.expm1(e - pair.losses))))
        assert found == pytest.approx(float(exact.curve(mpf(e))), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "slack", "rate"), [("1", "0", "1/10"), ("3", "1/100", "1/2"), ("1/5", "1/9", "9/10")]
)
def test_sampled_responses_keep_every_outcome(epsilon: str, slack: str, rate: str) -> None:
    pair = Poisson(ResponsePart(F(epsilon), F(slack)), F(rate)).pair()
    assert isinstance(pair, Atoms)
    laws_agree(pair, response(epsilon, slack).sampled(F(rate)))


@pytest.mark.parametrize(
    ("epsilon", "slack", "rate"), [("1", "0", "1/10"), ("3", "1/100", "1/2"), ("1/5", "1/9", "9/10")]
)
def test_without_replacement_is_the_upper_envelope_of_both_orders(epsilon: str, slack: str, rate: str) -> None:
    """Its curve is the sampled one for ε ≥ 0 and the mirrored one below; P and Q are probabilities."""
    pair = WithoutReplacement(ResponsePart(F(epsilon), F(slack)), F(rate)).pair()
    assert isinstance(pair, Atoms)
    exact = response(epsilon, slack).sampled(F(rate))
    assert float(pair.p.sum()) + pair.leaks[0] == pytest.approx(1, rel=1e-12)
    assert float(pair.q.sum()) + pair.leaks[1] == pytest.approx(1, rel=1e-12)
    for e in np.linspace(-1.5, 1.5, 13):
        found = float(np.sum(pair.p * np.maximum(0.0, -np.expm1(e - pair.losses)))) + pair.leaks[0]
        above = exact.curve(mpf(abs(float(e))))
        wanted = above if e >= 0 else -mpmath.expm1(float(e)) + mpmath.exp(float(e)) * above
        assert found == pytest.approx(float(wanted), rel=1e-11, abs=1e-15)


@given(
    st.one_of(st.builds(ResponsePart, positives), st.builds(DiscreteLaplacePart, positives, st.integers(1, 9).map(F))),
    rates,
)
def test_the_pure_bound_is_the_largest_loss(base: Part, rate: Fraction) -> None:
    for part in (base, Poisson(base, rate)):
        assert part.bound is not None
        pair = part.pair()
        losses = pair.losses if isinstance(pair, Atoms) else np.array(pair.reach(1e-300))
        assert float(np.abs(losses).max()) <= float(part.bound) * (1 + 1e-13)
    assert float(base.bound or 0) == pytest.approx(float(np.abs(base.pair().reach(1e-9)).max()))


@given(positives, rates | st.fractions(F(1, 10**9), F(1, 1000)).filter(bool))
@example(F(3, 2), F(1, 10**8))
@example(F(20), F(1, 10**8))
def test_sampling_never_raises_the_bound(epsilon: Fraction, rate: Fraction) -> None:
    sampled = Poisson(ResponsePart(epsilon), rate).bound
    assert sampled is not None
    assert sampled <= epsilon
    exact = mpmath.log1p(number(rate) * mpmath.expm1(number(epsilon)))
    assert exact <= number(sampled) <= exact * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("part", [ResponsePart(F(1)), DiscreteLaplacePart(F(2), F(3)), DiscreteNormal(F(2), F(1))])
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 40.0])
def test_renyi_and_rho_bound_the_divergence_of_the_pair(part: Part, order: float) -> None:
    pair = part.pair()
    assert isinstance(pair, Atoms)
    live = pair.p > 0
    exponents = np.log(pair.p[live]) + (order - 1) * pair.losses[live]
    divergence = float(np.logaddexp.reduce(exponents)) / (order - 1)
    assert divergence <= part.renyi(order) * (1 + 1e-9)
    assert part.rho is not None
    assert divergence <= float(part.rho) * order * (1 + 1e-9)
    if isinstance(part, ResponsePart):
        assert part.renyi(order) == pytest.approx(divergence, rel=1e-9)


def test_sampling_scales_the_slack() -> None:
    assert Poisson(ResponsePart(F(1), F(1, 100)), F(1, 10)).slack == F(1, 1000)
    assert Poisson(Normal(F(1)), F(1, 10)).slack == 0


def test_renyi_of_what_may_fail_is_infinite() -> None:
    assert ResponsePart(F(1), F(1, 100)).renyi(2.0) == inf
    assert ResponsePart(F(1)).renyi(inf) == 1


def test_groups_scale_as_theory_says() -> None:
    assert ResponsePart(F(1, 2)).grouped(3) == ResponsePart(F(3, 2))
    assert Normal(F(1, 4)).grouped(3) == Normal(F(9, 4))
    assert DiscreteLaplacePart(F(5), F(2)).grouped(3) == DiscreteLaplacePart(F(5), F(6))
    assert DiscreteNormal(F(5), F(2)).grouped(3) == DiscreteNormal(F(5), F(6))
    group = ResponsePart(F(1), F(1, 10**9)).grouped(3)
    assert group.slack >= F(1, 10**9) * F((exp(3) - 1) / (exp(1) - 1))
    assert float(group.slack) == pytest.approx(1e-9 * (exp(3) - 1) / (exp(1) - 1))
    with pytest.raises(LossError, match="nothing is guaranteed"):
        ResponsePart(F(300), F(1, 10**6)).grouped(10)
    with pytest.raises(LossError, match="no form for groups"):
        PoissonReplace(F(1), F(1, 2)).grouped(2)


def test_a_group_of_two_is_what_one_twice_as_far_costs() -> None:
    """(ε, δ)-DP for one implies the grouped pair dominates any two steps of neighbours."""
    one, two = response("0.4", "0.01"), ResponsePart(F(2, 5), F(1, 100)).grouped(2)
    assert number(two.slack) >= number("0.01") * (1 + mpmath.exp(number("0.4")))
    assert two.epsilon == F(4, 5)
    assert one.curve(mpf("0.4")) == number("0.01")


def test_huge_losses_have_pairs_too() -> None:
    """Where e^ε is not a double there is still a pair, or an error that says so."""
    for part in (
        ResponsePart(F(720)),
        ResponsePart(F(2000), F(1, 10)),
        DiscreteLaplacePart(F(1), F(1500)),
        DiscreteNormal(F(1), F(90)),
    ):
        pair = part.pair()
        assert isinstance(pair, Atoms)
        assert np.isfinite(pair.p).all()
        assert np.isfinite(pair.swapped.cells(np.array([-1.0, 0.0, 1.0])).p).all()
        assert float(pair.p.sum()) + pair.leaks[0] == pytest.approx(1, rel=1e-9)


def test_large_shifts_are_not_listed() -> None:
    assert not isinstance(DiscreteLaplacePart(F(10**6), F(10**6)).pair(), Atoms)
    assert isinstance(Normal(F(1)).pair(), GaussianPair)


def test_common_lattices() -> None:
    def on(unit: str) -> LatticePair:
        return LatticePair.at(np.array([-1, 1]), F(unit), np.array([0.4, 0.6]))

    assert common_lattice([on("1/2"), on("1/3")]) == F(1, 3)  # the losses of each are two units apart
    assert common_lattice([on("1/2"), on("3/2")]) == F(1)
    assert common_lattice([on("1/2"), GaussianPair(1.0)]) is None


ANGLED = [(1, 1, 3.0), (1, 1, 1.6), (1, 0.6, 3.1), (0.7, 1, 2.2), (1, 1e-3, 1)]


def no_better_than_opposites(old: float, new: float, angle: float, rate: float, length: float) -> None:
    """The theorem of docs/theory/amplification.md, in twenty digits, one way and the other."""
    with mpmath.workdps(20):
        worst = replaced_gaussian(length, rate)
        for epsilon in (mpf(0), mpf("0.4"), mpf(2)):
            for x, y in ((old, new), (new, old)):
                found = replaced_vectors(length * x, length * y, angle, rate)(epsilon)
                assert found <= worst(epsilon) * (1 + mpf(10) ** -12) + mpf(10) ** -15


@pytest.mark.parametrize(("old", "new", "angle"), ANGLED[1:4:2])
def test_no_two_vectors_are_told_apart_better_than_opposites(old: float, new: float, angle: float) -> None:
    no_better_than_opposites(old, new, angle, 0.3, 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("length", [0.3, 2.0, 4.0])
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize(("old", "new", "angle"), ANGLED)
def test_no_vectors_of_any_length_and_rate(old: float, new: float, angle: float, rate: float, length: float) -> None:
    no_better_than_opposites(old, new, angle, rate, length)


def test_the_bound_on_vectors_is_attained_by_opposites() -> None:
    near = replaced_vectors(1.0, 1.0, np.pi - 1e-4, 0.2)(mpf("0.5"))
    assert near == pytest.approx(float(replaced_gaussian(1.0, 0.2)(mpf("0.5"))), rel=1e-5)


def test_a_unit_that_goes_where_another_comes() -> None:
    step = Poisson(Normal(F(1)), F(1, 10))
    assert step.replaced() == PoissonReplace(F(4), F(1, 10))
    assert step.reversed() == Reversed(step)
    assert step.reversed().reversed() == step
    for part in (ResponsePart(F(1)), Normal(F(1)), DiscreteLaplacePart(F(2), F(3)), PoissonReplace(F(1), F(1, 2))):
        assert part.reversed() is part
    assert Normal(F(1)).replaced() == Normal(F(4))
    coin = Poisson(ResponsePart(F(1)), F(1, 2))
    assert coin.bound is not None
    assert coin.replaced() == ResponsePart(2 * coin.bound)
    with pytest.raises(LossError, match="unit that is replaced"):
        Poisson(DiscreteNormal(F(1), F(1)), F(1, 2)).replaced()


def test_the_other_order_of_the_neighbours_is_the_swapped_pair() -> None:
    step = Poisson(Normal(F(4)), F(1, 5))
    ahead, back = step.pair(), Reversed(step).pair()
    edges = np.linspace(-0.2, 3, 20)
    there, again = ahead.cells(edges), back.cells(-edges[::-1])
    assert again.p == pytest.approx(there.q[::-1])
    assert again.q == pytest.approx(there.p[::-1])
    assert (Reversed(step).bound, Reversed(step).slack, Reversed(step).rho) == (step.bound, step.slack, step.rho)


@pytest.mark.parametrize(
    "part",
    [DiscreteLaplacePart(F(2), F(0)), DiscreteLaplacePart(F(1, 2**20), F(0)), DiscreteLaplacePart(F(3), F(1, 2))],
    ids=repr,
)
def test_what_does_not_move_the_answer_has_all_of_its_mass_at_zero(part: Part) -> None:
    """With half of it lost, every step that a unit cannot move would have halved the δ of the whole program."""
    pair = part.pair()
    assert isinstance(pair, Atoms)
    assert pair.p.tolist() == pair.q.tolist() == [1.0]
    assert pair.losses.tolist() == [0.0]


@pytest.mark.parametrize("epsilon", [700, 730, 746, 5000])
@pytest.mark.parametrize("rate", [F(1), F(1, 10)])
def test_a_loss_beyond_the_doubles_keeps_the_mass_of_both_worlds(epsilon: int, rate: F) -> None:
    """e^−ε is no double any more, but what P hardly ever produces is nearly all of Q."""
    scale, variance = F(1, epsilon), F(1, 2 * epsilon)
    for part in (ResponsePart(F(epsilon)), DiscreteLaplacePart(scale, F(1)), DiscreteNormal(variance, F(1))):
        pair = (part if rate == 1 else Poisson(part, rate)).pair()
        assert isinstance(pair, Atoms)
        for direction in (pair, pair.swapped.swapped):
            assert isinstance(direction, Atoms)
            assert float(direction.p.sum()) + direction.only_p == pytest.approx(1, abs=1e-14)
            assert float(direction.q.sum()) + direction.only_q == pytest.approx(1, abs=1e-14)
        edges = np.array([-10.0 * epsilon, -1.0, 0.0, 1.0, 10.0 * epsilon])
        for cells in (pair.cells(edges), pair.swapped.cells(edges)):
            assert float(cells.p.sum()) == pytest.approx(1, abs=1e-12)
            assert float(cells.q.sum()) == pytest.approx(1, abs=1e-12)
        assert pair.swapped.cells(edges).p == pytest.approx(pair.cells(edges).q[::-1], abs=1e-12)
