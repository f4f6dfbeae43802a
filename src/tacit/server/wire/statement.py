"""One statement of SQL, told apart by its first words: what it wants, before anything is looked up."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sqlglot import exp

from tacit.server.problem import Fault
from tacit.server.wire.catalog.answer import catalog_tree
from tacit.server.wire.lex import SqlPiece, pieces
from tacit.server.wire.value import CopyForm

__all__ = ["Ask", "Browse", "CloseCursor", "Command", "Copy", "Declare", "Explain", "Fetch", "Reset", "Set", "Show"]
__all__ += ["Statement", "read_statement"]


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
class Declare:
    """A cursor on a question, which is asked at the first FETCH. With `hold` it outlives its transaction."""

    name: str
    inner: Ask | Browse
    hold: bool = False


@dataclass(frozen=True)
class Fetch:
    """So many rows of a cursor, or all that are left with None; `move` passes over them."""

    name: str
    count: int | None = 1
    move: bool = False


@dataclass(frozen=True)
class CloseCursor:
    name: str | None  # None is all of them


@dataclass(frozen=True)
class Copy:
    """COPY (question) TO STDOUT."""

    inner: Ask | Browse
    form: CopyForm


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

ASKING = ("select", "with", "values", "table", "(")
LONGEST = 2_000  # of a statement that holds no question


def read_statement(sql: str) -> Statement:
    """What a single statement wants. `sql` is without its semicolon."""
    found = [piece for piece in pieces(sql) if piece.kind != "space"]
    first = found[0].text.lower() if found else ""
    if first in ASKING:
        return _question(sql)
    if first in WITH_QUESTION:
        return WITH_QUESTION[first](sql, found)
    if len(sql) > LONGEST:
        raise Fault("54000", "this statement is too long")
    return SHORT.get(first, _command)(found)


def _question(sql: str) -> Ask | Browse:
    tree = catalog_tree(sql)
    return Ask(sql) if tree is None else Browse(tree)


# --- statements with a question inside

EXPLAINING = re.compile(r"\s*(?P<options>\([^)]*\)|(?:analyze|verbose)\b)?\s*(?P<sql>.*)", re.I | re.S)
BEFORE_FOR = re.compile(r"(?:binary |insensitive |asensitive |no scroll |scroll )*cursor(?: with hold| without hold)?")
FORMATS = ("text", "csv", "binary")
SPECIAL = {"t": "\t", "n": "\n", "r": "\r"}
TRUTHS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
COPY_USAGE = "COPY is written as COPY (SELECT …) TO STDOUT, with FORMAT text, csv or binary"


def _inner(sql: str) -> Ask | Browse:
    """The question inside of DECLARE and COPY."""
    first = next((piece.text.lower() for piece in pieces(sql) if piece.kind != "space"), "")
    if first not in ASKING:
        raise Fault("42501", "only a question can be declared or copied: begin it with SELECT, or WITH … SELECT")
    return _question(sql)


def _explain(sql: str, found: Sequence[SqlPiece]) -> Explain:
    shown = EXPLAINING.fullmatch(sql, found[0].end)
    assert shown is not None  # it matches any text
    options = (shown["options"] or "").lower()
    if "analyze" in options and not re.search(r"analyze\s+(off|false)", options):
        raise Fault("0A000", "EXPLAIN ANALYZE would run the question: EXPLAIN alone says what it costs, free")
    if not shown["sql"].strip():
        raise Fault("42601", "EXPLAIN is followed by a question")
    return Explain(shown["sql"], json="json" in options)


def _declare(sql: str, found: Sequence[SqlPiece]) -> Declare:
    """DECLARE name … CURSOR … FOR question."""
    words = [piece.text.lower() for piece in found]
    at = words.index("for", 2) if "for" in words[2:] else 0
    options = " ".join(words[2:at])
    if not at or BEFORE_FOR.fullmatch(options) is None:
        raise Fault("42601", "DECLARE is written as DECLARE name CURSOR FOR SELECT …")
    if "binary" in options:
        raise Fault("0A000", "a cursor that is always binary is refused: bind FETCH with binary results instead")
    return Declare(_cursor_name(found[1]), _inner(sql[found[at].end :]), options.endswith("with hold"))


def _copy(sql: str, found: Sequence[SqlPiece]) -> Copy:
    """COPY (question) TO STDOUT [options]."""
    if len(found) < 2 or found[1].text != "(":
        hint = "COPY (SELECT …) TO STDOUT gives the answer to a question"
        raise Fault("42501", "COPY of a table is refused: its rows are private, and nothing is written here", hint)
    open_brackets = accumulate((piece.text == "(") - (piece.text == ")") for piece in found[1:])
    last = next((place for place, count in enumerate(open_brackets, 1) if not count), len(found))
    rest = found[last + 1 :]
    if [piece.text.lower() for piece in rest[:2]] != ["to", "stdout"]:
        raise Fault("42601", COPY_USAGE)
    return Copy(_inner(sql[found[1].end : found[last].start]), _copy_form(rest[2:]))


def _copy_form(options: Sequence[SqlPiece]) -> CopyForm:
    """The options, in today's form and in the one before it: neither needs its commas and brackets to be understood."""
    left = [piece for piece in reversed(options) if piece.text.lower() not in ("(", ")", ",", "with", "as")]
    given: dict[str, Any] = {}

    def value() -> str:
        return _string(left.pop() if left else SqlPiece("end", ""))

    while left:
        word = left.pop().text.lower()
        if word in FORMATS:
            given["format"] = word
        elif word == "header":
            told = left[-1].text.lower() in TRUTHS if left else False
            given["header"] = TRUTHS[left.pop().text.lower()] if told else True
        elif word in ("format", "delimiter", "null", "quote", "escape"):
            given[word] = value()
        elif word != "encoding" or value().upper().replace("-", "") != "UTF8":
            raise Fault("0A000", f"COPY does not know the option {word[:40].upper()} here", COPY_USAGE)
    given["format"] = given.get("format", "text").lower()
    if given["format"] not in FORMATS:
        raise Fault("22023", COPY_USAGE)
    for name in ("delimiter", "quote", "escape"):
        if len(given.get(name, "x")) != 1 or given.get(name) in ("\n", "\r"):
            raise Fault("22023", f"{name.upper()} of COPY is one character")
    return CopyForm(**given)


