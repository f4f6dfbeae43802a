"""Deterministic sources of randomness, for tests only: the product has no seed."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tacit.base import RandomnessError
from tacit.noise import Rng
from tacit.noise import rng as source


@contextmanager
def drawing_from(rng: Rng) -> Iterator[None]:
    """Everything in this process that brings no source of its own draws from `rng` meanwhile."""
    usual = source._default
    source._default = rng  # type: ignore[assignment]  # a test's source in the place of the secure one
    try:
        yield
    finally:
        source._default = usual


class FixedRng(Rng):
    """AES-CTR keyed by a test's own number: the same stream every time."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._cipher = Cipher(AES256(seed.to_bytes(32, "big")), CTR(bytes(16))).encryptor()

    def read(self, count: int) -> bytes:
        return self._cipher.update(bytes(count))


class ScriptedRng(Rng):
    """Hands out exactly the bytes it was given, then fails: for steering a sampler into its rarest branches."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        super().__init__()
        self._parts = list(parts)

    def read(self, count: int) -> bytes:
        if not self._parts:
            raise RandomnessError("the script ran out")
        part = self._parts.pop(0)
        if len(part) != count:
            raise RandomnessError(f"the script has {len(part)} bytes here, the sampler wants {count}")
        return part

    def bits(self, count: int) -> int:
        return int.from_bytes(self.read((count + 7) // 8), "little")
