"""Tables and views of Spark's catalog: as they are at each question, and the same each time they are read."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.spark import spark
from tacit.base import EngineError, PolicyError
from tacit.base.exact import opened
from tacit.engine.spark import SparkEngine
from tacit.plan.bounded import Bounded, Clip, Measure
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["spark"]

DERBY = "org.apache.derby.iapi.jdbc.AutoloadedDriver"


@pytest.fixture(scope="module")
def catalog(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A schema of its own, with a table of 50 people and 40 rows each."""
    place = tmp_path_factory.mktemp("catalog")
    spark.sql(f"CREATE SCHEMA catalog LOCATION '{place}'")
    spark.sql(
        "CREATE TABLE catalog.visits USING parquet AS "
        "SELECT CAST(id % 50 AS INT) AS pid, 'w' AS ward, 1.0D AS cost FROM range(2000)"
    )
    yield spark
    spark.sql("DROP SCHEMA catalog CASCADE")


def question(table: str = "t", rows: int = 4) -> Bounded:
    """How many rows there are, at most so many of each person."""
    scan = Scan(
        table=table,
        columns=(Source(name="pid", column="pid", facts=Facts(type=Type.INTEGER)),),
        is_private=True,
        unit_name="pid",
    )
    return Bounded(
        source=scan,
        keys=(),
        measures=(Measure(name="n"),),
        clips=(Clip(names=("n",), scales=(Fraction(1),), norm="l1", bound=Fraction(rows)),),
    )


def counted(engine: SparkEngine, rows: int = 10**6) -> int:
    return int(opened(engine.run(question(rows=rows))).groups.columns["n"].sum())


def test_files_of_a_table_are_those_of_now(catalog: Any, tmp_path: Path) -> None:
    """Spark keeps a table's list of files in mind, and the lengths they had."""
    path = tmp_path / "t" / "a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"pid": pa.array(range(1077), pa.int32())}), path, row_group_size=100)
    catalog.sql(f"CREATE TABLE catalog.files (pid INT) USING parquet LOCATION '{path.parent}'")
    catalog.sql("CREATE VIEW catalog.files_view AS SELECT pid FROM catalog.files WHERE pid >= 0")
    engines = [SparkEngine(catalog, {"t": f"catalog.{name}"}) for name in ("files", "files_view")]
    assert [counted(engine) for engine in engines] == [1077, 1077]
    for count in (1078, 40):
        pq.write_table(pa.table({"pid": pa.array(range(count), pa.int32())}), path, row_group_size=100)
        assert [counted(engine) for engine in engines] == [count, count]
    pq.write_table(pa.table({"pid": pa.array([1], pa.int32())}), path.with_name("b.parquet"))
    assert [counted(engine) for engine in engines] == [41, 41]
    with pytest.raises(EngineError), engines[1]._tables["t"].reading(["pid"]):
        pq.write_table(pa.table({"pid": pa.array([1, 2], pa.int32())}), path.with_name("b.parquet"))


VOLATILE = {
    "rand": "SELECT pid FROM catalog.visits WHERE rand() < 0.5",
    "seeded": "SELECT pid FROM catalog.visits WHERE rand(7) < 0.5",
    "uuid": "SELECT pid, uuid() AS u FROM catalog.visits",
    "shuffled": "SELECT pid, shuffle(array(1, 2)) AS u FROM catalog.visits",
    "in_subquery": "SELECT pid FROM catalog.visits WHERE cost < (SELECT max(cost) * rand() FROM catalog.visits)",
    "in_exists": "SELECT pid FROM catalog.visits v WHERE EXISTS (SELECT 1 FROM range(3) WHERE rand() < 0.5)",
    "in_with": "WITH a AS (SELECT pid FROM catalog.visits WHERE rand() < 0.5) SELECT * FROM a",
    "in_union": "SELECT pid FROM catalog.visits UNION ALL SELECT pid FROM catalog.visits WHERE randn() > 0",
    "ordered": "SELECT pid FROM catalog.visits ORDER BY rand() LIMIT 5",
    "by_function": "SELECT pid FROM catalog.visits WHERE catalog.dice() < 0.5",
    "by_place": "SELECT pid, monotonically_increasing_id() AS i FROM catalog.visits",
    "by_file": "SELECT pid, input_file_name() AS f FROM catalog.visits",
    "java": "SELECT pid, reflect('java.util.UUID', 'randomUUID') AS u FROM catalog.visits",
    "sampled": "SELECT pid FROM catalog.visits TABLESAMPLE (50 PERCENT)",
    "below": "SELECT pid FROM catalog.view_rand",
}


def test_views_that_throw_dice_are_refused(catalog: Any) -> None:
    catalog.sql("CREATE FUNCTION catalog.dice() RETURNS DOUBLE RETURN rand()")
    for name, query in VOLATILE.items():
        catalog.sql(f"CREATE VIEW catalog.view_{name} AS {query}")
        with pytest.raises(PolicyError, match=r'table "t": it (calls a function that gives another|takes a sample)'):
            SparkEngine(catalog, {"t": f"catalog.view_{name}"})


def test_a_view_replaced_under_an_open_session_is_refused_before_the_charge(catalog: Any) -> None:
    catalog.sql(
        "CREATE VIEW catalog.changing AS SELECT pid FROM catalog.visits WHERE current_date() > DATE '2000-01-01'"
    )
    engine = SparkEngine(catalog, {"t": "catalog.changing"})
    assert counted(engine) == 2000
    catalog.sql("CREATE OR REPLACE VIEW catalog.changing AS SELECT pid FROM catalog.visits WHERE rand() < 0.5")
    with pytest.raises(PolicyError, match="gives another value each time"):
        engine.version(["t"])
    with pytest.raises(EngineError):
        counted(engine)
    catalog.sql("CREATE OR REPLACE VIEW catalog.changing AS SELECT pid FROM catalog.visits WHERE pid < 10")
    assert counted(engine) == 400


