"""Many reports of one person: their losses add up, and places on one way give each other away."""

from fractions import Fraction
from math import floor
from typing import Any

from tacit.base import ExhaustedError, InputError, Number, positive
from tacit.loss import Pure
from tacit.place.geo import GeoLaplace

__all__ = ["Track"]


class Track:
    """The reports of one person under one budget.

    `budget` is the most that all reports together may tell about being somewhere else altogether: with every place of
    the way moved by the protected `radius` metres, the loss of n reports is at most n·(ε·radius + slack). A report
    that would pass it is refused, and nothing is drawn.
    """

    def __init__(self, mechanism: GeoLaplace, *, budget: Number, radius: Number) -> None:
        self.mechanism = mechanism
        self.budget = positive(budget, "budget", toward="decimal")
        self.radius = positive(radius, "radius")
        self.reports = 0
        if self.most < 1:
            raise InputError(
                f"one report costs {float(self.each.bound):.4g} and the budget is {float(self.budget):g}: "
                "allow more, or use a smaller epsilon"
            )

    @property
    def each(self) -> Pure:
        """The loss of one report."""
        return self.mechanism.loss(self.radius)

    @property
    def most(self) -> int:
        """How many reports the budget allows in all."""
        return floor(self.budget / self.each.bound)

    @property
    def left(self) -> Fraction:
        return self.budget - self.reports * self.each.bound

    def loss(self) -> Pure:
        """What was told so far."""
        return Pure(self.reports * self.each.bound, relation=self.each.relation, unit="person")

    def report(self, place: Any) -> tuple[float, float]:
        """The next report, counted before it is drawn."""
        if self.reports >= self.most:
            raise ExhaustedError(
                f"this track has made its {self.most} reports of {float(self.each.bound):.4g} each: "
                "a further one would pass its budget"
            )
        self.reports += 1
        told: tuple[float, float] = self.mechanism.sample(place)
        return told

    def warning(self) -> str | None:
        """What the reports so far give away together, in words; None while there is but one."""
        if self.reports < 2:
            return None
        one = 2 / float(self.mechanism.epsilon)
        return (
            f"{self.reports} reports of one person are not {self.reports} times one report: whoever knows that they "
            f"were made at one place, or along one road, averages the noise away, from {one:,.0f} m to about "
            f"{one / self.reports**0.5:,.0f} m. For the whole track ε is {float(self.loss().bound):.3g} within "
            f"{float(self.radius):,.0f} m, not {float(self.each.bound):.3g}."
        )
