"""The engines' names of types."""

import duckdb
import pyarrow as pa
import pytest

from tacit.policy.kind import ColumnType, decimals, understood


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        ("BIGINT", "integer"), ("HUGEINT", "integer"), ("utinyint", "integer"), ("int4", "integer"),
        ("DECIMAL(10,2)", "decimal"), ("numeric", "decimal"), ("decimal128(10, 2)", "decimal"),
        ("double precision", "float"), ("DOUBLE", "float"), ("real", "float"), ("float", "float"),
        ("boolean", "boolean"), ("bool", "boolean"),
        ("character varying", "text"), ("VARCHAR", "text"), ("string", "text"), ("uuid", "text"),
        ("date", "date"), ("date32[day]", "date"),
        ("timestamp without time zone", "timestamp"), ("TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("timestamp[us, tz=UTC]", "timestamp"), ("TIMESTAMP_NS", "timestamp"), ("timestamp_ntz", "timestamp"),
    ],
)  # fmt: skip
def test_names_that_are_understood(native: str, expected: str) -> None:
    assert understood(native) is ColumnType(expected)


@pytest.mark.parametrize(
    "native",
    ["", "BLOB", "INTEGER[]", "bytea", "STRUCT(a INTEGER)", "interval", "time", "MAP", "point"],
)
def test_names_that_are_not(native: str) -> None:
    assert understood(native) is None


def test_arrows_own_names() -> None:
    for kind in (pa.int8(), pa.uint64(), pa.int32()):
        assert understood(str(kind)) is ColumnType.INTEGER
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        assert understood(str(kind)) is ColumnType.FLOAT
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert understood(str(kind)) is ColumnType.TEXT
    for kind in (pa.timestamp("ns"), pa.timestamp("s", tz="UTC")):
        assert understood(str(kind)) is ColumnType.TIMESTAMP
    for kind in (
        pa.binary(),
        pa.list_(pa.int8()),
        pa.time32("s"),
        pa.duration("s"),
        pa.dictionary(pa.int8(), pa.int8()),
    ):
        assert understood(str(kind)) is None


def test_duckdbs_own_names() -> None:
    with duckdb.connect() as connection:
        rows = connection.execute("SELECT DISTINCT type_name, logical_type FROM duckdb_types()").fetchall()
    numeric = {"TINYINT", "INTEGER", "UBIGINT", "HUGEINT", "DOUBLE", "FLOAT"}
    for _, logical in rows:
        found = understood(logical)
        if logical in numeric:
            assert found is not None
            assert found.numeric


def test_decimals_come_from_the_type() -> None:
    assert decimals("DECIMAL(10,2)") == 2
    assert decimals("decimal128(38, 0)") == 0
    assert decimals("numeric") is None
