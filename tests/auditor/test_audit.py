"""Verdicts: right mechanisms pass, broken ones do not, and false alarms are as rare as was said."""

import json
from collections.abc import Callable
from fractions import Fraction
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from support.fixed_rng import FixedRng
from tacit.auditor.audit import audit
from tacit.base import InputError
from tacit.loss import Approx, Pure
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Example, Laplace, RandomizedResponse

RIGHT, HALF = Laplace(scale=Fraction(1)), Laplace(scale=Fraction(1, 2))


def noisy(data: float, size: int) -> Any:
    """Exact Laplace noise of scale 1, as somebody's own function. At the top of a module, for other processes."""
    return RIGHT.sample(np.full(size, float(data)))


def fixed(seed: int) -> Callable[[float, int], Any]:
    """The same noise, the same every time."""
    rng = FixedRng(seed)
    return lambda data, size: RIGHT.sample(np.full(size, float(data)), rng)


def one(data: int) -> int:
    return int(DiscreteLaplace(scale=Fraction(1)).sample(data))


@pytest.mark.parametrize(("samples", "least", "runs", "enough"), [(100_000, 0.96, 20, 18), (1_000_000, 0.98, 3, 3)])
def test_a_right_laplace_is_certified_close_to_its_claim(samples: int, least: float, runs: int, enough: int) -> None:
    """With 10⁵ samples the bound varies by about 0.01 round 0.982, so that a few runs in a hundred fall below 0.96."""
    verdicts = [audit(RIGHT, 1, neighbours=(0, 1), samples=samples, rng=FixedRng(seed)) for seed in range(runs)]
    assert sum(verdict.epsilon >= least for verdict in verdicts) >= enough
    assert sum(verdict.status == "pass" for verdict in verdicts) >= enough
    assert max(verdict.detectable for verdict in verdicts) < 1.05
    assert max(drawn for verdict in verdicts for _, drawn in verdict.counts) <= samples


def test_half_noise_is_rejected_with_800_samples_a_side() -> None:
    found = [audit(HALF, 1, neighbours=(0, 1), samples=800, rng=FixedRng(seed)).status for seed in range(40)]
    assert found.count("violated") >= 38


def test_half_noise_is_rejected_where_delta_is_not_zero() -> None:
    right, half = DiscreteGaussian(sigma=Fraction(8)), DiscreteGaussian(sigma=Fraction(4))
    claim = right.loss(sensitivity=8)
    rejected = audit(half, claim, neighbours=(0, 8), samples=4000, delta="0.1", rng=FixedRng(1))
    passed = audit(right, claim, neighbours=(0, 8), samples=4000, delta="0.1", rng=FixedRng(1))
    assert (rejected.status, rejected.form) == ("violated", "two counts")
    assert passed.status == "pass"
    assert passed.epsilon > 0.5 * passed.claimed


@pytest.mark.slow
def test_power_and_false_alarms_of_the_half_noise_test() -> None:
    runs = 1000
    alarms = sum(audit(RIGHT, 1, neighbours=(0, 1), samples=800).status == "violated" for _ in range(runs))
    found = sum(audit(HALF, 1, neighbours=(0, 1), samples=800).status == "violated" for _ in range(runs))
    assert alarms <= binom.isf(1e-6, runs, 0.05)
    assert found >= binom.isf(1 - 1e-6, runs, 0.95)


def alarms(example: Example, runs: int, samples: int, confidence: str) -> int:
    """How often a mechanism whose loss is exactly its claim is called violated."""
    verdicts = (audit(example, samples=samples, confidence=confidence, rng=FixedRng(seed)) for seed in range(runs))
    return sum(verdict.status == "violated" for verdict in verdicts)


