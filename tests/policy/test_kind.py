"""Values are read strictly and exactly."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.policy import kind
from tacit.policy.kind import ColumnType, decimals, understood


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=12))
def test_a_decimal_is_read_exactly_however_it_comes(value: Decimal) -> None:
    read = kind.number().read
    assert read(value) == read(str(value)) == Fraction(value)


def test_a_float_is_the_decimal_it_prints_as() -> None:
    assert kind.number().read(0.1) == Fraction(1, 10)


@pytest.mark.parametrize(
    "value", [True, None, "", "x", "1/0", "nan", float("inf"), Decimal("sNaN"), [1], "1e999999999", "9" * 100, b"1", 1j]
)
def test_what_is_not_a_number(value: object) -> None:
    with pytest.raises(InputError):
        kind.number().read(value)


def test_limits_of_numbers() -> None:
    for limits, value in (({"above": 0}, 0), ({"least": 1}, 0), ({"below": 1}, 1), ({"most": 5}, 6)):
        with pytest.raises(InputError, match="must be"):
            kind.number(**limits).read(value)


@pytest.mark.parametrize(
    ("text", "span"),
    [("90 days", timedelta(days=90)), ("1 hour", timedelta(hours=1)), (" 2weeks ", timedelta(days=14))],
)
def test_spans(text: str, span: timedelta) -> None:
    assert kind.span.read(text) == span


@pytest.mark.parametrize(
    "value", ["0 days", "1 month", "-1 days", "999999 weeks", 90, timedelta(seconds=90), "1.5 days"]
)
def test_what_is_not_a_span(value: object) -> None:
    with pytest.raises(InputError):
        kind.span.read(value)


def test_times_are_without_a_zone() -> None:
    with pytest.raises(InputError, match="without a time zone"):
        kind.pair.read([datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1)])


def test_whole_numbers() -> None:
    assert kind.whole.read(Decimal("3.0")) == 3
    for value in (0, -1, Decimal("2.5"), "many"):
        with pytest.raises(InputError):
            kind.whole.read(value)


# --- the engines' names of types


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
    for native in (pa.int8(), pa.uint64(), pa.int32()):
        assert understood(str(native)) is ColumnType.INTEGER
    for native in (pa.float16(), pa.float32(), pa.float64()):
        assert understood(str(native)) is ColumnType.FLOAT
    for native in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert understood(str(native)) is ColumnType.TEXT
    for native in (pa.timestamp("ns"), pa.timestamp("s", tz="UTC")):
        assert understood(str(native)) is ColumnType.TIMESTAMP
    for native in (
        pa.binary(),
        pa.list_(pa.int8()),
        pa.time32("s"),
        pa.duration("s"),
        pa.dictionary(pa.int8(), pa.int8()),
    ):
        assert understood(str(native)) is None


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
