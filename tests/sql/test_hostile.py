"""Queries that must never be answered: every forbidden construct in every place, in every dialect, in disguise."""

from collections.abc import Callable
from itertools import product

import pytest

from support.clinic import CLINIC
from tacit.base import Refused
from tacit.sql import DIALECTS, lower, parse

VALUES = (
    # depends on other people's rows
    "(SELECT MAX(cost) FROM visits)", "(SELECT cost FROM visits LIMIT 1)", "cost IN (SELECT cost FROM visits)",
    "EXISTS (SELECT 1 FROM visits)", "cost > ALL (SELECT cost FROM visits)", "cost = ANY (SELECT cost FROM visits)",
    "NOT EXISTS (SELECT 1 FROM treatments t WHERE t.patient = patient_id)", "(WITH a AS (SELECT 1) SELECT 1 FROM a)",
    "SUM(cost) OVER ()", "ROW_NUMBER() OVER (ORDER BY cost)", "RANK() OVER (PARTITION BY ward ORDER BY cost)",
    "LAG(cost) OVER (ORDER BY day)", "COUNT(*) OVER w", "AVG(cost) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    # single values
    "ANY_VALUE(note)", "FIRST(note)", "LAST(note)", "ARRAY_AGG(note)", "STRING_AGG(note, ',')", "LIST(note)",
    "ARG_MAX(note, cost)", "MAX_BY(note, cost)", "COLLECT_LIST(note)", "BOOL_OR(urgent)", "BIT_XOR(age)",
    "SUM(DISTINCT cost)", "AVG(DISTINCT cost)", "SUM(cost ORDER BY day)",
    # changes by itself, or speaks of the session
    "NOW()", "CURRENT_DATE", "CURRENT_TIMESTAMP", "RANDOM()", "RAND()", "UUID()", "GEN_RANDOM_UUID()", "SETSEED(0.5)",
    "CURRENT_USER", "VERSION()", "PG_SLEEP(10)", "CURRENT_SETTING('x')", "SET_CONFIG('x', 'y', false)", "GETENV('HOME')",
    "NEXTVAL('s')", "TXID_CURRENT()", "INPUT_FILE_NAME()", "MONOTONICALLY_INCREASING_ID()", "TODAY()", "GETVARIABLE('x')",
    # files, other functions, code
    "READ_TEXT('/etc/passwd')", "PG_READ_FILE('/etc/passwd')", "LO_IMPORT('/etc/passwd')", "leak(cost)", "public.leak(cost)",
    "QUERY_TO_XML('SELECT 1', true, true, '')", "DBLINK('host=x', 'SELECT 1')", "EVAL('1')", "\"leak\"(cost)",
    "java_method('java.lang.System', 'exit', 1)", "reflect('a', 'b')", "error('x')", "RAISE_ERROR('x')", "ABS(cost, leak(1))",
    # shapes that are no plain values
    "[cost]", "{'a': cost}", "ROW(cost, age)", "(cost, age)", "STRUCT_PACK(a := cost)", "MAP {'a': cost}", "visits", "v.*", "*",
    "COLUMNS(*)", "COLUMNS('c.*')", "note[1]", "note[1:2]", "UNNEST([1, 2])", "EXPLODE(ARRAY(1, 2))", "x -> x + 1",
    "LIST_TRANSFORM([1], x -> x)", "CAST(cost AS INTEGER[])", "CAST(note AS JSON)", "note -> 'a'", "note ->> 'a'",
    "CAST(note AS STRUCT(a INTEGER))", "CAST(seen AS TIMESTAMPTZ)", "seen AT TIME ZONE 'UTC'", "INTERVAL 1 DAY",
    # patterns, bits, parameters
    "note ~ 'a+'", "REGEXP_MATCHES(note, 'a')", "note SIMILAR TO 'a'", "note LIKE ward", "note GLOB 'a*'", "age & 1", "age | 1",
    "age << 60", "~age", "?", "$1", ":x", "note COLLATE nocase", "TRY(cost)", "GROUPING(ward)", "CUME_DIST()",
    # names that are not there
    "salary", "photo", "v.salary", "main.visits.cost", "other.cost", "rowid", "ctid", "_rowid_", "oid", "tableoid", "xmin",
    "nothing", "\"cost \"", "visits.cost",
)  # fmt: skip

