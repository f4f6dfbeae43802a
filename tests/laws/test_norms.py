"""A bare number as sensitivity bounds the mechanism's own norm, for any vector that `sample` takes.

For random neighbours in one to four dimensions both output laws are listed, the divergence between them is summed, and
the claim for a bare number, the norm of what moved, must not be below it at any ε.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from math import inf, isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, Relation, Sensitivity, SensitivityError
from tacit.mechanism import (
    MECHANISMS,
    BinnedQuantiles,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    NoisyMax,
    NoisyVote,
    PermuteAndFlip,
    PlanarLaplace,
    Pmf,
    Quantile,
    Quantiles,
    SparseVector,
)
from tacit.mechanism.additive import Additive

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
Neighbours = tuple[Mechanism, list[tuple[Pmf, Pmf]], Fraction, Relation]  # of laws that are independent


def losses(left: Pmf, right: Pmf) -> tuple[np.ndarray, np.ndarray]:
    """L = log(P/Q) of each output that P has, with its P-mass."""
    p, q = np.array(list(left.values())), np.array([right.get(output, 0.0) for output in left])
    p, q = p[p > 0], q[p > 0]
    with np.errstate(divide="ignore"):
        return merged(np.log(p) - np.log(q), p)


def merged(loss: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal losses once. Nearly equal ones are taken as the greater: never by more than 2e-11."""
    known, place = np.unique(np.where(np.isfinite(loss), np.round(loss + 1e-11, 11), inf), return_inverse=True)
    return known, np.bincount(place, weights=mass)


def divergence(laws: Iterable[tuple[Pmf, Pmf]], epsilon: float) -> float:
    """The hockey stick of the product of these laws."""
    loss, mass = np.zeros(1), np.ones(1)
    for left, right in laws:
        other, weight = losses(left, right)
        loss, mass = merged(np.add.outer(loss, other).ravel(), np.multiply.outer(mass, weight).ravel())
    above = loss > epsilon
    return float((mass[above] * -np.expm1(epsilon - loss[above])).sum())


def root(square: Fraction) -> Fraction:
    """√, rounded up to a millionth."""
    scaled = square * 10**12
    return Fraction(isqrt(int(scaled)) + (isqrt(int(scaled)) ** 2 != scaled), 10**6)


moves = st.lists(st.integers(-3, 3), min_size=1, max_size=4).filter(any)
numbers = st.integers(0, 5)


def of_vector(build: Callable[[Fraction], Additive], norm: str) -> st.SearchStrategy[Neighbours]:
    @cache
    def law(m: Additive, steps: int) -> Pmf:
        return m.pmf(m.lattice.value(steps))

    def made(noise: int, move: list[int]) -> Neighbours:
        m = build(Fraction(noise, 4))
        step = m.lattice.granularity
        size = sum(map(abs, move)) * step if norm == "l1" else root(sum(x * x for x in move) * step**2)
        return m, [(law(m, 0), law(m, x)) for x in move], Fraction(size), Relation.ADD_REMOVE

    return st.builds(made, st.integers(1, 4), moves)


def of_scores(build: Callable[[], Mechanism]) -> st.SearchStrategy[Neighbours]:
    def made(pairs: list[tuple[int, int]]) -> Neighbours:
        m, before, after = build(), [a for a, _ in pairs], [a + b for a, b in pairs]
        size = max(abs(b) for _, b in pairs)
        law = (m.pmf(before), m.pmf(after)) if not isinstance(m, SparseVector) else tuple(
            m.pmf((1, tuple(queries))) for queries in (before, after)
        )  # fmt: skip
        return m, [(law[0], law[1])], Fraction(size), Relation.ADD_REMOVE

    return st.builds(made, st.lists(st.tuples(numbers, st.integers(-2, 2)), min_size=1, max_size=4))


def of_rows(build: Callable[[], Mechanism]) -> st.SearchStrategy[Neighbours]:
    def made(rows: list[int], more: list[int]) -> Neighbours:
        m = build()
        return m, [(m.pmf(sorted(rows)), m.pmf(sorted(rows + more)))], Fraction(len(more)), Relation.ADD_REMOVE

    return st.builds(made, st.lists(numbers, max_size=3), st.lists(numbers, min_size=1, max_size=3))


def of_groups(norm: str, relation: Relation) -> st.SearchStrategy[Neighbours]:
    """Each group has counts in two cells; the unit adds to some, or takes its rows from one cell to the other."""

    def made(groups: list[tuple[int, int, int, int]]) -> Neighbours:
        m = BinnedQuantiles(quantiles=(Fraction(1, 4),), scale=Fraction(2), cells=2, norm=norm)  # type: ignore[arg-type]
        before, after, masses = [], [], []
        for left, right, old, new in groups:
            gone = old if relation is Relation.REPLACE else 0
            before.append([left + gone, right])
            after.append([left, right + new])
            masses += [(gone, new)]
        squares = [sum(pair[i] if norm == "l1" else pair[i] ** 2 for pair in masses) for i in (0, 1)]
        size = Fraction(max(squares)) if norm == "l1" else root(Fraction(max(squares)))
        return m, [(m.pmf([a]), m.pmf([b])) for a, b in zip(before, after, strict=True)], size, relation

    group = st.tuples(numbers, numbers, st.integers(0, 2), st.integers(0, 2))
    return st.builds(made, st.lists(group, min_size=1, max_size=4))


