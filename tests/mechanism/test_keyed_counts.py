from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, expm1, floor, log, log1p, prod
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from support.channel import check, hockey_stick, p_value
from support.fixed_rng import FixedRng
from tacit.base import InputError, LossError, Relation, Sensitivity
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Example, KeyedCounts, Pmf
from tacit.mechanism.key_selection import exposure
from tacit.mechanism.registry import mechanism_from_json, mechanism_to_json


def laplace(scale: Any, most: Any, delta: Any = "1e-3") -> KeyedCounts:
    return KeyedCounts(noise=DiscreteLaplace(scale=scale), most=most, delta=delta)


def gaussian(sigma: Any, most: Any, delta: Any = "1e-3") -> KeyedCounts:
    return KeyedCounts(noise=DiscreteGaussian(sigma=sigma), most=most, delta=delta)


SMALL = [
    laplace(7, 5),
    laplace("1/2", 4, "1/10"),
    laplace(3, "9/2", "1e-6"),
    gaussian(9, 3, "1e-4"),
    gaussian(1, 3, "1/20"),
    gaussian("5/2", "7/3", "1e-5"),
]


@pytest.mark.parametrize("example", KeyedCounts.examples())
def test_claims(example: Example) -> None:
    check(example)


def tail(m: KeyedCounts, least: int) -> float:
    """Pr[Z ≥ least], summed over the listed law of the noise."""
    half = m.noise.weights()
    return sum(p for z, p in enumerate(half) if z >= least) + sum(p for z, p in enumerate(half) if z and -z >= least)


def vectors(room: Fraction, largest: int, power: int) -> Iterator[tuple[int, ...]]:
    """Every falling list of positive whole numbers with Σ w^p ≤ room."""
    yield ()
    for w in range(1, largest + 1):
        if w**power <= room:
            yield from ((w, *rest) for rest in vectors(room - w**power, w, power))


def own_vectors(m: KeyedCounts) -> list[tuple[int, ...]]:
    power = 2 if m.norm == "l2" else 1
    return list(vectors(m.most**power, floor(m.most), power))


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_no_counts_that_fit_show_a_key_of_their_own_more_often_than_delta(m: KeyedCounts) -> None:
    """By brute force over all vectors that fit the clip, with tails that are summed anew."""
    tails = {w: tail(m, m.threshold() - w) for w in range(1, floor(m.most) + 1)}
    seen = [1 - prod(1 - tails[w] for w in own) for own in own_vectors(m)]
    assert len(seen) > 7
    assert 0 < max(seen) <= float(m.delta)
    lower = {w: tail(m, m.threshold() - 1 - w) for w in tails}
    power = 2 if m.norm == "l2" else 1
    assert max(-log1p(-p) * float(m.most / w) ** power for w, p in lower.items()) > -log1p(-float(m.delta))


@pytest.mark.parametrize(
    ("m", "keys"),
    [
        (gaussian(500, 100, "1e-6"), 10_000),  # many keys of one step each
        (laplace(10_000, 10_000, "1e-6"), 10_000),
        (gaussian(20, 100, "1e-6"), 1),  # one key of all that fits
        (laplace(1000, 10_000, "1e-6"), 1),
    ],
    ids=str,
)
def test_a_unit_with_many_keys_and_one_with_a_heavy_one(m: KeyedCounts, keys: int) -> None:
    power = 2 if m.norm == "l2" else 1
    weight = round((float(m.most) ** power / keys) ** (1 / power))
    assert keys * weight**power == m.most**power

    def shown(threshold: int) -> float:
        return -expm1(keys * log1p(-m.noise.reaches(threshold - weight)[0]))

    assert 0.97e-6 * (1 if keys > 1 else 0.5) < shown(m.threshold()) <= 1e-6  # all but the last step is used
    others = [k for k in (1, 4, 25, 100, 2500, 10_000) if (float(m.most) ** power / k) ** (1 / power) >= 1]
    for k in others:
        w = floor((float(m.most) ** power / k) ** (1 / power) + 1e-9)
        assert -expm1(k * log1p(-m.noise.reaches(m.threshold() - w)[0])) <= 1e-6
    if keys > 1:  # a threshold for one key alone would let thousands of them through
        alone = next(t for t in range(1, m.threshold()) if m.noise.reaches(t - weight)[0] <= 1e-6)
        assert shown(alone) > 2e-3


