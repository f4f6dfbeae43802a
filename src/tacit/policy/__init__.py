"""Rules: what a curator declares about a dataset, and what follows for each analyst."""

from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms
from tacit.policy.column import Column
from tacit.policy.decide import Grant
from tacit.policy.kind import ColumnType
from tacit.policy.link import TableLink
from tacit.policy.model import Dataset, EngineName, Policy, Where
from tacit.policy.privacy import Analyst, Group, Privacy
from tacit.policy.read import load, parse
from tacit.policy.reference import Blank, blanks, notes
from tacit.policy.source import Claim
from tacit.policy.table import Table
from tacit.policy.write import starter

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
    "EngineName",
    "Grant",
    "Group",
    "Limit",
    "Policy",
    "Privacy",
    "Table",
    "TableLink",
    "Terms",
    "Where",
    "blanks",
    "load",
    "notes",
    "parse",
    "starter",
]
