"""What a cohort releases costs what it says: the law of the very numbers that go out, on a vector of one number."""

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.signal import fftconvolve

from support.cohorts import small_cohort
from tacit.base import InputError, Relation
from tacit.learn.federated import Cohort
from tacit.learn.federated.encode import centred, rotated, rotated_back, rounded
from tacit.loss import calibrate
from tacit.mechanism import DiscreteGaussian
from tacit.noise import SecureRng

NAME = b"a round"


def share_law(variance: Fraction) -> Any:
    """Pr[z] of one share of noise, in steps, as a symmetric list."""
    half = np.array(DiscreteGaussian(sigma=Fraction(sqrt(variance)).limit_denominator(10**9)).weights())
    return np.concatenate([half[:0:-1], half])


def summed(law: Any, times: int) -> Any:
    total = law
    for _ in range(times - 1):
        total = fftconvolve(total, law)
    return np.maximum(total, 0)


def hockey_stick(law: Any, shift: int, epsilon: float) -> float:
    here, there = np.append(law, np.zeros(shift)), np.append(np.zeros(shift), law)
    return float(np.maximum(here - np.exp(epsilon) * there, 0).sum())


@pytest.mark.parametrize("shares", [1, 2, 5, 20])
@pytest.mark.parametrize("sigma", [3, 4])
def test_shares_add_up_to_a_discrete_gaussian(shares: int, sigma: int) -> None:
    """Each factor 1 ± 1e-35 of the theory is below what doubles show; at half a step a share it is plainly not."""
    law = summed(share_law(Fraction(sigma**2)), shares)
    whole = np.array(DiscreteGaussian(sigma=Fraction(sqrt(shares)).limit_denominator(10**8) * sigma).weights())
    middle, reach = len(law) // 2, int(4 * sigma * sqrt(shares))
    ratio = law[middle : middle + reach] / whole[:reach]
    assert np.abs(ratio - 1).max() < 1e-6


def test_shares_of_half_a_step_do_not() -> None:
    half = np.array(DiscreteGaussian(sigma="1/4").weights())
    law = summed(np.concatenate([half[:0:-1], half]), 4)
    whole = np.array(DiscreteGaussian(sigma="1/2").weights())
    ratio = law[len(law) // 2 : len(law) // 2 + 3] / whole[:3]
    assert np.abs(ratio - 1).max() > 0.05


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(
    ("survivors", "colluding", "noise"),
    [(3, 0, "distributed"), (4, 2, "distributed"), (4, 0, "local"), (4, 0, "central")],
)
def test_the_law_of_what_goes_out(survivors: int, colluding: int, noise: Any, relation: Relation) -> None:
    """Between any two whole vectors that encoding allows, with no more noise than is sure to be there."""
    cohort = Cohort(
        clients=5,
        survivors=survivors,
        clip=1,
        dimension=1,
        bits=12,
        noise=noise,
        colluding=colluding,
        relation=relation,
    )
    sure = {"distributed": survivors - colluding, "local": 1, "central": 1}[noise]
    code, claimed = cohort.code(1), cohort.loss(1)
    farthest = int(sqrt(code.longest)) * (1 if relation is Relation.ADD_REMOVE else 2)
    law, less = (summed(share_law(code.variance * factor), sure) for factor in (1, Fraction(81, 100)))
    for epsilon in (0.1, 0.5, 1, 2):
        promised = claimed.delta(epsilon).upper
        assert hockey_stick(law, farthest, epsilon) <= promised * (1 + 1e-9)
        assert hockey_stick(less, farthest, epsilon) > promised  # a tenth less noise breaks it
    if sure > 1:  # so does a share that a colluding client may take off again
        fewer = summed(share_law(code.variance), sure - 1)
        assert hockey_stick(fewer, farthest, 1) > claimed.delta(1).upper


def test_noise_of_those_who_may_drop_out_or_tell_is_not_counted() -> None:
    def sure(**more: Any) -> int:
        return small_cohort(clients=20, **more).shares

    assert sure(survivors=14) == 14
    assert sure(survivors=14, colluding=4) == 10
    assert sure(survivors=14, noise="local") == sure(survivors=14, noise="central") == 1
    many = small_cohort(clients=20, survivors=14).loss(1).epsilon(1e-6)
    few = small_cohort(clients=20, survivors=14, colluding=4).loss(1).epsilon(1e-6)
    assert few.upper > many.upper


def test_rounding_is_unbiased_and_never_too_long() -> None:
    rng, cohort = SecureRng(), small_cohort(dimension=64, bits=12)
    code = cohort.code(2)
    vector = np.full(64, 0.3) / np.linalg.norm(np.full(64, 0.3)) / float(code.granularity)
    drawn = [rounded(vector, longest=code.longest, rng=rng) for _ in range(4000)]
    assert max(int((each * each).sum()) for each in drawn) <= code.longest
    assert np.abs(np.mean(drawn, axis=0) - vector).max() < 6 * 0.5 / sqrt(4000)
    with pytest.raises(InputError, match="was not clipped"):
        rounded(3 * vector, longest=code.longest, rng=rng)
    with pytest.raises(InputError, match="not finite"):
        rounded(vector * np.nan, longest=code.longest, rng=rng)


def test_the_bound_is_met_at_once_most_of_the_time() -> None:
    """The chance of at least 0.39 that the theory states, for vectors as long as the clip."""
    rng, cohort, met = SecureRng(), small_cohort(dimension=256, bits=12), 0
    code, chance = cohort.code(2), np.random.default_rng(5)
    for _ in range(300):
        vector = chance.normal(size=256)
        steps = rotated(vector / np.linalg.norm(vector), name=NAME, size=256) / float(code.granularity)
        coins = rng.words(256) * 2.0**-64
        whole = np.floor(steps) + (coins < steps - np.floor(steps))
        met += int((whole * whole).sum() <= code.longest)
    assert met / 300 > 0.39


def test_rotation_keeps_lengths_and_is_undone() -> None:
    vector = np.arange(5.0)
    turned = rotated(vector, name=NAME, size=8)
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(vector))
    assert rotated_back(turned, name=NAME, size=5) == pytest.approx(vector)
    assert not np.allclose(turned, rotated(vector, name=b"another", size=8))


