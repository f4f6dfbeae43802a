"""COPY (question) TO STDOUT: the answer as one stream, in PostgreSQL's text, CSV or binary form."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.server.wire import message as reply
from tacit.server.wire.fault import Fault
from tacit.server.wire.lex import Piece
from tacit.server.wire.value import WireField, encoded

__all__ = ["Copy", "Form", "copied", "read_copy"]

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
SPECIAL = {"t": "\t", "n": "\n", "r": "\r"}
TRUTHS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
USAGE = "COPY is written as COPY (SELECT …) TO STDOUT, with FORMAT text, csv or binary"


@dataclass(frozen=True, kw_only=True)
class Form:
    """How values are written. `null` and `delimiter` are by default the format's own."""

    format: str = "text"
    header: bool = False
    delimiter: str = ""
    null: str | None = None
    quote: str = '"'
    escape: str = ""


@dataclass(frozen=True)
class Copy:
    """`inner` is the question, as a statement of its own."""

    inner: Any
    form: Form


def read_copy(found: Sequence[Piece]) -> tuple[str, Form]:
    """The question and the form of COPY (question) TO STDOUT [options]; `found` is everything, with spaces."""
    solid = [place for place, piece in enumerate(found) if piece.kind != "space"]
    if len(solid) < 2 or found[solid[1]].text != "(":
        hint = "COPY (SELECT …) TO STDOUT gives the answer to a question"
        raise Fault("42501", "COPY of a table is refused: its rows are private, and nothing is written here", hint)
    depth, end = 0, -1
    for place in range(solid[1], len(found)):
        depth += (found[place].text == "(") - (found[place].text == ")") if found[place].kind == "other" else 0
        if not depth:
            end = place
            break
    rest = [piece for piece in found[end + 1 :] if piece.kind != "space"] if end >= 0 else []
    if [piece.text.lower() for piece in rest[:2]] != ["to", "stdout"]:
        raise Fault("42601", USAGE)
    return "".join(piece.text for piece in found[solid[1] + 1 : end]), _form(rest[2:])


def _form(rest: Sequence[Piece]) -> Form:
    """The options, in today's form and in the one before it: neither needs its commas and brackets to be understood."""
    words = [piece for piece in rest if piece.text.lower() not in ("(", ")", ",", "with", "as")]
    given: dict[str, Any] = {}
    place = 0
    while place < len(words):
        word = words[place].text.lower()
        following = words[place + 1] if place + 1 < len(words) else Piece("end", "")
        place += 1
        if word in ("csv", "text", "binary"):
            given["format"] = word
        elif word == "header":
            given["header"] = TRUTHS.get(following.text.lower(), True)
            place += following.text.lower() in TRUTHS
        elif word == "format":
            given["format"], place = _string(following).lower(), place + 1
        elif word in ("delimiter", "null", "quote", "escape"):
            given[word], place = _string(following), place + 1
        elif word == "encoding" and _string(following).upper().replace("-", "") == "UTF8":
            place += 1
        else:
            raise Fault("0A000", f"COPY does not know the option {word[:40].upper()} here", USAGE)
    if given.get("format", "text") not in ("text", "csv", "binary"):
        raise Fault("22023", USAGE)
    for name in ("delimiter", "quote", "escape"):
        if len(given.get(name, "x")) != 1 or given.get(name) in ("\n", "\r"):
            raise Fault("22023", f"{name.upper()} of COPY is one character")
    return Form(**given)


def _string(piece: Piece) -> str:
    if piece.kind in ("word", "name"):
        return piece.text.strip('"')
    if piece.kind != "string" or piece.text.startswith("$"):
        raise Fault("42601", USAGE)
    inside = piece.text[piece.text.index("'") + 1 : -1].replace("''", "'")
    if piece.text[0] in "eE" and len(inside) == 2 and inside[0] == "\\":
        return SPECIAL.get(inside[1], inside[1])
    return inside


def copied(form: Form, fields: Sequence[WireField], rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """The messages: what comes, the rows, and the end."""
    binary = form.format == "binary"
    lines = _binary(fields, rows) if binary else _lines(form, fields, rows)
    return [reply.copy_out(int(binary), len(fields)), *(reply.copy_data(line) for line in lines), reply.COPY_DONE]


def _binary(fields: Sequence[WireField], rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    """A row each; the signature comes with the first, as PostgreSQL sends it and clients expect."""
    before = SIGNATURE
    for row in rows:
        parts, before = [before, struct.pack("!h", len(fields))], b""
        for value, each in zip(row, fields, strict=True):
            data = encoded(value, each.kind, 1)
            parts.append(struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data)
        yield b"".join(parts)
    yield before + struct.pack("!h", -1)


def _lines(form: Form, fields: Sequence[WireField], rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    csv = form.format == "csv"
    sign = form.delimiter or ("," if csv else "\t")
    null = form.null if form.null is not None else "" if csv else "\\N"

    def written(value: str | None) -> str:
        if value is None:
            return null
        return _quoted(value, form, sign, null) if csv else _escaped(value, sign)

    if form.header:
        yield (sign.join(written(each.name) for each in fields) + "\n").encode()
    for row in rows:
        texts = [encoded(value, each.kind, 0) for value, each in zip(row, fields, strict=True)]
        yield (sign.join(written(None if text is None else text.decode()) for text in texts) + "\n").encode()


def _quoted(value: str, form: Form, sign: str, null: str) -> str:
    quote, escape = form.quote, form.escape or form.quote
    if value != null and value != "\\." and not set(value) & {sign, quote, "\n", "\r"}:
        return value
    if escape != quote:
        value = value.replace(escape, escape * 2)
    return quote + value.replace(quote, escape + quote) + quote


def _escaped(value: str, sign: str) -> str:
    return "".join(ESCAPES.get(letter, "\\" + letter if letter == sign else letter) for letter in value)
