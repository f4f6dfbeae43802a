"""A certificate: how one answer was made and what it promises, for somebody who was not there.

It can be read by people (`html`), kept (`save`), and checked without the data and without a network
(`tacit verify`). What it proves by itself, and what only a signature or the ledger proves, is in `check`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.base import InputError
from tacit.desk.certificate.content import FORMATS, SECTIONS, content_of
from tacit.desk.certificate.evidence import chain_of
from tacit.desk.certificate.page import page_of
from tacit.desk.release import Release
from tacit.ledger import Ledger
from tacit.ledger.checkpoint import Signer
from tacit.program import canonical

__all__ = ["Certificate", "certify", "read_json"]

FIELDS = {"certificate", "public_key", "signature"}
MOST = 1 << 26  # bytes of a certificate that is read


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """`content` is what is stated; `signature` is over it and nothing else, or None where nobody signed.

    `public_key` says whose signature it claims to be, which proves nothing: the key has to come from elsewhere.
    """

    content: Mapping[str, Any]
    public_key: str | None = None
    signature: str | None = None

    def json(self) -> dict[str, Any]:
        """Everything as plain data, without floats."""
        return {"certificate": dict(self.content), "public_key": self.public_key, "signature": self.signature}

    def html(self) -> str:
        """One page that needs nothing else: no script, no picture, nothing from a network."""
        try:
            return page_of(self.content, self.public_key, self.signature)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise InputError("this certificate cannot be shown: something in it is not as one is written") from None

    def save(self, path: Path | str) -> None:
        """Write it, as a page if the name ends in .html, as JSON if in .json."""
        place = Path(path)
        if place.suffix not in (".json", ".html"):
            raise InputError(f"{place.name} must end in .json, which can be checked, or in .html, to be read")
        text = self.html() if place.suffix == ".html" else json.dumps(self.json(), indent=2, ensure_ascii=False) + "\n"
        try:
            place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{place} cannot be written: {error.strerror}") from None

    @classmethod
    def read(cls, source: Path | str | bytes) -> "Certificate":
        """From a file, or the bytes of one. Whether it is true is for `check` to say; InputError if it is none."""
        return cls.of(read_json(source))

    @classmethod
    def of(cls, data: Any) -> "Certificate":
        """The inverse of `json`."""
        if not isinstance(data, dict) or set(data) != FIELDS or not isinstance(data["certificate"], dict):
            raise InputError("this is not a certificate: one has the fields certificate, public_key and signature")
        content = data["certificate"]
        if content.get("format") not in FORMATS:
            raise InputError("this certificate is of a format that this release does not know: install a newer one")
        if set(content) != set(SECTIONS):
            odd = ", ".join(sorted(set(content) ^ set(SECTIONS)))
            raise InputError(f"this certificate has sections too many or too few: {odd[:200]}")
        if not all(data[name] is None or isinstance(data[name], str) for name in ("public_key", "signature")):
            raise InputError("public_key and signature of a certificate are texts, or null")
        canonical(content)  # no floats, no half characters
        return cls(content=content, public_key=data["public_key"], signature=data["signature"])

    def signed(self, key: Signer) -> "Certificate":
        """The same with a signature."""
        content = dict(self.content)
        return Certificate(
            content=content, public_key=key.public_key, signature=key.sign(str(content["format"]), content)
        )

    def __repr__(self) -> str:
        data, place = self.content["data"], self.content["ledger"]
        how = "not signed" if self.signature is None else "signed"
        return f"Certificate({data['dataset']!r}, entry {place['after']['seq']}, {how})"

    def _repr_html_(self) -> str:
        return self.html()


def certify(
    release: Release,
    *,
    ledger: Ledger | Path | str | None = None,
    signing_key: Signer | Path | str | None = None,
    sql: str | None = None,
) -> Certificate:
    """The certificate of a release: see `TableRelease.certificate`."""
    charge = None if ledger is None or not release.facts else chain_of(ledger, release.facts)
    made = Certificate(content=content_of(release, charge, sql=sql))
    canonical(made.content)
    if signing_key is None:
        return made
    return made.signed(signing_key if isinstance(signing_key, Signer) else Signer(Path(signing_key)))


def read_json(source: Path | str | bytes) -> Any:
    """What a file, or the bytes of one, says in JSON in which every name stands once: of two, one reader would believe
    the first and another the last. InputError if that is not what is in it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise InputError("this certificate has a name twice in one place: nobody can say which one holds")
        return found

    data = source if isinstance(source, bytes) else _bytes(source)
    try:
        return json.loads(data, object_pairs_hook=once)
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise InputError(
            "this is not a certificate: it is not JSON. `tacit verify` reads the .json, not the .html"
        ) from None


def _bytes(source: Path | str) -> bytes:
    try:
        with Path(source).open("rb") as file:
            found = file.read(MOST + 1)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from None
    if len(found) > MOST:
        raise InputError(f"{source} is too long to be a certificate")
    return found
