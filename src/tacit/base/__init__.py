"""The base everything stands on: errors, exact numbers, relations, sensitivity, the lattice."""

from tacit.base.errors import (
    CorruptLedger,
    Denied,
    EngineError,
    ExhaustedError,
    InputError,
    KeyUsed,
    LatticeError,
    LedgerError,
    LossError,
    Mistake,
    OutcomeUnknown,
    OverBudget,
    PolicyError,
    PrivacyWarning,
    RandomnessError,
    Refused,
    RelationError,
    SensitivityError,
    SourceError,
    TacitError,
)
from tacit.base.exact import Exact
from tacit.base.lattice import Lattice
from tacit.base.number import Number, between, exact, non_negative, positive, round_up, show, whole
from tacit.base.population import warn_of_delta
from tacit.base.relation import Relation, same_neighbours
from tacit.base.sensitivity import Sensitivity

__all__ = [
    "CorruptLedger",
    "Denied",
    "EngineError",
    "Exact",
    "ExhaustedError",
    "InputError",
    "KeyUsed",
    "Lattice",
    "LatticeError",
    "LedgerError",
    "LossError",
    "Mistake",
    "Number",
    "OutcomeUnknown",
    "OverBudget",
    "PolicyError",
    "PrivacyWarning",
    "RandomnessError",
    "Refused",
    "Relation",
    "RelationError",
    "Sensitivity",
    "SensitivityError",
    "SourceError",
    "TacitError",
    "between",
    "exact",
    "non_negative",
    "positive",
    "round_up",
    "same_neighbours",
    "show",
    "warn_of_delta",
    "whole",
]
