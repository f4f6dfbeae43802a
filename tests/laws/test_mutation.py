"""The checks have teeth: with any claim or any noise changed by 5 %, they fail.

Claims: every example that calls itself tight is given a claim 5 % too small and one 5 % too large. Noise: every sampler
that a mechanism's own modules draw from is replaced by one with 5 % less noise (in the fast form half the noise, on few
draws), and the comparison of samples with the pmf must reject.
"""

import os
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import tacit.noise
from support.channel import ClaimError, check, p_value
from support.draws import draws
from support.fixed_rng import FixedRng
from tacit.loss import PLD, ZCDP, Approx, DiscreteLaplace, DiscreteNormal, Loss, Normal, Part, Pure, Response
from tacit.mechanism import MECHANISMS, Example, Mechanism

FULL = os.environ.get("TACIT_TESTS") == "full"
TIGHT = [
    pytest.param(example, id=f"{mechanism.__name__}-{i}")
    for mechanism in MECHANISMS
    for i, example in enumerate(mechanism.examples())
    if example.tight
]


def resized(claim: Loss, factor: Fraction) -> Loss:
    """The claim of a mechanism whose noise is 1/factor times as large."""

    def part(p: Part) -> Part:
        if isinstance(p, Response):
            return Response(p.epsilon * factor, p.delta)
        if isinstance(p, DiscreteLaplace):
            return DiscreteLaplace(p.scale / factor, p.shift)
        if isinstance(p, DiscreteNormal):
            return DiscreteNormal(p.variance / factor**2, p.shift)
        assert isinstance(p, Normal)
        return Normal(p.square * factor**2)

    if isinstance(claim, ZCDP):
        return ZCDP(claim.rho * factor**2, delta=claim.slack)
    if isinstance(claim, Approx) and not isinstance(claim, Pure):
        return Approx(claim.bound * factor, claim.slack * factor)
    assert isinstance(claim, PLD)
    return PLD.of(tuple((part(p), count) for p, count in claim.parts))


@pytest.mark.parametrize("example", TIGHT)
@pytest.mark.parametrize("factor", [Fraction(95, 100), Fraction(105, 100)], ids=["smaller", "larger"])
def test_a_claim_off_by_five_percent_is_caught(example: Example, factor: Fraction) -> None:
    wrong = Example(example.mechanism, example.left, example.right, resized(example.claim, factor))
    with pytest.raises(ClaimError):
        check(wrong)


def own_modules(mechanism: type[Mechanism]) -> list[Any]:
    names = {cls.__module__ for cls in mechanism.__mro__ if cls.__module__.startswith("tacit.mechanism.")}
    imported = {
        value.__module__
        for name in names
        for value in vars(sys.modules[name]).values()
        if getattr(value, "__module__", "").startswith("tacit.mechanism.")
    }
    return [sys.modules[name] for name in names | imported]


def samplers(mechanism: type[Mechanism]) -> set[str]:
    """Names of the noise functions that the mechanism's modules can draw from."""
    found = set()
    for module in own_modules(mechanism):
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "").startswith("tacit.noise.") and name.islower():
                found.add(name)
    return found - {"rng_or_default", "uniform", "in_chunks", "exp_minus", "estimate_exp", "narrow", "times"}


def weakened(function: Callable[..., Any], factor: Fraction, calls: list[int]) -> Callable[..., Any]:
    """The sampler with its first rational argument (a scale, variance, unit, exponent or probability) changed."""

    def mutant(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        place = next(i for i, a in enumerate(args) if isinstance(a, Fraction))
        changed = args[place] * factor
        return function(*args[:place], changed, *args[place + 1 :], **kwargs)

    return mutant


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
            outputs = draws(example.mechanism, example.left, count, FixedRng(7))
        if calls and p_value(example.mechanism.pmf(example.left), outputs) < 1e-6:
            return
        reached += bool(calls)
    if reached:
        pytest.fail(f"{mechanism.__name__} draws from {name}, and noise off by {1 - factor} went unnoticed")


def test_every_mechanism_was_mutated() -> None:
    assert {mechanism for mechanism, _ in MUTANTS} == set(MECHANISMS)
    assert tacit.noise.__all__
