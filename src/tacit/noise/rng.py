"""The only source of randomness: a cryptographic keystream keyed from the operating system.

`SecureRng` is AES-256 in counter mode. Every block of keystream begins with the key of the next one and the old key is
dropped (fast key erasure), so a later look into memory does not reveal the noise of earlier blocks. A forked child
re-keys itself before it can draw; a spawned one starts from the operating system. There is no seed anywhere: tests that
need determinism bring an `Rng` of their own.
"""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Any, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tacit.base import InputError, RandomnessError

__all__ = ["Rng", "SecureRng", "rng_or_default", "uniform"]

Words = np.ndarray[tuple[int], np.dtype[Any]]

KEY = 32
BLOCK = 1 << 18
ZEROS = memoryview(bytes(BLOCK))
PIECE = 1 << 14  # bytes that stay near the processor


class Rng(ABC):
    """A stream of independent fair bits. Subclasses say where the bytes come from; nothing else draws."""

    def __init__(self) -> None:
        self._stock: list[int] = []

    @abstractmethod
    def read(self, count: int) -> bytes | memoryview:
        """The next `count` bytes of the stream, each handed out once."""

    def fill(self, room: Words) -> None:
        """The next numbers of the stream in place of those in `room`, an array of unsigned integers."""
        room[:] = self.words(len(room), room.dtype.type)

    def words(self, count: int, kind: type[np.unsignedinteger[Any]] = np.uint64) -> Words:
        """`count` independent uniform unsigned integers of the given numpy type."""
        return np.frombuffer(self.read(count * np.dtype(kind).itemsize), dtype=kind)

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""
        value = self._word()
        have = 64
        while have < count:
            value, have = value << 64 | self._word(), have + 64
        return value >> (have - count)

    def _word(self) -> int:
        """The next of a small stock of 64-bit words. Taking one is atomic, so no two threads get the same."""
        while True:
            try:
                return self._stock.pop()
            except IndexError:
                self._stock = self.words(256).tolist()

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), by rejection: no modulo bias, any size of `bound`."""
        if bound < 1:
            raise InputError(f"bound must be at least 1, not {bound}")
        width = (bound - 1).bit_length()
        while True:
            draw = self.bits(width)
            if draw < bound:
                return draw


class SecureRng(Rng):
    """AES-256-CTR keystream, keyed from the operating system, buffered, thread-safe and fork-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._reset()
        _alive.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._key = os.urandom(KEY)
        self._buffer = memoryview(b"")
        self._stock = []

    def read(self, count: int) -> bytes | memoryview:
        with self._lock:
            if count <= len(self._buffer):
                taken, self._buffer = self._buffer[:count], self._buffer[count:]
                return taken
            if count <= BLOCK:
                self._buffer = self._next(BLOCK)
                taken, self._buffer = self._buffer[:count], self._buffer[count:]
                return taken
            return self._next(count)

    def _next(self, count: int) -> memoryview:
        stream = self._stream()
        return memoryview(stream.update(ZEROS if count == BLOCK else bytes(count)))

    def _stream(self) -> Any:
        """Fresh keystream; its first bytes replace the key. The counter may start at 0: a key is used once.

        The key is taken apart from what is handed out, which may stay in memory long after the key has been used.
        """
        stream = Cipher(AES256(self._key), CTR(bytes(16))).encryptor()
        self._key = stream.update(bytes(KEY))
        return stream

    def fill(self, room: Words) -> None:
        """In place, which is quicker where there is much: memory that is in the cache stays there."""
        into = room.data.cast("B")
        with self._lock:
            stream = self._stream()
            done = 0
            while len(into) - done >= 2 * PIECE:  # some releases of cryptography want room behind what they write
                done += stream.update_into(ZEROS[:PIECE], into[done:])
            into[done:] = stream.update(ZEROS[: len(into) - done])

    def __reduce__(self) -> NoReturn:
        raise RandomnessError("a random source cannot be copied or pickled: the copy would repeat its noise")


_alive: "weakref.WeakSet[SecureRng]" = weakref.WeakSet()
_default = SecureRng()


def _after_fork() -> None:
    for rng in list(_alive):
        rng._reset()


os.register_at_fork(after_in_child=_after_fork)


def rng_or_default(rng: Rng | None) -> Rng:
    """The source a caller passed, or the process-wide cryptographic one."""
    if rng is None:
        return _default
    if not isinstance(rng, Rng):
        raise RandomnessError(f"rng must be a tacit Rng, not {type(rng).__name__}: numpy generators are not private")
    return rng


def uniform(bound: int, size: int, rng: Rng) -> np.ndarray[Any, np.dtype[Any]]:
    """`size` independent uniform integers in [0, bound): int64, or Python integers beyond 2^63."""
    if bound < 1:
        raise InputError(f"bound must be at least 1, not {bound}")
    if bound > 2**63:
        return np.array([rng.below(bound) for _ in range(size)], dtype=object)
    width = (bound - 1).bit_length()
    kind = next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if np.dtype(k).itemsize * 8 >= width)
    shift = kind(np.dtype(kind).itemsize * 8 - width) if width else kind(0)
    mask = kind((1 << width) - 1)
    out = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        want = int((size - done) * (1 << width) / bound * 1.02) + 16
        words = (rng.words(want, kind) >> shift) & mask
        good = words[words < bound][: size - done]
        out[done : done + len(good)] = good
        done += len(good)
    return out
