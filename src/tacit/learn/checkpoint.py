"""How far a training is: the weights, what the loop tracks, and how many steps were begun. Arrays and JSON, no pickle.

It is written before the steps it reserves begin, so a step that was begun is on disk as begun. It holds noisy results,
plain settings, which group a unit is in and a mark of the data: it lies beside the ledger, for its owner alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.learn.sampling import Indices
from tacit.learn.weights import Arrays, arrays_from_bytes, arrays_to_bytes, tensors_from, tensors_to_arrays

__all__ = ["Checkpoint"]

MODEL, TRACKED, GROUPS = "model/", "tracked/", "groups"
PLAIN = (bool, int, str, type(None))


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """`begun` steps are spent, whether or not the weights know of them; `done` of them are in the weights."""

    begun: int
    done: int
    clip: float
    mark: str
    model: Mapping[str, Any]
    tracked: Mapping[str, Any] = field(default_factory=dict)
    groups: Indices | None = None

    def to_bytes(self) -> bytes:
        tensors: dict[str, Any] = {MODEL + name: each for name, each in self.model.items()}
        tracked = {name: _plain(state, f"{TRACKED}{name}", tensors) for name, state in self.tracked.items()}
        arrays = tensors_to_arrays(tensors)
        if self.groups is not None:
            arrays[GROUPS] = ("I64", self.groups.shape, np.ascontiguousarray(self.groups, dtype="<i8").tobytes())
        head = {
            "begun": self.begun, "done": self.done, "clip": self.clip, "mark": self.mark, "tracked": tracked
        }  # fmt: skip
        return arrays_to_bytes(arrays, {"tacit": json.dumps(head)})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Checkpoint":
        arrays, metadata = arrays_from_bytes(data)
        head = json.loads(metadata["tacit"])
        stored = arrays.pop(GROUPS, None)
        tensors = tensors_from(Arrays(arrays))
        return cls(
            begun=int(head["begun"]),
            done=int(head["done"]),
            clip=float(head["clip"]),
            mark=str(head["mark"]),
            model={name.removeprefix(MODEL): each for name, each in tensors.items() if name.startswith(MODEL)},
            tracked={name: _whole(state, tensors) for name, state in head["tracked"].items()},
            groups=None if stored is None else np.frombuffer(stored[2], dtype="<i8").astype(np.int64),
        )


def _plain(value: Any, path: str, tensors: dict[str, Any]) -> Any:
    """A state of torch as JSON, with its tensors put aside under their path."""
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, PLAIN):
        return value
    if hasattr(value, "detach"):
        tensors[path] = value
        return {"tensor": path}
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(k, path, tensors), _plain(v, f"{path}/{k}", tensors)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        items = [_plain(each, f"{path}/{place}", tensors) for place, each in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": items}
    raise InputError(f"{path} holds a {type(value).__name__}, which is not saved: track what holds numbers and tensors")


def _whole(value: Any, tensors: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "float":
        return float(inner)
    if kind == "tensor":
        return tensors[inner]
    if kind == "pairs":
        return {_whole(k, tensors): _whole(v, tensors) for k, v in inner}
    items = [_whole(each, tensors) for each in inner]
    return tuple(items) if kind == "tuple" else items
