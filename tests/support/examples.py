"""The examples of every registered mechanism and protocol, each a case of a test."""

import pytest
from _pytest.mark import ParameterSet

from tacit.mechanism import MECHANISMS, Mechanism
from tacit.survey import PROTOCOLS

__all__ = ["examples"]


def examples(*large: type[Mechanism]) -> list[ParameterSet]:
    """All of them; of those whose law is large, only the first two in the fast run."""
    return [
        pytest.param(
            example,
            id=f"{mechanism.__name__}-{i}",
            marks=[pytest.mark.slow] if i > 1 and mechanism in large else [],
        )
        for mechanism in (*MECHANISMS, *PROTOCOLS)
        for i, example in enumerate(mechanism.examples())
    ]
