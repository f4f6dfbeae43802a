"""Shares of a secret (Shamir 1979): any `threshold` of them give it back, fewer say nothing about it at all.

The secret is the constant of a random polynomial of degree threshold − 1 over the integers modulo a prime above 2^256;
share x is its value at x. Fewer values than the threshold fit every secret equally well.
"""

from collections.abc import Mapping
from functools import lru_cache

from tacit.base import InputError, whole
from tacit.noise import Rng

__all__ = ["PRIME", "join_shares", "share_out"]

PRIME = 2**256 + 297  # the least prime above 2^256, so that 32 bytes are one number
SECRET = 32


def share_out(secret: bytes, *, threshold: int, places: range, rng: Rng) -> dict[int, int]:
    """Shares of up to 32 bytes, one for each place, of which 0 is none."""
    if len(secret) > SECRET:
        raise InputError(f"a secret of {len(secret)} bytes is too long to be shared: at most {SECRET}")
    if not 1 <= whole(threshold, "threshold", least=1) <= len(places) or 0 in places:
        raise InputError(f"{len(places)} shares cannot have a threshold of {threshold}, or one is at place 0")
    terms = [int.from_bytes(secret, "big"), *(rng.below(PRIME) for _ in range(threshold - 1))]
    return {place: _value(terms, place) for place in places}


def join_shares(shares: Mapping[int, int], *, threshold: int, size: int) -> bytes:
    """The secret of `size` bytes. Shares that do not belong together give another one, or an error."""
    if len(shares) < threshold:
        raise InputError(f"{len(shares)} shares are fewer than the {threshold} that are needed")
    used = sorted(shares)[:threshold]
    total = sum(shares[place] * weight for place, weight in zip(used, _weights(tuple(used)), strict=True))
    try:
        return (total % PRIME).to_bytes(size, "big")
    except OverflowError:
        raise InputError("these shares do not belong together") from None


@lru_cache(maxsize=8)
def _weights(places: tuple[int, ...]) -> tuple[int, ...]:
    """What each place's value counts in the constant (Lagrange): the same for all secrets of one sum."""
    found = []
    for place in places:
        above = below = 1
        for other in places:
            if other != place:
                above = above * other % PRIME
                below = below * (other - place) % PRIME
        found.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(found)


def _value(terms: list[int], place: int) -> int:
    """The polynomial's value, by Horner's rule."""
    value = 0
    for term in reversed(terms):
        value = (value * place + term) % PRIME
    return value
