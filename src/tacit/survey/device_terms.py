"""What a device is told about a protocol: sizes as numbers, and the heads of coins as two words of 32 bits.

JavaScript has no whole numbers of 64 bits that are fast, so whatever does not fit into 32 bits is [high, low].
"""

from typing import Any

from tacit.base import InputError
from tacit.survey.protocol import Protocol

__all__ = ["DEVICES", "WORD", "terms_of"]

WORD = 1 << 32
DEVICES = frozenset(  # the kinds that tacit-survey.js knows
    {
        "coin_flip",
        "direct",
        "hadamard",
        "local_hashing",
        "one_bit_mean",
        "optimized_unary",
        "prefix",
        "several",
        "square_wave",
        "subset",
        "symmetric_unary",
    }
)


def terms_of(protocol: Protocol) -> dict[str, Any]:
    """The part of a question's terms that says how its report is made."""
    if protocol.kind not in DEVICES:
        raise InputError(f"no browser knows how to make a report of kind {protocol.kind}")
    numbers = {name: _number(value) for name, value in protocol.device.items()}
    return {"protocol": protocol.kind, "bytes": protocol.dtype.itemsize, "device": numbers}


def _number(value: int | float) -> int | float | list[int]:
    return list(divmod(value, WORD)) if isinstance(value, int) and value >= WORD else value
