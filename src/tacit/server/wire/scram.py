"""SCRAM-SHA-256 (RFC 5802 and 7677), the server's side: the client proves that it knows a token and never sends it.

Whether a name exists is not told: an unknown one gets a salt of its own and fails at the end, as a wrong token does.
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from hashlib import sha256

from tacit.server.tokens import ITERATIONS, SALT, Keys, Verifier, random_bytes
from tacit.server.wire.fault import Fault

__all__ = ["MECHANISM", "Exchange"]

MECHANISM = "SCRAM-SHA-256"
NONCE = 18
GS2 = ("n", "y")  # no channel binding; `y` says that the client has it and thinks that we do not, which is so

_unknown = random_bytes(32)  # makes the salts of names that do not exist, the same each time


def _wrong(what: str) -> Fault:
    return Fault("08P01", f"the proof of the token cannot be read: {what}", fatal=True)


class Exchange:
    """One attempt to come in under a name."""

    def __init__(self, name: str, verifier: Verifier | None) -> None:
        self._name, self._verifier = name, verifier
        self._first = self._server = self._nonce = ""
        self._header = b""

    def challenge(self, data: bytes) -> bytes:
        """The server's first message, after the client's."""
        text = _ascii(data)
        header, _, rest = text.partition(",")
        authzid, _, bare = rest.partition(",")
        if header not in GS2 or authzid:
            raise _wrong("no channel binding and no other name are supported")
        parts = bare.split(",")
        if len(parts) < 2 or not parts[0].startswith("n=") or not parts[1].startswith("r=") or len(parts[1]) < 10:
            raise _wrong("the first message has no nonce")
        self._header = f"{header},,".encode()
        self._first = bare
        self._nonce = parts[1][2:] + b64encode(random_bytes(NONCE)).decode()
        salt, rounds = self._salt()
        self._server = f"r={self._nonce},s={b64encode(salt).decode()},i={rounds}"
        return self._server.encode()

    def _salt(self) -> tuple[bytes, int]:
        if self._verifier is not None:
            return self._verifier.salt, self._verifier.iterations
        return hmac.digest(_unknown, self._name.encode(), "sha256")[:SALT], ITERATIONS

    def verify(self, data: bytes) -> tuple[bytes, Keys] | None:
        """The server's last message and the token that was proven; None if none was."""
        text = _ascii(data)
        body, found, proof = text.rpartition(",p=")
        parts = body.split(",")
        if not found or len(parts) < 2 or not parts[0].startswith("c=") or not parts[1].startswith("r="):
            raise _wrong("the last message has no proof")
        given = _base64(proof)
        if _base64(parts[0][2:]) != self._header or not hmac.compare_digest(
            parts[1][2:].encode(), self._nonce.encode()
        ):
            raise _wrong("it belongs to another conversation")
        if len(given) != sha256().digest_size:
            raise _wrong("it has a wrong length")
        message = f"{self._first},{self._server},{body}".encode()
        matched = None
        for keys in () if self._verifier is None else self._verifier.keys:
            signature = hmac.digest(keys.stored_key, message, "sha256")
            client = bytes(a ^ b for a, b in zip(given, signature, strict=True))
            if hmac.compare_digest(sha256(client).digest(), keys.stored_key):
                matched = keys
        if matched is None:
            return None
        last = hmac.digest(matched.server_key, message, "sha256")
        return b"v=" + b64encode(last), matched


def _ascii(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _wrong("it is not text") from None
    if "\0" in text:
        raise _wrong("it holds a NUL")
    return text


def _base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        raise _wrong("it is not base64") from None
