"""Names and numbers that both stores can hold; anything else is refused before it reaches one."""

import re

from tacit.base import InputError
from tacit.policy.account import Amount

__all__ = ["LONGEST", "MOST", "checked", "payable"]

LONGEST = 1000  # characters of a name or key
UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
MOST = 10**45  # of the smallest units; far from the 60 digits a column holds, so sums cannot leave it


def checked(name: str, what: str) -> str:
    """A name as it is, if it is printable text of sensible length."""
    if not 0 < len(name) <= LONGEST:
        raise InputError(f"{what} must be a text of 1 to {LONGEST} characters")
    if UNFIT.search(name):
        raise InputError(f"{what} must not have control characters or halves of surrogate pairs")
    return name


def payable(amount: Amount, what: str) -> Amount:
    """An amount as it is, if it is within what a ledger holds."""
    if amount.spend > MOST or amount.delta > MOST:
        raise InputError(f"{what} is larger than any ledger can hold: it must be at most 10^45 of the smallest units")
    return amount
