"""What every protocol holds that counts answers: exactly private, one kind of report, unbiased, as exact as it says."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.reports import (
    check_forms,
    check_impossible,
    check_private,
    check_refused,
    check_tally,
    largest_ratio,
    within,
)
from tacit.base import InputError
from tacit.survey import (
    CoinFlip,
    DirectResponse,
    Frequency,
    HadamardResponse,
    LocalHashing,
    OptimizedUnary,
    PooledHashing,
    SubsetSelection,
    SymmetricUnary,
    Tally,
)
from tacit.survey.bits import Bits
from tacit.survey.protocol import word


def pooled(*, epsilon: Any, categories: int) -> PooledHashing:
    return PooledHashing(epsilon=epsilon, categories=categories, seeds=24)


Kind = Callable[..., Frequency]
LISTED: list[Kind] = [DirectResponse, SymmetricUnary, OptimizedUnary, HadamardResponse, SubsetSelection, pooled]
KINDS: list[Kind] = [*LISTED, LocalHashing]
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(5)]
MORE = Fraction(105, 100)
CASES = [
    pytest.param(
        kind,
        k,
        epsilon,
        id=f"{kind.__name__}-{k}-{epsilon}",
        marks=[pytest.mark.slow] if k > 9 and (epsilon != 1 or k not in (10, 13)) else [],
    )
    for kind in LISTED
    for k in range(2, 17)
    for epsilon in EPSILONS
]


@pytest.mark.parametrize(("kind", "categories", "epsilon"), CASES)
def test_the_exact_channel_keeps_epsilon_and_attains_it(kind: Kind, categories: int, epsilon: Fraction) -> None:
    protocol = kind(epsilon=epsilon, categories=categories)
    few = categories > 9 and isinstance(protocol, Bits)  # there are many sets, and all answers are alike
    check_private(protocol, (0, 1, categories - 1) if few else range(categories))


@pytest.mark.parametrize("kind", LISTED)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("categories", [2, 5, 8])
def test_five_percent_more_is_noticed(kind: Kind, categories: int, epsilon: Fraction) -> None:
    ratio = largest_ratio(kind(epsilon=epsilon * MORE, categories=categories), range(categories))
    assert not within(ratio, epsilon)


@pytest.mark.parametrize("truth", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), "0.1"])
def test_the_exact_channel_of_the_coin_flip(truth: Any) -> None:
    protocol = CoinFlip(truth=truth)
    check_private(protocol, (0, 1))
    more = CoinFlip(truth=min(protocol.truth * MORE, Fraction(99, 100)))
    assert not within(largest_ratio(more, (0, 1)), protocol.bound)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("categories", [*range(2, 17), 1000])
def test_the_exact_channel_of_local_hashing_given_its_function(categories: int, epsilon: Fraction) -> None:
    """The function is drawn first and whatever the answer is, so the channel is private if it is so given each one."""
    protocol = LocalHashing(epsilon=epsilon, categories=categories)
    drawn = np.frombuffer(FixedRng(3).read(8 * 20), dtype="<u4").reshape(-1, 2).tolist()
    attained = False
    for a, b in [*drawn, (0, 0), (1, 0), (2**32 - 1, 2**32 - 1)]:
        laws = [protocol.law_given(a, b, value) for value in range(min(categories, 16))]
        assert all(sum(law.values()) == 1 and law.keys() == laws[0].keys() for law in laws)
        ratio = max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])
        assert within(ratio, epsilon)
        attained |= not within(ratio, epsilon * Fraction(99, 100))
    assert attained
    more = LocalHashing(epsilon=epsilon * MORE, categories=categories, buckets=protocol.buckets)
    assert not within(more.p * (more.buckets - 1) / (1 - more.p), epsilon)


@pytest.mark.parametrize("kind", [*LISTED, lambda **_: CoinFlip()])
@pytest.mark.parametrize(("categories", "answer"), [(2, 0), (2, 1), (5, 4), (7, 3)])
def test_both_forms_have_the_law(kind: Kind, categories: int, answer: int) -> None:
    protocol = kind(epsilon=1, categories=categories)
    check_forms(protocol, answer % protocol.categories, few=1500, many=20_000)


@pytest.mark.parametrize("kind", [*KINDS, lambda **_: CoinFlip()])
@pytest.mark.parametrize("categories", [2, 10, 1000])
def test_reports_are_of_one_kind_and_answers_of_the_domain(kind: Kind, categories: int) -> None:
    protocol = kind(epsilon=1, categories=categories)
    k, source = protocol.categories, FixedRng(1)
    single = [protocol.sample(answer, source) for answer in [0, k - 1, k // 2] * 40]
    assert {(type(report), len(report)) for report in single} == {(bytes, protocol.dtype.itemsize)}
    several = protocol.sample(np.zeros((3, 4), dtype=int), source)
    assert several.shape == (3, 4)
    assert several.dtype == protocol.dtype
    assert protocol.sample([], source).dtype == protocol.dtype
    assert len(protocol.read(b"".join(single))) == 120
    check_refused(protocol, [-1, k, 0.0, 0.5, float("nan"), float("inf"), "0", None, 2**40, 2**70])
    with pytest.raises(InputError):
        protocol.sample([0, 1, k], ScriptedRng([]))
    check_tally(protocol, np.arange(200) % k)


@pytest.mark.parametrize("kind", [*LISTED, lambda **_: CoinFlip()])
@pytest.mark.parametrize("categories", [2, 3, 7, 12])
def test_reports_that_no_device_can_send_are_refused(kind: Kind, categories: int) -> None:
    protocol = kind(epsilon=1, categories=categories)
    size, possible = protocol.dtype.itemsize, protocol.law(0).keys()
    every = [number.to_bytes(size, "little") for number in range(0, 256**size, 1 if size == 1 else 13)]
    check_impossible(protocol, [report for report in every if report not in possible])
    assert len(protocol.read(b"".join(possible))) == len(possible)


def zipf(k: int, n: int) -> Any:
    """Answers of n people, common ones first: every answer is given, and few are given often."""
    shares = 1 / (np.arange(k) + 3.0)
    counts = np.floor(shares / shares.sum() * n).astype(int)
    counts[0] += n - counts.sum()
    return np.repeat(np.arange(k), counts)


@pytest.mark.parametrize("kind", [*LISTED[:-1], PooledHashing, LocalHashing])
def test_estimates_are_unbiased_with_the_error_that_is_stated(kind: Kind) -> None:
    """Twenty surveys: the squared error is the stated one within 3 %, and that of their mean a twentieth of it."""
    k, n, trials = 1024, 8000, 20
    protocol = kind(epsilon=1, categories=k, **({"seeds": 4096} if kind is PooledHashing else {}))
    answers = zipf(k, n)
    truth = np.bincount(answers, minlength=k) / n
    source = FixedRng(12)
    found = [protocol.estimate(protocol.tally(protocol.sample(answers, source))) for _ in range(trials)]
    errors = np.array([each.value for each in found]) - truth
    theory = protocol.total_error / n
    assert np.mean(np.sum(errors**2, axis=1)) == pytest.approx(theory, rel=0.03)
    assert np.sum(errors.mean(axis=0) ** 2) * trials == pytest.approx(theory, rel=0.15)
    if kind not in (PooledHashing, DirectResponse):  # a part of the first's is for the pool; the second's needs shares
        assert np.mean(found[0].standard_error ** 2) * k == pytest.approx(theory, rel=0.05)
        assert protocol.deviation(reports=n) ** 2 * k == pytest.approx(theory, rel=0.02)


def covered(protocol: Frequency, n: int, trials: int, seed: int) -> float:
    """How often an interval holds the share of the population that respondents were drawn from."""
    k, source = protocol.categories, FixedRng(seed)
    shares = 1 / (np.arange(k) + 3.0)
    shares /= shares.sum()
    people = np.random.default_rng(seed)
    inside = []
    for _ in range(trials):
        answers = people.choice(k, size=n, p=shares)
        low, high = protocol.estimate(protocol.tally(protocol.sample(answers, source))).interval
        inside.append(np.mean((low <= shares) & (shares <= high)))
    return float(np.mean(inside))


@pytest.mark.parametrize("kind", [*LISTED[:-1], LocalHashing])
def test_intervals_cover_nineteen_times_in_twenty(kind: Kind) -> None:
    assert 0.93 < covered(kind(epsilon=1, categories=256), 6000, 8, 5) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*LISTED[:-1], LocalHashing])
def test_coverage_over_many_surveys(kind: Kind) -> None:
    assert 0.94 <= covered(kind(epsilon=1, categories=256), 20_000, 60, 6) <= 0.96


def test_intervals_with_a_pool_hold_even_if_everybody_gives_one_answer() -> None:
    """With few functions the collisions of the common answer do not average out; intervals allow for it."""
    protocol = PooledHashing(epsilon=Fraction(2), categories=400, seeds=64)
    answers = np.zeros(40_000, dtype=int)
    found = protocol.estimate(protocol.tally(protocol.sample(answers, FixedRng(2))))
    truth = np.eye(1, 400)[0]
    assert np.mean((found.lower <= truth) & (truth <= found.upper)) >= 0.95
    random_alone = 3 * protocol.deviation(reports=answers.size)
    assert np.mean(np.abs(found.value[1:]) > random_alone) > 0.2, "the pool's error shows"
    assert np.sqrt(np.mean(found.value[1:] ** 2)) < 1.1 * np.mean(found.standard_error[1:])


def test_too_small_and_too_many_are_refused() -> None:
    for kind in KINDS:
        with pytest.raises(InputError, match="epsilon is too small"):
            kind(epsilon=Fraction(1, 1 << 70), categories=5)
        with pytest.raises(InputError, match="categories must be at most"):
            kind(epsilon=1, categories=(1 << 24) + 1)
        with pytest.raises(InputError, match="epsilon"):
            kind(epsilon=0, categories=5)
        with pytest.raises(InputError, match="categories"):
            kind(epsilon=1, categories=1)


def test_nothing_is_estimated_from_no_reports() -> None:
    with pytest.raises(InputError, match="no reports yet"):
        DirectResponse(epsilon=Fraction(1), categories=3).estimate(Tally(np.zeros(3, dtype=int), 0))


def test_words_are_as_small_as_they_can_be() -> None:
    assert [word(bound).str for bound in (2, 256, 257, 1 << 16, 1 << 24)] == ["|u1", "|u1", "<u2", "<u2", "<u4"]
