"""What an engine cannot hold is NULL: cell by cell, and nothing else changes."""

import decimal
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from support.broken import broken
from tacit.base import InputError, SourceError, TacitError
from tacit.engine.source.held import arrow_schema, arrow_table, held, held_table


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


SECRET = "secret-diagnosis"


def mixed() -> list[tuple[str, Any]]:
    polars = pytest.importorskip("polars")
    nested = [SECRET, {"a": SECRET}, [SECRET], 3, object()]
    return [
        ("pandas", pd.DataFrame({"who": [1, 2], "diagnosis": pd.Series([3, SECRET], dtype=object)})),
        ("pandas huge", pd.DataFrame({"diagnosis": pd.Series([2**70, SECRET], dtype=object)})),
        ("pandas nested", pd.DataFrame({"diagnosis": pd.Series(nested, dtype=object)})),
        ("pandas twice", pd.DataFrame([[1, SECRET]], columns=["x", "x"])),
        ("polars", polars.DataFrame({"diagnosis": polars.Series([SECRET, object()], dtype=polars.Object)})),
        ("a list", [SECRET]),
        ("a series", pd.Series([SECRET])),
    ]


def chain(error: BaseException | None) -> str:
    """All that can be read from an error and whatever is behind it."""
    text, seen = "", set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text += repr(error) + str(error)
        error = error.__cause__ or error.__context__
    return text


@pytest.mark.parametrize("case", range(7))
@pytest.mark.parametrize("read", [arrow_table, arrow_schema])
def test_what_cannot_be_read_is_refused_without_a_value(case: int, read: Any) -> None:
    name, data = mixed()[case]
    with pytest.raises(TacitError) as caught:
        read(data, "visits")
    assert SECRET not in chain(caught.value), name
    assert caught.value.__context__ is caught.value.__cause__ is None
    if name == "pandas":
        assert isinstance(caught.value, SourceError)
        assert 'table "visits": column "diagnosis" holds values of more than one type' in str(caught.value)
    for at in caught.traceback[1:]:
        if "tacit" in str(at.path):
            assert SECRET not in repr([value for value in at.frame.f_locals.values() if isinstance(value, str | bytes)])


def test_what_can_be_read() -> None:
    frame = pd.DataFrame({"a": [1, 2], 5: ["x", None]})
    assert arrow_table(frame).to_pydict() == {"a": [1, 2], "5": ["x", None]}
    table = pa.table({"a": [1]})
    assert arrow_table(table) == table
    assert arrow_schema(table) == table.schema
    for names in (["a", "a"], ["a", "A"], ["a", ""]):
        with pytest.raises(SourceError, match=r"number 2 (repeats|has none)"):
            arrow_table(pa.table([[1], [2]], names=names))
    with pytest.raises(InputError, match="not int"):
        arrow_table(5)