PLACES = (
    "SELECT {}, COUNT(*) FROM visits v",
    "SELECT SUM({}) FROM visits v",
    "SELECT COUNT({}) FROM visits v",
    "SELECT COUNT(DISTINCT {}) FROM visits v",
    "SELECT MEDIAN({}) FROM visits v",
    "SELECT COUNT(*) + {} FROM visits v",
    "SELECT COUNT(*) FROM visits v WHERE {} = 1",
    "SELECT COUNT(*) FROM visits v WHERE {}",
    "SELECT COUNT(*) FROM visits v WHERE urgent OR COALESCE({}, 1) = 1",
    "SELECT COUNT(*) FROM visits v WHERE cost BETWEEN 1 AND {}",
    "SELECT COUNT(*) FROM visits v WHERE age IN (1, {})",
    "SELECT SUM(CASE WHEN {} IS NULL THEN 1 ELSE 2 END) FROM visits v",
    "SELECT SUM(CASE WHEN urgent THEN {} END) FROM visits v",
    "SELECT COUNT(*) FILTER (WHERE {} > 1) FROM visits v",
    "SELECT {} AS k, COUNT(*) FROM visits v GROUP BY k",
    "SELECT COUNT(*) FROM visits v GROUP BY {}",
    "SELECT COUNT(*) FROM visits v GROUP BY ward HAVING {} > 1",
    "SELECT COUNT(*) FROM visits v GROUP BY ward ORDER BY {}",
    "SELECT COUNT(*) FROM visits v LIMIT {}",
    "SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward AND {} = 1",
    "SELECT COUNT(*) FROM (SELECT {} AS x FROM visits v) t WHERE x IS NULL",
    "WITH a AS (SELECT ward FROM visits v WHERE {} IS NOT NULL) SELECT COUNT(*) FROM a",
    "WITH carried AS (SELECT {} FROM visits v) SELECT COUNT(*) FROM carried",
    "SELECT COUNT(*) FROM (SELECT patient_id, MAX({}) AS m FROM visits v GROUP BY patient_id) t WHERE m > 3",
    "SELECT QUANTILE_CONT(cost, {}) FROM visits v",
    "SELECT COUNT(*) FROM visits v WHERE day > DATE '2024-01-01' + INTERVAL ({}) DAY",
)  # fmt: skip

CARRIED = "WITH carried AS (SELECT {} FROM visits v) SELECT COUNT(*) FROM carried"
MEANT = {  # places that give a value a meaning: all rows, all columns, a column that nobody computes with
    ("SELECT COUNT({}) FROM visits v", "*"),
    *((CARRIED, value) for value in ("*", "v.*", "photo")),
}

TABLES = (
    "'x.parquet'", "'/etc/passwd'", '"x.csv"', "'s3://bucket/x.parquet'", "'https://example.org/x.csv'", "read_csv('x')",
    "read_parquet(['a', 'b'])", "glob('*')", "range(10)", "generate_series(1, 3) AS t", "(VALUES (1), (2)) AS t(x)",
    "information_schema.tables", "main.visits", "memory.main.visits", "pg_catalog.pg_class", "pg_class", "sqlite_master",
    "duckdb_tables()", "pragma_table_info('visits')", "visits TABLESAMPLE 10%", "visits TABLESAMPLE BERNOULLI (10)",
    "visits USING SAMPLE 10", "visits PIVOT (SUM(cost) FOR ward IN ('east'))", "visits UNPIVOT (a FOR b IN (cost, age))",
    "visits, LATERAL (SELECT 1) t", "visits, UNNEST([1, 2]) t(x)", "UNNEST([1, 2]) AS t(x)", "(visits JOIN wards ON true)",
    "(SELECT COUNT(*) FROM visits) t", "(SELECT ward, SUM(cost) FROM visits GROUP BY ward) t", "(SELECT DISTINCT ward FROM visits) t",
    "(SELECT * FROM visits LIMIT 5) t", "(SELECT * FROM visits ORDER BY cost LIMIT 1) t", "(SELECT * FROM visits OFFSET 5) t",
    "(SELECT * FROM visits UNION ALL SELECT * FROM visits) t", "(SELECT ward FROM visits EXCEPT SELECT ward FROM wards) t",
    "(SELECT ward FROM visits INTERSECT SELECT ward FROM wards) t", "(SELECT * EXCLUDE (cost) FROM visits) t",
    "(SELECT * REPLACE (1 AS cost) FROM visits) t", "(SELECT COLUMNS(*) FROM visits) t", "(FROM visits) x, visits",
    "(DELETE FROM visits RETURNING *) t", "(INSERT INTO visits VALUES (1) RETURNING *) t", "(TABLE visits) t, wards",
    "visits CROSS JOIN treatments", "visits, treatments", "visits JOIN treatments ON true", "visits NATURAL JOIN treatments",
    "visits POSITIONAL JOIN treatments", "visits ASOF JOIN treatments ON drug >= drug", "visits FULL JOIN treatments ON patient_id = patient",
    "visits v JOIN treatments t ON v.drug = t.drug", "visits v JOIN treatments t ON v.patient_id > t.patient",
    "visits v JOIN treatments t ON v.patient_id = t.patient OR true", "visits v JOIN treatments t ON v.patient_id + 0 = t.patient",
    "visits v JOIN treatments t ON NOT v.patient_id = t.patient", "visits v JOIN treatments t ON (v.patient_id = t.patient) = false",
    "visits v JOIN treatments t ON v.patient_id IS DISTINCT FROM t.patient", "visits v SEMI JOIN treatments t ON v.patient_id = t.patient",
    "visits v ANTI JOIN treatments t ON v.patient_id = t.patient", "wards LEFT JOIN visits USING (ward)", "visits RIGHT JOIN wards USING (ward)",
    "staff JOIN wards USING (ward)", "staff s JOIN visits v ON s.ward = v.ward", "staff s JOIN staff t ON s.ward = t.ward", "orphans",
    "visits v JOIN (SELECT patient + 1 AS p FROM treatments) t ON v.patient_id = t.p", "nothing", "VISIT", '" visits"',
    "visits FOR SYSTEM_TIME AS OF '2024-01-01'", "visits MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS true)", "wards", "wards JOIN drugs ON floor = drug",
    "(SELECT patient_id, cost FROM visits WINDOW w AS (PARTITION BY ward)) t", "(SELECT cost FROM visits QUALIFY ROW_NUMBER() OVER () = 1) t",
)  # fmt: skip

