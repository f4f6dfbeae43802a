"""What each role may do: one table, and every route names its line.

A right opens a door; what is behind it still depends on the policy (which datasets, which tables, how much) and on
whose thing it is (a release or a job is its owner's).
"""

from collections.abc import Mapping
from typing import Literal

from tacit.server.people import Role

__all__ = ["RIGHTS", "Right"]

Right = Literal["look", "ask", "watch", "govern"]

RIGHTS: Mapping[Right, frozenset[Role]] = {
    "look": frozenset({"curator", "analyst", "auditor"}),  # datasets, what is declared, one's own budget and releases
    "ask": frozenset({"curator", "analyst"}),  # a curator too only as the policy allows that name
    "watch": frozenset({"curator", "auditor"}),  # the ledger's entries, everybody's balances, metrics
    "govern": frozenset({"curator"}),  # people and their tokens
}
