"""Spark: catalog tables and Parquet paths, an own session beside the given one, and failures that say nothing."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.spark import spark
from tacit.base import EngineError, InputError, PolicyError
from tacit.base.exact import opened
from tacit.engine.spark import SparkEngine
from tacit.plan.bounded import Bounded, Clip, Key, Measure
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["spark"]

DAY = Facts(type=Type.DATE)
COST = Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(10))


def question(table: str = "visits") -> Bounded:
    columns = (
        Source(name="who", column="who", facts=Facts(type=Type.TEXT)),
        Source(name="day", column="day", facts=DAY),
        Source(name="cost", column="cost", facts=COST),
    )
    return Bounded(
        source=Scan(table=table, columns=columns, is_private=True, unit_name="who"),
        keys=(Key(name="day", expression=Column(name="day", facts=DAY)),),
        measures=(Measure(name="cost", value=Column(name="cost", facts=COST), step=Fraction(1, 2), low=0, high=20),),
        clips=(Clip(names=("cost",), scales=(Fraction(1),), norm="l1", bound=Fraction(100)),),
    )


def test_paths_catalog_versions_and_failures(spark: Any, tmp_path: Path) -> None:
    """One test, since a session takes its time."""
    path = tmp_path / "visits.parquet"
    days = pa.array(["2024-02-29", "2024-02-29", None]).cast(pa.date32())
    pq.write_table(pa.table({"who": ["a", "b", "b"], "day": days, "cost": ["1.5", "much", "3"]}), path)
    spark.sql(
        f"CREATE TABLE spark_visits USING parquet LOCATION '{tmp_path / 'table'}' AS SELECT * FROM parquet.`{path}`"
    )
    zone = spark.conf.get("spark.sql.session.timeZone")
    engine = SparkEngine(spark, {"visits": path, "listed": "default.spark_visits", "gone": str(path)})
    assert spark.conf.get("spark.sql.session.timeZone") == zone  # the caller's session is left alone

    for table in ("visits", "listed"):
        found = opened(engine.run(question(table))).groups
        assert dict(zip(map(str, found.keys[0]), found.columns["cost"].tolist(), strict=True)) == {
            "2024-02-29": 3,
            "None": 6,
        }
        assert engine.columns(table) == {"who": "string", "day": "date", "cost": "string"}

    before = engine.version(["visits"])
    assert engine.version(["visits"]) == before
    assert engine.version(["visits", "listed"]) != engine.version(["visits", "listed"])

    path.write_bytes(b"secret")
    with pytest.raises(PolicyError, match="not a Parquet file"):  # before anything is charged
        engine.version(["visits"])
    with pytest.raises(EngineError) as caught:
        engine.run(question("gone"))
    assert str(caught.value) == "the engine could not answer; the charge stands"
    assert caught.value.__context__ is None

    with pytest.raises(InputError, match="cannot be opened") as refused:
        SparkEngine(spark, {"visits": "no_such_table"})
    assert refused.value.__context__ is None
    engine.close()
    assert spark.sql("SELECT 1").collect()  # and it is not stopped either
    spark.sql("DROP TABLE spark_visits")
