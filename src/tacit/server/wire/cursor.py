"""Cursors of SQL: DECLARE a question, FETCH some rows at a time, CLOSE it. The question is asked at the first FETCH.

A cursor goes forward only. It ends with its transaction, unless it was declared WITH HOLD.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.server.wire.fault import Fault
from tacit.server.wire.lex import Piece
from tacit.server.wire.value import WireField

__all__ = ["CloseCursor", "Cursors", "Declare", "Fetch", "read_close", "read_declare", "read_fetch"]

MOST = 100  # cursors of one connection
BEFORE = re.compile(r"(?:binary |insensitive |asensitive |no scroll |scroll )*cursor(?: with hold| without hold)?")
BACK = {"prior", "first", "last", "absolute", "relative", "backward"}


@dataclass(frozen=True)
class Declare:
    """`inner` is the question, as a statement of its own."""

    name: str
    inner: Any
    hold: bool = False


@dataclass(frozen=True)
class Fetch:
    """So many rows, or all that are left with None; `move` passes over them."""

    name: str
    count: int | None = 1
    move: bool = False


@dataclass(frozen=True)
class CloseCursor:
    name: str | None  # None is all of them


def _name(piece: Piece) -> str:
    if piece.kind == "name":
        return piece.text[1:-1].replace('""', '"')
    if piece.kind != "word":
        raise Fault("42601", "the name of a cursor was expected")
    return piece.text.lower()


def read_declare(found: Sequence[Piece]) -> tuple[str, str, bool]:
    """Name, question and whether it outlives its transaction, of DECLARE name … CURSOR … FOR question.

    `found` is everything, with spaces.
    """
    solid = [place for place, piece in enumerate(found) if piece.kind != "space"]
    words = [found[place].text.lower() for place in solid]
    at = words.index("for", 2) if "for" in words[2:] else 0
    options = " ".join(words[2:at])
    if not at or BEFORE.fullmatch(options) is None:
        raise Fault("42601", "DECLARE is written as DECLARE name CURSOR FOR SELECT …")
    if "binary" in options:
        raise Fault("0A000", "a cursor that is always binary is refused: bind FETCH with binary results instead")
    sql = "".join(piece.text for piece in found[solid[at] + 1 :])
    return _name(found[solid[1]]), sql, options.endswith("with hold")


def read_fetch(found: Sequence[Piece]) -> Fetch:
    """FETCH or MOVE [NEXT | count | ALL | FORWARD [count | ALL]] [FROM | IN] name; `found` is without spaces."""
    words = [piece.text.lower() for piece in found]
    move, middle = words[0] == "move", words[1:-1]
    if middle and middle[-1] in ("from", "in"):
        middle.pop()
    if (middle and middle[0] in BACK) or "-" in middle:
        raise Fault("55000", "a cursor goes forward only: FETCH FORWARD, NEXT, ALL or a number")
    forward = middle[:1] == ["forward"]
    text = " ".join(middle[1:] if forward else middle)
    if len(found) < 2:
        raise Fault("42601", "FETCH is followed by the name of a cursor")
    name = _name(found[-1])
    if text == "all":
        return Fetch(name, None, move)
    if text in ("", "next"):
        return Fetch(name, 1, move)
    if not text.isdigit() or len(text) > 18 or int(text) == 0:
        raise Fault("42601", "FETCH is written as FETCH 100 FROM name, or FETCH ALL FROM name")
    return Fetch(name, int(text), move)


def read_close(found: Sequence[Piece]) -> CloseCursor:
    if len(found) != 2:
        raise Fault("42601", "CLOSE is followed by the name of a cursor, or by ALL")
    return CloseCursor(None if found[1].text.lower() == "all" else _name(found[1]))


@dataclass
class _Open:
    inner: Any
    hold: bool
    fields: Sequence[WireField]
    rows: list[tuple[Any, ...]] | None = None
    place: int = 0


class Cursors:
    """Those of one connection, by name."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def declare(self, declared: Declare, fields: Sequence[WireField]) -> None:
        if declared.name in self._open:
            raise Fault("42P03", "there is a cursor of that name already")
        if len(self._open) >= MOST:
            raise Fault("53400", f"{MOST} cursors are open: close some")
        self._open[declared.name] = _Open(declared.inner, declared.hold, fields)

    def __contains__(self, name: str) -> bool:
        return name in self._open

    def _named(self, name: str) -> _Open:
        if name not in self._open:
            raise Fault("34000", "there is no cursor of that name")
        return self._open[name]

    def inner(self, name: str) -> Any:
        """The question, if it was not asked yet."""
        found = self._named(name)
        return found.inner if found.rows is None else None

    def fields(self, name: str) -> Sequence[WireField]:
        return self._named(name).fields

    def fill(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """The answer to the question."""
        self._named(name).rows = list(rows)

    def take(self, fetch: Fetch) -> list[tuple[Any, ...]]:
        """The next rows."""
        found = self._named(fetch.name)
        rows, first = found.rows or [], found.place
        found.place = len(rows) if fetch.count is None else min(len(rows), first + fetch.count)
        return rows[first : found.place]

    def close(self, name: str | None) -> None:
        if name is None:
            self._open.clear()
        else:
            self._named(name)
            del self._open[name]

    def end(self) -> None:
        """The transaction is over."""
        self._open = {name: found for name, found in self._open.items() if found.hold}
