from dataclasses import replace
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from support.channel import check, max_log_ratio, p_value
from support.draws import draws
from support.fixed_rng import FixedRng
from tacit.base import InputError, LossError, Relation, Sensitivity, SensitivityError
from tacit.loss import ZCDP, Approx, Pure
from tacit.loss.mu import ranges_mu_squared
from tacit.mechanism import (
    Example,
    PermuteAndFlip,
    Pmf,
    Quantile,
    binned_quantiles,
    mechanism_from_json,
    mechanism_to_json,
)
from tacit.mechanism.binned_quantiles import BinnedQuantiles

MEDIAN = BinnedQuantiles(quantiles=(Fraction(1, 2),), scale=Fraction(3), cells=12)
ORDERS = (1.001, 1.5, 2.0, 8.0, 40.0)
QUANTILES = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), Fraction(19, 20), Fraction(1)]
rows = st.lists(st.integers(0, 6), min_size=5, max_size=5)


@pytest.mark.parametrize("example", BinnedQuantiles.examples())
def test_claims(example: Example) -> None:
    check(example)


def renyi(p: Pmf, q: Pmf, order: float) -> float:
    return float(logsumexp([order * log(p[o]) + (1 - order) * log(q[o]) for o in p])) / (order - 1)


def farthest(p: Pmf, q: Pmf) -> float:
    """The least ρ that holds for both directions at these orders."""
    return max(max(renyi(p, q, order), renyi(q, p, order)) / order for order in ORDERS)


@pytest.mark.parametrize("quantile", QUANTILES)
def test_it_is_the_quantile_of_the_values(quantile: Fraction) -> None:
    """Counts of rows and the rows themselves have one law, that of another file; and only mass over scale matters."""
    values = [0, 0, 3, 3, 3, 4, 9, 11]
    counts = np.bincount(values, minlength=12)
    law = Quantile(lower=Fraction(0), upper=Fraction(11), scale=Fraction(3), quantile=quantile).pmf(values)
    m = replace(MEDIAN, quantiles=(quantile,))
    assert {(y,): p for y, p in law.items()} == pytest.approx(m.pmf(counts), rel=1e-12)
    assert replace(m, scale=m.scale * 50).pmf(50 * counts) == pytest.approx(m.pmf(counts), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), quantile=st.sampled_from(QUANTILES), margin=st.sampled_from([0, "5/2"]))
def test_units_with_a_bounded_mass_over_two_groups(data: st.DataObject, quantile: Fraction, margin: Any) -> None:
    m = BinnedQuantiles(quantiles=(quantile,), scale=Fraction(2), cells=5, margin=Fraction(margin))
    others = [np.array(data.draw(rows)) for _ in range(2)]
    one, two = ([np.array(data.draw(rows)) for _ in range(2)] for _ in range(2))
    sizes = [max(sum(int(c.sum()) ** p for c in unit) for unit in (one, two)) for p in (1, 2)]
    l1, l2 = Fraction(sizes[0]), Fraction(sizes[1] ** 0.5 * (1 + 1e-12) + 1e-9)
    without, having, replaced = (
        [m.pmf(group + own) for group, own in zip(others, unit, strict=True)]
        for unit in ([0, 0], one, two)  # each group's law: they are independent
    )
    for right, relation in ((without, Relation.ADD_REMOVE), (replaced, Relation.REPLACE)):
        pure = replace(m, norm="l1").loss(Sensitivity(l1=l1), relation=relation)
        assert isinstance(pure, Pure)
        assert sum(max_log_ratio(p, q) for p, q in zip(having, right, strict=True)) <= float(pure.bound) * (1 + 1e-9)
        flipping = replace(m, norm="l1", draw="flip")
        assert flipping.loss(Sensitivity(l1=l1), relation=relation) == pure
        after = [0, 0] if relation is Relation.ADD_REMOVE else two
        pairs = [
            (flipping.pmf(group + own), flipping.pmf(group + other))
            for group, own, other in zip(others, one, after, strict=True)
        ]
        assert sum(max_log_ratio(p, q) for p, q in pairs) <= float(pure.bound) * (1 + 1e-9)
        dear = flipping.concentrated(Sensitivity(l1=l1, l2=l2), relation=relation)
        for order in ORDERS:
            there, back = (sum(renyi(*pair, order) for pair in way) for way in (pairs, [(q, p) for p, q in pairs]))
            assert max(there, back) <= float(dear.rho) * order * (1 + 1e-9) + 1e-9
        zcdp = m.loss(Sensitivity(l2=l2), relation=relation)
        assert isinstance(zcdp, ZCDP)
        for order in ORDERS:
            there = sum(renyi(p, q, order) for p, q in zip(having, right, strict=True))
            back = sum(renyi(q, p, order) for p, q in zip(having, right, strict=True))
            assert max(there, back) <= float(zcdp.rho) * order * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(("quantile", "size"), [("1/2", 1), ("4/5", 3)])
