"""Many releases of one value, in the form in which a pmf lists them."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from tacit.mechanism import Mechanism
from tacit.mechanism.additive import Additive
from tacit.noise import Rng


def draws(mechanism: Mechanism, value: Any, count: int, rng: Rng) -> list[Hashable]:
    """`count` independent releases; at once where the mechanism takes arrays of numbers."""
    if isinstance(mechanism, Additive):
        return list(mechanism.sample(np.full(count, value), rng).tolist())
    return [_hashable(mechanism.sample(value, rng)) for _ in range(count)]


def _hashable(output: Any) -> Hashable:
    if isinstance(output, np.ndarray):
        output = output.tolist()
    if isinstance(output, dict):
        return tuple(output.items())
    if isinstance(output, list):
        return tuple(_hashable(item) for item in output)
    if isinstance(output, np.generic):
        return output.item()  # type: ignore[no-any-return]  # a Python scalar
    return output  # type: ignore[no-any-return]  # whatever the pmf lists
