"""Views of a DuckDB file: dice are seen in their definitions, and rows that follow from an order are copied."""

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from tacit.base import PolicyError, TacitError
from tacit.base.exact import opened
from tacit.engine import open_engine
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.source.tables import DatabaseSource
from tacit.plan.bounded import Bounded, Clip, Measure
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.policy import parse

SETUP = """
CREATE TABLE visits (pid INT, ward VARCHAR, cost DOUBLE);
INSERT INTO visits SELECT i % 50, 'w', 1 FROM range(2000) r(i);
CREATE TABLE generated (pid INT DEFAULT random(), chance DOUBLE GENERATED ALWAYS AS ((abs(random()))) VIRTUAL);
CREATE TABLE defaulted (pid INT DEFAULT random(), twice INT GENERATED ALWAYS AS ((pid * 2)));
INSERT INTO defaulted VALUES (1);
CREATE MACRO dice() AS random();
CREATE MACRO "deep dice"(x) AS dice() + x;
CREATE MACRO twice(x) AS x * 2;
CREATE MACRO dice_table(x) AS TABLE SELECT pid FROM visits WHERE random() < x;
CREATE MACRO visits_of(x) AS TABLE SELECT pid FROM visits WHERE pid = x;
CREATE SEQUENCE counter;
CREATE SCHEMA geo;
CREATE VIEW geo.dicey AS SELECT * FROM main.visits WHERE random() < 0.5;
CREATE VIEW "random(" AS SELECT pid, 'random()' AS t FROM visits;
"""
VOLATILE = (
    "SELECT pid FROM visits WHERE random() < 0.5",
    'SELECT pid FROM visits WHERE "random"() < 0.5',
    "SELECT pid, uuid() AS u FROM visits",
    "SELECT pid, gen_random_uuid() AS u FROM visits",
    "SELECT pid, nextval('counter') AS u FROM visits",
    "SELECT pid FROM visits ORDER BY random()",
    "SELECT pid FROM visits WHERE cost < (SELECT max(cost) * random() FROM visits)",
    "SELECT pid FROM visits v WHERE EXISTS (SELECT 1 FROM visits o WHERE o.pid = v.pid AND random() < 0.5)",
    "WITH a AS (SELECT pid FROM visits WHERE random() < 0.5) SELECT pid FROM a",
    "SELECT pid FROM visits UNION ALL SELECT pid FROM visits WHERE random() < 0.5",
    "SELECT pid, list_transform([1], lambda x: random()) AS l FROM visits",
    "SELECT pid FROM visits WHERE dice() < 0.5",
    'SELECT pid FROM visits WHERE "deep dice"(0) < 0.5',
    "SELECT * FROM dice_table(0.5)",
    "SELECT pid FROM visits TABLESAMPLE 50%",
    "SELECT pid FROM visits USING SAMPLE 50%",
    "SELECT pid FROM geo.dicey",
    "SELECT pid FROM generated WHERE chance < 0.5",
)
STEADY = (
    "SELECT pid FROM visits WHERE cost > 0 AND now() > '2000-01-01' AND current_date > '2000-01-01'",
    "SELECT v.pid, w.ward FROM visits v JOIN visits w USING (pid)",
    'SELECT pid, t FROM "random("',
    "SELECT pid FROM visits WHERE twice(cost) > 0",
    "SELECT * FROM visits_of(7)",
    "SELECT pid FROM defaulted",
    "SELECT pid, unnest([1, 2]) AS i FROM visits, range(3) WHERE ward LIKE 'w%' AND cost BETWEEN 0 AND 5",
)
COPIED = (
    "SELECT pid, max(cost) AS c FROM visits GROUP BY pid",
    "SELECT pid, first(cost) AS c FROM visits GROUP BY ALL",
    "SELECT pid, mode(cost) AS c FROM visits GROUP BY ALL",
    "SELECT DISTINCT ON (pid) pid, ward FROM visits",
    "SELECT pid, row_number() OVER (PARTITION BY pid) AS i FROM visits",
    "SELECT pid FROM (SELECT DISTINCT pid FROM visits)",
)
POLICY = """
[dataset]
name = "clinic"
source = "{path}"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[tables.t]
source = "{name}"
"""


