"""What the ledger keeps of an answer: its noisy measures and how they were made, before HAVING, ORDER BY and the like.

So whatever is made of the same noisy numbers, such as intervals for another confidence, costs nothing more.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.plan.facts import Value
from tacit.session.estimate import Noisy
from tacit.session.groups import Groups
from tacit.session.release import Released

__all__ = ["Stored"]

VERSION = 1
HEAD = 8  # bytes that say how long the text before the numbers is


@dataclass(frozen=True, kw_only=True, eq=False)
class Stored:
    """Every part of a release after noise, and its facts."""

    parts: tuple[Released, ...]
    facts: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """Text that describes the arrays, then the arrays, little end first."""
        arrays: list[np.ndarray[Any, np.dtype[Any]]] = []
        parts = [_described(part, arrays) for part in self.parts]
        shapes = [[array.dtype.str, list(array.shape)] for array in arrays]
        head = {"version": VERSION, "facts": dict(self.facts), "parts": parts, "arrays": shapes}
        text = json.dumps(head, separators=(",", ":")).encode()
        return b"".join([len(text).to_bytes(HEAD, "little"), text, *(array.tobytes() for array in arrays)])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Stored":
        """The inverse of `to_bytes`."""
        at = HEAD + int.from_bytes(data[:HEAD], "little")
        head = json.loads(data[HEAD:at])
        if head["version"] != VERSION:
            raise InputError(f"this stored answer has version {head['version']}, and this release reads {VERSION}")
        arrays = []
        for kind, shape in head["arrays"]:
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(data, dtype=np.dtype(kind), count=count, offset=at).reshape(shape)
            at += array.nbytes
            arrays.append(array)
        return cls(parts=tuple(_read(part, arrays) for part in head["parts"]), facts=head["facts"])


def _described(part: Released, arrays: list[np.ndarray[Any, np.dtype[Any]]]) -> dict[str, Any]:
    """A part in words; its arrays are appended in the order in which `_read` takes them."""
    groups = part.groups
    first = len(arrays)
    if not groups.complete:  # else they follow from the values
        arrays.extend(code.astype("<i8") for code in groups.codes)
    arrays.extend(noisy.values.astype("<f8") for noisy in part.measures.values())
    arrays.extend(cells.astype("<i8") for found in (part.quantiles, part.ends) for cells in found.values())
    return {
        "first": first,
        "size": groups.size,
        "complete": groups.complete,
        "values": [[_plain(value) for value in values] for values in groups.values],
        "measures": [[name, noisy.kind, noisy.size.hex()] for name, noisy in part.measures.items()],
        "quantiles": list(part.quantiles),
        "ends": list(part.ends),
    }


def _read(part: dict[str, Any], arrays: Sequence[Any]) -> Released:
    ahead = iter(arrays[part["first"] :])
    values = tuple(tuple(_value(value) for value in found) for found in part["values"])
    if part["complete"]:
        groups = Groups.every(values)
    else:
        groups = Groups(values=values, codes=tuple(next(ahead) for _ in values), size=part["size"])
    return Released(
        groups=groups,
        measures={name: Noisy(next(ahead), kind, float.fromhex(size)) for name, kind, size in part["measures"]},
        quantiles={name: next(ahead) for name in part["quantiles"]},
        ends={name: next(ahead) for name in part["ends"]},
    )


def _plain(value: Value) -> Any:
    """What JSON has is itself; of the rest, a word for the kind and a text."""
    if isinstance(value, Fraction):
        return ["number", str(value)]
    if isinstance(value, datetime):
        return ["timestamp", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    return value


def _value(stored: Any) -> Value:
    if not isinstance(stored, list):
        plain: Value = stored  # None, a truth value, a whole number or a text
        return plain
    kind, text = stored
    if kind == "number":
        return Fraction(text)
    return datetime.fromisoformat(text) if kind == "timestamp" else date.fromisoformat(text)