def test_the_rho_is_attained(quantile: str, size: int) -> None:
    """Half the answers move up and half down, all about as likely: no smaller ρ would do."""
    q, big = Fraction(quantile), 10**4
    m = BinnedQuantiles(quantiles=(q,), scale=Fraction(1000 * size), cells=800, norm="l2")
    target = int(q * big)
    # one row of mass a cell, so that misses stay far below the scale, and the rest at the two ends
    counts = np.array([target - 399, *[1] * 798, big - target - 399])
    more = counts.copy()
    more[-1] += size
    loss = m.loss(Sensitivity(l2=Fraction(size)))
    assert isinstance(loss, ZCDP)
    found = farthest(m.pmf(counts), m.pmf(more))
    assert 0.97 * float(loss.rho) < found <= float(loss.rho)


def test_permute_and_flip() -> None:
    """In pure ε: the law of that mechanism on the misses, which are never larger in expectation, and samples of it."""
    counts = [3, 0, 5, 1, 0, 0, 2, 4]
    m = BinnedQuantiles.from_loss(Pure(1), quantiles=("2/5",), cells=8, sensitivity=Sensitivity.scalar(1))
    assert (m.norm, m.draw) == ("l1", "flip")
    upto = np.cumsum(counts)
    misses = np.maximum(np.maximum(upto - counts - 6, 6 - upto), 0)
    law = PermuteAndFlip(scale=m.scale).pmf((-misses).tolist())
    assert m.pmf(counts) == pytest.approx({(y,): p for y, p in law.items()}, rel=1e-12)
    plain = replace(m, draw=None)
    flipped, drawn = (sum(p * misses[y] for y, p in enumerate(each.pmf(counts).values())) for each in (m, plain))
    assert flipped < 0.95 * drawn
    for each in (m, replace(m, margin=Fraction(3, 2))):
        assert p_value(each.pmf(counts), draws(each, counts, 1500, FixedRng(3))) > 1e-7
    assert m.concentrated(Sensitivity.scalar(1)).rho == 4 * plain.concentrated(Sensitivity.scalar(1)).rho
    with pytest.raises(InputError, match="bounded range"):
        replace(m, norm="l2")
    with pytest.raises(InputError, match="draw"):
        replace(m, draw="lots")  # type: ignore[arg-type]  # on purpose
    assert "draw" not in mechanism_to_json(plain)  # as ledgers hold it
    assert mechanism_from_json(mechanism_to_json(m)) == m


def test_losses() -> None:
    q = (Fraction(1, 4), Fraction(1, 2))
    m = BinnedQuantiles(quantiles=q, scale=Fraction(10), cells=8, norm="l1")
    groups = Sensitivity(l1=Fraction(6), l2=Fraction(5))
    assert m.loss(groups) == Pure(2 * (Fraction(3, 4) + Fraction(1, 2)) * 6 / 10)
    assert m.loss(groups, relation=Relation.REPLACE) == Pure(3, relation=Relation.REPLACE)
    one_group = Sensitivity.scalar(6)
    assert m.loss(6, relation=Relation.REPLACE) == m.loss(groups, relation=Relation.REPLACE)
    assert m.loss(one_group, relation=Relation.REPLACE) == Pure(Fraction(24, 10), relation=Relation.REPLACE)
    squares = Fraction(9, 16) + Fraction(1, 4)
    square = ranges_mu_squared(squares)  # of ranges 2·5·shift/10
    wide = replace(m, norm="l2").loss(groups, unit="person")
    assert wide == ZCDP(squares * 25 / 200, mu_squared=square, unit="person")
    assert m.concentrated(groups) == ZCDP(squares * 25 / 200, mu_squared=square)
    assert m.concentrated(Sensitivity(l1=Fraction(6))).rho == squares * 36 / 200  # l2 is at most l1
    replaced = 2 * (Fraction(10, 16) + Fraction(1, 2))
    assert m.concentrated(groups, relation=Relation.REPLACE).rho == replaced * 25 / 200
    single = m.concentrated(Sensitivity.scalar(5), relation=Relation.REPLACE)
    assert single.rho == 2 * Fraction(25, 200)
    rho = replaced * Fraction(25, 200)
    expected = ZCDP(rho, mu_squared=ranges_mu_squared(8 * rho), relation=Relation.REPLACE)
    assert m.concentrated(5, relation=Relation.REPLACE) == expected
    assert replace(m, margin=Fraction(1)).loss(groups) == Pure(3)
    with pytest.raises(SensitivityError, match="l1"):
        m.loss(Sensitivity(l2=Fraction(5)))
    for wrong in (m, replace(m, norm="l2")):
        with pytest.raises(SensitivityError, match="missing"):
            wrong.loss()