ENDINGS = (
    "QUALIFY ROW_NUMBER() OVER () = 1", "WINDOW w AS (PARTITION BY ward)", "USING SAMPLE 10", "FOR UPDATE", "FOR SHARE",
    "GROUP BY CUBE (ward)", "GROUP BY ROLLUP (ward)", "GROUP BY GROUPING SETS ((ward), ())", "GROUP BY patient_id", "GROUP BY (patient_id)",
    "GROUP BY v.patient_id, ward", "LIMIT 10%", "LIMIT -1", "LIMIT 1.5", "LIMIT 'a'", "LIMIT (SELECT 1)", "OFFSET -1", "ORDER BY ALL",
    "FETCH FIRST 3 ROWS WITH TIES", "INTO OUTFILE 'x'", "UNION SELECT 1", "UNION ALL SELECT cost FROM visits", "EXCEPT SELECT 1",
    "INTERSECT SELECT 1", "; SELECT 1", "; DROP TABLE visits", ";; COPY visits TO 'x'", "SETTINGS max_threads = 1", "FORMAT JSON", "CLUSTER BY ward",
    "DISTRIBUTE BY ward", "SORT BY ward", "CONNECT BY 1 = 1", "OPTION (x)", "LATERAL VIEW EXPLODE(ARRAY(1)) t AS x", "WHERE urgent WHERE urgent",
    "HAVING cost > 1", "ORDER BY cost", "ORDER BY 9", "GROUP BY 9", "GROUP BY COUNT(*)", "WHERE COUNT(*) > 1",
)  # fmt: skip

STATEMENTS = (
    "INSERT INTO visits VALUES (1)", "UPDATE visits SET cost = 1", "DELETE FROM visits", "DROP TABLE visits", "CREATE TABLE x AS SELECT 1",
    "CREATE VIEW x AS SELECT * FROM visits", "ALTER TABLE visits ADD x INT", "TRUNCATE visits", "COPY visits TO 'x'", "COPY visits FROM 'x'",
    "ATTACH 'x.db'", "DETACH x", "PRAGMA database_list", "SET memory_limit = '1GB'", "RESET x", "SHOW TABLES", "DESCRIBE visits",
    "EXPLAIN SELECT COUNT(*) FROM visits", "EXPLAIN ANALYZE SELECT 1", "INSTALL httpfs", "LOAD httpfs", "EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'",
    "CALL f()", "EXECUTE x", "PREPARE x AS SELECT 1", "DO $$ BEGIN END $$", "BEGIN", "COMMIT", "ROLLBACK", "VACUUM", "ANALYZE visits", "GRANT ALL ON x TO y",
    "USE x", "CHECKPOINT", "VALUES (1)", "TABLE visits", "FROM visits", "SUMMARIZE visits", "PIVOT visits ON ward USING SUM(cost)", "UNPIVOT visits ON cost",
    "MERGE INTO visits USING wards ON true WHEN MATCHED THEN DELETE", "LISTEN x", "NOTIFY x", "LOCK TABLE visits", "DECLARE x CURSOR FOR SELECT 1",
    "WITH a AS (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM a", "WITH a AS (SELECT 1) INSERT INTO visits SELECT * FROM a",
    "WITH a AS (INSERT INTO visits VALUES (1) RETURNING cost) SELECT SUM(cost) FROM a", "SELECT cost INTO x FROM visits", "SELECT 1", "SELECT",
    "SELECT COUNT(*)", "SELECT * FROM visits", "SELECT v.* FROM visits v", "SELECT cost FROM visits", "SELECT DISTINCT note FROM visits",
    "SELECT DISTINCT ON (ward) note FROM visits", "SELECT note FROM visits GROUP BY note", "SELECT ALL cost FROM visits", "SELECT TOP 1 cost FROM visits",
    "SELECT COUNT(*), cost FROM visits", "SELECT COUNT(*), note FROM visits GROUP BY ward", "SELECT AS STRUCT COUNT(*) FROM visits",
    "SELECT * FROM (SELECT COUNT(*) FROM visits) t", "SELECT MAX(note) || note FROM visits", "SELECT 'a' FROM visits", "SELECT patient_id FROM visits",
    "SELECT patient_id, COUNT(*) FROM visits GROUP BY 1", "SELECT patient_id AS p, COUNT(*) FROM visits GROUP BY p", "SELECT COUNT(*) FROM visits GROUP BY ALL, 1",
    "SELECT p, COUNT(*) FROM (SELECT patient_id AS p FROM visits) t GROUP BY p", "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM a) SELECT COUNT(*) FROM a",
    "SELECT patient_id, COUNT(*) FROM visits GROUP BY ALL", "SELECT COUNT(*) FROM visits -- fine\n; DROP TABLE visits", "SELECT COUNT(*) FROM visits /* */ ; SELECT 1",
    "SELECT t.p, COUNT(*) FROM (SELECT patient_id AS p FROM visits GROUP BY patient_id) t GROUP BY t.p",
)  # fmt: skip