def test_what_cannot_be_seen_is_read_once(catalog: Any) -> None:
    """A database that gives other rows each time: the bound on what a person adds holds all the same."""
    url = "jdbc:derby:memory:views;create=true"
    catalog._jvm.java.lang.System.setProperty("derby.stream.error.file", "/dev/null")
    catalog._jvm.org.apache.derby.iapi.jdbc.AutoloadedDriver()
    connection = catalog._jvm.java.sql.DriverManager.getConnection(url)
    connection.createStatement().execute("CREATE TABLE one (pid INT)")
    values = ", ".join("(1)" for _ in range(64))
    connection.createStatement().execute(f"INSERT INTO one VALUES {values}")
    query = '(SELECT pid AS "pid" FROM one WHERE RANDOM() < 0.5) AS x'
    options = f"url '{url}', driver '{DERBY}', dbtable '{query}'"
    catalog.sql(f"CREATE TABLE catalog.dice_elsewhere (pid INT) USING jdbc OPTIONS ({options})")
    engine = SparkEngine(catalog, {"t": "catalog.dice_elsewhere"})
    raw = engine._session.table("catalog.dice_elsewhere")
    assert len({raw.count() for _ in range(10)}) > 1
    assert max(counted(engine, rows=32) for _ in range(4)) <= 32
    with engine._tables["t"].reading(["pid"]) as view:
        assert len({engine._session.table(view).count() for _ in range(10)}) == 1
    connection.close()


def test_rows_that_depend_on_an_order_are_read_once(catalog: Any) -> None:
    catalog.sql("CREATE VIEW catalog.firsts AS SELECT pid, first(cost) AS c FROM catalog.visits GROUP BY pid")
    engine = SparkEngine(catalog, {"t": "catalog.firsts"})
    with engine._tables["t"].reading(["pid"]) as view:
        assert "LogicalRDD" in engine._session.table(view)._jdf.queryExecution().analyzed().toJSON()
    assert counted(engine) == 50


MIXED = (
    "SELECT * FROM catalog.visits ORDER BY cost LIMIT 10",
    "SELECT pid, sum(cost) OVER () AS c FROM catalog.visits",
    "SELECT max(pid) AS pid, ward FROM catalog.visits GROUP BY ward",
    "SELECT pid FROM catalog.visits WHERE cost > (SELECT avg(cost) FROM catalog.visits)",
    "SELECT pid FROM limited",
    "SELECT v.pid FROM catalog.visits v JOIN catalog.visits w ON w.ward = v.ward AND w.cost < v.cost",
)
APART = (
    "SELECT v.* FROM catalog.visits v JOIN catalog.visits w ON w.pid = v.pid WHERE v.cost > 0",
    "SELECT pid, count(*) AS n FROM catalog.visits GROUP BY pid",
    "SELECT pid, n FROM grouped WHERE n > 1",
    "SELECT DISTINCT pid, ward FROM catalog.visits",
)


def test_private_views_keep_units_apart(catalog: Any) -> None:
    catalog.sql("USE catalog")
    catalog.sql("CREATE VIEW limited AS SELECT pid FROM visits LIMIT 5")
    catalog.sql("CREATE VIEW grouped (pid, n) AS SELECT pid AS p, count(*) AS c FROM visits GROUP BY pid")
    for query in (*MIXED, *APART):
        catalog.sql(f"CREATE OR REPLACE VIEW mixed AS {query}")
        if query in APART:
            assert counted(SparkEngine(catalog, {"t": "catalog.mixed"}, units={"t": "pid"})) > 0
        else:
            with pytest.raises(PolicyError, match=r'table "t": .*rows of one unit would then depend'):
                SparkEngine(catalog, {"t": "catalog.mixed"}, units={"t": "pid"})
            SparkEngine(catalog, {"t": "catalog.mixed"})  # of a public table, which is read once
    catalog.sql("USE default")


REFUSED = {
    "by_path": ("CREATE VIEW catalog.r_by_path AS SELECT * FROM parquet.`{files}`", "reads files by their path"),
    "place": (
        "CREATE VIEW catalog.r_place AS SELECT pid FROM catalog.visits WHERE _metadata.row_index < 5",
        "_metadata",
    ),
    "csv": ("CREATE TABLE catalog.r_csv (pid STRING) USING csv LOCATION '{other}'", "stored as csv"),
    "json": ("CREATE TABLE catalog.r_json (pid INT) USING json LOCATION '{other}'", "stored as json"),
    "ms": ("CREATE TABLE catalog.r_ms (pid INT, at TIMESTAMP) USING parquet LOCATION '{files}'", "in milliseconds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sources_in_which_rows_meet_are_refused(catalog: Any, tmp_path: Path, name: str) -> None:
    create, why = REFUSED[name]
    (tmp_path / "files").mkdir()
    table = pa.table({"pid": pa.array([1], pa.int32()), "at": pa.array([2**62], pa.timestamp("ms"))})
    pq.write_table(table, tmp_path / "files" / "a.parquet")
    catalog.sql(create.format(files=tmp_path / "files", other=tmp_path / "other"))
    with pytest.raises(PolicyError, match=why):
        SparkEngine(catalog, {"t": f"catalog.r_{name}"})
