"""Made-up data, the same every time: chance for populations and attackers' guesses, never for a private release."""

import numpy as np

__all__ = ["Chance", "chance"]

Chance = np.random.Generator


def chance(seed: int) -> Chance:
    """A source that a seed fixes, so that pictures and tests can be repeated. Noise comes from tacit.noise instead."""
    return np.random.default_rng(seed)