@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("relation", list(Relation))
def test_from_a_guarantee(relation: Relation, confidence: float | None) -> None:
    size = Sensitivity(l1=Fraction(6), l2=Fraction(5))
    options: Any = {"quantiles": (0.25, 0.9), "cells": 50}
    pure = Pure("0.3", relation=relation)
    m = BinnedQuantiles.from_loss(pure, sensitivity=size, confidence=confidence, **options)
    assert m.loss(size, relation=relation) == pure
    zcdp = ZCDP("0.01", relation=relation)
    m = BinnedQuantiles.from_loss(zcdp, sensitivity=size, confidence=confidence, **options)
    found = m.loss(size, relation=relation)
    assert isinstance(found, ZCDP)
    assert zcdp.rho * (1 - Fraction(1, 10**9)) < found.rho <= zcdp.rho
    assert bool(m.margin) == (confidence is not None)
    if confidence:
        assert confidence <= m.covered() < confidence + 0.001
    for wrong in (Approx(1, "1e-6"), ZCDP(1, delta="1e-6"), Pure(0)):
        with pytest.raises(InputError, match="without delta"):
            BinnedQuantiles.from_loss(wrong, sensitivity=size, **options)


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(0, 30), min_size=8, max_size=8),
    quantile=st.sampled_from(QUANTILES),
    margin=st.sampled_from([1, 4, 9, 20]),
)
def test_two_answers_enclose_the_quantile(counts: list[int], quantile: Fraction, margin: int) -> None:
    """`covered` is a bound for any data, groups smaller than the margin included."""
    m = BinnedQuantiles(quantiles=(quantile,), scale=Fraction(2), cells=8, margin=Fraction(margin))
    upto = np.cumsum(counts)
    right = [y for y in range(8) if upto[y] - counts[y] <= quantile * int(upto[-1]) <= upto[y]]
    law: Any = m.pmf(counts)
    for y in right:
        assert sum(p for ((low, high),), p in law.items() if low <= y <= high) >= m.covered()


def test_even_mass_is_enclosed_as_often_as_said() -> None:
    m = BinnedQuantiles(quantiles=(Fraction(1, 2),), scale=Fraction(20), cells=241)
    m = replace(m, margin=m.margin_for(0.95, even=True))
    assert m.margin == pytest.approx(20 * log(20), rel=2e-3)
    law: Any = m.pmf([1] * 241)
    assert sum(p for ((low, high),), p in law.items() if low <= 120 <= high) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("margin", [0, 7])
def test_error_is_a_bound(margin: int) -> None:
    m = replace(MEDIAN, quantiles=(Fraction(1, 3), Fraction(3, 4)), scale=Fraction(1, 2), margin=Fraction(margin))
    counts = [0, 0, 9, 0, 14, 0, 3, 0, 0, 8, 0, 0]
    upto, total, e = np.cumsum(counts), sum(counts), m.error(0.9)
    aims = [(q * total - margin, q * total + margin) if margin else (q * total,) for q in m.quantiles]

    def missed(y: int, aim: Fraction) -> float:
        """Beyond an end as much more mass may be thought as is wanted."""
        below, above = upto[y] - counts[y] if y else -margin, upto[y] if y < 11 else total + margin
        return max(float(below - aim), float(aim - above), 0.0)

    bad = 0.0
    law: Any = m.pmf(counts)
    for answers, p in law.items():
        listed = answers if margin else [(y,) for y in np.ravel(answers)]
        if any(missed(y, a) > e for ys, at in zip(listed, aims, strict=True) for y, a in zip(ys, at, strict=True)):
            bad += p
    assert bad <= 0.1
    assert m.error(0.9, groups=10) == pytest.approx(e + 0.5 * log(10))


@pytest.mark.parametrize("rising", [False, True])
def test_high_quantiles_lean_upward_by_their_law(rising: bool) -> None:
    """Of ten million exponential values: by 3Q″t² with equal cells, and by less with rising ones."""
    size, t, best = 10**7, 0.002, -log(0.05)
    edges = np.append(0, np.geomspace(0.05, 14, 4000)) if rising else np.linspace(0, 14, 4001)
    counts = np.diff(np.round(size * -np.expm1(-edges))).astype(np.int64)
    m = BinnedQuantiles(quantiles=(Fraction(19, 20),), cells=len(counts), scale=Fraction(int(t * size)))
    middles = (edges[1:] + edges[:-1]) / 2
    law: Any = m.pmf(counts.tolist())
    lean = sum(chance * middles[cell] for (cell,), chance in law.items()) - best
    assert lean == pytest.approx(3 * 400 * t**2 - rising * 2 * 400 * t**2 / best, rel=0.04)


