"""The checks have teeth: with any claim or any noise changed by 5 %, they fail.

Claims: every example that calls itself tight is given a claim 5 % too small and one 5 % too large. Noise: every sampler
that a mechanism's own modules draw from is replaced by one with 5 % less noise (in the fast form half the noise, on few
draws), and the comparison of samples with the pmf must reject.
"""

import os
from fractions import Fraction

import pytest

import tacit.noise
from support.channel import ClaimError, check, p_value
from support.draws import draws
from support.fixed_rng import FixedRng
from support.mutants import own_modules, resized, samplers, weakened
from tacit.mechanism import MECHANISMS, Example, Mechanism, PlanarLaplace
from tacit.survey import PROTOCOLS

FULL = os.environ.get("TACIT_TESTS") == "full"
FACTORS = (Fraction(95, 100), Fraction(105, 100))
TIGHT = [
    pytest.param(
        example,
        FACTORS if FULL else (FACTORS[i % 2],),
        id=f"{mechanism.__name__}-{i}",
        marks=[pytest.mark.slow] if i > 1 and mechanism in (*PROTOCOLS, PlanarLaplace) else [],
    )
    for mechanism in (*MECHANISMS, *PROTOCOLS)
    for i, example in enumerate(mechanism.examples())
    if example.tight
]


@pytest.mark.parametrize(("example", "factors"), TIGHT)
def test_a_claim_off_by_five_percent_is_caught(example: Example, factors: tuple[Fraction, ...]) -> None:
    """In the fast form too small for one example, too large for the next."""
    for factor in factors:
        wrong = Example(example.mechanism, example.left, example.right, resized(example.claim, factor))
        with pytest.raises(ClaimError):
            check(wrong)


MUTANTS = [(mechanism, name) for mechanism in MECHANISMS for name in sorted(samplers(mechanism))]


@pytest.mark.parametrize(("mechanism", "name"), MUTANTS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_noise_off_is_caught(mechanism: type[Mechanism], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    factor, count = (Fraction(95, 100), 150_000) if FULL else (Fraction(1, 2), 2_000)
    reached = 0
    for example in reversed(mechanism.examples()):  # ordinary inputs, where noise shows, come last
        calls: list[int] = []
        with monkeypatch.context() as patch:
            for module in own_modules(mechanism):
                original = vars(module).get(name)
                if original is not None:
                    patch.setattr(module, name, weakened(original, factor, calls))
            draws(example.mechanism, example.left, 100, FixedRng(7))
            if not calls:  # it draws from others, or so rarely that nothing could be seen
                continue
            outputs = draws(example.mechanism, example.left, count, FixedRng(7))
        if p_value(example.mechanism.pmf(example.left), outputs) < 1e-6:
            return
        reached += 1
    if reached:
        pytest.fail(f"{mechanism.__name__} draws from {name}, and noise off by {1 - factor} went unnoticed")


def test_every_mechanism_was_mutated() -> None:
    assert {mechanism for mechanism, _ in MUTANTS} == set(MECHANISMS)
    assert tacit.noise.__all__
