"""Numbers off the lattice: what rounding them costs is in the loss, or they are refused."""

from fractions import Fraction
from math import ceil, exp, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, Lattice, LatticeError, Sensitivity
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    mechanism_from_json,
    mechanism_to_json,
)

F = Fraction
steps = st.fractions(min_value=F(1, 16), max_value=4, max_denominator=64)
reals = st.floats(min_value=-50, max_value=50)
moves = st.fractions(min_value=0, max_value=3, max_denominator=1000)


def largest_ratio(mechanism: Mechanism, left: Any, right: Any) -> float:
    """The largest probability ratio of one output, both ways, where doubles can tell."""
    p, q = mechanism.pmf(left), mechanism.pmf(right)
    both = [out for out in p if out in q and min(p[out], q[out]) > 1e-250]
    return max(max(p[out] / q[out], q[out] / p[out]) for out in both)


def test_a_number_off_the_lattice_is_rounded_to_it() -> None:
    noise = Laplace(scale=F(1, 1000), granularity=F(1, 2))  # so small that it is none
    assert [noise.sample(x) for x in (3.7, 3.75, -0.25, F(1, 3), 5)] == [3.5, 4.0, 0.0, 0.5, 5.0]
    assert isinstance(Laplace(scale=2).sample(3.7), float)
    assert isinstance(Gaussian(sigma=2).sample(3.7), float)
    for whole in (DiscreteLaplace(scale=2), DiscreteGaussian(sigma=2)):
        with pytest.raises(LatticeError):
            whole.sample(3.7)


@given(reals, moves, steps)
def test_rounding_moves_by_at_most_the_sensitivity_rounded_up(x: float, by: Fraction, g: Fraction) -> None:
    lattice, other = Lattice(g), F(x) + by
    near, moved = lattice.nearest(x), lattice.nearest(other)
    assert isinstance(near, int)
    assert isinstance(moved, int)
    assert 0 <= moved - near <= ceil(by / g)


def test_halves_to_even_would_cost_a_step_more() -> None:
    x, y = F(1, 2), F(3, 2)  # one step apart
    assert (round(x), round(y)) == (0, 2)
    assert [floor(v + F(1, 2)) for v in (x, y)] == [1, 2]


@given(st.floats(min_value=-5, max_value=5), moves, st.sampled_from(["1", "1/2", "1/3"]), st.sampled_from(["1/2", "2"]))
def test_the_loss_covers_rounded_neighbours(x: float, by: Fraction, step: str, scale: str) -> None:
    laplace = Laplace(scale=F(scale), granularity=F(step))
    lattice, other = laplace.lattice, F(x) + by
    rounded = [lattice.round(v) for v in (x, other)]
    assert largest_ratio(laplace, *rounded) <= exp(laplace.loss(by).bound) * (1 + 1e-9)
    gaussian = Gaussian(sigma=F(scale), granularity=F(step))
    moved = abs(F(str(lattice.nearest(other))) - F(str(lattice.nearest(x)))) * F(step)
    claimed, true = gaussian.loss(by).cost().rho, (moved / F(scale)) ** 2 / 2
    assert claimed is not None
    assert claimed >= true * (1 - F(1, 10**12))


def test_a_sensitivity_is_rounded_up_to_whole_steps() -> None:
    laplace, gaussian = Laplace(scale=2, granularity=1), Gaussian(sigma=2, granularity=1)
    for size, steps in ((F(1, 10), 1), (F(1), 1), (F(3, 2), 2), (F(2), 2)):
        for moved in (size, Sensitivity.scalar(size)):
            assert laplace.loss(moved).bound == F(steps, 2)
            assert gaussian.loss(moved).cost().rho == F(steps, 2) ** 2 / 2
    assert laplace.loss(0).bound == 0
    array = Sensitivity(l1=F(5, 2), l2=F(3, 2), dimension=3)  # arrays lie on the lattice: nothing is rounded
    assert laplace.loss(array).bound == F(5, 4)
    assert gaussian.loss(array).cost().rho == F(3, 4) ** 2 / 2


