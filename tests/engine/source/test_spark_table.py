"""Parquet as Spark reads it: the files of this moment, by their names, in one schema, and each row on its own."""

import math
import os
import struct
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.spark import spark
from tacit.base import EngineError, PolicyError
from tacit.base.exact import opened
from tacit.engine import open_engine
from tacit.engine.spark import SparkEngine
from tacit.plan.bounded import Bounded, Clip, Measure
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.policy import parse

__all__ = ["spark"]

HEAD = """
[dataset]
name = "clinic"
engine = "spark"
source = "local[2]"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[tables.t]
source = "{source}"
unit_column = "{unit}"
clip_rows = 3
"""


def people(engine: SparkEngine, table: str = "t", unit: str = "pid") -> int:
    """How many units there are."""
    source = Scan(
        table=table,
        columns=(Source(name=unit, column=unit, facts=Facts(type=Type.INTEGER)),),
        is_private=True,
        unit_name=unit,
    )
    bounded = Bounded(
        source=source,
        keys=(),
        measures=(Measure(name="n", kind="units", value=None, step=Fraction(1), low=0, high=1),),
        clips=(Clip(names=("n",), scales=(Fraction(1),), norm="l1", bound=Fraction(1)),),
    )
    return int(opened(engine.run(bounded)).groups.columns["n"].sum())


def rows(engine: SparkEngine, *chosen: str, of: str = "", where: str = "TRUE") -> list[tuple[Any, ...]]:
    """What questions are asked of."""
    with engine._tables["t"].reading([of] if of else chosen) as view:
        return [tuple(row) for row in engine._session.table(view).where(where).selectExpr(*chosen).collect()]


def write(path: Path, people: int, row_group: int = 100) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"pid": pa.array(range(people), pa.int64())}), path, row_group_size=row_group)


def test_a_file_that_was_replaced_is_read_to_its_end(spark: Any, tmp_path: Path) -> None:
    """Spark reads by the length it saw: row groups beyond it would be lost."""
    path = tmp_path / "t.parquet"
    write(path, 1077)
    engine = SparkEngine(spark, {"t": path})
    assert people(engine) == 1077
    versions = {engine.version(["t"])}
    for count in (1078, 40, 30_000):
        write(tmp_path / "new", count)
        (tmp_path / "new").replace(path)
        versions.add(engine.version(["t"]))
        assert people(engine) == count
    write(path, 2000)  # in place
    versions.add(engine.version(["t"]))
    assert people(engine) == 2000
    assert len(versions) == 5


