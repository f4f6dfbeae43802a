"""Enough of SQL's spelling to tell statements apart and to find $1 outside of strings and comments."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tacit.server.problem import Fault

__all__ = ["SqlPiece", "filled", "pieces", "places", "split", "unqualified"]

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
PUBLIC = re.compile(r'(?i:public)|"public"')


class SqlPiece(NamedTuple):
    """A kind and its text: space (comments too), string, name (in quotes), word, number, place ($1), end (;), other."""

    kind: str
    text: str
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def pieces(sql: str) -> Iterator[SqlPiece]:
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
        yield SqlPiece(kind, sql[place:end], place)
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
    ends = [piece.start for piece in pieces(sql) if piece.kind == "end"]
    texts = (sql[start:end] for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(sql)], strict=True))
    return [one for one in texts if any(piece.kind != "space" for piece in pieces(one))]


def places(sql: str) -> int:
    """The highest n of $n."""
    return max((int(piece.text[1:]) for piece in pieces(sql) if piece.kind == "place"), default=0)


def filled(sql: str, literals: Sequence[str]) -> str:
    """The text with each $n replaced."""
    found = []
    for piece in pieces(sql):
        number = int(piece.text[1:]) if piece.kind == "place" else None
        if number is not None and not 1 <= number <= len(literals):
            raise Fault("42P02", f"there is no parameter {piece.text}: {len(literals)} were bound")
        found.append(piece.text if number is None else f" {literals[number - 1]} ")
    return "".join(found)


def unqualified(sql: str) -> str:
    """Without `public.` before names: clients that browse schemas write it, and here tables have one name only."""
    kept: list[str] = []
    for piece in pieces(sql):
        if piece.text == "." and PUBLIC.fullmatch("".join(kept[-1:])) and kept[-2:-1] != ["."]:
            kept.pop()
        else:
            kept.append(piece.text)
    return "".join(kept)