def test_shapes_and_order() -> None:
    table = np.random.default_rng(3).integers(0, 40, (7, 12))  # test data
    m = replace(MEDIAN, quantiles=(Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), scale=Fraction(30))
    assert m.sample(table, FixedRng()).shape == (7, 3)
    assert m.sample(table[0].tolist(), FixedRng()).shape == (3,)
    assert m.sample(np.zeros((0, 12), dtype=int), FixedRng()).shape == (0, 3)
    far = np.zeros((3000, 12), dtype=int)  # more than one block, with nothing to doubt
    far[np.arange(3000), np.arange(3000) % 12] = 10**6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binned_quantiles, "BLOCK", 12_000)
        assert (m.sample(far, FixedRng()) == np.arange(3000)[:, None] % 12).all()
    wide = replace(m, margin=Fraction(20))
    found = np.array([wide.sample(table, FixedRng(i)) for i in range(30)])
    assert found.shape == (30, 7, 3, 2)
    assert (np.diff(found, axis=2) >= 0).all()
    assert (np.diff(found, axis=3) >= 0).all()
    assert found.min() >= 0
    assert found.max() <= 11


@pytest.mark.parametrize("margin", ["0", "5/2"])
def test_samples_follow_the_law(margin: str) -> None:
    m = BinnedQuantiles(quantiles=(Fraction(1, 3), Fraction(1, 2)), scale=Fraction(1), cells=4, margin=Fraction(margin))
    single = replace(m, quantiles=(Fraction(1, 3),))
    value: Any
    for mechanism, value in ((m, [0, 5, 1, 2]), (m, [0, 0, 0, 0]), (single, [[0, 5, 1, 2], [3, 0, 0, 0]])):
        assert p_value(mechanism.pmf(value), draws(mechanism, value, 800, FixedRng(2))) > 1e-7


def test_great_masses_stay_whole_numbers() -> None:
    m = BinnedQuantiles(quantiles=(Fraction("0.123456789"),), scale=Fraction(10**12), cells=3)
    small = replace(m, scale=Fraction(1))
    for counts, base in (([5 * 10**12, 0, 10**12], [5, 0, 1]), (np.array([5 * 10**12, 0, 10**12]), [5, 0, 1])):
        assert p_value(small.pmf(base), draws(m, counts, 1500, FixedRng(4))) > 1e-7
    most = np.array([2**63, 0, 2**63], dtype=np.uint64)
    assert set(draws(replace(m, quantiles=(Fraction(1, 10),), scale=Fraction(2**50)), most, 20, FixedRng(4))) == {(0,)}
    huge = replace(m, scale=Fraction(10**30))
    assert p_value(small.pmf([5, 0, 1]), draws(huge, [5 * 10**30, 0, 10**30], 1500, FixedRng(4))) > 1e-7


def test_a_bound_for_clipping_can_be_chosen() -> None:
    """Units counted by the least edge that is not below their norm: each counts once, so the mass of one unit is 1."""
    edges = [2**i for i in range(20)]
    norms = np.random.default_rng(5).geometric(0.02, 20_000)  # test data
    counts = np.bincount(np.searchsorted(edges, norms, side="left").clip(max=19), minlength=20)
    m = BinnedQuantiles.from_loss(Pure("0.1"), quantiles=("0.98",), cells=20, sensitivity=1)
    assert m.loss(1) == Pure("0.1")
    chosen = [edges[m.sample(counts, FixedRng(i))[0]] for i in range(20)]
    assert set(chosen) == {256}  # 98 % lie at or below 195


def test_what_is_refused() -> None:
    good: dict[str, Any] = {"quantiles": (0.5,), "scale": 1, "cells": 3}
    for wrong, name in (
        ({"quantiles": ()}, "quantiles"),
        ({"quantiles": (0.5, 0.5)}, "quantiles"),
        ({"quantiles": (1.5,)}, "quantiles"),
        ({"scale": 0}, "scale"),
        ({"cells": 0}, "cells"),
        ({"norm": "l3"}, "norm"),
        ({"margin": -1}, "margin"),
        ({"margin": float("inf")}, "margin"),
    ):
        with pytest.raises(InputError, match=name):
            BinnedQuantiles(**{**good, **wrong})
    m = BinnedQuantiles(**good)
    for counts in (
        [1, 2],
        [[1, 2]],
        [1, 2, -1],
        [1.0, 2.0, 3.0],
        [True, False, True],
        ["a", "b", "c"],
        5,
        [[[1, 2, 3]]],
    ):
        with pytest.raises(InputError, match="counts"):
            m.sample(counts, FixedRng())
    with pytest.raises(LossError, match="fewer"):
        replace(m, cells=101).pmf(np.ones((4, 101), dtype=int))
    assert m.covered() == 0
    assert exp(-m.margin_for(0.99)) * 3 <= 0.01
