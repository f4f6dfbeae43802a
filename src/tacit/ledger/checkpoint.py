"""Signed checkpoints: who holds one sees later whether anything before it was rewritten.

A checkpoint lists each chain's newest entry and what its people had spent, signed with Ed25519. Given to an outsider,
it shows later that the ledger only grew: every chain must still have that entry with that hash. A key inside the file
is no proof of who signed; the public key has to come from somewhere else.
"""

import json
import os
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
from tacit.ledger.chain import Head
from tacit.ledger.entry import REGISTRY
from tacit.ledger.export import is_export, verify_export
from tacit.ledger.reader import on_server
from tacit.ledger.schema import VERSION
from tacit.ledger.verify import Known, Report, silent, verify
from tacit.noise import SecureRng
from tacit.plan.program import canonical

__all__ = ["FORMAT", "check", "known", "new_key", "read", "sign", "signed_by"]

FORMAT = "tacit checkpoint 1"
FIELDS = {"checkpoint", "public_key", "signature"}


def new_key(path: Path) -> Path:
    """Write a private key that only its owner can read, and the public one beside it, as `.pub`; its path."""
    public = path.with_name(path.name + ".pub")
    for place in (path, public):
        if place.exists():
            raise InputError(f"{place} exists already: a key is never overwritten, choose another name")
    key = Ed25519PrivateKey.from_private_bytes(bytes(SecureRng().read(32)))
    try:
        _write(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
        _write(public, _pem(key.public_key()), 0o644)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be written: {error.strerror}") from None
    return public


def _write(path: Path, content: bytes, mode: int) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(file, "wb") as out:
        out.write(content)


def sign(where: str | Path, key: Path, report: Report | None = None) -> dict[str, Any]:
    """A checkpoint of a ledger as it is. It is verified first, and not signed if anything is wrong with it.

    `report` is what `verify` of this very ledger said, if it was asked just now.
    """
    private = _private(key)
    report = verify(where) if report is None else report
    if not report.ok:
        raise CorruptLedger(f"this ledger does not verify, so it is not signed: {report.findings[0]}")
    content = {
        "format": FORMAT,
        "ledger": report.ledger,
        "version": VERSION,
        "time": time_ns() // 1000,
        "chains": [_chain(head) for head in report.heads],
    }
    return {
        "checkpoint": content,
        "public_key": _pem(private.public_key()).decode(),
        "signature": private.sign(_signed(content)).hex(),
    }


def _chain(head: Head) -> dict[str, Any]:
    spent = None if head.spent is None else {"spend": str(head.spent.spend), "delta": str(head.spent.delta)}
    return {
        "people": head.people,
        "opening": head.opening.hex(),
        "seq": head.seq,
        "digest": head.digest.hex(),
        "spent": spent,
    }


def _signed(content: Any) -> bytes:
    return FORMAT.encode() + b"\0" + canonical(content).encode()


def signed_by(stored: Any, public_key: Path) -> dict[str, Any]:
    """The content of a checkpoint, if this key signed it; InputError if not."""
    if not isinstance(stored, dict) or set(stored) != FIELDS or not isinstance(stored["checkpoint"], dict):
        raise InputError("this is not a checkpoint: one is written by `tacit ledger export --sign KEY`")
    content: dict[str, Any] = stored["checkpoint"]
    if content.get("format") != FORMAT:
        raise InputError("this checkpoint is of a format that this release does not know")
    key = _public(public_key)
    try:
        key.verify(bytes.fromhex(stored["signature"]), _signed(content))
    except (InvalidSignature, ValueError, TypeError):  # ValueError: no hexadecimal digits, or floats in the content
        raise InputError(
            f"the signature of this checkpoint is not by the key {public_key}: it was altered, or somebody else made it"
        ) from None
    return content


def known(content: dict[str, Any]) -> tuple[Known, ...]:
    """The entries that a checkpoint's content vouches for."""
    try:
        return tuple(
            Known(
                people=str(chain["people"]),
                opening=b"" if chain["people"] == REGISTRY else bytes.fromhex(chain["opening"]),
                seq=int(chain["seq"]),
                digest=bytes.fromhex(chain["digest"]),
            )
            for chain in content["chains"]
        )
    except (KeyError, TypeError, ValueError):
        raise InputError("this checkpoint was signed, but does not list chains as one does") from None


def check(stored: Any, public_key: Path, against: str | Path, **progress: Any) -> Report:
    """Verify a ledger, or an export of one, and that it still has everything this checkpoint was signed over.

    InputError if the signature is not this key's or the checkpoint is of another ledger; all else is in the report.
    """
    content = signed_by(stored, public_key)
    entries = known(content)
    if not on_server(against) and is_export(Path(against)):
        report = verify_export(Path(against), known=entries, tick=progress.get("tick", silent))
    else:
        report = verify(against, known=entries, **progress)
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
    try:
        key = load_pem_private_key(_content(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path} is not a private key: make one with `tacit ledger key new PATH`") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} is a key of another kind than Ed25519: make one with `tacit ledger key new PATH`")
    return key


def _public(path: Path) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(_content(path))
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path} is not a public key: it is the file that ends in .pub") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path} is a key of another kind than Ed25519")
    return key


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
