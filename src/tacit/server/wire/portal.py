"""What a connection holds between two messages: statements with a name, and statements with their values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.server.wire.statement import Statement
from tacit.server.wire.value import WireField

__all__ = ["Portal", "PreparedStatement"]


@dataclass
class PreparedStatement:
    """A statement with a name. `fields` are what the client was told that it gives."""

    sql: str
    kinds: tuple[int, ...]
    described: bool = False
    fields: Sequence[WireField] | None = None


@dataclass
class Portal:
    """A statement with its values. `rows` are those that were not sent yet, as bytes; None before it ran."""

    prepared: PreparedStatement
    statement: Statement | None
    results: tuple[int, ...]
    known: bool = False
    fields: Sequence[WireField] | None = None
    rows: list[bytes] | None = None
    tag: str = ""
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = field(default=())