@pytest.mark.parametrize(("norm", "scale", "most"), [("l1", 900, 7000), ("l2", 3000, 5000), ("l2", 20_000, 9000)])
def test_blocks_of_weights_are_an_upper_bound_and_a_near_one(norm: Any, scale: int, most: int) -> None:
    m = laplace(scale, most, "1e-6") if norm == "l1" else gaussian(scale, most, "1e-6")
    weights, t = np.arange(1, most + 1), m.threshold()
    if norm == "l1":
        tails = np.exp(-(t - weights) / scale) / (1 + exp(-1 / scale))
    elif scale > 2**13:
        tails = ndtr(-(t - 1 - weights) / scale)
    else:
        z = np.arange(-40 * scale, 40 * scale + 1)
        law = np.exp(-(z**2) / (2 * scale**2))
        tails = (np.cumsum(law[::-1])[::-1] / law.sum())[t - weights + 40 * scale]
    each = float(np.max(-np.log1p(-tails) * (most / weights) ** (2 if norm == "l2" else 1)))
    found = exposure(norm, Fraction(scale), Fraction(most), t)
    assert each * (1 - 1e-9) <= found <= each * 1.02
    assert found <= -log1p(-1e-6)


def renyi(p: Pmf, q: Pmf, order: float) -> float:
    """What is rarer than 1e-60 adds nothing that doubles hold at these orders."""
    terms = (exp(order * log(p[o]) + (1 - order) * log(q[o])) for o in p if p[o] > 1e-60)
    return log(sum(terms)) / (order - 1)


def hidden(law: Pmf, keys: int) -> tuple[Pmf, float]:
    """The law of the first counts given that none of the last keys is shown, and how likely that is."""
    kept: Pmf = {}
    for shown, p in law.items():
        assert isinstance(shown, tuple)
        if all(count is None for count in shown[-keys:]):
            kept[shown[:-keys]] = p
    total = sum(kept.values())
    return {shown: p / total for shown, p in kept.items()}, total


@pytest.mark.parametrize("base", [1, 6, 30])
def test_given_that_no_own_key_is_shown_the_rest_is_concentrated(base: int) -> None:
    """Definition 8.1 of Bun and Steinke, on a unit with a key of its own, and on one that takes another's place."""
    m = gaussian(2, 2, "1e-3")
    pairs: list[tuple[Relation, tuple[int, ...], tuple[int, ...]]]
    pairs = [
        (Relation.ADD_REMOVE, (base + 1, 1), (base, 0)),
        (Relation.REPLACE, (base + 2, base, 1), (base, base + 2, 0)),
    ]
    for relation, left, right in pairs:
        (here, likely), (there, certain) = hidden(m.pmf(left), 1), hidden(m.pmf(right), 1)
        assert certain == pytest.approx(1)
        assert 1 - likely <= 1e-3
        rho = m.loss(relation=relation).cost().rho
        assert rho is not None
        for order in (1.01, 2.0, 5.0):
            assert max(renyi(here, there, order), renyi(there, here, order)) <= float(rho) * order


@pytest.mark.parametrize("m", [laplace("1/4", 2, "1/100"), laplace("1/3", 2, "1/20")], ids=str)
def test_every_pair_of_counts_holds_in_l1(m: KeyedCounts) -> None:
    t, own = m.threshold(), [v for v in own_vectors(m) if len(v) <= 2]
    bound = float(m.most / m.noise.magnitude)
    for before in product((0, t - 1), repeat=2):
        for vector in own:
            added = tuple(b + w for b, w in zip(before, (*vector, 0, 0), strict=False))
            assert hockey_stick(m.pmf(before), m.pmf(added), bound) <= float(m.delta) * (1 + 1e-9)
            replaced = tuple(b + w for b, w in zip(before, (*own[-1], 0, 0)[::-1][-2:], strict=True))
            assert hockey_stick(m.pmf(added), m.pmf(replaced), 2 * bound) <= float(m.delta) * (1 + 1e-9)


def test_the_loss_is_that_of_the_noise_and_delta_beside_it() -> None:
    m = laplace(6, 3)
    assert m.loss().cost() == (Pure("1/2") + Approx(0, "1e-3")).cost()
    assert m.loss(relation=Relation.REPLACE).cost().epsilon == 1
    m = gaussian(10, 4)
    noise = m.noise.loss(Sensitivity(l2=m.most), unit="person").cost()
    expected = ZCDP("16/200", delta="1e-3", unit="person").cost()
    assert m.loss(unit="person").cost() == replace(expected, mu_squared=noise.mu_squared)
    rho = m.loss(relation=Relation.REPLACE).cost().rho
    assert rho is not None
    assert Fraction(16, 100) <= rho <= Fraction(16, 100) * (1 + Fraction(1, 10**9))
    fine = m.scaled(1000)  # a fine lattice knows its whole curve: less ε than zCDP promises
    assert fine.loss().epsilon("2e-3").upper < m.loss().epsilon("2e-3").upper
    assert fine.noise.loss(Sensitivity(l2=4000)).delta(1).upper + 1e-3 >= fine.loss().delta(1).upper * (1 - 1e-9)


