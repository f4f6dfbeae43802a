"""All rows of a table, grouped by unit: the same on every engine, whatever is stored, and nothing left behind."""

import gc
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import IO, Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from support.spark import spark
from tacit.base import EngineError, InputError
from tacit.base.exact import opened
from tacit.engine import Limits, Stopped, Watch, result
from tacit.engine.dialect import SPARK
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Engine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.relation import has_unit
from tacit.engine.render import rows_sql
from tacit.engine.result import UnitRows
from tacit.engine.spark import SparkEngine
from tacit.engine.unit import StoredTable
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["postgres", "spark"]

NAN, INF = float("nan"), float("inf")
LONG = "aé😀" * 20_000
ROWS: list[tuple[Any, ...]] = [  # who, age, cost, city, smoker, born, seen
    (" 7", 30, 1.5, "Rome", True, date(1990, 1, 1), datetime(2024, 1, 1, 10)),
    ("007", 2**62, NAN, "Oslo", None, date(1, 1, 1), datetime(1, 1, 1)),
    ("7.0", -(2**62), INF, LONG, False, date(9999, 12, 31), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("7", None, -INF, None, True, None, None),
    ("8", 120, 1e300, "Rome", True, date(2000, 1, 1), datetime(2024, 1, 1)),
    ("8", 0, -1e300, "", False, date(1950, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)),
    (None, 40, 2.0, "nobody's", True, date(1990, 1, 1), datetime(2024, 1, 1)),
    ("abc", 40, 2.0, "nobody's", True, date(1990, 1, 1), datetime(2024, 1, 1)),
    ("9" * 38, 2**53 + 1, 5e-324, "Rome ", None, date(1899, 12, 31), datetime(1970, 1, 1)),
    ("9" * 37 + "8", 33, 0.1, "Rome", True, date(2001, 2, 3), datetime(2001, 2, 3, 4, 5, 6, 7)),
]
NAMES = ("who", "age", "cost", "city", "smoker", "born", "seen")
STORED = [pa.string(), pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us")]
CREATED = "who text, age bigint, cost float8, city text, smoker boolean, born date, seen timestamp"
DECLARED = {
    "who": Facts(type=Type.TEXT),
    "age": Facts(type=Type.INTEGER, low=0, high=110),
    "cost": Facts(type=Type.NUMBER, low=Fraction(-2), high=Fraction(1000)),
    "city": Facts(type=Type.TEXT),
    "smoker": Facts(type=Type.BOOLEAN),
    "born": Facts(type=Type.DATE, low=date(1900, 1, 1), high=date(2020, 12, 31)),
    "seen": Facts(type=Type.TIMESTAMP),
}
SCAN = Scan(
    table="visits",
    columns=tuple(Source(name=name, column=name, facts=facts) for name, facts in DECLARED.items()),
    is_private=True,
    unit_name="who",
    unit_type=Type.INTEGER,
)
FIRST, LAST = date(1900, 1, 1), date(2020, 12, 31)
Group = frozenset[tuple[tuple[Any, ...], int]]
EXPECTED = Counter(  # without the unit's own column
    frozenset(Counter(rows).items())
    for rows in (
        [
            (None, None, "Oslo", None, FIRST, datetime(1, 1, 1)),
            (None, None, LONG, False, LAST, datetime(9999, 12, 31, 23, 59, 59, 999999)),
            (None, None, None, True, None, None),
        ],
        [
            (110.0, None, "Rome", True, date(2000, 1, 1), datetime(2024, 1, 1)),
            (0.0, None, "", False, date(1950, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ],
        [(None, 5e-324, "Rome ", None, FIRST, datetime(1970, 1, 1))],
        [(33.0, 0.1, "Rome", True, date(2001, 2, 3), datetime(2001, 2, 3, 4, 5, 6, 7))],
    )
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "visits.parquet"
    columns = [pa.array(column, kind) for column, kind in zip(zip(*ROWS, strict=True), STORED, strict=True)]
    pq.write_table(pa.table(columns, names=list(NAMES)), path)
    return path


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def engine(request: pytest.FixtureRequest, file: Path) -> Iterator[Engine]:
    found: Engine
    if request.param == "duckdb":
        found = DuckDBEngine({"visits": file})
    elif request.param == "spark":
        found = SparkEngine(request.getfixturevalue("spark"), {"visits": file})
    else:
        server: Server = request.getfixturevalue("postgres")
        with server.database() as name:
            with psycopg.connect(server.dsn(name)) as direct:
                direct.execute(f"CREATE TABLE visits ({CREATED})".encode())
                direct.cursor().executemany(b"INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s, %s)", ROWS)
            found = PostgresEngine(server.dsn(name), {"visits": "visits"})
            yield found
            found.close()
        return
    yield found
    found.close()


def groups(rows: UnitRows, names: tuple[str, ...] = NAMES[1:]) -> "Counter[Group]":
    """The rows of each unit, in no order."""
    values = [rows.columns[name].to_pylist() for name in names]
    every = list(zip(*values, strict=True))
    ends = rows.offsets.tolist()
    return Counter(frozenset(Counter(every[a:b]).items()) for a, b in pairwise(ends))


def files() -> int:
    """How many files this process has open that have no name."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += str(link.readlink()).endswith("(deleted)") and stat.S_ISREG(link.stat().st_mode)
    return found


def test_the_rows_are_the_same_on_every_engine(engine: Engine) -> None:
    box = engine.rows(SCAN)
    assert repr(box) == "<Exact>"
    with opened(box) as rows:
        assert list(rows.columns) == list(NAMES)
        assert rows.units == 4
        assert rows.offsets.dtype == np.int64
        assert groups(rows) == EXPECTED
        kinds = [pa.float64(), pa.float64(), pa.large_string(), pa.bool_(), pa.date32(), pa.timestamp("us")]
        assert [rows.columns[name].type for name in NAMES[1:]] == kinds


def test_a_row_may_be_a_unit_of_its_own(engine: Engine) -> None:
    alone = Scan(table="visits", columns=SCAN.columns[1:3], is_private=True)
    with opened(engine.rows(alone)) as rows:
        assert rows.offsets.tolist() == list(range(len(ROWS) + 1))
        assert rows.columns["age"].to_pylist().count(40.0) == 2


def test_a_row_that_breaks_a_fact_which_cannot_be_null_is_left_out(engine: Engine) -> None:
    smoker = Source(name="s", column="smoker", facts=Facts(type=Type.BOOLEAN, nullable=False))
    scan = replace(SCAN, columns=(SCAN.columns[0], smoker))
    with opened(engine.rows(scan)) as rows:
        assert (rows.units, len(rows.columns["s"])) == (3, 5)


def test_the_file_is_nobody_elses_and_goes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = files(), []

    def looking(file: IO[bytes], offsets: Any) -> UnitRows:
        seen.append(os.fstat(file.fileno()))
        return UnitRows(file, offsets)

    with monkeypatch.context() as patch:
        patch.setattr(result, "UnitRows", looking)
        rows = opened(engine.rows(SCAN))
    assert files() > before
    (status,) = seen
    assert (status.st_mode & 0o777, status.st_nlink) == (0o600, 0)  # no name: nothing is left after a kill
    held = rows.columns["age"]
    rows.close()
    rows.close()
    assert rows.columns == {}
    assert held.null_count == 4  # readable until it is let go
    del held, rows
    gc.collect()
    assert files() == before


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_nothing_is_left(
    engine: Engine, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files()

    def broken(*_: object) -> None:
        raise kind("in the middle: 42")

    with monkeypatch.context() as patch:
        patch.setattr(result, "UnitRows", broken)
        with pytest.raises(EngineError if kind is RuntimeError else kind) as caught:
            engine.rows(SCAN)
    assert kind is not RuntimeError or "42" not in str(caught.value)
    gc.collect()
    assert files() == before
    opened(engine.rows(SCAN)).close()  # and the engine goes on


def test_it_keeps_to_the_limit_of_disk(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Limits, "bytes_of_disk", lambda *_: 1000)
        with pytest.raises(EngineError):
            engine.rows(SCAN)
    opened(engine.rows(SCAN)).close()


def test_it_can_be_stopped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, before = Watch(), files()

    def stopping(scan: Scan) -> bool:
        watch.stop()
        return has_unit(scan)

    with monkeypatch.context() as patch:
        patch.setattr(result, "has_unit", stopping)
        with pytest.raises(Stopped):
            engine.rows(SCAN, watch)
    gc.collect()
    assert files() == before


def test_what_is_refused_is_refused_before_anything_is_read(engine: Engine) -> None:
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: engine.rows(Scan(table="visits", columns=SCAN.columns, is_private=False)), "public"),
        (lambda: engine.rows(Scan(table="other", columns=SCAN.columns, is_private=True)), "not given to this engine"),
    ]
    for ask, said in refused:
        with pytest.raises(InputError, match=said):
            ask()


def sized(*batches: list[int]) -> list[int]:
    """The offsets that are found where rows have units of these sizes."""

    def batch(sizes: list[int]) -> pa.RecordBatch:
        arrays = [pa.array([1.0] * len(sizes)), pa.array(sizes, pa.int64())]
        return pa.RecordBatch.from_arrays(arrays, names=["age", "n"])

    scan = Scan(table="visits", columns=SCAN.columns[1:2], is_private=True, unit_name="age")
    with result.spooled(scan, map(batch, batches), 10**6) as rows:
        found: list[int] = rows.offsets.tolist()
        return found


def test_units_begin_where_their_sizes_say() -> None:
    assert sized() == [0]
    assert sized([3, 3], [3, 1], [], [2, 2]) == [0, 3, 4, 6]
    assert sized([2, 2, 2], [2, 1, 1, 2, 2]) == [0, 2, 4, 5, 6, 8]
    chance = Random(7)
    for _ in range(50):
        sizes = [chance.choice([1, 1, 2, 3, 7]) for _ in range(chance.randrange(1, 30))]
        rows = [size for size in sizes for _ in range(size)]
        cuts = sorted(chance.randrange(len(rows) + 1) for _ in range(chance.randrange(4)))
        assert sized(*(rows[a:b] for a, b in pairwise([0, *cuts, len(rows)]))) == [0, *np.cumsum(sizes).tolist()]


@pytest.mark.parametrize(
    "wrong", [[[2]], [[2, 2, 2]], [[2, 1, 2]], [[1, 0]], [[-1]], [[3, 3], [2, 2, 3]], [[3, 3], [3, 3]], [[1], [2]]]
)
def test_an_order_that_is_none_is_refused(wrong: list[list[int]]) -> None:
    with pytest.raises(EngineError):
        sized(*wrong)


def test_spark_brings_rows_to_no_single_place(spark: Any, file: Path) -> None:
    """One task would have to hold what many have: a number for each unit, over all rows, is such a place."""
    spark.read.parquet(str(file)).createOrReplaceTempView("rows_in_places")
    types = {"who": "string", "age": "bigint", "cost": "double"}
    stored = {"visits": StoredTable(sql="rows_in_places", types=types)}
    sql = rows_sql(replace(SCAN, columns=SCAN.columns[:3]), SPARK, stored)
    ((plan,),) = spark.sql(f"EXPLAIN {sql}").collect()
    assert "hashpartitioning" in plan
    assert "rangepartitioning" in plan
    assert "SinglePartition" not in plan
    ((numbered,),) = spark.sql("EXPLAIN SELECT DENSE_RANK() OVER (ORDER BY who) FROM rows_in_places").collect()
    assert "SinglePartition" in numbered  # so that it would be seen
