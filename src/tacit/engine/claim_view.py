"""The tables that a view reads: in a DuckDB file by its definition, in PostgreSQL by the catalogue."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from tacit.base import TacitError
from tacit.policy.claim import WHOLE, Claim
from tacit.policy.source import identity, is_url

__all__ = ["postgres_origins", "tables_behind"]

VIEWS = "SELECT lower(schema_name || '.' || view_name), sql FROM duckdb_views() WHERE NOT internal"
MAY_KNOW = "SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
SYSTEM = "SELECT system_identifier FROM pg_catalog.pg_control_system()"
# the table itself, what a view reads, and the parts of a table that is in parts
READS = """
WITH RECURSIVE reads(id) AS (
    SELECT {table}::pg_catalog.regclass::pg_catalog.oid
    UNION
    SELECT found.id FROM reads r CROSS JOIN LATERAL (
        SELECT d.refobjid AS id FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d
            ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
            AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
            WHERE w.ev_class = r.id
        UNION ALL
        SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = r.id
    ) found
)
SELECT c.oid::pg_catalog.int8, n.nspname || '.' || c.relname, c.oid = {table}::pg_catalog.regclass,
    (SELECT d.oid::pg_catalog.int8 FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
FROM reads r JOIN pg_catalog.pg_class c ON c.oid = r.id JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'pg_catalog'
"""


def tables_behind(path: Path, name: str) -> list[str]:
    """The tables of a DuckDB file that this view reads, and the views between; none for a table.

    `WHOLE` is among them if that cannot be told from the definition.
    """
    if not path.is_file():
        return []
    views = _views(path)
    found: list[str] = []
    waiting = [name]
    while waiting:
        definition = views.get(waiting.pop())
        for table in [] if definition is None else _named_in(definition):
            if table not in found and table != name:
                found.append(table)
                waiting.append(table)
    return found


def _views(path: Path) -> dict[str, str]:
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            return dict(connection.execute(VIEWS).fetchall())
    except duckdb.Error:
        pass  # its text may hold names that are not the caller's
    raise TacitError(f"{path.name} cannot be opened as a DuckDB file: nothing was charged, and nothing was looked at")


def _named_in(definition: str) -> Iterator[str]:
    try:
        read = sqlglot.parse_one(definition, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        yield WHOLE
        return
    query = read.expression if isinstance(read, exp.Create) else read
    own = {cte.alias_or_name.casefold() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.catalog:
            yield WHOLE  # a function, or another database
        elif table.db or table.name.casefold() not in own:
            yield f"{table.db or 'main'}.{table.name}".casefold()


Fetch = Callable[[str], Sequence[Sequence[Any]]]


def postgres_origins(fetch: Fetch, table: str, url: str, unit: str | None) -> tuple[Claim, ...]:
    """A table and what it reads, by their numbers in this very server and by their names. `table` is quoted SQL."""
    place = identity(url) if is_url(url) else None  # libpq knows other ways to say where a server is
    quoted = "'" + table.replace("'", "''") + "'"
    found = list(zip(*fetch(READS.format(table=quoted)), strict=True))
    system = fetch(SYSTEM)[0][0] if fetch(MAY_KNOW)[0][0] else None
    claims = set()
    for number, name, own, database in found:
        if place is not None:
            claims.add(Claim(place, name, unit if own else None))
        if system is not None:
            claims.add(Claim(f"postgresql:{system}/{database}", str(number), unit if own else None))
    return tuple(claims)
