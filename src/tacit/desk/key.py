"""What a charge is called: the key under which its question is asked again without paying again."""

from hashlib import sha256
from typing import NamedTuple

from tacit.plan.price import Priced

__all__ = ["ChargeKey", "charge_key"]


class ChargeKey(NamedTuple):
    """What a charge is called; whether its question has an answer in the store, so that asking it is free; and whether
    the data have a version, without which the name is another one at each look."""

    name: str
    answered: bool
    versioned: bool


def charge_key(priced: Priced, version: str) -> str:
    """The name of a charge that was given none: the same question about the same data has the same."""
    return sha256(f"{priced.program.hash} {version}".encode()).hexdigest()[:40]