@pytest.mark.parametrize("size", ["0.1", "1/3", "7/5", "123.456"])
@pytest.mark.parametrize("lattice", [{}, {"granularity": "1/4"}, {"dimension": 5}])
def test_a_budget_is_kept_with_rounding(size: str, lattice: dict[str, Any]) -> None:
    moved = Sensitivity(l1=size, l2=size) if lattice.get("dimension") else Sensitivity.scalar(size)
    pure = Laplace.from_loss(Pure(1), sensitivity=moved, **lattice)
    assert pure.loss(moved).bound == 1
    rho = Gaussian.from_loss(ZCDP("1/2"), sensitivity=moved, **lattice).loss(moved).cost().rho
    assert rho is not None
    assert F(49, 100) <= rho <= F(1, 2) * (1 + F(1, 10**6))
    both = Gaussian.from_loss(Approx(1, "1e-5"), sensitivity=moved, **lattice)
    assert both.loss(moved).delta(1).upper <= 1e-5
    textbook = Gaussian.classical(epsilon="1/2", delta="1e-5", sensitivity=moved, **lattice)
    assert textbook.loss(moved).delta("1/2").upper <= 1e-5


@pytest.mark.parametrize("kind", [lambda **on: Laplace(scale=2, **on), lambda **on: Gaussian(sigma=2, **on)])
def test_arrays_off_the_lattice_need_a_dimension(kind: Any) -> None:
    plain, three = kind(granularity="1/2"), kind(granularity="1/2", dimension=3)
    for noise in (plain, three):
        assert noise.sample([1.5, 2, 3, 4]).shape == (4,)
    several: list[Any] = [[1.1, 2.2], np.array([[1.1], [2.0]]), (F(1, 3), 1)]
    for values in several:
        with pytest.raises(LatticeError, match=r"these 2 numbers.*say dimension=2"):
            plain.sample(values)
        assert np.shape(three.sample(values)) == np.shape(values)
    with pytest.raises(LatticeError, match="dimension=4"):
        three.sample([1.1, 2, 3, 4])
    assert plain.sample([1.1]).shape == (1,)  # one number
    for odd in (0, -1, 1.5):
        with pytest.raises(InputError, match="dimension must be a whole number of at least 1"):
            kind(dimension=odd)


@given(st.lists(st.tuples(reals, moves), min_size=1, max_size=6), steps)
def test_a_dimension_pays_for_rounding_every_number(pairs: list[tuple[float, Fraction]], step: Fraction) -> None:
    left, right = [F(x) for x, _ in pairs], [F(x) + by for x, by in pairs]
    l1 = sum((by for _, by in pairs), F(0))
    noise = Laplace(scale=2, granularity=step, dimension=len(pairs))
    apart = sum(abs(a - b) for a, b in zip(noise.lattice.nearest(left), noise.lattice.nearest(right), strict=True))  # type: ignore[arg-type]
    assert apart * step / 2 <= noise.loss(Sensitivity(l1=l1)).bound
    square = sum((by**2 for _, by in pairs), F(0))
    l2 = F(int(square * 10**18) ** 0.5) / 10**9 + F(1, 10**6)
    gaussian = Gaussian(sigma=2, granularity=step, dimension=len(pairs))
    lattice = gaussian.lattice
    moved = [a - b for a, b in zip(lattice.nearest(left), lattice.nearest(right), strict=True)]  # type: ignore[arg-type]
    rho = gaussian.loss(Sensitivity(l2=l2, dimension=len(pairs))).cost().rho
    assert rho is not None
    assert rho >= (step / 2) ** 2 * sum(int(m) ** 2 for m in moved) / 2


def test_what_a_dimension_adds() -> None:
    noise = Laplace(scale=2, granularity="1/4", dimension=3)
    assert noise.loss(1).bound == (1 + F(3, 4)) / 2
    gaussian = Gaussian(sigma=2, granularity="1/4", dimension=4).loss(Sensitivity(l2=1)).cost().rho
    assert gaussian is not None
    assert (F(3, 2) / 2) ** 2 / 2 <= gaussian <= (F(3, 2) / 2) ** 2 / 2 * (1 + F(1, 10**5))


def test_a_dimension_is_stored_only_where_it_is_given() -> None:
    for noise in (Laplace(scale=2, dimension=3), Gaussian(sigma=2, granularity=1, dimension=2)):
        stored = mechanism_to_json(noise)
        assert stored["dimension"] == noise.dimension
        assert mechanism_from_json(stored) == noise
        for wrong in (None, "3", 0, 1.0):
            with pytest.raises(InputError):
                mechanism_from_json({**stored, "dimension": wrong})
    assert set(mechanism_to_json(Laplace(scale=2))) == {"name", "scale", "granularity"}
