"""Views of PostgreSQL: dice are seen in the catalogue, and what cannot be seen is read once."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import psycopg
import pytest

from support.postgres import Server, postgres
from tacit.base import EngineError, PolicyError
from tacit.base.exact import opened
from tacit.engine import open_engine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.views.postgres import see
from tacit.plan.bounded import Bounded, Clip, Measure
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.policy import parse

__all__ = ["postgres"]

Database = tuple[str, "psycopg.Connection[Any]"]

POLICY = """
[dataset]
name = "clinic"
engine = "postgres"
source = "{url}"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[tables.t]
source = "public.{view}"
"""
SETUP = """
CREATE TABLE visits (pid int, ward text, cost float8, day date);
INSERT INTO visits SELECT i % 50, 'w', 1, '2024-01-01' FROM generate_series(1, 2000) i;
CREATE TABLE one (pid int);
INSERT INTO one SELECT 1 FROM generate_series(1, 64);
CREATE SEQUENCE counter;
CREATE FUNCTION dice() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT random()';
CREATE FUNCTION hidden_dice() RETURNS float8 LANGUAGE sql STABLE AS 'SELECT random()';
CREATE FUNCTION atomic_dice() RETURNS float8 LANGUAGE sql STABLE BEGIN ATOMIC SELECT random(); END;
CREATE FUNCTION written_dice() RETURNS float8 LANGUAGE plpgsql STABLE AS 'BEGIN RETURN pg_catalog.random (); END';
CREATE FUNCTION deep_dice() RETURNS float8 LANGUAGE sql STABLE BEGIN ATOMIC SELECT hidden_dice(); END;
CREATE FUNCTION unseen_dice(row_of float8) RETURNS float8 LANGUAGE plpgsql STABLE AS
    $$ DECLARE x float8; BEGIN EXECUTE 'SELECT ran' || 'dom()' INTO x; RETURN x; END $$;
