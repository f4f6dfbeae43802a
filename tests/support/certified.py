"""Certificates of real answers, and every way to change one thing in them."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.hospital import hospital
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.check import Check, check
from tacit.ledger.checkpoint import new_key, public_key
from tacit.session import Session, TableRelease

__all__ = ["Issued", "failed", "issued", "leaves", "put"]

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@dataclass(frozen=True)
class Issued:
    """An answer, its signed certificate, and where everything lies."""

    folder: Path
    sql: str
    release: TableRelease
    certificate: Certificate

    @property
    def ledger(self) -> Path:
        return self.folder / "hospital.ledger"

    @property
    def public(self) -> str:
        return public_key(self.folder / "issuer.pub")

    def check(self, certificate: Certificate | None = None, **given: Any) -> list[Check]:
        return check(certificate or self.certificate, **{"public_key": self.public, **given})


def issued(folder: Path, sql: str = COUNT, *, currency: str = "epsilon", clip: str = "20", spend: Any = 1) -> Issued:
    """One question, asked and certified."""
    policy = hospital(folder, currency=currency, clip=clip)
    new_key(folder / "issuer")
    with Session(policy, "ana") as session:
        release = session.ask(sql, **{currency: spend})
        made = release.certificate(ledger=session.ledger, signing_key=folder / "issuer", sql=sql)
    return Issued(folder, sql, release, made)


def failed(checks: list[Check]) -> set[str]:
    return {one.name for one in checks if one.ok is False}


def leaves(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every single value stands; an empty list or object is one too."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    empty = True
    for name, value in inside:
        empty = False
        yield from leaves(value, (*place, name))
    if empty:
        yield place


def put(data: Any, place: tuple[Any, ...], change: Any) -> Any:
    """A copy in which the value at `place` is another: what `change` makes of it."""
    copy = deepcopy(data)
    at = copy
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = change(at[place[-1]])
    return copy
