"""Named arrays in one file of the safetensors form: a length, a JSON head, bytes. Nothing in it can run.

Written here so that a model is the same bytes whoever writes it, and can be read and verified without torch: names are
in order, and the head is padded to eight bytes. Every reader of safetensors reads it.
"""

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tacit.base import InputError

__all__ = ["Arrays", "arrays_from_bytes", "arrays_to_bytes", "tensors_from", "tensors_to_arrays"]

Arrays = dict[str, tuple[str, tuple[int, ...], bytes]]  # name: type, shape, little-endian bytes
TYPES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1
}  # fmt: skip
TORCH = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
MOST = 1 << 26  # bytes of a head that is read


def arrays_to_bytes(arrays: Arrays, metadata: Mapping[str, str]) -> bytes:
    """One file. `metadata` are texts by name."""
    head: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    place, parts = 0, []
    for name, (kind, shape, data) in sorted(arrays.items()):
        if kind not in TYPES or len(data) != TYPES[kind] * prod(shape):
            raise InputError(f"array {name!r} is not of a type and size that a model's file holds")
        head[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [place, place + len(data)]}
        place += len(data)
        parts.append(data)
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def arrays_from_bytes(data: bytes) -> tuple[Arrays, dict[str, str]]:
    """The inverse; anything that is not understood entirely is refused."""
    try:
        length = int.from_bytes(data[:8], "little")
        if len(data) < 8 or length > min(MOST, len(data) - 8):
            raise InputError("this is not a model's file: its head is longer than the file")
        head = json.loads(data[8 : 8 + length])
        body, metadata, found, end = data[8 + length :], head.pop("__metadata__", {}), Arrays(), 0
        for name, each in sorted(head.items(), key=lambda item: item[1]["data_offsets"]):
            kind, shape, (first, last) = each["dtype"], tuple(map(int, each["shape"])), each["data_offsets"]
            if (
                first != end
                or last - first != TYPES[kind] * prod(shape)
                or last > len(body)
                or min(shape, default=0) < 0
            ):
                raise InputError(f"this is not a model's file: the place of array {name!r} does not fit its shape")
            found[name], end = (kind, shape, body[first:last]), last
        if end != len(body) or not all(isinstance(text, str) for text in metadata.values()):
            raise InputError("this is not a model's file: something stands behind the last array, or its head is odd")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("this is not a model's file: it is not of the safetensors form") from None
    return found, metadata


def tensors_to_arrays(tensors: Mapping[str, Any]) -> Arrays:
    """Tensors of torch as arrays."""
    from tacit.learn.need import need_torch

    torch, found = need_torch(), Arrays()
    names = {getattr(torch, name): kind for kind, name in TORCH.items()}
    for name, tensor in tensors.items():
        if tensor.dtype not in names:
            raise InputError(f"tensor {name!r} is of {tensor.dtype}, which a model's file does not hold: convert it")
        plain = tensor.detach().cpu().contiguous()
        raw = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
        found[name] = (names[tensor.dtype], tuple(plain.shape), raw)
    return found


def tensors_from(arrays: Arrays) -> dict[str, Any]:
    """The inverse of `tensors_to_arrays`."""
    from tacit.learn.need import need_torch

    torch = need_torch()
    found = {}
    for name, (kind, shape, data) in arrays.items():
        flat = torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy()).view(getattr(torch, TORCH[kind]))
        found[name] = flat.reshape(shape) if data else torch.zeros(shape, dtype=getattr(torch, TORCH[kind]))
    return found
