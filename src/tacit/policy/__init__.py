"""Rules: what a curator declares about a dataset, and what follows for each analyst."""

from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms
from tacit.policy.analyst import Analyst, Group
from tacit.policy.claim import Claim
from tacit.policy.column import Column
from tacit.policy.dataset import Dataset, Engine
from tacit.policy.decide import Grant
from tacit.policy.model import Policy, Where
from tacit.policy.privacy import Privacy
from tacit.policy.read import load, parse
from tacit.policy.starter import starter
from tacit.policy.summary import Blank, blanks, notes
from tacit.policy.table import Table
from tacit.policy.types import ColumnType

__all__ = [
    "DATASET",
    "Account",
    "Amount",
    "Analyst",
    "Blank",
    "Claim",
    "Column",
    "ColumnType",
    "Currency",
    "Dataset",
    "Engine",
    "Grant",
    "Group",
    "Limit",
    "Policy",
    "Privacy",
    "Table",
    "Terms",
    "Where",
    "blanks",
    "load",
    "notes",
    "parse",
    "starter",
]
