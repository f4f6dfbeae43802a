"""Secrets that are shown once: API tokens, sign-in links, browser sessions; and what is stored of them.

A secret is 256 bits from `tacit.noise`, so a plain SHA-256 of it cannot be searched for and no slow hash is needed. A
token's first part is no secret: it finds the row, and may stand in a log. Wire clients prove that they know a token by
SCRAM-SHA-256 (RFC 5802, RFC 7677), for which a verifier is stored that is of no use to whoever steals it elsewhere.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac, sha256

from tacit.noise import rng_or_default

__all__ = ["ITERATIONS", "SALT", "Keys", "Token", "Verifier"]
__all__ += ["base64url", "digest", "random_bytes", "scram_keys", "secret", "short_name"]

SECRET = 32  # bytes
PREFIX = 6
SALT = 16
ITERATIONS = 4096  # what PostgreSQL's clients expect; the strength is in the 256 bits of the token
SPELLED = re.compile(r"tacit_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


def random_bytes(count: int) -> bytes:
    """Fresh bytes from the only source of randomness there is."""
    return bytes(rng_or_default(None).read(count))


def secret() -> str:
    """A secret as people can copy it."""
    return base64url(random_bytes(SECRET))


def base64url(data: bytes) -> str:
    """Base64 as addresses and cookies hold it, without padding (RFC 4648, section 5)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def short_name() -> str:
    """A name that nothing else has, and that tells nothing: not how many there are, nor when it was made."""
    return random_bytes(12).hex()


def digest(text: str) -> bytes:
    """What is stored of a secret."""
    return sha256(text.encode()).digest()


@dataclass(frozen=True)
class Token:
    """An API token as it is shown, once. Its `repr` does not show it."""

    prefix: str
    text: str = field(repr=False)

    @classmethod
    def new(cls) -> "Token":
        prefix = random_bytes(PREFIX).hex()
        return cls(prefix, f"tacit_{prefix}_{secret()}")

    @classmethod
    def read(cls, text: str) -> "Token | None":
        """A token as somebody sent it; None if it cannot be one."""
        found = SPELLED.fullmatch(text)
        return None if found is None else cls(found[1], text)


@dataclass(frozen=True)
class Keys:
    """What proves knowledge of one token: StoredKey and ServerKey, and the prefix of the token they belong to."""

    token: str
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


@dataclass(frozen=True)
class Verifier:
    """One person's side of SCRAM-SHA-256. All tokens of a person share a salt, so a proof can be held against each.

    `keys` has the newest token first.
    """

    salt: bytes
    iterations: int
    keys: tuple[Keys, ...]


def scram_keys(token: Token, salt: bytes, iterations: int = ITERATIONS) -> Keys:
    """The verifier of a token: SaltedPassword = PBKDF2, then two keys from it (RFC 5802, section 3)."""
    salted = pbkdf2_hmac("sha256", token.text.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return Keys(token.prefix, sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256"))
