"""Invitation codes: who holds one may answer a survey, once.

A code is eighty random bits, written in Crockford's base 32 so that it can be read aloud and typed: no I, L, O or U. A
collector keeps its digest alone, so a stolen table of codes invites nobody.
"""

from enum import StrEnum
from hashlib import sha256

from tacit.noise import rng_or_default

__all__ = ["Invitations", "code_digest", "new_codes"]

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": ""})
BITS, GROUP = 80, 4
LENGTH = BITS // 5


class Invitations(StrEnum):
    """What it takes to answer a survey."""

    NONE = "none"
    CODE = "code"
    TOKEN = "token"


def new_codes(count: int) -> list[str]:
    """So many codes, each drawn by itself."""
    rng = rng_or_default(None)
    return [_spelled(int.from_bytes(bytes(rng.read(BITS // 8)), "big")) for _ in range(count)]


def _spelled(number: int) -> str:
    digits = [DIGITS[number >> 5 * place & 31] for place in reversed(range(LENGTH))]
    return "-".join("".join(digits[at : at + GROUP]) for at in range(0, LENGTH, GROUP))


def code_digest(survey: str, text: str) -> bytes | None:
    """What is kept of a code, however it was typed; None if it cannot be one."""
    plain = text.upper().translate(LOOKALIKES)
    if len(plain) != LENGTH or not set(plain) <= set(DIGITS):
        return None
    return sha256(f"tacit invitation\0{survey}\0{plain}".encode()).digest()
