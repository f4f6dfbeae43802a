"""Synthetic tables: marginals are chosen and measured with noise, a model is fitted, and rows are drawn from it."""

from tacit.synth.columns import ColumnChoices
from tacit.synth.domain import Domain
from tacit.synth.family import FamilyPlan, SyntheticFamily
from tacit.synth.made import SyntheticTable
from tacit.synth.marginal import FittedMarginal
from tacit.synth.plan import Synthesis
from tacit.synth.rows import SyntheticRows
from tacit.synth.zeros import Rules

__all__ = [
    "ColumnChoices",
    "Domain",
    "FamilyPlan",
    "FittedMarginal",
    "Rules",
    "Synthesis",
    "SyntheticFamily",
    "SyntheticRows",
    "SyntheticTable",
]