def test_other_units_have_the_same_delta_on_their_lattice() -> None:
    m = gaussian(5, 1, "1e-6")
    for factor in (1, 7, 100, Fraction(1449, 2)):
        scaled = m.scaled(factor)
        assert (scaled.most, scaled.magnitude, scaled.delta) == (factor, 5 * factor, m.delta)
        if factor == 7:
            tails = {w: tail(scaled, scaled.threshold() - w) for w in range(1, 8)}
            assert max(1 - prod(1 - tails[w] for w in own) for own in own_vectors(scaled)) <= 1e-6
    assert m.scaled(100).threshold() > 100 * m.threshold()  # finer counts may be spread over more keys


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_samples_follow_the_law(m: KeyedCounts) -> None:
    t, rng = m.threshold(), FixedRng(5)
    for count in (t - 1, t + 1, max(1, t - int(m.magnitude))):
        outputs = m.sample(np.full(4000, count), rng).tolist()
        assert p_value(m.pmf([count]), ((each,) for each in outputs)) > 1e-7


def test_what_is_hidden_is_not_there() -> None:
    m = laplace(50, 1, "9/10")  # noise alone passes often
    drawn = m.sample(np.array([0, 1, 10**6] * 500), FixedRng(1))
    mask = np.ma.getmaskarray(drawn).reshape(-1, 3)
    assert mask[:, 0].all()  # a key that nobody has
    assert 0 < mask[:, 1].sum() < 500
    assert not mask[:, 2].any()
    assert not np.asarray(drawn.data)[np.ma.getmaskarray(drawn)].any()
    assert int(drawn.min()) >= m.threshold()
    assert m.pmf([0]) == {(None,): 1.0}
    assert m.sample([], FixedRng()).shape == (0,)


def test_from_a_guarantee() -> None:
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE):
        m = KeyedCounts.from_loss(ZCDP("0.02", delta="1e-6", relation=relation), most=3000)
        cost = m.loss(relation=relation).cost()
        assert cost.rho is not None
        assert Fraction("0.02") * (1 - Fraction(1, 10**6)) < cost.rho <= Fraction("0.02") * (1 + Fraction(1, 10**6))
        assert cost.delta == Fraction("1e-6")
        m = KeyedCounts.from_loss(Approx("0.5", "1e-6", relation=relation), most=10)
        assert m.loss(relation=relation).cost().epsilon == Fraction("0.5")
        assert mechanism_from_json(mechanism_to_json(m)) == m
    for loss in (Pure(1), ZCDP(1), Approx(0, "1e-6")):
        with pytest.raises(InputError, match="delta"):
            KeyedCounts.from_loss(loss, most=1)


def test_how_large_a_count_is_needed() -> None:
    m = gaussian(50, 64, "1e-6")
    assert m.noise.reaches(m.threshold() - m.needed(0.9))[0] == pytest.approx(0.9, abs=0.01)
    assert "threshold" in m.words()
    assert f"threshold {m.threshold() / 64:,.4g}" in m.size_words(Fraction(1, 64))


def test_what_is_refused() -> None:
    good: dict[str, Any] = {"noise": DiscreteLaplace(scale=3), "delta": "1e-6", "most": 3}
    for wrong, name in (
        ({"noise": None}, "noise"),
        ({"noise": KeyedCounts(**good)}, "noise"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": Fraction(1, 10**201)}, "delta"),
        ({"most": 0}, "most"),
        ({"most": "1/2"}, "most"),
        ({"most": 2**40 + 1}, "most"),
    ):
        with pytest.raises(InputError, match=name):
            KeyedCounts(**{**good, **wrong})
    m = KeyedCounts(**good)
    with pytest.raises(InputError, match="most"):
        m.loss(Sensitivity(l1=2))
    assert m.loss(Sensitivity(l1=6)).cost().epsilon == 2  # with other numbers beside the counts
    for counts in ([-1], [1.5], [[1, 2]], ["a"], [2**62]):
        with pytest.raises(InputError, match="weights"):
            m.sample(counts, FixedRng())
    with pytest.raises(LossError, match="fewer keys"):
        m.pmf([50] * 3)
