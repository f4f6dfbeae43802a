"""Laws that every registered mechanism's and protocol's loss obeys."""

import json
from dataclasses import replace
from fractions import Fraction
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.channel import hockey_stick, max_log_ratio
from support.examples import examples
from tacit.loss import Approx, Pure, from_json
from tacit.mechanism import MECHANISMS, BoundedMean, BoundedVariance, Example, Mechanism, PlanarLaplace, Pmf
from tacit.mechanism.additive import Additive
from tacit.survey import PROTOCOLS

EXAMPLES = examples()
NUMERIC = [mechanism for mechanism in MECHANISMS if issubclass(mechanism, Additive)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_n_times_a_loss_is_that_many_added(example: Example) -> None:
    once = example.claim
    total = once
    for _ in range(6):
        total = total + once
    assert 7 * once == total


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_loss_survives_json(example: Example) -> None:
    assert from_json(json.loads(json.dumps(example.claim.json()))) == example.claim


@pytest.mark.parametrize("example", EXAMPLES)
def test_composing_never_makes_it_cheaper(example: Example) -> None:
    for delta in (1e-3, 1e-9):
        once, twice = example.claim.epsilon(delta, accuracy=1e-3), (2 * example.claim).epsilon(delta, accuracy=1e-3)
        assert twice.upper >= once.lower


def merged(law: Pmf, classes: dict[object, int]) -> Pmf:
    found: Pmf = {}
    for output, p in law.items():
        found[classes[output]] = found.get(classes[output], 0.0) + p
    return found


@pytest.mark.parametrize("example", examples(*PROTOCOLS, BoundedMean, BoundedVariance, PlanarLaplace))
def test_looking_away_never_hurts(example: Example) -> None:
    """Post-processing: outputs thrown together in two, three or ten classes tell the neighbours apart no better."""
    p, q = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    codes = {output: crc32(repr(output).encode()) for output in p.keys() | q.keys()}
    for classes in (2, 3, 10):
        place: dict[object, int] = {output: code % classes for output, code in codes.items()}
        a, b = merged(p, place), merged(q, place)
        if isinstance(example.claim, Pure):
            assert max_log_ratio(a, b) <= float(example.claim.bound) * (1 + 1e-9) + 1e-12
        elif isinstance(example.claim, Approx):
            assert hockey_stick(a, b, float(example.claim.bound)) <= float(example.claim.slack) * (1 + 1e-6)
        else:
            epsilon = example.claim.epsilon(1e-5).upper
            assert hockey_stick(a, b, epsilon) <= 1e-5 * (1 + 1e-6)


@pytest.mark.parametrize("mechanism", NUMERIC, ids=lambda m: m.__name__)
@given(factor=st.fractions(min_value=Fraction(11, 10), max_value=20, max_denominator=50))
def test_more_noise_costs_less_and_errs_more(mechanism: type[Mechanism], factor: Fraction) -> None:
    base = mechanism.examples()[0].mechanism
    assert isinstance(base, Additive)
    name = "scale" if hasattr(base, "scale") else "sigma"
    more = replace(base, **{name: getattr(base, name) * factor})  # type: ignore[type-var]  # every mechanism is a dataclass
    assert more.loss(1).epsilon(1e-6).upper < base.loss(1).epsilon(1e-6).upper
    assert more.error(0.95) >= base.error(0.95)
    assert base.loss(2).epsilon(1e-6).upper > base.loss(1).epsilon(1e-6).upper
