"""The one check that ties δ to how many people there are."""

import warnings
from fractions import Fraction

from tacit.base.errors import PrivacyWarning
from tacit.base.number import whole

__all__ = ["warn_of_delta"]


def warn_of_delta(delta: Fraction, population: int, unit: str = "row") -> None:
    """Warn when δ ≥ 1/population, for a public population: publishing a random unit outright would satisfy such a δ."""
    if delta * whole(population, "population", least=1) >= 1:
        warnings.warn(
            f"delta = {float(delta):g} is not below 1/population = {1 / population:g}: publishing one random {unit} "
            "outright would satisfy it. Choose a delta far below",
            PrivacyWarning,
            stacklevel=3,
        )
