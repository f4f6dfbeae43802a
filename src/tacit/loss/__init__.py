"""Guarantees and how they combine: one object that answers "what epsilon is this?"."""

from tacit.loss.gauss import gaussian_delta, gaussian_epsilon
from tacit.loss.interval import Interval
from tacit.loss.loss import Loss
from tacit.loss.part import DiscreteLaplace, DiscreteNormal, Normal, Part, Response
from tacit.loss.pld import GDP, PLD, Approx, Pure
from tacit.loss.zcdp import ZCDP

__all__ = [
    "GDP",
    "PLD",
    "ZCDP",
    "Approx",
    "DiscreteLaplace",
    "DiscreteNormal",
    "Interval",
    "Loss",
    "Normal",
    "Part",
    "Pure",
    "Response",
    "gaussian_delta",
    "gaussian_epsilon",
]