def refused(sql: str, dialect: str | None = None) -> bool:
    try:
        lower(parse(sql, dialect), CLINIC)
    except Refused:
        return True
    return False


@pytest.mark.parametrize("place", PLACES)
def test_forbidden_values_in_every_place(place: str) -> None:
    accepted = [
        place.format(value) for value in VALUES if (place, value) not in MEANT and not refused(place.format(value))
    ]
    assert not accepted


@pytest.mark.parametrize("dialect", DIALECTS)
def test_forbidden_values_in_every_dialect(dialect: str) -> None:
    places = PLACES[:2] + PLACES[6:8] + PLACES[13:15]
    queries = [place.format(value) for place, value in product(places, VALUES)]
    if dialect in ("bigquery", "spark"):  # where double quotes are texts
        queries = [query for query in queries if '"' not in query]
    assert not [query for query in queries if not refused(query, dialect)]


@pytest.mark.parametrize("table", TABLES)
def test_forbidden_tables(table: str) -> None:
    assert refused(f"SELECT COUNT(*) FROM {table}")
    assert refused(f"WITH a AS (SELECT * FROM {table}) SELECT COUNT(*) FROM a")
    assert all(refused(f"SELECT COUNT(*) FROM {table}", dialect) for dialect in DIALECTS)


@pytest.mark.parametrize("ending", ENDINGS)
def test_forbidden_clauses(ending: str) -> None:
    assert refused(f"SELECT COUNT(*) FROM visits v {ending}")
    assert all(refused(f"SELECT COUNT(*) FROM visits v {ending}", dialect) for dialect in DIALECTS)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_forbidden_statements(statement: str) -> None:
    assert refused(statement)
    assert all(refused(statement, dialect) for dialect in DIALECTS)


DISGUISES: dict[str, Callable[[str], str]] = {
    "small": str.lower,
    "large": str.upper,
    "lines": lambda sql: sql.replace(" ", "\n\t"),
    "comments": lambda sql: sql.replace(" ", " /* harmless */ "),
    "endings": lambda sql: sql.replace(" ", " -- harmless\n"),
    "nested comments": lambda sql: f"/* a /* b */ c */ {sql}",
    "semicolon": lambda sql: f"{sql};",
    "wide spaces": lambda sql: sql.replace(" ", "\u00a0"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_disguises_do_not_help(disguise: str) -> None:
    change = DISGUISES[disguise]
    queries = [*STATEMENTS, *(f"SELECT COUNT(*) FROM {table}" for table in TABLES)]
    queries += [place.format(value) for place in (PLACES[1], PLACES[7]) for value in VALUES]
    assert not [query for query in queries if not refused(change(query))]


def test_the_frames_themselves_are_accepted() -> None:
    """Were they not, nothing above would show anything: each place, with a value that is allowed there."""
    fits = {1: "cost", 7: "urgent", 10: "2", 17: "ward", 18: "5", 24: "0.5", 25: "3"}
    for i, place in enumerate(PLACES):
        query = place.format(fits.get(i, "age") if i not in (0, 5, 16) else "1")
        assert not refused(query), query
    assert not refused("SELECT COUNT(*) FROM visits")


def test_the_corpus_is_large() -> None:
    assert len(PLACES) * len(VALUES) + len(TABLES) + len(ENDINGS) + len(STATEMENTS) > 3000
