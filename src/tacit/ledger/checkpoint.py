"""Keys, and signed checkpoints: who holds one sees later whether anything before it was rewritten.

A checkpoint lists each chain's newest entry and what its people had spent, signed with Ed25519. Given to an outsider,
it shows later that the ledger only grew: every chain must still have that entry with that hash. A key inside the file
is no proof of who signed; the public key has to come from somewhere else. What is signed is a word for the kind of
thing it is and its canonical JSON, so that no signature of one kind passes for another's.
"""

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import time_ns
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from tacit.base import CorruptLedger, InputError
from tacit.base.private_file import write_private
from tacit.ledger.chain import REGISTRY
from tacit.ledger.export import verify_any
from tacit.ledger.schema import VERSION
from tacit.ledger.verify import KnownEntry, VerificationReport, verify
from tacit.noise import SecureRng
from tacit.program import canonical

__all__ = ["Signer", "check", "fingerprint", "new_key", "public_key", "read", "sign", "signed_by", "vouched"]

FORMAT = "tacit checkpoint 1"
PUBLIC = 0o644  # of a public key: to be given away
FIELDS = {"checkpoint", "public_key", "signature"}


def new_key(path: Path) -> Path:
    """Write a private key that only its owner can read, and the public one beside it, as `.pub`; its path."""
    public = path.with_name(path.name + ".pub")
    for place in (path, public):
        if place.exists():
            raise InputError(f"{place} exists already: a key is never overwritten, choose another name")
    key = Ed25519PrivateKey.from_private_bytes(bytes(SecureRng().read(32)))
    try:
        write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        write_private(public, _pem(key.public_key()), mode=PUBLIC)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written: {error.strerror}") from None
    return public


class Signer:
    """A private key in use. It is shown to nobody: `repr` names the public one."""

    def __init__(self, path: Path) -> None:
        self._key = _private(path)
        self.public_key = _pem(self._key.public_key()).decode()

    @classmethod
    def at(cls, path: Path) -> "Signer":
        """The key at `path`; a new one, with its public part as `.pub` beside it, if there is none yet.

        Several may start at once: the first one's key is everybody's, and nobody reads half of it.
        """
        if not path.exists():
            made = path.with_name(f".{path.name}.{bytes(SecureRng().read(8)).hex()}")
            try:
                public = new_key(made)
                try:
                    with suppress(FileExistsError):
                        os.link(made, path)
                finally:
                    made.unlink()
                    public.unlink()
            except OSError as error:
                raise InputError(f"a key cannot be made at {path}: {error.strerror}") from None
        found = cls(path)
        with suppress(OSError):  # a convenience: the service tells its public key itself
            write_private(path.with_name(path.name + ".pub"), found.public_key, mode=PUBLIC)
        return found

    def sign(self, kind: str, content: Any) -> str:
        """The signature under plain data without floats, in hexadecimal digits."""
        return self._key.sign(_signed(content, kind)).hex()

    def __repr__(self) -> str:
        return f"Signer({fingerprint(self.public_key)!r})"


def fingerprint(public: str) -> str:
    """A short name of a public key: the first digits of its SHA-256."""
    raw = _public(public.encode(), "this").public_bytes(Encoding.Raw, PublicFormat.Raw)
    return sha256(raw).hexdigest()[:16]


def public_key(path: Path) -> str:
    """The public key in a file, as PEM."""
    return _pem(_public(_content(path), str(path))).decode()


def vouched(content: Any, signature: Any, public: str, *, kind: str) -> bool:
    """Whether this public key's owner signed exactly this content as a thing of this kind."""
    try:
        _public(public.encode(), "this").verify(bytes.fromhex(signature), _signed(content, kind))
    except (InvalidSignature, ValueError, TypeError):  # ValueError: no hexadecimal digits, or floats in the content
        return False
    return True


def sign(where: str | Path, key: Path, report: VerificationReport | None = None) -> dict[str, Any]:
    """A checkpoint of a ledger as it is. It is verified first, and not signed if anything is wrong with it.

    `report` is what `verify` of this very ledger said, if it was asked just now.
    """
    signer = Signer(key)
    report = verify(where) if report is None else report
    if not report.ok:
        raise CorruptLedger(f"this ledger does not verify, so it is not signed: {report.findings[0]}")
    content = {
        "format": FORMAT,
        "ledger": report.ledger,
        "version": VERSION,
        "time": time_ns() // 1000,
        "chains": [head.json() for head in report.heads],
    }
    return {"checkpoint": content, "public_key": signer.public_key, "signature": signer.sign(FORMAT, content)}


def _signed(content: Any, kind: str) -> bytes:
    return kind.encode() + b"\0" + canonical(content).encode()


def signed_by(stored: Any, public: Path) -> dict[str, Any]:
    """The content of a checkpoint, if this key signed it; InputError if not."""
    if not isinstance(stored, dict) or set(stored) != FIELDS or not isinstance(stored["checkpoint"], dict):
        raise InputError("this is not a checkpoint: one is written by `tacit ledger export --signing-key FILE`")
    content: dict[str, Any] = stored["checkpoint"]
    if content.get("format") != FORMAT:
        raise InputError("this checkpoint is of a format that this release does not know")
    if not vouched(content, stored["signature"], public_key(public), kind=FORMAT):
        raise InputError(
            f"the signature of this checkpoint is not by the key {public}: it was altered, or somebody else made it"
        )
    return content


def _known(content: dict[str, Any]) -> tuple[KnownEntry, ...]:
    """The entries that a checkpoint's content vouches for."""
    try:
        return tuple(
            KnownEntry(
                people=str(chain["people"]),
                opening=b"" if chain["people"] == REGISTRY else bytes.fromhex(chain["opening"]),
                seq=int(chain["seq"]),
                digest=bytes.fromhex(chain["digest"]),
            )
            for chain in content["chains"]
        )
    except (KeyError, TypeError, ValueError):
        raise InputError("this checkpoint was signed, but does not list chains as one does") from None


def check(stored: Any, public: Path, against: str | Path, **progress: Any) -> VerificationReport:
    """Verify a ledger, or an export of one, and that it still has everything this checkpoint was signed over.

    InputError if the signature is not this key's or the checkpoint is of another ledger; all else is in the report.
    """
    content = signed_by(stored, public)
    report = verify_any(against, known=_known(content), **progress)
    if report.ledger != content.get("ledger"):
        raise InputError("this checkpoint is of another ledger than the one it was held against")
    return report


def read(path: Path) -> Any:
    """A checkpoint file as data."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not a checkpoint: it is not JSON") from None


def _pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _private(path: Path) -> Ed25519PrivateKey:
    content = _content(path)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{path} is not a private key: make one with `tacit ledger key new PATH`") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} is a key of another kind than Ed25519: make one with `tacit ledger key new PATH`")
    return key


def _public(text: bytes, name: str) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(text)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{name} is not a public key: it is the file that ends in .pub") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{name} is a key of another kind than Ed25519")
    return key


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
