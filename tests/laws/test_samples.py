"""What every registered mechanism or protocol really releases follows the law that its guarantee was checked on."""

import pytest

from support.channel import p_value
from support.draws import draws
from support.examples import examples
from support.fixed_rng import FixedRng
from tacit.mechanism import Example, PlanarLaplace
from tacit.survey import PROTOCOLS

CASES = examples(*PROTOCOLS, PlanarLaplace)


@pytest.mark.parametrize("example", CASES)
def test_samples_follow_the_pmf(example: Example) -> None:
    """Of one neighbour; of the other one, and many more, in the full run."""
    outputs = draws(example.mechanism, example.right, 1000, FixedRng(1))
    assert p_value(example.mechanism.pmf(example.right), outputs) > 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("example", CASES)
def test_many_samples_follow_the_pmf(example: Example) -> None:
    outputs = draws(example.mechanism, example.left, 60_000, FixedRng(2))
    assert p_value(example.mechanism.pmf(example.left), outputs) > 1e-7