def of_places() -> st.SearchStrategy[Neighbours]:
    def made(east: int, north: int) -> Neighbours:
        m, law = PlanarLaplace(scale=Fraction(1, 8)), (0, 0)
        return m, [(m.pmf(law), m.pmf((east, north)))], root(Fraction(east**2 + north**2)), Relation.REPLACE

    return st.builds(made, st.integers(-2, 2), st.integers(-2, 2))


def of_votes(relation: Relation) -> st.SearchStrategy[Neighbours]:
    """Some teachers' votes go from one class to another; under replace the same bound holds."""

    def made(votes: list[int], moved: list[tuple[int, int]]) -> Neighbours:
        m, before = NoisyVote(sigma=Fraction(3, 2)), [v + len(moved) for v in votes]
        after = [*before]
        for old, new in moved:
            after[old % len(votes)] -= 1
            after[new % len(votes)] += 1
        return m, [(m.pmf(before), m.pmf(after))], Fraction(len(moved)), relation

    move = st.tuples(st.integers(0, 3), st.integers(0, 3))
    return st.builds(made, st.lists(numbers, min_size=2, max_size=4), st.lists(move, min_size=1, max_size=3))


CASES: dict[type[Mechanism], list[st.SearchStrategy[Neighbours]]] = {
    DiscreteLaplace: [of_vector(lambda noise: DiscreteLaplace(scale=noise), "l1")],
    Laplace: [of_vector(lambda noise: Laplace(scale=noise, granularity=QUARTER), "l1")],
    DiscreteGaussian: [of_vector(lambda noise: DiscreteGaussian(sigma=noise), "l2")],
    Gaussian: [of_vector(lambda noise: Gaussian(sigma=noise, granularity=HALF), "l2")],
    Exponential: [of_scores(lambda: Exponential(scale=Fraction(2)))],
    PermuteAndFlip: [of_scores(lambda: PermuteAndFlip(scale=Fraction(2)))],
    NoisyMax: [of_scores(lambda: NoisyMax(scale=Fraction(2)))],
    NoisyVote: [of_votes(relation) for relation in Relation],
    SparseVector: [
        of_scores(lambda: SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(4), answers=1)),
    ],
    Quantile: [of_rows(lambda: Quantile(quantile=QUARTER, lower=Fraction(0), upper=Fraction(5), scale=Fraction(2)))],
    Quantiles: [
        of_rows(
            lambda: Quantiles(
                quantiles=(QUARTER, HALF), lower=Fraction(0), upper=Fraction(5), scale=Fraction(2), spread=2
            )
        )
    ],
    BinnedQuantiles: [of_groups(norm, relation) for norm in ("l1", "l2") for relation in Relation],
    PlanarLaplace: [of_places()],
}
STRATEGIES = [
    pytest.param(each, id=f"{kind.__name__}-{i}") for kind, found in CASES.items() for i, each in enumerate(found)
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(data=st.data())
def test_the_claim_for_a_bare_number_covers_every_vector_of_that_norm(
    strategy: st.SearchStrategy[Neighbours], data: st.DataObject
) -> None:
    mechanism, laws, size, relation = data.draw(strategy)
    if not size:
        return
    claim = mechanism.loss(size, relation=relation)
    for turned in (laws, [(right, left) for left, right in laws]):
        for epsilon in EPSILONS:
            assert divergence(turned, epsilon) <= claim.delta(epsilon).upper * (1 + 1e-7) + 1e-9


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_that_takes_a_number_is_looked_at(mechanism: type[Mechanism]) -> None:
    if mechanism not in CASES:
        example = mechanism.examples()[0]
        with pytest.raises(InputError, match="sensitivity"):
            example.mechanism.loss(1, relation=example.claim.relation)


def test_several_coordinates_are_told_apart_better_than_one_on_a_coarse_lattice() -> None:
    noise = DiscreteGaussian(sigma=HALF)
    four = divergence([(noise.pmf(0), noise.pmf(1))] * 4, 8.0)  # (1, 1, 1, 1) has the l2 norm of (2)
    assert four == pytest.approx(0.262, abs=1e-3)
    assert noise.loss(Sensitivity.scalar(2)).delta(8).upper == pytest.approx(0.107, abs=1e-3)
    assert noise.loss(2).delta(8).upper >= four
    assert DiscreteGaussian(sigma=HALF).loss(1) == noise.loss(Sensitivity.scalar(1))  # only one coordinate can move


def test_no_vector_of_an_l1_norm_beats_one_coordinate_that_moves_by_all_of_it() -> None:
    for noise in (DiscreteLaplace(scale=Fraction(3, 2)), DiscreteGaussian(sigma=Fraction(4, 5))):
        for vector in ([1, 1], [2, 1], [3, 1], [1, 1, 1], [2, 2], [1, 1, 1, 1], [2, 1, 1]):
            scalar = [(noise.pmf(0), noise.pmf(sum(vector)))]
            spread = [(noise.pmf(0), noise.pmf(x)) for x in vector]
            for epsilon in np.linspace(-6, 12, 61):
                assert divergence(spread, epsilon) <= divergence(scalar, epsilon) + 1e-9


def test_what_takes_several_numbers_and_no_norm_is_refused() -> None:
    with pytest.raises(SensitivityError, match="3 numbers does not say its norm"):
        DiscreteLaplace(scale=Fraction(1)).lattice.sensitivity(1, dimension=3)
