"""Every registered mechanism stands before the auditor: exactly, where outcomes are listed, and by sampling.

And with one constant that decides the noise changed by 10 % the auditor says violated: exactly for every such constant
of every mechanism, by sampling for one of each. There a mechanism is held to what its pair of neighbours loses by its
law, since many claims are attained only by events that are too rare to be seen.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import isinf

import pytest

from support.fixed_rng import FixedRng
from support.mutants import constants, resized, weaker
from tacit.auditor.audit import audit
from tacit.auditor.exact import audit_exact, exact
from tacit.auditor.verdict import Verdict
from tacit.loss import Approx
from tacit.mechanism import MECHANISMS, Example, Mechanism, Quantiles
from tacit.survey import PROTOCOLS, LocalHashing

SURE = "0.999999"  # one false alarm in a million
TENTH, HALF = Fraction(11, 10), Fraction(2)

EXAMPLES = [  # tests/laws/test_channel.py has every one of them audited in the fast run too
    pytest.param(example, id=f"{mechanism.__name__}-{place}", marks=[pytest.mark.slow] if place > 1 else [])
    for mechanism in (*MECHANISMS, *PROTOCOLS)
    for place, example in enumerate(mechanism.examples())
]
CONSTANTS = [
    pytest.param(mechanism, name, id=f"{mechanism.__name__}-{name}")
    for mechanism in (*MECHANISMS, *PROTOCOLS)
    for name in sorted({name for example in mechanism.examples() for name in constants(example.mechanism)})
]
UNNOTICED = {("ProposeTestRelease", "delta")}  # its examples attain ε; none of them attains δ

# where 10 % less noise is seen with so many samples a side: the constant, the number of the example, and δ
SEEN = {
    "Laplace": ("scale", 3, 0.0, 20_000),
    "DiscreteLaplace": ("scale", 0, 0.0, 60_000),
    "Gaussian": ("sigma", 0, 0.05, 60_000),
    "DiscreteGaussian": ("sigma", 0, 0.05, 60_000),
    "Exponential": ("scale", 13, 0.0, 20_000),
    "PermuteAndFlip": ("scale", 8, 0.0, 60_000),
    "NoisyMax": ("scale", 5, 0.0, 60_000),
    "NoisyVote": ("sigma", 0, 0.0, 60_000),
    "SparseVector": ("query_scale", 7, 0.0, 400_000),
    "Quantile": ("scale", 9, 0.0, 150_000),
    "Quantiles": ("scale", 4, 0.05, 15_000),
    "BinnedQuantiles": ("scale", 12, 0.05, 150_000),
    "SmoothMedian": ("epsilon", 4, 0.05, 20_000),
    "SmoothNoise": ("epsilon", 3, 0.05, 20_000),
    "ProposeTestRelease": ("noise_scale", 2, 0.0, 60_000),
    "PartitionSelection": ("epsilon", 17, 0.0, 20_000),
    "KeySelection": ("scale", 16, 0.0, 20_000),
    "KeyedCounts": ("noise.scale", 1, 0.0, 20_000),
    "StableHistogram": ("epsilon", 14, 0.01, 20_000),
    "BoundedMean": ("sum_noise.scale", 2, 0.0, 150_000),
    "BoundedVariance": ("sum_noise.sigma", 5, 0.05, 150_000),
    "RandomizedResponse": ("epsilon", 1, 0.0, 60_000),
    "KaryResponse": ("epsilon", 3, 0.0, 20_000),
    "CoinFlipSurvey": ("truth", 0, 0.0, 20_000),
    "PlanarLaplace": ("scale", 2, 0.0, 60_000),
}
COARSER = {"Quantiles": Fraction(3, 2)}  # several milliseconds a sample: 10 % would take a quarter of an hour
# the same for half the noise
SEEN_AT_ONCE = {
    "Laplace": ("scale", 3, 0.0, 600),
    "DiscreteLaplace": ("scale", 0, 0.0, 600),
    "Gaussian": ("sigma", 0, 0.05, 2000),
    "DiscreteGaussian": ("sigma", 0, 0.05, 2000),
    "Exponential": ("scale", 2, 0.0, 600),
    "PermuteAndFlip": ("scale", 2, 0.0, 600),
    "NoisyMax": ("scale", 5, 0.0, 600),
    "NoisyVote": ("sigma", 0, 0.0, 600),
    "SparseVector": ("query_scale", 7, 0.0, 4000),
    "Quantile": ("scale", 9, 0.0, 4000),
    "Quantiles": ("scale", 3, 0.01, 4000),
    "BinnedQuantiles": ("scale", 13, 0.05, 2000),
    "SmoothMedian": ("epsilon", 4, 0.01, 600),
    "SmoothNoise": ("epsilon", 3, 0.01, 600),
    "ProposeTestRelease": ("noise_scale", 2, 0.0, 2000),
    "PartitionSelection": ("delta", 22, 0.0, 600),
    "KeySelection": ("delta", 16, 0.0, 2000),
    "KeyedCounts": ("noise.scale", 1, 0.0, 600),
    "StableHistogram": ("epsilon", 14, 0.01, 600),
    "BoundedMean": ("sum_noise.sigma", 11, 0.05, 2000),
    "BoundedVariance": ("sum_noise.sigma", 5, 0.05, 2000),
    "RandomizedResponse": ("epsilon", 1, 0.0, 600),
    "KaryResponse": ("epsilon", 1, 0.0, 600),
    "CoinFlipSurvey": ("truth", 1, 0.0, 5000),
    "PlanarLaplace": ("scale", 2, 0.0, 2000),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_exact_audit_passes(example: Example) -> None:
    found = audit_exact(example)
    assert found.status == "pass", str(found)


@pytest.mark.parametrize(("mechanism", "name"), CONSTANTS)
def test_the_exact_audit_notices_every_constant(mechanism: type[Mechanism], name: str) -> None:
    wrong = (weaker(example, name, TENTH) for example in mechanism.examples() if name in constants(example.mechanism))
    noticed = any(example is not None and audit_exact(example).status == "violated" for example in wrong)
    assert noticed == ((mechanism.__name__, name) not in UNNOTICED)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_the_exact_audit_notices_a_claim_that_is_too_small(mechanism: type[Mechanism]) -> None:
    example = next(example for example in mechanism.examples() if example.tight)
    wrong = replace(example, claim=resized(example.claim, 1 / TENTH))
    assert audit_exact(wrong).status == "violated"


def sampled(example: Example, samples: int, seed: int) -> Verdict:
    """The example put to the sampling auditor: at δ = 0 where there is an ε, else at 0.01 or the δ that is claimed."""
    claim = example.claim
    delta = 0.01 if isinf(claim.epsilon(0).upper) else None
    if delta and isinf(claim.epsilon(delta).upper):
        assert isinstance(claim, Approx)
        assert claim.slack > delta
        delta = None  # the one that is claimed
    return audit(example, delta=delta, samples=samples, confidence=SURE, rng=FixedRng(seed))


def most_telling(mechanism: type[Mechanism]) -> Example:
    """The example on which the auditor has its best chance."""
    return mechanism.examples()[SEEN[mechanism.__name__][1]]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_a_sampled_audit_passes(mechanism: type[Mechanism]) -> None:
    verdict = sampled(most_telling(mechanism), 400, 1)
    assert verdict.status != "violated", str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_sampled_audit_of_every_example_passes(example: Example) -> None:
    verdict = sampled(example, 3000, 2)
    assert verdict.status != "violated", str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_a_sampled_audit_with_many_samples_passes(mechanism: type[Mechanism]) -> None:
    verdict = sampled(most_telling(mechanism), 100_000, 3)
    # nobody draws enough to show twice a very large ε
    assert verdict.status == "pass" or (verdict.status == "inconclusive" and verdict.claimed > 4), str(verdict)


@cache
def lost(mechanism: type[Mechanism], place: int, delta: float) -> float:
    """What the neighbours of an example lose, from their laws."""
    example = mechanism.examples()[place]
    return exact(*(example.mechanism.pmf(x) for x in (example.left, example.right)), delta=delta).epsilon


def mutant_audited(
    mechanism: type[Mechanism], factor: Fraction, table: dict[str, tuple[str, int, float, int]], *, right: bool = False
) -> Verdict:
    """Put a mechanism with one constant changed (the right one, on request) to what its pair of neighbours loses."""
    name, place, delta, samples = table[mechanism.__name__]
    example = mechanism.examples()[place]
    subject = example if right else weaker(example, name, factor)
    assert subject is not None
    confidence = SURE if right else "0.95"
    return audit(
        subject.mechanism,
        lost(mechanism, place, delta) * (1 + 1e-9),
        delta=delta,
        neighbours=(example.left, example.right),
        samples=samples,
        confidence=confidence,
        rng=FixedRng(4),
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(each, marks=[pytest.mark.slow] if each is Quantiles else [], id=each.__name__)
        for each in MECHANISMS
    ],
)
def test_half_noise_is_violated_and_all_of_it_is_not(mechanism: type[Mechanism]) -> None:
    wrong = mutant_audited(mechanism, HALF, SEEN_AT_ONCE)
    assert wrong.status == "violated", str(wrong)
    fine = mutant_audited(mechanism, HALF, SEEN_AT_ONCE, right=True)
    assert fine.status != "violated", str(fine)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_ten_percent_less_noise_is_violated(mechanism: type[Mechanism]) -> None:
    wrong = mutant_audited(mechanism, COARSER.get(mechanism.__name__, TENTH), SEEN)
    assert wrong.status == "violated", str(wrong)


def test_every_mechanism_is_in_the_tables() -> None:
    names = {mechanism.__name__ for mechanism in MECHANISMS}
    assert SEEN.keys() == SEEN_AT_ONCE.keys() == names
    # the reports of local hashing cannot be listed
    assert {param.values[0] for param in CONSTANTS} == {*MECHANISMS, *PROTOCOLS} - {LocalHashing}
