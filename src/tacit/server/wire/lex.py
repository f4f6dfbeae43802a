"""Enough of SQL's spelling to tell statements apart and to find $1 outside of strings and comments."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tacit.server.wire.fault import Fault

__all__ = ["Piece", "filled", "pieces", "places", "split", "unqualified"]

PIECE = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*)
    | (?P<string>[eE]'(?:[^'\\]|\\.|'')*+'|'(?:[^']|'')*+')
    | (?P<name>"(?:[^"]|"")*+")
    | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*)?\$)
    | (?P<place>\$\d{1,9}(?!\w))
    | (?P<word>(?![eE]')[^\W\d]\w*)
    | (?P<number>\d[\w.]*)
    | (?P<end>;)
    | (?P<comment>/\*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT = re.compile(r"/\*|\*/")


class Piece(NamedTuple):
    """A kind and its text: space (comments too), string, name (in quotes), word, number, place ($1), end (;), other."""

    kind: str
    text: str


def pieces(sql: str) -> Iterator[Piece]:
    """The text in pieces that joined give the text again."""
    place = 0
    while place < len(sql):
        found = PIECE.match(sql, place)
        assert found is not None  # some alternative takes any character
        kind, end = found.lastgroup or "other", found.end()
        if found["dollar"] is not None:
            close = sql.find(found["dollar"], end)
            if close < 0:
                raise Fault("42601", "a string between dollar signs does not end")
            kind, end = "string", close + len(found["dollar"])
        elif kind == "comment":
            kind, end = "space", _after_comment(sql, end)
        elif kind == "other" and found[0] in "'\"eE":
            raise Fault("42601", "a quote is not closed")
        yield Piece(kind, sql[place:end])
        place = end


def _after_comment(sql: str, place: int) -> int:
    """The end of a comment, which may have others inside."""
    depth = 1
    while depth:
        found = COMMENT.search(sql, place)
        if found is None:
            raise Fault("42601", "a comment is not closed")
        depth += 1 if found[0] == "/*" else -1
        place = found.end()
    return place


def split(sql: str) -> list[str]:
    """The statements of a text, without the empty ones."""
    found, current = [], ""
    for piece in pieces(sql):
        if piece.kind == "end":
            found.append(current)
            current = ""
        else:
            current += piece.text
    return [one for one in (*found, current) if any(piece.kind != "space" for piece in pieces(one))]


def places(sql: str) -> int:
    """The highest n of $n."""
    return max((int(piece.text[1:]) for piece in pieces(sql) if piece.kind == "place"), default=0)


def filled(sql: str, literals: Sequence[str]) -> str:
    """The text with each $n replaced."""
    found = []
    for piece in pieces(sql):
        if piece.kind != "place":
            found.append(piece.text)
            continue
        number = int(piece.text[1:])
        if not 1 <= number <= len(literals):
            raise Fault("42P02", f"there is no parameter {piece.text}: {len(literals)} were bound")
        found.append(f" {literals[number - 1]} ")
    return "".join(found)


def unqualified(sql: str, schemas: Sequence[str]) -> str:
    """Without `public.` before names: clients that browse schemas write it, and here tables have one name only."""
    found: list[Piece] = list(pieces(sql))
    kept: list[str] = []
    place = 0
    while place < len(found):
        piece = found[place]
        named = piece.text.lower() if piece.kind == "word" else piece.text[1:-1] if piece.kind == "name" else None
        dotted = [one.text for one in found[place + 1 : place + 2]] == ["."]
        if named in schemas and dotted and (not kept or kept[-1] != "."):
            place += 2
            continue
        kept.append(piece.text)
        place += 1
    return "".join(kept)