def _string(piece: SqlPiece) -> str:
    if piece.kind in ("word", "name"):
        return piece.text.strip('"')
    if piece.kind != "string" or piece.text.startswith("$"):
        raise Fault("42601", COPY_USAGE)
    inside = piece.text[piece.text.index("'") + 1 : -1].replace("''", "'")
    if piece.text[0] in "eE" and len(inside) == 2 and inside[0] == "\\":
        return SPECIAL.get(inside[1], inside[1])
    return inside


# --- the others

BACK = {"prior", "first", "last", "absolute", "relative", "backward"}
SETTING = re.compile(r"set\s+(?:(?:session|local)\s+)?(?P<name>[\w.]+)\s*(?:=|\bto\b)\s*(?P<value>.*)", re.I | re.S)
ZONE = re.compile(r"set\s+(?:(?:session|local)\s+)?time\s+zone\s+(?P<value>.*)", re.I | re.S)
NAMES = re.compile(r"set\s+names\s+(?P<value>.*)", re.I | re.S)
MODES = re.compile(r"set\s+(?:session\s+characteristics\s+as\s+)?transaction\b|set\s+(?:session\s+)?role\b", re.I)
SHOWING = re.compile(r"show\s+(?P<name>[\w.]+|transaction\s+isolation\s+level|time\s+zone)", re.I)
SPELLED = {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}
BEGINS = {"begin": "BEGIN", "start": "START TRANSACTION"}
ENDS = {"commit": "COMMIT", "end": "COMMIT", "rollback": "ROLLBACK", "abort": "ROLLBACK"}
QUIET = {"savepoint": "SAVEPOINT", "release": "RELEASE", "discard": "DISCARD ALL", "unlisten": "UNLISTEN"}


def _cursor_name(piece: SqlPiece) -> str:
    if piece.kind == "name":
        return piece.text[1:-1].replace('""', '"')
    if piece.kind != "word":
        raise Fault("42601", "the name of a cursor was expected")
    return piece.text.lower()


