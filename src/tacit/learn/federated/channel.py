"""Keys that two clients agree on through a server: who may read a share, and which mask two of them have in common.

X25519 for the agreement, HKDF-SHA256 with the round and the pair bound in, AES-256-GCM for letters, AES-128-CTR for
masks. Every key pair lives for one round. So every derived key is used once, and a fixed nonce is safe.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit.base import Aborted
from tacit.noise import Rng

__all__ = ["SEED", "KeyPair", "Words", "add_mask", "mask_seed", "open_letter", "public_of", "seal_letter"]

Words = np.ndarray[Any, np.dtype[Any]]  # of uint16 or uint32: added modulo 2^16 or 2^32, which 2^bits divides

KEY, SEED = 32, 16
NONCE = bytes(12)
PART = 1 << 18


@dataclass(frozen=True)
class KeyPair:
    """A secret that is drawn for one round, and what everybody may know of it."""

    secret: bytes
    public: bytes

    @classmethod
    def draw(cls, rng: Rng) -> "KeyPair":
        secret = bytes(rng.read(KEY))
        return cls(secret, public_of(secret))

    def __repr__(self) -> str:
        return "KeyPair(…)"


def public_of(secret: bytes) -> bytes:
    """The public key of a secret one."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def seal_letter(secret: bytes, public: bytes, *, bound: bytes, letter: bytes) -> bytes:
    """A letter that only the holder of the other key reads, and nobody can change. `bound` is what it is part of."""
    return AESGCM(_derived(secret, public, b"letter" + bound, KEY)).encrypt(NONCE, letter, bound)


def open_letter(secret: bytes, public: bytes, *, bound: bytes, sealed: bytes) -> bytes | None:
    """The letter, or nothing where it was not sealed with these keys for just this."""
    try:
        return AESGCM(_derived(secret, public, b"letter" + bound, KEY)).decrypt(NONCE, sealed, bound)
    except InvalidTag:
        return None


def mask_seed(secret: bytes, public: bytes, *, bound: bytes) -> bytes:
    """The seed of the mask that two clients have in common; `bound` names the round and the pair in one order."""
    return _derived(secret, public, b"mask" + bound, SEED)


def add_mask(words: Words, seed: bytes, *, minus: bool = False) -> None:
    """Add the mask of a seed to words, in place, or take it off."""
    stream = Cipher(AES128(seed), CTR(bytes(16))).encryptor()
    for start in range(0, words.size, PART):
        part = words[start : start + PART]
        mask = np.frombuffer(stream.update(bytes(words.itemsize * part.size)), dtype=words.dtype)
        if minus:
            part -= mask
        else:
            part += mask


def _derived(secret: bytes, public: bytes, info: bytes, size: int) -> bytes:
    try:
        common = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:  # not a point, or one of the few that make every secret the same
        raise Aborted("a public key is none: the secure sum is broken off") from None
    return HKDF(SHA256(), length=size, salt=None, info=b"tacit secure sum 1\0" + info).derive(common)
