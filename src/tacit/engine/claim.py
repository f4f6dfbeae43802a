"""What a policy's protected tables are read from, so that a ledger notices the same data under another name.

Files are claimed by their path, without links, and by their number in the file system; each file of a folder is one.
Tables of a database are claimed by the name they have there, and by their number if the engine is at hand to ask; so
are the tables behind a view. No rows are read. Of a text file the original is claimed, not the copy that is read.
"""

import os
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

import duckdb
import sqlglot
from sqlglot import exp

from tacit.base import PolicyError, TacitError
from tacit.engine.connect import local_table
from tacit.engine.dialect import POSTGRES
from tacit.engine.engine import Engine
from tacit.engine.result import Fetch
from tacit.policy import Claim, Policy
from tacit.policy.link import links_from
from tacit.policy.model import EngineName as Kind
from tacit.policy.model import Where
from tacit.policy.source import EACH_ROW, EVERY_FILE, TREE, WHOLE, by_column, by_columns, by_link, identity, is_url
from tacit.policy.source import FILES as ENDINGS

__all__ = ["claims_of", "postgres_origins", "tables_behind"]

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
    known = [name]
    for at in known:  # which grows
        known += dict.fromkeys(table for table in _named_in(views.get(at)) if table not in known)
    return known[1:]


def _views(path: Path) -> dict[str, str]:
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            return dict(connection.execute(VIEWS).fetchall())
    except duckdb.Error:
        pass  # its text may hold names that are not the caller's
    raise TacitError(f"{path.name} cannot be opened as a DuckDB file: nothing was charged, and nothing was looked at")


def _named_in(definition: str | None) -> Iterator[str]:
    if definition is None:
        return
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


def postgres_origins(fetch: Fetch, table: str, url: str, unit: str | None) -> tuple[Claim, ...]:
    """A table and what it reads, by their numbers in this very server and by their names. `table` is quoted SQL."""
    place = identity(url) if is_url(url) else None  # libpq knows other ways to say where a server is
    found = list(zip(*fetch(READS.format(table=POSTGRES.text(table))), strict=True))
    system = fetch(SYSTEM)[0][0] if fetch(MAY_KNOW)[0][0] else None
    claims = set()
    for number, name, own, database in found:
        if place is not None:
            claims.add(Claim(place, name, unit if own else None))
        if system is not None:
            claims.add(Claim(f"postgresql:{system}/{database}", str(number), unit if own else None))
    return tuple(claims)


LONGEST = 900  # bytes of a path that is written out
MEMORY = "memory:"
CATALOG = "spark-catalog:"  # whichever master runs the questions
UNSAID = ("spark_catalog", "default")  # what Spark puts before a name that is not said in full


def claims_of(policy: Policy, engine: Engine | None = None, tables: Collection[str] | None = None) -> tuple[Claim, ...]:
    """The claims of these tables, or of all; a public table may be everybody's, and is claimed by nobody.

    Without the engine only what the policy and the file system tell.
    """
    found: set[Claim] = set()
    for name in policy.tables if tables is None else tables:
        table = policy.tables.get(name)
        if table is not None and table.private:
            unit = _unit(policy, name)
            found.update(_claims(policy, name, policy.where(name), unit))
            found.update(() if engine is None else engine.origins(name, unit))
    if engine is None:  # a file that is not there yet
        found = {claim for claim in found if not claim.place.startswith(MEMORY)}
    return tuple(sorted(found, key=lambda claim: (claim.place, claim.part, claim.unit or "")))


def _unit(policy: Policy, name: str) -> str | None:
    """Whom a row is counted for; None if nobody is named yet."""
    links = links_from(policy.tables, name)
    end = policy.tables[links[-1].table if links else name]
    columns = end.unit_columns
    if end.each_row_is_a_unit or not columns:
        return EACH_ROW if end.each_row_is_a_unit else None
    unit = by_column(columns[0]) if len(columns) == 1 else by_columns(columns)
    return (
        by_link(tuple(part for each in links for part in (each.column, each.table, each.key)), unit) if links else unit
    )


def _claims(policy: Policy, name: str, where: Where, unit: str | None) -> Iterator[Claim]:
    kind = policy.dataset.engine
    if where.file is not None and is_url(where.file) and not where.file.lower().startswith("file:"):
        scheme, _, rest = identity(where.file).partition("://")  # one name for what is in a store of objects
        yield Claim(f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}", WHOLE, unit)
    elif kind is Kind.POSTGRES:
        if where.database is not None:
            yield Claim(identity(where.database), _in_schema(where.name or name, "public"), unit)
    elif kind is Kind.SPARK and where.file is None:
        parts = (where.name or name).casefold().split(".")
        full = ".".join([*UNSAID[: max(0, 3 - len(parts))], *parts])
        yield Claim(CATALOG, full, unit)
        if policy.dataset.source is not None and is_url(policy.dataset.source):
            yield Claim(identity(policy.dataset.source), full, unit)
    else:
        yield from _local(policy, name, where, unit, deep=kind is Kind.SPARK)


def _in_schema(name: str, schema: str) -> str:
    return name if "." in name else f"{schema}.{name}"


# --- files


def _local(policy: Policy, name: str, where: Where, unit: str | None, *, deep: bool) -> Iterator[Claim]:
    file = where.file
    try:
        found = (
            local_table(name, where) if file is None else Path(unquote(urlsplit(file).path) if is_url(file) else file)
        )
    except PolicyError:
        found = None
    place, inside = found if isinstance(found, tuple) else (found, None)
    if place is None or not place.exists():  # in memory, perhaps: then only its policy has a name for it
        yield Claim(f"{MEMORY}{policy.dataset.identity}", name, unit)
    if place is None:
        return
    if inside is not None:
        table = _in_schema(inside, "main").casefold()
        for part, whose in [(table, unit), *((each, None) for each in tables_behind(place, table))]:
            yield from _file(place, part, whose)
    elif place.is_dir():
        yield Claim(_named(place), TREE if deep else EVERY_FILE, unit)
        for file in sorted(place.rglob("*") if deep else place.iterdir()):
            if file.suffix.lower() in ("", *ENDINGS) and file.is_file():
                yield from _file(file, WHOLE, unit)
    else:
        yield from _file(place, WHOLE, unit)


def _file(path: Path, part: str, unit: str | None) -> Iterator[Claim]:
    yield Claim(_named(path), part, unit)
    try:
        state, system = path.stat(), os.statvfs(path)
    except OSError:
        return  # it went away: nobody reads it
    # the number of the file system, which stays when devices are numbered anew at a start; not all have one
    yield Claim(f"inode:{system.f_fsid or state.st_dev:x}:{state.st_ino}", part, unit)


def _named(path: Path) -> str:
    """`file:` and the path without links; by its hash if it is not text that a ledger takes."""
    real = os.path.realpath(path)
    if real.isprintable() and len(os.fsencode(real)) <= LONGEST:
        return f"file:{real}"
    return f"file:sha256:{sha256(os.fsencode(real)).hexdigest()}"
