"""One statement of SQL, told apart by its first words: what it wants, before anything is looked up."""

import re
from dataclasses import dataclass

from sqlglot import exp

from tacit.server.wire.catalog.translate import read_catalog
from tacit.server.wire.catalog.types import check_tables, is_catalog
from tacit.server.wire.copying import Copy, read_copy
from tacit.server.wire.cursor import CloseCursor, Declare, Fetch, read_close, read_declare, read_fetch
from tacit.server.wire.fault import Fault
from tacit.server.wire.lex import Piece, pieces

__all__ = ["Ask", "Browse", "Command", "Explain", "Reset", "Set", "Show", "Statement", "read_statement"]


@dataclass(frozen=True)
class Ask:
    """Something about private data, for a dataset."""

    sql: str


@dataclass(frozen=True)
class Browse:
    """Something about names and types only."""

    tree: exp.Expr


@dataclass(frozen=True)
class Explain:
    """What would a question cost?"""

    sql: str
    json: bool = False


@dataclass(frozen=True)
class Set:
    name: str
    value: str | None  # None is the default


@dataclass(frozen=True)
class Reset:
    name: str | None  # None is everything


@dataclass(frozen=True)
class Show:
    name: str


@dataclass(frozen=True)
class Command:
    """Something that has no effect on data: transactions and the like. `tag` is what the client is told."""

    tag: str
    word: str = ""
    name: str = ""


Statement = Ask | Browse | Explain | Set | Reset | Show | Command | Declare | Fetch | CloseCursor | Copy

BEGINS = {"begin": "BEGIN", "start": "START TRANSACTION"}
ENDS = {"commit": "COMMIT", "end": "COMMIT", "rollback": "ROLLBACK", "abort": "ROLLBACK"}
QUIET = {"savepoint": "SAVEPOINT", "release": "RELEASE", "discard": "DISCARD ALL", "unlisten": "UNLISTEN"}
ASKING = ("select", "with", "values", "table")
SETTING = re.compile(r"set\s+(?:(?:session|local)\s+)?(?P<name>[\w.]+)\s*(?:=|\bto\b)\s*(?P<value>.*)", re.I | re.S)
ZONE = re.compile(r"set\s+(?:(?:session|local)\s+)?time\s+zone\s+(?P<value>.*)", re.I | re.S)
NAMES = re.compile(r"set\s+names\s+(?P<value>.*)", re.I | re.S)
MODES = re.compile(r"set\s+(?:session\s+characteristics\s+as\s+)?transaction\b|set\s+(?:session\s+)?role\b", re.I)
SHOWING = re.compile(r"show\s+(?P<name>[\w.]+|transaction\s+isolation\s+level|time\s+zone)", re.I)
EXPLAINING = re.compile(r"explain\s*(?P<options>\([^)]*\)|(?:analyze|verbose)\b)?\s*(?P<sql>.*)", re.I | re.S)
SPELLED = {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}
LONGEST = 2_000  # of a statement that is not a question


def read_statement(sql: str) -> Statement:
    """What a single statement wants. `sql` is without its semicolon."""
    whole = list(pieces(sql))
    found = [piece for piece in whole if piece.kind != "space"]
    first = found[0].text.lower() if found else ""
    if first in ASKING or first == "(":
        return _asked(sql)
    if first == "explain":
        return _explained(sql, found)
    if first == "declare":
        name, inner, hold = read_declare(whole)
        return Declare(name, _inner(inner), hold)
    if first == "copy":
        inner, form = read_copy(whole)
        return Copy(_inner(inner), form)
    if len(sql) > LONGEST:
        raise Fault("54000", "this statement is too long")
    if first in ("fetch", "move"):
        return read_fetch(found)
    if first == "close":
        return read_close(found)
    words = [piece.text.lower() for piece in found if piece.kind in ("word", "name")]
    text = " ".join(piece.text for piece in found).replace(" . ", ".")
    if first == "set":
        return _set(text)
    if first == "reset":
        return Reset(None if words[1:2] == ["all"] else ".".join(words[1:]))
    if first == "show":
        shown = SHOWING.fullmatch(text)
        if shown is None:
            raise Fault("42601", "SHOW is followed by the name of a setting")
        name = " ".join(shown["name"].lower().split())
        return Show(SPELLED.get(name, name))
    return _command(first, words, found)


def _asked(sql: str) -> Statement:
    tree = read_catalog(sql)
    if tree is None or not is_catalog(tree):
        return Ask(sql)
    check_tables(tree)
    return Browse(tree)


def _inner(sql: str) -> Statement:
    """The question inside of DECLARE and COPY."""
    first = next((piece.text.lower() for piece in pieces(sql) if piece.kind != "space"), "")
    if first not in ASKING and first != "(":
        raise Fault("42501", "only a question can be declared or copied: begin it with SELECT, or WITH … SELECT")
    return _asked(sql)


def _explained(sql: str, found: list[Piece]) -> Explain:
    shown = EXPLAINING.fullmatch(sql[sql.lower().index("explain") :] if found else sql)
    assert shown is not None  # the first word is EXPLAIN
    options = (shown["options"] or "").lower()
    if "analyze" in options and not re.search(r"analyze\s+(off|false)", options):
        raise Fault("0A000", "EXPLAIN ANALYZE would run the question: EXPLAIN alone says what it costs, free")
    if not shown["sql"].strip():
        raise Fault("42601", "EXPLAIN is followed by a question")
    return Explain(shown["sql"], json="json" in options)


def _set(text: str) -> Statement:
    if MODES.match(text):
        return Command("SET")
    for pattern, name in ((ZONE, "timezone"), (NAMES, "client_encoding")):
        found = pattern.fullmatch(text)
        if found is not None:
            return Set(name, _value(found["value"]))
    found = SETTING.fullmatch(text)
    if found is None:
        raise Fault("42601", "SET is written as SET name = value")
    return Set(found["name"], _value(found["value"]))


def _value(text: str) -> str | None:
    text = text.strip()
    if text.lower() == "default":
        return None
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    return ", ".join(part.strip(" \"'") for part in text.split(",")).replace("- ", "-")


def _command(first: str, words: list[str], found: list[Piece]) -> Command:
    if first in BEGINS:
        return Command(BEGINS[first], "begin")
    if first in ENDS:
        back = first == "rollback" and "to" in words
        return Command("ROLLBACK" if back else ENDS[first], "back" if back else "end")
    if first == "deallocate":
        name = found[-1].text.strip('"') if len(found) > 1 else ""
        everything = name.lower() == "all"
        return Command("DEALLOCATE ALL" if everything else "DEALLOCATE", "deallocate", "" if everything else name)
    if first in QUIET:
        return Command(QUIET[first], first)
    raise Fault(
        "0A000" if first in ("listen", "prepare", "execute", "call", "do") else "42501",
        f"{first[:40].upper() or 'this'} is not allowed: questions only read, and begin with SELECT or WITH … SELECT",
    )
