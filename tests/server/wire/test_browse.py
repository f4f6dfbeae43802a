"""What other programs ask of the catalogue when they connect, in the shape they ask it: all of it is answered.

Written after what DBeaver, Metabase, Grafana, Superset, psqlODBC (Tableau, Excel) and Npgsql (Power BI) are known to
send; the programs themselves do not run here.
"""

from typing import Any

import psycopg
import pytest

from support.wire import Served

QUERIES: dict[str, tuple[str, Any]] = {
    "a name and a schema": ("SELECT current_schema(), session_user, user", [("public", "ana", "ana")]),
    "the version": ("SELECT version()", [("PostgreSQL 15.0 (tacit)",)]),
    "the version, by its schema": ("SELECT pg_catalog.version()", [("PostgreSQL 15.0 (tacit)",)]),
    "databases": (
        "SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE db.datallowconn AND NOT db.datistemplate ORDER BY 3",
        1,
    ),
    "schemas with their comments": (
        "SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d "
        "ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname",
        3,
    ),
    "tables with their comments": (
        "SELECT c.relname, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, "
        "pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN "
        "pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass "
        "WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY 1",
        [("visits", "protected: each patient", None, None), ("wards", "public", None, None)],
    ),
    "types with what they are based on": (
        "SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base FROM "
        "pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN "
        "pg_catalog.pg_class c ON c.oid = t.typrelid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR "
        "c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')",
        16,
    ),
    "columns with defaults and dependencies": (
        "SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, "
        "dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) "
        "LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) "
        "LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) "
        "LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = "
        "a.attnum AND dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.oid = 16384 ORDER BY a.attnum",
        6,
    ),
    "one setting": ("SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_index_keys'", [("32",)]),
    "tables, and an estimate that is not told": (
        "SELECT n.nspname AS \"schema\", c.relname AS \"name\", CASE c.relkind WHEN 'r' THEN 'TABLE' ELSE NULL END AS "
        '"type", NULLIF(c.reltuples, -1) AS "estimated_row_count" FROM pg_catalog.pg_class AS c INNER JOIN '
        "pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid WHERE n.nspname !~ '^information_schema|pg_' AND "
        "c.relkind IN ('r', 'p', 'v', 'f', 'm') ORDER BY 2",
        [("public", "visits", "TABLE", None), ("public", "wards", "TABLE", None)],
    ),
    "columns with formatted names": (
        "SELECT c.column_name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN FORMAT('%s', c.udt_name) ELSE "
        "FORMAT('%I.%I', c.udt_schema, c.udt_name) END AS kind, c.ordinal_position - 1 AS place, "
        "COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS "
        "REGCLASS) AS OID), c.ordinal_position) AS comment FROM information_schema.columns AS c "
        "WHERE c.table_schema = 'public' AND c.column_name = 'cost'",
        [("cost", "numeric", 1, "bounds = [0, 50]")],
    ),
    "what may be done, in names that are words of SQL": (
        "with table_privileges as (select t.schemaname as schema, t.objectname as table, "
        "pg_catalog.has_any_column_privilege(current_user, '\"' || replace(t.schemaname, '\"', '\"\"') || '\"', "
        "'update') as update, pg_catalog.has_any_column_privilege(current_user, t.objectname, 'select') as select "
        "from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname "
        "from pg_catalog.pg_views) t where t.schemaname !~ '^pg_' and "
        "pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) select t.* from table_privileges t",
        [("public", "visits", False, True), ("public", "wards", False, True)],
    ),
    "foreign keys": (
        "SELECT a.attname FROM pg_constraint c JOIN pg_attribute a ON c.conrelid = a.attrelid WHERE c.contype = 'f' "
        "AND a.attnum = ANY(c.conkey)",
        0,
    ),
    "columns by joins in brackets": (
        "select n.nspname, c.relname, a.attname, t.typname, pg_get_expr(d.adbin, d.adrelid) from ((("
        "pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname like "
        "'visits') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attrelid = "
        "c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef "
        "and d.adrelid = a.attrelid order by attnum",
        6,
    ),
    "a type that is not there": ("select oid, typbasetype from pg_type where typname = 'lo'", 0),
    "types by how they are received": (
        "SELECT ns.nspname, t.oid, t.typname FROM (SELECT typ.oid, typnamespace, typname, CASE WHEN proc.proname = "
        "'array_recv' THEN 'a' ELSE typ.typtype END AS typtype, CASE WHEN typ.typtype = 'm' THEN (SELECT rngtypid FROM "
        "pg_range WHERE rngmultitypid = typ.oid) END AS elemtypoid FROM pg_type AS typ LEFT JOIN pg_proc AS proc ON "
        "proc.oid = typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)) AS t JOIN pg_namespace AS ns "
        "ON (ns.oid = typnamespace) WHERE typtype IN ('b', 'r', 'm', 'e', 'd')",
        16,
    ),
    "tables in the order of the search path": (
        'SELECT quote_ident(table_name) AS "table" FROM information_schema.tables ORDER BY CASE WHEN table_schema IN '
        "(SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM generate_series("
        "array_lower(string_to_array(current_setting('search_path'), ','), 1), 3) AS i, "
        "string_to_array(current_setting('search_path'), ',') s) THEN 0 ELSE 1 END, 1",
        2,
    ),
    "is anybody there": ("SELECT 'keep alive'", [("keep alive",)]),
    "no rows": ("SELECT 1 AS one WHERE 1 = 0", 0),
}


@pytest.mark.parametrize(("sql", "wanted"), QUERIES.values(), ids=QUERIES)
def test_it_is_answered_in_both_protocols(served: Served, sql: str, wanted: Any) -> None:
    with served.connect() as connection:
        simple = psycopg.ClientCursor(connection).execute(sql.encode()).fetchall()
        extended = connection.execute(sql.replace("%", "%%").encode(), ()).fetchall()
    assert simple == extended
    assert (len(simple) if isinstance(wanted, int) else simple) == wanted


def test_several_settings_at_once_as_odbc_sends_them(served: Served) -> None:
    with served.raw() as raw:
        sql = b"SET DateStyle = 'ISO'; SET extra_float_digits = 2; show transaction_isolation\0"
        assert [tag for tag, _ in raw.said((b"Q", sql)) if tag in b"CTDE"] == [b"C", b"C", b"T", b"D", b"C"]


def test_what_looks_like_a_name_after_as_stays_a_question(served: Served) -> None:
    with served.connect() as connection:
        found = connection.execute("SELECT 'x as select from' AS update, 1 AS \"AS select,\"")
        assert found.fetchall() == [("x as select from", 1)]
        assert [column.name for column in found.description or ()] == ["update", "AS select,"]
