"""Blind signatures (RFC 9474, RSABSSA-SHA384-PSS-Deterministic): a token that its signer has never seen.

A device draws a random message, hides it by a random factor r, and has the hidden form signed for its invitation code.
Divided by r, the signature is an ordinary RSA-PSS signature of the message. To the signer every pair of a hidden
form and a token is equally likely: for each there is exactly one r. So a token says that somebody was invited, not who.
"""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256, sha384
from math import gcd

from tacit.base import InputError
from tacit.noise import rng_or_default

__all__ = ["BITS", "BlindRequest", "Invitations", "PublicKey", "code_digest", "new_codes", "pss_encoded"]

BITS = 2048
MESSAGE = 32
DIGEST = SALT = 48
EXPONENT = 65537


@dataclass(frozen=True)
class PublicKey:
    """An RSA key as devices are told it."""

    modulus: int

    @classmethod
    def from_text(cls, text: str) -> "PublicKey":
        found = int(text, 16)
        if found.bit_length() != BITS or found % 2 == 0:
            raise InputError(f"the key of a survey's tokens must have {BITS} bits")
        return cls(found)

    @property
    def text(self) -> str:
        return f"{self.modulus:0{BITS // 4}x}"

    def raised(self, value: int) -> int:
        """What is signed by `value`."""
        return pow(value, EXPONENT, self.modulus)


@dataclass(frozen=True)
class BlindRequest:
    """What a device keeps between asking for a token and having it: `blinded` is sent, the rest stays."""

    key: PublicKey
    message: bytes
    factor: int
    blinded: int

    @classmethod
    def drawn(cls, key: PublicKey) -> "BlindRequest":
        """A new message, hidden."""
        source = rng_or_default(None)
        message, salt = bytes(source.read(MESSAGE)), bytes(source.read(SALT))
        encoded = int.from_bytes(pss_encoded(message, salt), "big")
        factor = 0
        while factor < 2 or gcd(factor, key.modulus) != 1:
            factor = int.from_bytes(bytes(source.read(BITS // 8 + 16)), "big") % key.modulus
        return cls(key, message, factor, encoded * key.raised(factor) % key.modulus)

    @property
    def text(self) -> str:
        """What is sent to be signed."""
        return f"{self.blinded:0{BITS // 4}x}"

    def token(self, signature: str) -> str:
        """The token, from the signature on the hidden form. One that does not fit is refused: it would mark us."""
        found = int(signature, 16) * pow(self.factor, -1, self.key.modulus) % self.key.modulus
        if self.key.raised(int(signature, 16)) != self.blinded:
            raise InputError("the token's signature is not the survey's: nothing was sent")
        return self.message.hex() + f"{found:0{BITS // 4}x}"


def pss_encoded(message: bytes, salt: bytes) -> bytes:
    """EMSA-PSS (RFC 8017, 9.1.1) with SHA-384 for a key of 2,048 bits: what is signed in place of the message."""
    size = BITS // 8
    digest = sha384(bytes(8) + sha384(message).digest() + salt).digest()
    padded = bytes(size - SALT - DIGEST - 2) + b"\x01" + salt
    masked = bytearray(a ^ b for a, b in zip(padded, _mask(digest, size - DIGEST - 1), strict=True))
    masked[0] &= 0x7F  # one bit fewer than the key has
    return bytes(masked) + digest + b"\xbc"


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1."""
    blocks = -(-length // DIGEST)
    return b"".join(sha384(seed + place.to_bytes(4, "big")).digest() for place in range(blocks))[:length]


DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LOOKALIKES = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": ""})
CODE_BITS, GROUP = 80, 4
LENGTH = CODE_BITS // 5


class Invitations(StrEnum):
    """What it takes to answer a survey."""

    NONE = "none"
    CODE = "code"
    TOKEN = "token"


def new_codes(count: int) -> list[str]:
    """So many codes, each drawn by itself."""
    rng = rng_or_default(None)
    return [_spelled(int.from_bytes(bytes(rng.read(CODE_BITS // 8)), "big")) for _ in range(count)]


def _spelled(number: int) -> str:
    digits = [DIGITS[number >> 5 * place & 31] for place in reversed(range(LENGTH))]
    return "-".join("".join(digits[at : at + GROUP]) for at in range(0, LENGTH, GROUP))


def code_digest(survey: str, text: str) -> bytes | None:
    """What is kept of a code, however it was typed; None if it cannot be one."""
    plain = text.upper().translate(LOOKALIKES)
    if len(plain) != LENGTH or not set(plain) <= set(DIGITS):
        return None
    return sha256(f"tacit invitation\0{survey}\0{plain}".encode()).digest()
