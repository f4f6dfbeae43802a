"""What the text of a cell means in a declared type: one rule for every file, and NULL where a cell does not keep to it.

| type | a cell |
|---|---|
| integer | a sign or none, digits, and after a point nothing but zeros: `3` and `3.0` are one value; within 64 bits |
| decimal, float | a plain number or one with an exponent, finite |
| boolean | true false, t f, yes no, y n, 1 0, in capitals or not |
| date, timestamp | `2026-01-31`, alone or with ` 10:30`, `T10:30:59.123`, `Z`, `+02:00`; in UTC, years 1 to 9999 |
| text | as it stands |

Spaces and tabs around a cell that is not text are passed over. Every rule looks at one cell alone.
"""

from collections.abc import Iterable, Mapping, Sequence

import duckdb
import pyarrow as pa

from tacit.policy.kind import ColumnType

__all__ = ["STORED", "Caster", "proposed"]

WHOLE = r"[+-]?[0-9]+(\.0*)?"
NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
TIME = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)?)?"
)
ZONE = "^.{11,}([+-])([0-9]{2}):?([0-9]{2})?$"  # a time has at least 11 characters before its zone, a date has 10
TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
PADDED = r"[+-]?0[0-9].*"  # a code such as 007, which is not the number 7
CANDIDATES = (ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DATE, ColumnType.TIMESTAMP, ColumnType.BOOLEAN)
EXACT = 2**53
STORED = {  # how a declared type is kept
    ColumnType.INTEGER: pa.int64(),
    ColumnType.DECIMAL: pa.float64(),
    ColumnType.FLOAT: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
    ColumnType.TEXT: pa.string(),
}


def _cell_sql(raw: str, kind: ColumnType) -> str:
    """The value of a column of text."""
    cell = rf"trim({raw}, E' \t')"
    match kind:
        case ColumnType.TEXT:
            return raw
        case ColumnType.INTEGER:
            return f"CASE WHEN regexp_full_match({cell}, '{WHOLE}') THEN TRY_CAST({cell} AS BIGINT) END"
        case ColumnType.DECIMAL | ColumnType.FLOAT:
            number = f"TRY_CAST({cell} AS DOUBLE)"
            return f"CASE WHEN regexp_full_match({cell}, '{NUMBER}') AND isfinite({number}) THEN {number} END"
        case ColumnType.BOOLEAN:
            yes, no = (", ".join(f"'{word}'" for word in words) for words in (TRUE, FALSE))
            return f"CASE WHEN lower({cell}) IN ({yes}) THEN TRUE WHEN lower({cell}) IN ({no}) THEN FALSE END"
        case ColumnType.TIMESTAMP:
            return _time_sql(cell)
        case ColumnType.DATE:
            return f"CAST({_time_sql(cell)} AS DATE)"


def _time_sql(cell: str) -> str:
    """A moment in UTC. DuckDB's own cast passes over a zone, so it is taken off by hand."""
    moment = f"TRY_CAST({cell} AS TIMESTAMP)"
    sign, hours, rest = (f"regexp_extract({cell}, '{ZONE}', {part})" for part in (1, 2, 3))
    minutes = f"(TRY_CAST({hours} AS INTEGER) * 60 + coalesce(TRY_CAST({rest} AS INTEGER), 0))"
    signed = f"CASE WHEN {sign} = '-' THEN -{minutes} ELSE {minutes} END"
    there = f"CASE WHEN regexp_matches({cell}, '{ZONE}') THEN {moment} - to_minutes({signed}) ELSE {moment} END"
    first, last = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
    return (
        f"CASE WHEN regexp_full_match({cell}, '{TIME}') AND {moment} BETWEEN {first} AND {last} "
        f"AND {there} BETWEEN {first} AND {last} THEN {there} END"
    )


class Caster:
    """Columns of text as the declared types. Columns go by their place: names may differ in capitals only."""

    def __init__(self, kinds: Mapping[str, ColumnType]) -> None:
        self.schema = pa.schema([(name, STORED[kind]) for name, kind in kinds.items()])
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET TimeZone = 'UTC'")
        self._values = [f"{_cell_sql(f'c{place}', kind)} AS c{place}" for place, kind in enumerate(kinds.values())]

    def cast(self, batch: pa.RecordBatch) -> pa.Table:
        """The same rows, in the same order."""
        return self.select(self._values, batch).rename_columns(self.schema.names).cast(self.schema)

    def select(self, values: Sequence[str], batch: pa.RecordBatch) -> pa.Table:
        table = pa.Table.from_batches([batch]).rename_columns([f"c{place}" for place in range(batch.num_columns)])
        self._connection.register("arriving", table)
        try:
            return self._connection.sql(f"SELECT {', '.join(values)} FROM arriving").to_arrow_table()
        finally:
            self._connection.unregister("arriving")

    def close(self) -> None:
        self._connection.close()


def proposed(names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> dict[str, ColumnType]:
    """The narrowest type that every cell of a column has; text where there is none, and where codes begin with 0.

    It depends on every row: whoever takes it over declares it, and answers for it as for everything in a policy.
    """
    caster = Caster({})
    left = {place: list(CANDIDATES) for place in range(len(names))}
    filled = [0] * len(names)
    try:
        for batch in batches:
            asked = [(place, kind) for place, kinds in left.items() for kind in kinds]
            values = [f"count(c{place})" for place in left] + [_fits_sql(f"c{place}", kind) for place, kind in asked]
            found = [column[0].as_py() for column in caster.select(values, batch).columns]
            filled = [many + more for many, more in zip(filled, found, strict=False)]
            for (place, kind), many in zip(asked, found[len(names) :], strict=True):
                if many != found[place]:
                    left[place].remove(kind)
    finally:
        caster.close()
    return {name: next(iter(left[place] if filled[place] else ()), ColumnType.TEXT) for place, name in enumerate(names)}


def _fits_sql(raw: str, kind: ColumnType) -> str:
    """How many cells of a column are clearly of this type."""
    value, clear = _cell_sql(raw, kind), "TRUE"
    if kind in (ColumnType.INTEGER, ColumnType.FLOAT):
        far = EXACT if kind is ColumnType.FLOAT else 2**62
        clear = f"NOT regexp_full_match(trim({raw}), '{PADDED}') AND {value} BETWEEN -{far} AND {far}"
    if kind is ColumnType.DATE:
        clear = f"length(trim({raw})) = 10"
    if kind is ColumnType.BOOLEAN:
        clear = f"lower(trim({raw})) IN ('true', 'false')"
    return f"count(*) FILTER (WHERE {value} IS NOT NULL AND {clear})"
