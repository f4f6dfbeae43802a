"""Bytes that are not an answer are told from those that are."""

import json
from typing import Any

import pyarrow as pa
import pytest

from tacit.client.door import ARROW, JSON, Lost, Reply
from tacit.client.read import plain, quote_of, read, release_of
from tacit.session import Quote, TableRelease

COST = {"epsilon": "0.5", "rho": None, "delta": "0", "relation": "add_remove", "unit": "patient"}
QUOTE: dict[str, Any] = {
    "cost": COST,
    "left": {**COST, "epsilon": "1.5"},
    "enough": True,
    "expected": [{"column": "n", "error": None, "words": "± 3"}],
    "notes": ["a note"],
    "hints": [{"kind": "new here", "words": "a word", "more": 1}],
    "columns": [{"name": "n", "type": "integer"}],
}


def reply(body: bytes, kind: str = JSON, status: int = 200, *, cached: bool = False) -> Reply:
    return Reply(status=status, kind=kind, cached=cached, body=body)


def test_a_quote_is_a_quote() -> None:
    found = read(quote_of, reply(json.dumps(QUOTE).encode()))
    assert isinstance(found, Quote)
    assert found.json() == {name: value for name, value in QUOTE.items() if name != "columns"}
    assert found.columns == (("n", "integer"),)
    assert "costs epsilon 0.5" in repr(found)
    assert found._repr_html_()
    assert found == read(quote_of, reply(json.dumps(QUOTE).encode()))
    assert found != read(quote_of, reply(json.dumps(QUOTE | {"enough": False}).encode()))


@pytest.mark.parametrize("missing", QUOTE)
def test_a_quote_with_a_hole_is_none(missing: str) -> None:
    body = json.dumps({name: value for name, value in QUOTE.items() if name != missing}).encode()
    with pytest.raises(Lost, match="cannot be read"):
        read(quote_of, reply(body))


@pytest.mark.parametrize(
    "answer", [reply(b"[]"), reply(b"<html>"), reply(b"{}", "text/html"), reply(b"{}", status=302)]
)
def test_not_plain_data(answer: Reply) -> None:
    with pytest.raises(Lost):
        read(plain, answer)


def test_a_release_is_the_same_after_the_way() -> None:
    table = pa.table({"ward": ["east", None], "n": pa.array([3, 4], pa.int32())})
    sent = TableRelease(
        table=table, intervals={"n": ([1.0, None], [5.0, None])}, notes=("x",), facts={"unit": "patient"}
    )
    found = read(release_of, reply(sent.to_bytes(), ARROW, cached=True))
    assert found == sent
    assert found.cached
    assert not read(release_of, reply(sent.to_bytes(), ARROW)).cached


def test_bytes_that_are_no_release_or_lie() -> None:
    texts = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\x05\0\0\0\x01\0\0\0"), pa.py_buffer(b"hello")]
    )  # the second text ends before it begins
    lying = TableRelease(table=pa.table({"ward": texts}), intervals={})
    for body in (b"", b"[]", b"\xff" * 100, lying.to_bytes()):
        with pytest.raises(Lost):
            read(release_of, reply(body, ARROW))
