"""What an engine cannot hold is NULL: cell by cell, and nothing else changes."""

import decimal
from datetime import datetime

import numpy as np
import pyarrow as pa

from support.broken import broken
from tacit.engine.source.held import held, held_table


def one(array: pa.Array) -> list[object]:
    found: list[object] = held(pa.chunked_array([array])).to_pylist()
    return found


def test_text() -> None:
    cells = [b"a", b"\xff", None, "é".encode(), b"\xed\xa0\x80", b""]
    expected = ["a", None, None, "é", None, ""]
    assert one(broken(cells)) == expected
    assert one(broken(cells, pa.large_string())) == expected
    assert one(pa.array(["a", None, "b"], pa.string_view())) == ["a", None, "b"]
    assert one(pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), broken([b"a", b"\xff"]))) == ["a", None, "a"]


def test_times() -> None:
    most = 2**63 - 1
    for unit, size in (("s", 10**6), ("ms", 1000)):
        edge = most // size
        found = held(pa.chunked_array([pa.array([0, edge, edge + 1, -edge, -edge - 1, None], pa.timestamp(unit))]))
        assert found.type == pa.timestamp("us")
        assert found.cast(pa.int64()).to_pylist() == [0, edge * size, None, -edge * size, None, None]
    ns = held(pa.chunked_array([pa.array([-1, 1999, -(2**63), None], pa.timestamp("ns", "Europe/Rome"))]))
    assert ns.type == pa.timestamp("us", "UTC")
    assert ns.cast(pa.int64()).to_pylist() == [-1, 1, -(2**63) // 1000, None]
    days = pa.array(np.array([0, 86_400_000, 2**62], np.int64)).view(pa.date64())
    assert held(pa.chunked_array([days])).cast(pa.int32()).to_pylist() == [0, 1, None]


def test_other_kinds() -> None:
    assert one(pa.array([decimal.Decimal(10) ** 50], pa.decimal256(60, 2))) == [1e50]
    assert one(pa.array([[1], None])) == [None, None], "no question can use a list"
    assert one(pa.array([1, None])) == [1, None]
    assert one(pa.array([b"x"])) == [b"x"]
    assert one(pa.array([datetime(2026, 1, 1)])) == [datetime(2026, 1, 1)]
    assert held(pa.chunked_array([], pa.timestamp("ms"))).type == pa.timestamp("us")
    table = held_table(pa.table({"a": broken([b"\xff", b"x"]), "b": [1, 2]}))
    assert table.to_pydict() == {"a": [None, "x"], "b": [1, 2]}