def test_numbers_wrap_round_and_back() -> None:
    assert centred(np.array([0, 1, 32767, 32768, 65535], "<u2"), bits=16).tolist() == [0, 1, 32767, -32768, -1]


@pytest.mark.parametrize("noise", ["distributed", "local", "central"])
def test_a_decoded_sum_is_the_true_one_with_the_noise_that_was_stated(noise: Any) -> None:
    cohort = Cohort(clients=10, survivors=8, clip=2, dimension=500, bits=20, noise=noise)
    chance = np.random.default_rng(1)
    vectors = chance.normal(size=(10, 500)) / 15
    words = np.zeros(cohort.size, cohort.letters)
    for each in vectors:
        words += cohort.encode(each, sigma=3, name=NAME)
    off = cohort.decode(words, sigma=3, name=NAME) - vectors.sum(0)
    wanted = 3 * (1 if noise == "central" else sqrt(10))
    assert np.std(off) == pytest.approx(wanted, rel=0.2)


def test_long_vectors_are_clipped_and_broken_ones_count_nothing() -> None:
    cohort = Cohort(clients=2, survivors=2, clip=1, dimension=4, bits=32, noise="central")

    def alone(vector: Any) -> Any:
        steps = centred(cohort.encode(np.array(vector), sigma="1/1000", name=NAME), bits=32)
        return rotated_back(steps.astype(float) * float(cohort.code("1/1000").granularity), name=NAME, size=4)

    assert alone([3, 0, 4, 0]) == pytest.approx([0.6, 0, 0.8, 0], abs=1e-3)
    assert alone([1e300, 0, 0, 1e300]) == pytest.approx([sqrt(0.5), 0, 0, sqrt(0.5)], abs=1e-3)
    for broken in ([np.nan, 1, 1, 1], [np.inf, 0, 0, 0], [0, 0, 0, 0]):
        assert np.abs(alone(broken)).max() < 1e-3


@pytest.mark.parametrize("noise", ["distributed", "central", "local"])
def test_a_sum_at_the_edge_moves_no_more_than_any_other(noise: Any) -> None:
    """The largest number that fits and the next, which wraps round: one step of one client is between them. With
    noise of many steps both come out above and below zero as often, and no number is beyond the bits."""
    cohort = Cohort(clients=2, survivors=2, clip=1, dimension=1, bits=8, noise=noise)
    share, edge = 4, 1 << 7
    step = float(cohort.code(share).granularity)
    for words in (edge - 1, edge):
        told = []
        for _ in range(300):
            noisy = words
            if noise != "central":
                sent = (cohort.encode([0.0], sigma=share, name=b"r") for _ in range(2))
                noisy += int(sum(int(each[0]) for each in sent))
            word = np.array([noisy & 255], dtype=cohort.letters)
            told.append(float(cohort.decode(word, sigma=share, name=b"r")[0]) / step)
        assert max(map(abs, told)) <= edge
        assert 0.3 < np.mean(np.array(told) > 0) < 0.7  # six standard deviations


def test_more_noise_costs_less() -> None:
    cohort = small_cohort(clients=100, survivors=80, dimension=4096)
    found = calibrate(lambda s: 50 * cohort.loss(s), epsilon=4, delta=1e-6).value
    assert (50 * cohort.loss(found)).epsilon(1e-6).upper <= 4
    assert (50 * cohort.loss(0.9 * found)).epsilon(1e-6).upper > 4


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="say bits=7"):
        small_cohort(bits=4).code(1)
    with pytest.raises(InputError, match="noise must be"):
        small_cohort(noise="none")
    with pytest.raises(InputError, match="colluding < threshold"):
        small_cohort(colluding=4)
    with pytest.raises(InputError, match="at most 32"):
        small_cohort(bits=40)
    with pytest.raises(InputError, match="vector of 6 numbers"):
        small_cohort().encode(np.zeros(5), sigma=1, name=NAME)
    suggested = small_cohort(bits=7)
    assert suggested.code(1).variance >= 9
