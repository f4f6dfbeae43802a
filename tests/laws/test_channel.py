"""Every registered mechanism and protocol keeps its promise exactly, on the neighbours it names itself."""

import pytest

from support.channel import check
from tacit.mechanism import MECHANISMS, Example, Mechanism
from tacit.survey import PROTOCOLS, LocalHashing

EXAMPLES = [
    pytest.param(example, id=f"{mechanism.__name__}-{i}")
    for mechanism in (*MECHANISMS, *PROTOCOLS)
    for i, example in enumerate(mechanism.examples())
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_claim_holds_and_is_attained(example: Example) -> None:
    check(example)


# the reports of local hashing cannot be listed: tests/survey/test_frequency.py lists them for one function at a time
LISTED = [mechanism for mechanism in (*MECHANISMS, *PROTOCOLS) if mechanism is not LocalHashing]


@pytest.mark.parametrize("mechanism", LISTED, ids=lambda m: m.__name__)
def test_every_mechanism_has_examples_some_of_them_tight(mechanism: type[Mechanism]) -> None:
    examples = mechanism.examples()
    assert len(examples) >= 3
    assert any(example.tight for example in examples)