CREATE FUNCTION twice(x float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT x * 2';
CREATE FUNCTION below(a float8, b float8) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT a < b';
CREATE OPERATOR <<<< (LEFTARG = float8, RIGHTARG = float8, FUNCTION = below);
CREATE VIEW dicey AS SELECT * FROM visits WHERE random() < 0.5;
CREATE MATERIALIZED VIEW fixed AS SELECT * FROM visits WHERE random() < 0.5;
"""


@pytest.fixture(scope="module")
def clinic(postgres: Server) -> Iterator[Database]:
    with postgres.database() as name, psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        connection.execute(SETUP.encode())
        yield postgres.url(name), connection


def question(rows: int, table: str = "t") -> Bounded:
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


def counted(engine: PostgresEngine, rows: int = 10**6) -> int:
    return int(opened(engine.run(question(rows))).groups.columns["n"].sum())


def engine_of(clinic: Database, query: str, name: str = "v", **more: Any) -> PostgresEngine:
    clinic[1].execute(f"DROP VIEW IF EXISTS {name}; CREATE VIEW {name} AS {query}".encode())
    return PostgresEngine(clinic[0], {"t": name}, **more)


VOLATILE = (
    "SELECT pid FROM visits WHERE random() < 0.5",
    "SELECT pid, gen_random_uuid() AS u FROM visits",
    "SELECT pid, clock_timestamp() AS u FROM visits",
    "SELECT pid, nextval('counter') AS u FROM visits",
    "SELECT pid FROM visits ORDER BY random()",
    "SELECT pid FROM visits WHERE cost < (SELECT max(cost) * random() FROM visits)",
    "SELECT pid FROM visits v WHERE EXISTS (SELECT FROM visits o WHERE o.pid = v.pid AND random() < 0.5)",
    "WITH a AS (SELECT pid FROM visits WHERE random() < 0.5) SELECT pid FROM a",
    "SELECT pid FROM visits UNION ALL SELECT pid FROM visits WHERE random() < 0.5",
    "SELECT pid FROM visits JOIN LATERAL (SELECT random() AS r) x ON r < 0.5",
    "SELECT pid FROM visits, generate_series(1, (random() * 3)::int)",
    "SELECT pid, sum(cost) FILTER (WHERE random() < 0.5) AS c FROM visits GROUP BY pid",
    "SELECT pid, CASE WHEN random() < 0.5 THEN 1 END AS c FROM visits",
    "SELECT pid FROM visits WHERE dice() < 0.5",
    "SELECT pid FROM visits WHERE hidden_dice() < 0.5",
    "SELECT pid FROM visits WHERE atomic_dice() < 0.5",
    "SELECT pid FROM visits WHERE written_dice() < 0.5",
    "SELECT pid FROM visits WHERE deep_dice() < 0.5",
    "SELECT pid FROM visits WHERE cost <<<< 2",
    "SELECT pid FROM visits TABLESAMPLE BERNOULLI (50)",
    "SELECT pid FROM dicey",
)
STEADY = (
    "SELECT pid FROM visits WHERE cost > 0 AND day <= current_date AND now() > '2000-01-01'",
    "SELECT v.pid, w.ward FROM visits v LEFT JOIN visits w USING (pid)",
    "SELECT pid FROM fixed",
    "SELECT pid FROM visits WHERE ward LIKE 'w%' AND abs(cost) < 5 AND pid = ANY (ARRAY[1, 2])",
    "SELECT pid AS \":funcid 1598\", ':funcid 1598' AS pid FROM visits",
)
ONCE = (
    "SELECT pid FROM visits WHERE unseen_dice(cost) < 0.5",
    "SELECT pid FROM visits WHERE twice(cost) > 0.5",
    "SELECT pid, max(cost) AS c FROM visits GROUP BY pid",
    "SELECT DISTINCT ON (pid) pid, ward FROM visits",
    "SELECT pid, row_number() OVER (PARTITION BY pid) AS i FROM visits",
)


@pytest.mark.parametrize("query", VOLATILE)
def test_dice_are_refused(clinic: Database, query: str) -> None:
    with pytest.raises(PolicyError, match='table "t": it '):
        engine_of(clinic, query)


@pytest.mark.parametrize("query", [*STEADY, *ONCE])
def test_what_is_read_as_it_is_and_what_once(clinic: Database, query: str) -> None:
    engine = engine_of(clinic, query)
    sight = engine._within(lambda fetch: see(fetch, "public.v", None, is_private=False))
    assert sight.is_steady == (query in STEADY)
    if query not in STEADY[-1:]:
        assert counted(engine) > 0
    engine.close()


def test_the_bound_holds_where_dice_cannot_be_seen(clinic: Database) -> None:
    """A function that is called stable and is not: every use in one statement has the same rows."""
    engine = engine_of(clinic, "SELECT pid FROM one WHERE unseen_dice(pid) < 0.5")
    assert len({counted(engine) for _ in range(20)}) > 1
    assert max(counted(engine, rows=32) for _ in range(60)) <= 32
    engine.close()


def test_a_view_replaced_under_an_open_session(clinic: Database) -> None:
    engine = engine_of(clinic, "SELECT pid FROM visits WHERE cost > 0", name="changing")
    assert counted(engine) == 2000
    clinic[1].execute("CREATE OR REPLACE VIEW changing AS SELECT pid FROM visits WHERE random() < 0.5")
    with pytest.raises(PolicyError, match='"random"'):  # before the charge
        engine.version(["t"])
    with pytest.raises(EngineError):
        counted(engine)
    clinic[1].execute("CREATE OR REPLACE VIEW changing AS SELECT pid FROM visits WHERE pid < 10")
    engine.version(["t"])
    assert counted(engine) == 400
    engine.close()


def test_a_function_replaced_under_a_question_fails_it(clinic: Database) -> None:
    engine = engine_of(clinic, "SELECT pid FROM visits WHERE twice(cost) > 0")

    def work(instance: Any) -> None:
        with engine._views.reading(instance.transaction, question(5).source):
            clinic[1].execute("ALTER FUNCTION twice(float8) STABLE")

    with pytest.raises(EngineError):
        engine._asked(None, work)
    engine.close()


def test_row_security_with_dice_is_refused(clinic: Database) -> None:
    clinic[1].execute("CREATE TABLE secured (pid int); ALTER TABLE secured ENABLE ROW LEVEL SECURITY")
    PostgresEngine(clinic[0], {"t": "secured"}).close()
    clinic[1].execute("CREATE POLICY halves ON secured USING (random() < 0.5)")
    with pytest.raises(PolicyError, match='"random"'):
        PostgresEngine(clinic[0], {"t": "secured"})


def test_partitions_are_tables(clinic: Database) -> None:
    clinic[1].execute(
        "CREATE TABLE parts (pid int) PARTITION BY LIST (pid); CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1)"
    )
    clinic[1].execute("INSERT INTO parts VALUES (1)")
    engine = PostgresEngine(clinic[0], {"t": "parts"})
    assert engine._within(lambda fetch: see(fetch, "public.parts", None, is_private=False)).is_steady
    assert counted(engine) == 1
    engine.close()


def test_foreign_tables_are_read_once(clinic: Database) -> None:
    clinic[1].execute(
        "CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER far FOREIGN DATA WRAPPER elsewhere; "
        "CREATE FOREIGN TABLE far (pid int) SERVER far; CREATE TABLE near (pid int) PARTITION BY LIST (pid); "
        "CREATE FOREIGN TABLE far1 PARTITION OF near FOR VALUES IN (1) SERVER far"
    )
    for query in ("SELECT pid FROM far", "SELECT pid FROM near"):
        engine = engine_of(clinic, query)
        assert not engine._within(lambda fetch: see(fetch, "public.v", None, is_private=False)).is_steady
        engine.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT pid FROM visits ORDER BY cost LIMIT 10",
        "SELECT pid, sum(cost) OVER () AS c FROM visits",
        "SELECT DISTINCT ON (ward) pid, ward FROM visits",
        "SELECT max(pid) AS pid FROM visits GROUP BY ward",
        "SELECT v.pid FROM visits v JOIN (SELECT ward, count(*) AS n FROM visits GROUP BY ward) w USING (ward)",
        "SELECT pid FROM limited",
    ],
)
def test_private_views_keep_units_apart(clinic: Database, query: str) -> None:
    clinic[1].execute("CREATE OR REPLACE VIEW limited AS SELECT pid FROM visits LIMIT 5")
    clinic[1].execute(f"DROP VIEW IF EXISTS mixed; CREATE VIEW mixed AS {query}".encode())
    policy = POLICY.format(url=clinic[0], view="mixed")
    with pytest.raises(PolicyError, match="rows of one unit would then depend"):
        open_engine(parse(f'{policy}unit_column = "pid"\nclip_rows = 3\n'))
    open_engine(parse(f"{policy}public = true\n")).close()


def test_private_views_that_do(clinic: Database) -> None:
    query = (
        "SELECT v.pid, m.n, row_number() OVER (PARTITION BY v.pid ORDER BY v.day) AS i FROM visits v "
        "JOIN (SELECT pid, count(*) AS n FROM visits GROUP BY pid) m USING (pid)"
    )
    engine = engine_of(clinic, query, units={"t": "pid"})
    assert counted(engine) == 2000
    engine.close()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "WIN1252"])
def test_encodings_in_which_bytes_are_no_text(postgres: Server, encoding: str) -> None:
    name = f"encoded_{encoding.lower()}"
    postgres._run(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(PolicyError, match=f"the encoding {encoding}"):
        PostgresEngine(postgres.dsn(name), {})
    postgres._run(f"DROP DATABASE {name} WITH (FORCE)")
