from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import isqrt, log, prod
from typing import Any, Literal

import numpy as np
import pytest

from support.channel import check, hockey_stick, p_value
from support.fixed_rng import FixedRng
from tacit.base import InputError, LossError, Relation
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism import Example, Pmf
from tacit.mechanism.key_selection import KeySelection, _tails

SMALL = [
    KeySelection(norm="l2", scale=Fraction(9), delta=Fraction("1e-4"), one=3),
    KeySelection(norm="l2", scale=Fraction(1), delta=Fraction("1/20"), one=3),
    KeySelection(norm="l1", scale=Fraction(7), delta=Fraction("1e-3"), one=5),
    KeySelection(norm="l1", scale=Fraction(1, 2), delta=Fraction("1/10"), one=4),
]


@pytest.mark.parametrize("example", KeySelection.examples())
def test_claims(example: Example) -> None:
    check(example)


def tail(m: KeySelection, least: int) -> float:
    """Pr[Z ≥ least], summed over the listed law of the noise."""
    half = m.noise.weights()
    return sum(p for z, p in enumerate(half) if z >= least) + sum(p for z, p in enumerate(half) if z and -z >= least)


def vectors(m: KeySelection, room: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every falling list of positive whole numbers with Σ w^p ≤ room."""
    yield ()
    power = 2 if m.norm == "l2" else 1
    for w in range(1, most + 1):
        if w**power <= room:
            yield from ((w, *rest) for rest in vectors(m, room - w**power, w))


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_no_vector_of_weights_shows_a_key_of_its_own_more_often_than_delta(m: KeySelection) -> None:
    """By brute force over all of them, equal weights or not, with tails that are summed anew."""
    tails = {w: tail(m, m.threshold() - w) for w in range(1, m.one + 1)}
    seen = [1 - prod(1 - tails[w] for w in own) for own in vectors(m, m.most, m.one)]
    assert len(seen) > 10
    assert max(seen) <= float(m.delta)
    lower = {w: tail(m, m.threshold() - 1 - w) for w in range(1, m.one + 1)}
    allowed = -log(1 - float(m.delta))
    bound = max(-log(1 - p) * (m.one / w) ** (2 if m.norm == "l2" else 1) for w, p in lower.items())
    assert bound > allowed, "one less would break the bound"


@pytest.mark.parametrize(("scale", "worst"), [(9, 9), (1, 1)])
def test_the_worst_unit_has_many_keys_when_there_is_much_noise(scale: int, worst: int) -> None:
    m = KeySelection(norm="l2", scale=Fraction(scale), delta=Fraction("1e-6"), one=3)
    seen = {k: 1 - (1 - m.probability(m.weight(k))) ** k for k in range(1, m.most + 1)}
    assert max(seen, key=lambda k: seen[k]) == worst
    assert seen[worst] <= 1e-6


def renyi(p: Pmf, q: Pmf, order: float) -> float:
    return log(sum(p[o] ** order * q[o] ** (1 - order) for o in p if p[o] > 0)) / (order - 1)


def without(law: Any, keys: int) -> tuple[Pmf, float]:
    """The law of the first decisions given that none of the last keys is shown, and how likely that is."""
    kept = {shown[:-keys]: p for shown, p in law.items() if not any(shown[-keys:])}
    total = sum(kept.values())
    return {shown: p / total for shown, p in kept.items()}, total


def rho(m: KeySelection, relation: Relation) -> float:
    loss = m.loss(relation=relation)
    assert isinstance(loss, ZCDP)
    return float(loss.rho)


@pytest.mark.parametrize("base", [2, 7, 20, 40])
def test_given_that_no_own_key_is_shown_the_rest_is_concentrated(base: int) -> None:
    """Definition 8.1 of Bun and Steinke, on a unit of four keys of which it has two alone, and on a replaced one."""
    m = KeySelection(norm="l2", scale=Fraction(5), delta=Fraction("1e-3"), one=4)
    w = m.weight(4)
    pairs: list[tuple[Relation, tuple[int, ...], tuple[int, ...], int]]
    pairs = [(Relation.ADD_REMOVE, (base + w, base + w, w, w), (base, base, 0, 0), 2)]
    pairs += [(Relation.REPLACE, (base + 3, base, w), (base, base + 4, 0), 1)]
    for relation, left, right, own in pairs:
        (here, likely), (there, certain) = without(m.pmf(left), own), without(m.pmf(right), own)
        assert certain == pytest.approx(1)
        assert 1 - likely <= 1e-3
        for order in (1.01, 2.0, 5.0, 30.0):
            assert max(renyi(here, there, order), renyi(there, here, order)) <= rho(m, relation) * order


@pytest.mark.parametrize("m", [SMALL[2], SMALL[3]], ids=str)
def test_every_pair_of_weights_holds_in_l1(m: KeySelection) -> None:
    t, own = m.threshold(), [v for v in vectors(m, m.most, m.one) if len(v) <= 2]
    bound = float(m.one / m.scale)
    for before in product((0, 1, t // 2, t, t + 3), repeat=2):
        for vector in own:
            added = tuple(b + w for b, w in zip(before, (*vector, 0, 0), strict=False))
            assert hockey_stick(m.pmf(before), m.pmf(added), bound) <= float(m.delta) * (1 + 1e-9)
            for other in own:  # replaced
                new = tuple(b + w for b, w in zip(before, (*other, 0, 0)[::-1][:2], strict=True))
                assert hockey_stick(m.pmf(added), m.pmf(new), 2 * bound) <= float(m.delta) * (1 + 1e-9)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_weights_are_the_largest_that_fit(norm: Literal["l1", "l2"]) -> None:
    m = KeySelection(norm=norm, scale=Fraction(10), delta=Fraction("1e-5"), one=37)
    power = 2 if norm == "l2" else 1
    for k in (*range(1, 60), m.most - 1, m.most, m.most + 1, 10**7):
        w = m.weight(k)
        assert k * w**power <= 37**power < k * (w + 1) ** power
    assert (m.weight(m.most), m.weight(m.most + 1)) == (1, 0)


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_samples_follow_the_law(m: KeySelection) -> None:
    t, rng = m.threshold(), FixedRng(5)
    weights = (t - 1, t + 1, 0, max(1, t - int(m.scale)))
    outputs = [tuple(m.sample(np.array(weights), rng).tolist()) for _ in range(4000)]
    assert p_value(m.pmf(weights), outputs) > 1e-7
    many = m.sample(np.full(200_000, t + 1), rng)
    share, expected = float(many.mean()), m.probability(t + 1)
    assert abs(share - expected) < 5.5 * (expected * (1 - expected) / 200_000) ** 0.5


def test_far_keys_and_missing_keys() -> None:
    m = KeySelection.from_rho("1/10", delta="1e-6")
    weights = np.array([0, 2**62 - 1, 1, 50 * m.threshold()] * 1000)
    kept = m.sample(weights, FixedRng(1)).reshape(-1, 4)
    assert kept.dtype == np.bool_
    assert not kept[:, 0].any()
    assert kept[:, [1, 3]].all()
    assert kept[:, 2].sum() == 0  # a chance of 1e-9
    assert m.sample([], FixedRng()).shape == (0,)
    often = KeySelection(norm="l1", scale=Fraction(50), delta=Fraction(9, 10), one=1)  # noise alone passes often
    assert often.probability(1) > 0.4
    assert not often.sample(np.zeros(1000, dtype=int), FixedRng(1)).any()
    assert often.pmf([0]) == {(True,): 0.0, (False,): 1.0}


def test_from_a_guarantee() -> None:
    m = KeySelection.from_rho("0.02", delta="1e-6", one=32)
    loss = m.loss()
    assert isinstance(loss, ZCDP)
    assert Fraction("0.02") * (1 - Fraction(1, 10**9)) < loss.rho <= Fraction("0.02")
    assert loss.slack == Fraction("1e-6")
    assert KeySelection.from_loss(ZCDP("0.02", delta="1e-6"), one=32) == m
    assert KeySelection.from_loss(ZCDP("0.04", delta="1e-6", relation=Relation.REPLACE), one=32) == m
    m = KeySelection.from_epsilon("0.5", delta="1e-6", one=100)
    assert m.loss() == Approx("0.5", "1e-6")
    assert m.loss(relation=Relation.REPLACE, unit="person") == Approx(
        1, "1e-6", relation=Relation.REPLACE, unit="person"
    )
    assert KeySelection.from_loss(Approx("0.5", "1e-6"), one=100) == m
    both = KeySelection.from_rho("0.02", delta="1e-6").loss() + Pure("0.2")
    assert isinstance(both, ZCDP)
    assert both.slack == Fraction("1e-6")
    for loss in (Pure(1), ZCDP(1), Approx(0, "1e-6"), ZCDP(0, delta="1e-6")):
        with pytest.raises(InputError, match="delta"):
            KeySelection.from_loss(loss)


def test_how_many_units_are_needed() -> None:
    m = KeySelection.from_rho("0.02", delta="1e-6")
    assert (m.threshold(), m.needed(), m.needed(keys=10)) == (1993, 40, 126)  # the numbers of the theory page
    for keys in (1, 10, 4096):
        n = m.needed(0.9, keys=keys)
        assert m.probability((n - 1) * m.weight(keys)) < 0.9 <= m.probability(n * m.weight(keys))
    with pytest.raises(InputError, match="4096"):
        m.needed(keys=4097)


@pytest.mark.parametrize(("norm", "scale"), [("l1", "1/3"), ("l1", 20), ("l2", "1/3"), ("l2", 20)])
def test_tails(norm: Literal["l1", "l2"], scale: Any) -> None:
    m = KeySelection(norm=norm, scale=Fraction(scale), delta=Fraction("1e-5"))
    places = np.arange(-30, 60)
    for found, place in zip(_tails(norm, float(m.scale), places), places.tolist(), strict=True):
        assert found == pytest.approx(tail(m, place), rel=1e-9, abs=1e-300)


def test_a_very_fine_lattice_has_hardly_a_higher_threshold() -> None:
    """Beyond σ = 2^13 tails are bounded rather than summed."""
    coarse = KeySelection(norm="l2", scale=Fraction(2**13), delta=Fraction("1e-6"), one=1000)
    fine = replace(coarse, scale=Fraction(2**13 + 1))
    assert coarse.threshold() < fine.threshold() < coarse.threshold() * 1.001
    assert fine.probability(isqrt(2**26)) == pytest.approx(coarse.probability(isqrt(2**26)), rel=1e-2)
    wide = replace(coarse, scale=Fraction(2**13 + 1), delta=Fraction(9, 10), one=1)
    assert wide.threshold() >= 1


def test_what_is_refused() -> None:
    good: dict[str, Any] = {"scale": 10, "delta": "1e-6"}
    for wrong, name in (
        ({"norm": "linf"}, "norm"),
        ({"one": 0}, "one"),
        ({"one": 2**16 + 1}, "one"),
        ({"one": 1.5}, "one"),
        ({"scale": 0}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": Fraction(1, 10**201)}, "delta"),
    ):
        with pytest.raises(InputError, match=name):
            KeySelection(**{**good, **wrong})
    m = KeySelection(**good)
    with pytest.raises(InputError, match="one"):
        m.loss(1)
    for wrong_weights in ([-1], [1.5], [[1, 2]], ["a"], [True], [2**62], 3):
        with pytest.raises(InputError, match="weights"):
            m.sample(wrong_weights, FixedRng())
    with pytest.raises(LossError, match="17"):
        m.pmf([1] * 17)
    other: Any = "other"
    with pytest.raises(InputError, match="relation"):
        m.loss(relation=other)


def test_noise_beyond_doubles_is_refused() -> None:
    with pytest.raises(InputError, match="hides every key"):
        KeySelection.from_loss(Approx(Fraction(1, 10**320), Fraction(1, 10**6)), one=64).threshold()