def question(rows: int) -> Bounded:
    scan = Scan(
        table="t",
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


def counted(engine: DuckDBEngine, rows: int = 10**6) -> int:
    return int(opened(engine.run(question(rows))).groups.columns["n"].sum())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute(SETUP)
    return tmp_path / "c.duckdb"


def define(path: Path, query: str, head: str = "v") -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE OR REPLACE VIEW {head} AS {query}")


@pytest.mark.parametrize("query", VOLATILE)
def test_dice_are_refused(path: Path, query: str) -> None:
    define(path, query)
    with pytest.raises(PolicyError, match=r'table "t": it (calls the function|takes a sample)'):
        DuckDBEngine({"t": (path, "v")})


def test_a_table_with_a_column_of_dice_is_refused(path: Path) -> None:
    with pytest.raises(PolicyError, match='"random"'):
        DuckDBEngine({"t": (path, "generated")})


@pytest.mark.parametrize("query", [*STEADY, *COPIED])
def test_what_is_read_as_it_is_and_what_is_copied(path: Path, query: str) -> None:
    define(path, query)
    engine = DuckDBEngine({"t": (path, "main.v")})
    (copies,) = engine._catalog.fetch("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'tacit copy%'")
    assert copies.to_pylist() == [int(query in COPIED)]
    assert counted(engine) > 0
    engine.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT pid FROM read_csv('{folder}/a.csv')",
        "SELECT pid FROM '{folder}/a.csv'",
        "SELECT pid FROM '{folder}/*.csv'",
        "SELECT pid, (SELECT count(*) FROM glob('{folder}/*')) AS n FROM visits",
        "SELECT pid FROM visits WHERE pid IN (SELECT pid FROM read_csv_auto('{folder}/a.csv'))",
    ],
)
def test_views_that_read_files_are_refused(path: Path, query: str) -> None:
    (path.parent / "a.csv").write_text("pid\n1\n")
    define(path, query.format(folder=path.parent))
    with pytest.raises(PolicyError, match="of its file"):
        DuckDBEngine({"t": (path, "v")})


def test_a_file_with_another_view_is_looked_at_again(path: Path) -> None:
    define(path, "SELECT pid FROM visits WHERE pid < 10")
    other = path.with_name("other.duckdb")
    other.write_bytes(path.read_bytes())
    engine = DuckDBEngine({"t": (path, "v")})
    assert counted(engine) == 400
    define(other, "SELECT pid FROM visits WHERE random() < 0.5")
    other.replace(path)
    with pytest.raises(TacitError):  # before the charge
        engine.version(["t"])
    with pytest.raises(TacitError):
        counted(engine)
    engine.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT pid FROM visits ORDER BY cost LIMIT 10",
        "SELECT pid, sum(cost) OVER () AS c FROM visits",
        "SELECT DISTINCT ON (ward) pid, ward FROM visits",
        "SELECT max(pid) AS pid FROM visits GROUP BY ward",
        "SELECT mode(pid) AS pid FROM visits",
        "SELECT pid FROM visits QUALIFY row_number() OVER (ORDER BY cost) < 10",
        "SELECT pid FROM visits WHERE cost > (SELECT avg(cost) FROM visits)",
    ],
)
def test_private_views_keep_units_apart(path: Path, query: str) -> None:
    define(path, query)
    policy = POLICY.format(path=path, name="main.v")
    with pytest.raises(PolicyError, match=r'table "t": .*rows of one unit would then depend'):
        open_engine(parse(f'{policy}unit_column = "pid"\nclip_rows = 3\n'))
    open_engine(parse(f"{policy}public = true\n")).close()


def test_private_views_that_do(path: Path) -> None:
    define(path, "SELECT pid, count(*) FROM main.visits GROUP BY pid", "geo.named (who, n)")
    define(path, "SELECT who AS pid, n FROM geo.named", "w")
    for name, unit in (("geo.named", "who"), ("w", "pid")):
        engine = DuckDBEngine({"t": DatabaseSource(path, name, unit, True)})
        assert len(engine._catalog.fetch("SELECT * FROM memory.main.t")[0]) == 50
        engine.close()