def _fetch(found: Sequence[SqlPiece]) -> Fetch:
    """FETCH or MOVE [NEXT | count | ALL | FORWARD [count | ALL]] [FROM | IN] name."""
    words = [piece.text.lower() for piece in found]
    middle = words[1:-1]
    if middle and middle[-1] in ("from", "in"):
        middle.pop()
    if (middle and middle[0] in BACK) or "-" in middle:
        raise Fault("55000", "a cursor goes forward only: FETCH FORWARD, NEXT, ALL or a number")
    if len(found) < 2:
        raise Fault("42601", "FETCH is followed by the name of a cursor")
    name = _cursor_name(found[-1])
    text = " ".join(middle[1:] if middle[:1] == ["forward"] else middle)
    count = "1" if text in ("", "next") else text
    if count != "all" and (not count.isdigit() or len(count) > 18 or int(count) == 0):
        raise Fault("42601", "FETCH is written as FETCH 100 FROM name, or FETCH ALL FROM name")
    return Fetch(name, None if count == "all" else int(count), words[0] == "move")


def _close(found: Sequence[SqlPiece]) -> CloseCursor:
    if len(found) != 2:
        raise Fault("42601", "CLOSE is followed by the name of a cursor, or by ALL")
    return CloseCursor(None if found[1].text.lower() == "all" else _cursor_name(found[1]))


def _plain(found: Sequence[SqlPiece]) -> str:
    return " ".join(piece.text for piece in found).replace(" . ", ".")


def _words(found: Sequence[SqlPiece]) -> list[str]:
    return [piece.text.lower() for piece in found if piece.kind in ("word", "name")]


def _set(found: Sequence[SqlPiece]) -> Set | Command:
    text = _plain(found)
    if MODES.match(text):
        return Command("SET")
    for pattern, name in ((ZONE, "timezone"), (NAMES, "client_encoding"), (SETTING, "")):
        matched = pattern.fullmatch(text)
        if matched is not None:
            return Set(name or matched["name"], _value(matched["value"]))
    raise Fault("42601", "SET is written as SET name = value")


def _value(text: str) -> str | None:
    text = text.strip()
    if text.lower() == "default":
        return None
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    return ", ".join(part.strip(" \"'") for part in text.split(",")).replace("- ", "-")


def _reset(found: Sequence[SqlPiece]) -> Reset:
    words = _words(found)[1:]
    return Reset(None if words[:1] == ["all"] else ".".join(words))


def _show(found: Sequence[SqlPiece]) -> Show:
    shown = SHOWING.fullmatch(_plain(found))
    if shown is None:
        raise Fault("42601", "SHOW is followed by the name of a setting")
    name = " ".join(shown["name"].lower().split())
    return Show(SPELLED.get(name, name))


def _command(found: Sequence[SqlPiece]) -> Command:
    first = found[0].text.lower() if found else ""
    if first in BEGINS:
        return Command(BEGINS[first], "begin")
    if first in ENDS:
        return Command(ENDS[first], "back" if first == "rollback" and "to" in _words(found) else "end")
    if first == "deallocate":
        name = found[-1].text.strip('"') if len(found) > 1 else ""
        everything = name.lower() == "all"
        return Command("DEALLOCATE ALL" if everything else "DEALLOCATE", "deallocate", "" if everything else name)
    if first in QUIET:
        return Command(QUIET[first], first)
    state = "0A000" if first in ("listen", "prepare", "execute", "call", "do") else "42501"
    rule = "questions only read, and begin with SELECT or WITH … SELECT"
    raise Fault(state, f"{first[:40].upper() or 'this'} is not allowed: {rule}")


WITH_QUESTION: dict[str, Callable[[str, Sequence[SqlPiece]], Statement]]
WITH_QUESTION = {"explain": _explain, "declare": _declare, "copy": _copy}
SHORT: dict[str, Callable[[Sequence[SqlPiece]], Statement]]
SHORT = {"fetch": _fetch, "move": _fetch, "close": _close, "set": _set, "reset": _reset, "show": _show}
