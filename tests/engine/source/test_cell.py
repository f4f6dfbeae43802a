"""What a cell means in each type, and that it means the same whatever stands in other cells."""

from datetime import date, datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.engine.source.cell import Caster, proposed
from tacit.policy.kind import ColumnType

CELLS: dict[ColumnType, dict[str, Any]] = {
    ColumnType.INTEGER: {
        "3": 3, "3.0": 3, " 3.000\t": 3, "+5": 5, "-0": 0, "007": 7, "5.": 5, "9223372036854775807": 2**63 - 1,
        "-9223372036854775808.00": -(2**63), "9007199254740993.0": 2**53 + 1, "9223372036854775808": None, "3.5": None,
        "1e3": None, "0x1f": None, "1_000": None, "": None, "abc": None, "\uff11": None,
        "3\n": None, ".0": None, "--1": None,
    },
    ColumnType.FLOAT: {
        "0.1": 0.1, ".5": 0.5, "5.": 5.0, "1e3": 1000.0, "-1E-3": -0.001, "1e-400": 0.0, "1e400": None, "nan": None,
        "inf": None, "-Infinity": None, "1,5": None, "1_0": None, "0x1p3": None, "": None,
    },
    ColumnType.BOOLEAN: {
        "true": True, "FALSE": False, "t": True, "No": False, "1": True, "0": False, "y": True, "on": None, "2": None,
    },
    ColumnType.DATE: {
        "2026-01-31": date(2026, 1, 31), " 2026-01-31": date(2026, 1, 31), "2026-01-31T10:00": date(2026, 1, 31),
        "2026-01-31T23:30:00-02:00": date(2026, 2, 1), "2026-02-30": None, "31.01.2026": None, "0000-01-01": None,
        "10000-01-01": None, "infinity": None, "2026-1-1": None, "20260131": None, "0001-01-01": date(1, 1, 1),
        "2026-01-01 (BC)": None, "9999-12-31": date(9999, 12, 31),
    },
    ColumnType.TIMESTAMP: {
        "2026-01-31": datetime(2026, 1, 31), "2026-01-31 10:30": datetime(2026, 1, 31, 10, 30),
        "2026-01-31T10:30:59.123456789Z": datetime(2026, 1, 31, 10, 30, 59, 123456),
        "2026-01-31T10:30:00+02:00": datetime(2026, 1, 31, 8, 30),
        "2026-01-31T10:30:00-0530": datetime(2026, 1, 31, 16),
        "2026-01-31T10:30:00+02": datetime(2026, 1, 31, 8, 30), "2026-01-31T24:00:00": None, "epoch": None,
        "2026-01-31T10:30:60": None, "0001-01-01T00:00:00+01:00": None, "9999-12-31T23:59:59-01:00": None,
        "2026-01-31T10:30:00 Europe/Rome": None, "2026-01-31T10:30:00+99:00": None,
    },
    ColumnType.TEXT: {"": "", " a ": " a ", "apt #5": "apt #5", "\ufffd": "\ufffd", "NULL": "NULL"},
}  # fmt: skip


@cache
def caster(kind: ColumnType) -> Caster:
    return Caster({"x": kind})


def cast(kind: ColumnType, cells: list[str | None]) -> list[Any]:
    batch = pa.record_batch([pa.array(cells, pa.string())], names=["x"])
    found: list[Any] = caster(kind).cast(batch)["x"].to_pylist()
    return found


@pytest.mark.parametrize("kind", list(CELLS))
def test_cells(kind: ColumnType) -> None:
    assert dict(zip(CELLS[kind], cast(kind, list(CELLS[kind])), strict=True)) == CELLS[kind]
    assert cast(ColumnType.DECIMAL, list(CELLS[ColumnType.FLOAT])) == list(CELLS[ColumnType.FLOAT].values())
    assert cast(kind, [None]) == [None]


hostile = st.sampled_from([cell for cells in CELLS.values() for cell in cells]) | st.text(max_size=6)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(list(CELLS)), cells=st.lists(hostile, min_size=1, max_size=6), other=hostile)
def test_no_cell_changes_another(kind: ColumnType, cells: list[str | None], other: str) -> None:
    alone = cast(kind, cells)
    assert cast(kind, [*cells, other])[:-1] == alone
    assert cast(kind, [other, *cells])[1:] == alone


def test_types_that_are_proposed() -> None:
    columns = {
        "whole": (["1", "2.0", None], ColumnType.INTEGER),
        "code": (["007", "8", "9"], ColumnType.TEXT),
        "number": (["1", "2.5", "1e3"], ColumnType.FLOAT),
        "huge": (["1", "99999999999999999999", "2"], ColumnType.TEXT),  # as a double two of them may be one
        "zero": (["0", "1", "0"], ColumnType.INTEGER),
        "yes": (["true", "False", None], ColumnType.BOOLEAN),
        "day": (["2026-01-01", "2026-01-02", None], ColumnType.DATE),
        "moment": (["2026-01-01", "2026-01-02T10:00", None], ColumnType.TIMESTAMP),
        "word": (["a", "1", "2"], ColumnType.TEXT),
        "nothing": ([None, None, None], ColumnType.TEXT),
    }
    arrays = [pa.array(cells, pa.string()) for cells, _ in columns.values()]
    whole = pa.record_batch(arrays, names=list(columns))
    expected = {name: kind for name, (_, kind) in columns.items()}
    assert proposed(list(columns), [whole]) == expected
    assert proposed(list(columns), [whole.slice(0, 1), whole.slice(1, 1), whole.slice(2)]) == expected


def test_names_that_differ_in_capitals_only() -> None:
    caster = Caster({"a": ColumnType.INTEGER, "A": ColumnType.TEXT})
    found = caster.cast(pa.record_batch([["1"], ["x"]], names=["a", "A"]))
    caster.close()
    assert found.column_names == ["a", "A"]
    assert [column.to_pylist() for column in found.columns] == [[1], ["x"]]
