"""Names and numbers that both stores can hold; anything else is refused before it reaches one."""

import re

from tacit.base import InputError
from tacit.policy.account import Amount

__all__ = ["LONGEST", "MOST", "checked", "payable"]

LONGEST = 1000  # bytes of a name or key in UTF-8: two of them fit into a row of PostgreSQL's indexes
UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
MOST = 10**45  # of the smallest units; far from the 60 digits a column holds, so sums cannot leave it


def checked(name: str, what: str) -> str:
    """A name as it is, if it is printable text of sensible length."""
    if UNFIT.search(name):
        raise InputError(f"{what} must not have control characters or halves of surrogate pairs")
    if not name or (len(name) > LONGEST // 4 and len(name.encode()) > LONGEST):
        raise InputError(f"{what} must be a text of 1 to {LONGEST} bytes (a letter takes one to four of them)")
    return name


def payable(amount: Amount, what: str) -> Amount:
    """An amount as it is, if it is within what a ledger holds."""
    if amount.spend > MOST or amount.delta > MOST:
        raise InputError(f"{what} is larger than any ledger can hold: it must be at most 10^45 of the smallest units")
    return amount