def test_a_file_rewritten_at_its_old_time_is_a_new_version(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"pid": [1, 2]}), path)
    engine = SparkEngine(spark, {"t": path})
    before, times = engine.version(["t"]), path.stat()
    pq.write_table(pa.table({"pid": [3, 3]}), path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert engine.version(["t"]) != before
    assert rows(engine, "pid") == [(3,), (3,)]


def test_files_that_come_and_go(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write(folder / "a.parquet", 10)
    engine = SparkEngine(spark, {"t": folder})
    assert len(rows(engine, "pid")) == 10
    write(folder / "deep" / "er" / "b.parquet", 5)
    assert len(rows(engine, "pid")) == 15
    write(folder / "_temporary" / "c.parquet", 100)  # by the rule on hidden names
    write(folder / ".d.parquet", 100)
    (folder / "_SUCCESS").write_text("")
    assert len(rows(engine, "pid")) == 15
    (folder / "a.parquet").unlink()
    assert len(rows(engine, "pid")) == 5


def test_a_change_under_a_question_fails_it(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, 10)
    engine = SparkEngine(spark, {"t": path})
    with pytest.raises(EngineError), engine._tables["t"].reading(["pid"]):
        write(path, 11)


def test_nobodys_cache_stands_in_for_the_files(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, 10)
    mine = spark.read.schema("pid bigint").option("recursiveFileLookup", "true").parquet(str(path)).cache()
    assert mine.count() == 10
    write(path, 12)
    assert people(SparkEngine(spark, {"t": path})) == 12
    mine.unpersist()


NAMES = ("[ab].parquet", "{a,b}.parquet", "*.parquet", "?.parquet", "a\\b.parquet", "a b%20#é,.parquet", "[!x]", "a=1")


def test_paths_are_names(spark: Any, tmp_path: Path) -> None:
    """`[ab].parquet` is one file, and not the two that nobody declared."""
    for other in ("a.parquet", "b.parquet", "x"):
        write(tmp_path / other, 1000)
    for name in NAMES:
        write(tmp_path / name, 7)
        folder = tmp_path / "in" / name.replace(".parquet", "")
        write(folder / "part.parquet", 8)
        assert people(SparkEngine(spark, {"t": tmp_path / name})) == 7
        assert people(SparkEngine(spark, {"t": f"file://{folder}"})) == 8


@pytest.mark.parametrize("name", ["_t.parquet", ".t.parquet", "a:b.parquet"])
def test_names_that_spark_does_not_read_are_refused(spark: Any, tmp_path: Path, name: str) -> None:
    write(tmp_path / name, 7)
    with pytest.raises(PolicyError, match="Spark reads no file whose name"):
        SparkEngine(spark, {"t": tmp_path / name})


def test_a_link_to_a_folder_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "t" / "a.parquet", 1)
    write(tmp_path / "other" / "a.parquet", 1)
    (tmp_path / "t" / "more").symlink_to(tmp_path / "other")
    with pytest.raises(PolicyError, match="link to a folder"):
        SparkEngine(spark, {"t": tmp_path / "t"})


def test_names_of_folders_are_no_columns(spark: Any, tmp_path: Path) -> None:
    """Spark would give `pid` the type that fits everybody's folder: one more person changes everybody's id."""
    many = tmp_path / "t"
    for name in ("1", "01", "x", "7" * 40, "__HIVE_DEFAULT_PARTITION__"):
        (many / f"pid={name}").mkdir(parents=True)
        pq.write_table(pa.table({"pid": ["own"], "cost": [1.5]}), many / f"pid={name}" / "a.parquet")
    engine = SparkEngine(spark, {"t": many})
    assert engine.columns("t") == {"pid": "string", "cost": "double"}
    assert rows(engine, "pid", "cost") == [("own", 1.5)] * 5

    alone = tmp_path / "alone" / "pid=1"
    alone.mkdir(parents=True)
    pq.write_table(pa.table({"cost": [1.5]}), alone / "a.parquet")
    for source in (alone, alone.parent):
        with pytest.raises(PolicyError, match='column "pid": is in the names of folders alone') as caught:
            open_engine(parse(HEAD.format(source=source, unit="pid")))
        assert "pid=1" not in str(caught.value)


def test_one_file_decides_nothing_for_the_others(spark: Any, tmp_path: Path) -> None:
    """Every file must have the declared columns, of one stored type; others may differ."""
    first, other = pa.table({"pid": [1], "extra": [1]}), tmp_path / "t" / "b.parquet"
    other.parent.mkdir()
    pq.write_table(first, other.parent / "a.parquet")
    policy = parse(HEAD.format(source=tmp_path / "t", unit="pid"))
    for bad, why in (
        (pa.table({"pid": ["1"]}), 'stores the column "pid" as string, and "a.parquet" as int64'),
        (pa.table({"pid": pa.array([1], pa.int32())}), "as int32"),
        (pa.table({"PID": [1]}), 'has no column "pid"'),
        (pa.table({"pid": [1], "PID": [1]}), "columns"),
        (pa.table({"pid": pa.array([1], pa.timestamp("ms"))}), "timestamp"),
        (pa.table({"pid": pa.array([None], pa.null())}), "null"),
    ):
        pq.write_table(bad, other)
        with pytest.raises(PolicyError, match=r'table "t": "b\.parquet"') as caught:
            open_engine(policy)
        assert why in str(caught.value)
    other.write_bytes(b"PAR1 somebody's secret PAR1")
    with pytest.raises(PolicyError, match="not a Parquet file") as caught:
        open_engine(policy)
    assert "secret" not in str(caught.value)

    pq.write_table(pa.table({"pid": [2], "extra": ["differs"]}), other)
    engine = open_engine(policy)
    assert isinstance(engine, SparkEngine)
    assert people(engine) == 2
    pq.write_table(pa.table({"pid": ["2"]}), other)  # later: before anything is charged
    with pytest.raises(PolicyError, match=r'"b\.parquet": stores'):
        engine.version(["t"])
    with pytest.raises(EngineError):
        people(engine)


FAR = 2**62
STORED: dict[str, tuple[pa.Array, list[str | None]]] = {
    "ms": (
        pa.array([0, FAR, -FAR, 1500, None], pa.timestamp("ms")),
        ["1970-01-01 00:00:00", None, None, "1970-01-01 00:00:01.5", None],
    ),
    "us": (
        pa.array([-1, FAR, -FAR, 1500, None], pa.timestamp("us", "UTC")),
        ["1969-12-31 23:59:59.999999", None, None, "1970-01-01 00:00:00.0015", None],
    ),
    "ns": (
        pa.array([0, FAR, -1, 1500, None], pa.timestamp("ns")),
        ["1970-01-01 00:00:00", "2116-02-20 23:53:38.427387", "1969-12-31 23:59:59.999999",
         "1970-01-01 00:00:00.000001", None],
    ),
    "day": (
        pa.array([0, 2**31 - 1, -(2**31), -600_000, None], pa.date32()),
        ["1970-01-01", "+5881580-07-11", "-5877641-06-23", "0327-04-05", None],
    ),
    "number": (pa.array([1.5, math.nan, math.inf, -0.0, None]), ["1.5", "NaN", "Infinity", "-0.0", None]),
    "large": (pa.array([0, 2**64 - 1, 2**53, 7, None], pa.uint64()), ["0", str(2**64 - 1), str(2**53), "7", None]),
}  # fmt: skip


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_what_spark_cannot_hold_is_null(spark: Any, tmp_path: Path, vectorized: str) -> None:
    """Such a value is one row's own: every other row is as it was, and nothing fails."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({name: values for name, (values, _) in STORED.items()}), path, version="2.6")
    engine = SparkEngine(spark, {"t": path})
    engine._session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    for name, (_, wanted) in STORED.items():
        assert [shown for (shown,) in rows(engine, f"CAST({name} AS STRING)", of=name)] == wanted, name


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_odd_instants_of_int96_are_one_rows_own(spark: Any, tmp_path: Path, vectorized: str) -> None:
    path = tmp_path / "t.parquet"
    days = [datetime(2020, 1, 1), datetime(2021, 1, 1), datetime(1500, 1, 1)]
    table = pa.table({"at": pa.array([1577836800 * 10**9, 1609459200 * 10**9], pa.timestamp("ns"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, use_dictionary=False, compression="none")
    whole, second = path.read_bytes(), struct.pack("<qi", 0, 2440588 + (days[1] - datetime(1970, 1, 1)).days)
    assert whole.count(second) >= 1
    engine = SparkEngine(spark, {"t": path})
    engine._session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    for nanoseconds, day in ((0, 2**31 - 1), (2**63 - 1, -(2**31)), (-1, 0), (0, 2268924)):
        path.write_bytes(whole.replace(second, struct.pack("<qi", nanoseconds, day)))
        found = rows(engine, "CAST(at AS STRING)", of="at")
        assert found[0] == ("2020-01-01 00:00:00",)
        assert len(found) == 2
    assert found[1] == ("1500-01-01 00:00:00",)  # as it stands: no other calendar


def test_least_and_largest_values_in_footers_decide_nothing(spark: Any, tmp_path: Path) -> None:
    """They leave NaN out, which Spark takes for the largest number: a row group would be passed over."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"number": [1.0, math.nan], "text": ["a", "\U0001f600"]}), path)
    engine = SparkEngine(spark, {"t": path})
    assert len(rows(engine, "number", of="number", where="number > 5")) == 1


KINDS = {
    "time": pa.array([1], pa.time64("us")),
    "half": pa.array([1.5], pa.float16()),
    "list": pa.array([[1]]),
    "record": pa.array([{"a": 1}]),
    "blob": pa.array([b"a"]),
    "fixed": pa.array([b"ab"], pa.binary(2)),
    "empty": pa.nulls(1),
    "wide": pa.array([1], pa.decimal256(50, 2)),
}


def test_types_that_cannot_be_asked_about_are_refused(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"pid": [1], **KINDS}), path)
    policy = HEAD.format(source=path, unit="pid")
    people(open_engine(parse(policy)))  # type: ignore[arg-type]  # the engine of the policy
    for name in KINDS:
        with pytest.raises(PolicyError, match=f'column "{name}".*cannot be asked about'):
            open_engine(parse(f'{policy}[tables.t.columns.{name}]\ntype = "text"\n'))


def test_storage_that_hadoop_knows(spark: Any, tmp_path: Path) -> None:
    """A file system with a scheme of its own, listed and read through Hadoop alone, as hdfs:// and s3a:// are."""
    write(tmp_path / "x[1]" / "a.parquet", 7)
    conf = spark._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.clinic.link./data", f"file://{tmp_path}")
    engine = SparkEngine(spark, {"t": "viewfs://clinic/data/x[1]"})
    before = engine.version(["t"])
    assert engine.version(["t"]) == before
    assert people(engine) == 7
    write(tmp_path / "x[1]" / "a.parquet", 1078)
    write(tmp_path / "x[1]" / "_hidden" / "a.parquet", 5000)
    assert engine.version(["t"]) != before
    assert people(engine) == 1078
    write(tmp_path / "x[1]" / "b.parquet", 2000)
    assert people(engine) == 2000
    pq.write_table(pa.table({"pid": ["x"]}), tmp_path / "x[1]" / "b.parquet")
    with pytest.raises(PolicyError, match=r'"b\.parquet": stores'):
        engine.version(["t"])
    with pytest.raises(PolicyError, match="cannot be opened in Spark"):
        SparkEngine(spark, {"t": "viewfs://clinic/data/nothing"})
