"""Guarantees and how they combine: one object that answers "what epsilon is this?"."""

from tacit.loss.allocation import allocated
from tacit.loss.calibrate import Setting, calibrate
from tacit.loss.classic import parallel, worst
from tacit.loss.concentrated import ZCDP, MeanConcentrated, ShiftedZCDP
from tacit.loss.cost import Cost, cost_at, cost_of, off_curve
from tacit.loss.encode import from_json, to_json
from tacit.loss.filter import Filter, Odometer, Reading, Spent
from tacit.loss.gauss import gaussian_delta, gaussian_epsilon
from tacit.loss.iteration import iterated, noisy_contractions
from tacit.loss.loss import Interval, Loss
from tacit.loss.meaning import Meaning, explain, power
from tacit.loss.minimiser import MinimiserPart
from tacit.loss.part import (
    DiscreteLaplacePart,
    DiscreteNormal,
    Normal,
    Part,
    RangePart,
    ResponsePart,
    renyi_divergence,
)
from tacit.loss.pld import GDP, PLD, Approx, Pure, composed
from tacit.loss.renyi import RDP
from tacit.loss.sampling import Poisson, SampledGroup
from tacit.loss.selection import best_of_poisson, best_of_random, expected_runs, first_above
from tacit.loss.shuffle import shuffled, shuffled_closed_form
from tacit.loss.tradeoff import Tradeoff, TradeoffPoints, from_tradeoff

__all__ = [
    "GDP",
    "PLD",
    "RDP",
    "ZCDP",
    "Approx",
    "Cost",
    "DiscreteLaplacePart",
    "DiscreteNormal",
    "Filter",
    "Interval",
    "Loss",
    "MeanConcentrated",
    "Meaning",
    "MinimiserPart",
    "Normal",
    "Odometer",
    "Part",
    "Poisson",
    "Pure",
    "RangePart",
    "Reading",
    "ResponsePart",
    "SampledGroup",
    "Setting",
    "ShiftedZCDP",
    "Spent",
    "Tradeoff",
    "TradeoffPoints",
    "allocated",
    "best_of_poisson",
    "best_of_random",
    "calibrate",
    "composed",
    "cost_at",
    "cost_of",
    "expected_runs",
    "explain",
    "first_above",
    "from_json",
    "from_tradeoff",
    "gaussian_delta",
    "gaussian_epsilon",
    "iterated",
    "noisy_contractions",
    "off_curve",
    "parallel",
    "power",
    "renyi_divergence",
    "shuffled",
    "shuffled_closed_form",
    "to_json",
    "worst",
]
