"""Every registered mechanism and protocol keeps its promise exactly, on the neighbours it names itself."""

import pytest

from support.channel import check
from support.examples import examples
from tacit.mechanism import MECHANISMS, Example, Mechanism
from tacit.survey import PROTOCOLS, LocalHashing


@pytest.mark.parametrize("example", examples())
def test_claim_holds_and_is_attained(example: Example) -> None:
    check(example)


# the reports of local hashing cannot be listed: tests/survey/test_frequency.py lists them for one function at a time
LISTED = [mechanism for mechanism in (*MECHANISMS, *PROTOCOLS) if mechanism is not LocalHashing]


@pytest.mark.parametrize("mechanism", LISTED, ids=lambda m: m.__name__)
def test_every_mechanism_has_examples_some_of_them_tight(mechanism: type[Mechanism]) -> None:
    examples = mechanism.examples()
    assert len(examples) >= 3
    assert any(example.tight for example in examples)
