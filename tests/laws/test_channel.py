"""Every registered mechanism keeps its promise exactly, on the neighbours it names itself."""

import pytest

from support.channel import check
from tacit.mechanism import MECHANISMS, Example, Mechanism

EXAMPLES = [
    pytest.param(example, id=f"{mechanism.__name__}-{i}")
    for mechanism in MECHANISMS
    for i, example in enumerate(mechanism.examples())
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_claim_holds_and_is_attained(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.__name__)
def test_every_mechanism_has_examples_some_of_them_tight(mechanism: type[Mechanism]) -> None:
    examples = mechanism.examples()
    assert len(examples) >= 3
    assert any(example.tight for example in examples)