TIGHT = {
    "randomised response": Example(RandomizedResponse(epsilon=Fraction(1)), 0, 1, Pure(1)),
    "an integer": Example(DiscreteLaplace(scale=Fraction(2)), 0, 1, Pure("1/2")),
    "a fine lattice": Example(RIGHT, 0, 1, Pure(1)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_false_alarms_stay_below_what_was_allowed(name: str) -> None:
    """At a confidence of 70 %, so that 60 runs can tell: 19 would still be allowed, and 40 would not."""
    assert alarms(TIGHT[name], 60, 300, "0.7") <= binom.isf(1e-5, 60, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIGHT)
def test_false_alarms_are_at_most_one_in_twenty(name: str) -> None:
    assert alarms(TIGHT[name], 2000, 600, "0.95") <= binom.isf(1e-6, 2000, 0.05)


def test_every_kind_of_target() -> None:
    assert audit(RandomizedResponse, samples=4000, rng=FixedRng(1)).target == "RandomizedResponse"
    example = DiscreteLaplace.examples()[0]
    assert audit(example.mechanism, samples=2000, rng=FixedRng(1)).claimed == pytest.approx(1)
    assert audit(example, samples=2000, rng=FixedRng(1)).neighbours == (example.left, example.right)
    assert audit(noisy, 1, neighbours=(0, 1), samples=2000).target == "noisy"
    assert audit(one, 3, neighbours=(0, 1), samples=2000).status == "pass"


def test_vectors_of_a_mechanism() -> None:
    mechanism = Laplace(scale=Fraction(1))
    verdict = audit(mechanism, 3, neighbours=([0, 0, 0], [1, 1, 1]), samples=4000, rng=FixedRng(2))
    assert verdict.status == "pass"
    assert verdict.epsilon > 1.5
    assert audit(mechanism, 1, neighbours=([0, 0, 0], [1, 1, 1]), samples=4000, rng=FixedRng(2)).status == "violated"


def test_a_constant_has_no_loss() -> None:
    verdict = audit(lambda data, size: np.zeros(size), 1, neighbours=(0, 1), samples=4000)
    assert (verdict.status, verdict.epsilon) == ("pass", 0)
    assert "of probability" in str(verdict)


def test_no_noise_is_a_violation_as_large_as_the_samples_allow() -> None:
    verdict = audit(lambda data, size: np.full(size, data), 5, neighbours=(0, 1), samples=4000)
    assert verdict.status == "violated"
    assert verdict.epsilon > 6.5
    assert verdict.estimate is None


def test_few_samples_are_inconclusive() -> None:
    few = audit(RIGHT, 1, neighbours=(0, 1), samples=20, rng=FixedRng(1))
    high = audit(Laplace(scale=Fraction(1, 10)), 10, neighbours=(0, 1), samples=2000, rng=FixedRng(1))
    assert few.status == high.status == "inconclusive"
    assert few.detectable == inf
    assert "too few" in str(few)


def test_the_claim_may_be_a_loss() -> None:
    assert audit(RIGHT, Pure(1), neighbours=(0, 1), samples=500).claimed == pytest.approx(1)
    approx = audit(RIGHT, Approx(1, "0.001"), neighbours=(0, 1), samples=500)
    assert approx.claimed == pytest.approx(1)
    assert approx.delta == 0.001
    gaussian = DiscreteGaussian(sigma=Fraction(2))
    curve = audit(gaussian, gaussian.loss(sensitivity=1), neighbours=(0, 1), samples=500)
    assert curve.delta == 0.01
    assert curve.claimed == pytest.approx(float(gaussian.loss(sensitivity=1).epsilon(0.01)))


def test_delta_is_taken_off() -> None:
    """Reveals the data with probability 0.05, else a constant: (0, 0.05)-DP, and for no smaller δ with any ε."""

    rng = FixedRng(1)

    def leaky(data: int, size: int) -> Any:
        return np.where(rng.words(size, np.uint16) < 0.05 * 2**16, data, -1)

    assert audit(leaky, 0, delta="0.06", neighbours=(0, 1), samples=5000).epsilon == 0
    found = audit(leaky, 3, delta="0.02", neighbours=(0, 1), samples=20_000)
    assert found.status == "violated"
    assert found.delta == 0.02


def test_the_most_telling_neighbours_are_found() -> None:
    pairs = ((0.0, float(step)) for step in (0.25, 0.5, 1, 0.125, 0.75))
    verdict = audit(fixed(1), "1/2", neighbours=pairs, samples=20_000, rng=FixedRng(2))
    assert verdict.status == "violated"
    assert verdict.neighbours == (0.0, 1.0)
    assert verdict.pairs == 5
    assert "the most telling of 5 pairs" in str(verdict)


def test_a_generator_without_end() -> None:
    def endless() -> Any:
        while True:
            yield 0.0, 1.0

    assert audit(noisy, 1, neighbours=endless(), samples=2000).pairs == 5


def test_bits_can_be_left_out() -> None:
    rng = np.random.default_rng(4)

    def naive(data: float, size: int) -> Any:
        return data + rng.laplace(size=size)

    assert audit(naive, 1, neighbours=(0, 1), samples=20_000, rng=FixedRng(1)).status == "violated"
    assert audit(naive, 1, neighbours=(0, 1), samples=20_000, rng=FixedRng(1), bits=False).status == "pass"


def test_other_processes_draw() -> None:
    verdict = audit(noisy, 2, neighbours=(0, 1), samples=4000, workers=2)
    assert verdict.status == "pass"
    assert 0.6 < verdict.epsilon < 1.4


def test_progress_is_told() -> None:
    told: list[tuple[float, str]] = []
    audit(noisy, 1, neighbours=(0, 1), samples=2000, progress=lambda share, words: told.append((share, words)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert {words.split(",")[0] for _, words in told} == {"searching", "certifying"}


def test_a_verdict_is_plain_data_and_a_picture(tmp_path: Path) -> None:
    verdict = audit(HALF, 1, neighbours=(0, 1), samples=4000, rng=FixedRng(1))
    said = json.loads(json.dumps(verdict.json()))
    assert said["status"] == "violated"
    assert said["epsilon"] == verdict.epsilon
    assert sum(bar["first"] for bar in said["densities"]["bars"]) == pytest.approx(1)
    assert "claims ε = 1, but its ε is at least" in str(verdict)
    assert verdict.event in str(verdict)
    assert verdict.estimate == pytest.approx(2, abs=0.2)
    verdict.plot(tmp_path / "audit.svg")
    assert verdict.event in (tmp_path / "audit.svg").read_text()


def test_the_counts_are_those_of_the_bound() -> None:
    from tacit.auditor.certify import bound

    verdict = audit(RIGHT, 1, neighbours=(0, 1), samples=5000, rng=FixedRng(3))
    mine, other = verdict.counts if verdict.likelier == "first" else verdict.counts[::-1]
    assert verdict.epsilon == bound(verdict.form, *mine, *other, delta=0.0, tail=0.05)
    assert mine[0] / mine[1] == pytest.approx(exp(1) * other[0] / other[1], rel=0.2)


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        (5, {"claim": 1, "neighbours": (0, 1)}, "target must be a mechanism"),
        (noisy, {"neighbours": (0, 1)}, "claim is missing"),
        (noisy, {"claim": 1}, "neighbours are missing"),
        (noisy, {"claim": 1, "neighbours": []}, "neighbours is empty"),
        (noisy, {"claim": 1, "neighbours": [(0, 1, 2)]}, "must be a pair"),
        (noisy, {"claim": 1, "neighbours": 3}, "must be a pair"),
        (noisy, {"claim": -1, "neighbours": (0, 1)}, "claim must not be negative"),
        (noisy, {"claim": 1, "delta": 1, "neighbours": (0, 1)}, "delta"),
        (noisy, {"claim": Approx(1, "0.1"), "delta": 0, "neighbours": (0, 1)}, "no finite epsilon"),
        (noisy, {"claim": 1, "neighbours": (0, 1), "samples": 3}, "samples"),
        (noisy, {"claim": 1, "neighbours": (0, 1), "confidence": 1}, "confidence"),
        (Laplace(scale=Fraction(17)), {}, "claim is missing"),
    ],
)
def test_what_cannot_be_audited_is_refused(target: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        audit(target, **options)
