"""The catalogue's rows: what a policy declares, as PostgreSQL would list it. Nothing is read from the data.

The policy is the one that the desk gives this person, which names what they may know of and nothing else.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from tacit.policy import Policy
from tacit.policy.column import Column
from tacit.policy.problem import shown
from tacit.policy.types import ColumnType
from tacit.server.people import Identity
from tacit.server.wire.catalog_tables import TABLES

__all__ = ["CLASSES", "FIRST", "NAMESPACES", "TYPES", "comments", "fill", "listed"]

OWNER, DATABASE, HEAP = 10, 5, 2
NAMESPACES = {"pg_catalog": 11, "public": 2200, "information_schema": 13000}
CLASSES = {name: 9000 + number for number, (_, name) in enumerate(TABLES)}  # those with a number of PostgreSQL's follow
CLASSES |= {"pg_class": 1259, "pg_type": 1247, "pg_attribute": 1249, "pg_namespace": 2615, "pg_constraint": 2606}
FIRST = 16384
AFFINITY = {"text": "TEXT", "float8": "REAL"}
TYPES = {  # number: (name, as people read it, bytes, category, array of it, element)
    16: ("bool", "boolean", 1, "B", 1000, 0),
    19: ("name", "name", 64, "S", 1003, 0),
    20: ("int8", "bigint", 8, "N", 1016, 0),
    21: ("int2", "smallint", 2, "N", 1005, 0),
    23: ("int4", "integer", 4, "N", 1007, 0),
    25: ("text", "text", -1, "S", 1009, 0),
    26: ("oid", "oid", 4, "N", 1028, 0),
    701: ("float8", "double precision", 8, "N", 1022, 0),
    1043: ("varchar", "character varying", -1, "S", 1015, 0),
    1082: ("date", "date", 4, "D", 1182, 0),
    1114: ("timestamp", "timestamp without time zone", 8, "D", 1115, 0),
    1700: ("numeric", "numeric", -1, "N", 1231, 0),
    1000: ("_bool", "boolean[]", -1, "A", 0, 16),
    1009: ("_text", "text[]", -1, "A", 0, 25),
    1016: ("_int8", "bigint[]", -1, "A", 0, 20),
    1022: ("_float8", "double precision[]", -1, "A", 0, 701),
}
OF_COLUMNS = {
    ColumnType.INTEGER: 20,
    ColumnType.DECIMAL: 1700,
    ColumnType.FLOAT: 701,
    ColumnType.BOOLEAN: 16,
    ColumnType.TEXT: 25,
    ColumnType.DATE: 1082,
    ColumnType.TIMESTAMP: 1114,
}
UNTYPED = 25  # a column without a declared type cannot be asked about yet, but it is there


def listed(policy: Policy) -> dict[str, dict[str, Column]]:
    """The tables in the order of their numbers, with the columns that are not hidden."""
    return {
        name: {key: column for key, column in table.columns.items() if not column.hidden}
        for name, table in sorted(policy.tables.items())
    }


def comments(policy: Policy, who: Identity) -> dict[tuple[int, int], str]:
    """What is said of each table (column 0) and column."""
    rows = (row for table, row in _rows(policy, who, ()) if table == "pg_catalog.pg_description")
    return {(row["objoid"], row["objsubid"]): row["description"] for row in rows}


def fill(base: sqlite3.Connection, policy: Policy, who: Identity, settings: Sequence[tuple[str, str]]) -> None:
    """Create the catalogue's tables in an empty database and write their rows."""
    for schema in sorted({schema for schema, _ in TABLES}):
        base.execute(f"ATTACH ':memory:' AS {schema}")
    for (schema, name), columns in TABLES.items():
        # declared, so that SQLite compares '16384' with a number as PostgreSQL does
        names = ", ".join(f'"{column}" {AFFINITY.get(kind, "INTEGER")}' for column, kind in columns.items())
        base.execute(f"CREATE TABLE {schema}.{name} ({names})")
    for table, row in _rows(policy, who, settings):
        names = ", ".join(f'"{column}"' for column in row)
        base.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


Row = tuple[str, dict[str, Any]]


def _rows(policy: Policy, who: Identity, settings: Sequence[tuple[str, str]]) -> Iterator[Row]:
    dataset = policy.dataset.name
    for name, oid in NAMESPACES.items():
        yield "pg_catalog.pg_namespace", {"oid": oid, "nspname": name, "nspowner": OWNER}
        schema = {"catalog_name": dataset, "schema_name": name, "schema_owner": "tacit"}
        yield "information_schema.schemata", schema
    yield "pg_catalog.pg_am", {"oid": HEAP, "amname": "heap", "amtype": "t"}
    yield "pg_catalog.pg_database", _database(dataset)
    for oid, name in ((OWNER, "tacit"), (OWNER + 1, who.name)):
        plain = dict.fromkeys(("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls"), 0)
        role = {"oid": oid, "rolname": name, "rolinherit": 1, "rolcanlogin": int(oid != OWNER), "rolconnlimit": -1}
        yield "pg_catalog.pg_roles", {**role, **plain}
        yield "pg_catalog.pg_user", {"usename": name, "usesysid": oid, "usesuper": 0, "usecreatedb": 0}
    for name, value in settings:
        yield "pg_catalog.pg_settings", {"name": name, "setting": value, "vartype": "string", "context": "user"}
    for oid, (name, _, size, category, array, element) in TYPES.items():
        yield "pg_catalog.pg_type", _type(oid, name, size, category, array, element)
    for number, (name, columns) in enumerate(listed(policy).items()):
        yield from _table(policy, FIRST + number, name, columns)


def _database(dataset: str) -> dict[str, Any]:
    row = {"oid": DATABASE, "datname": dataset, "datdba": OWNER, "encoding": 6, "datlocprovider": "c"}
    more = {"datistemplate": 0, "datallowconn": 1, "datconnlimit": -1, "dattablespace": 0}
    return {**row, **more, "datcollate": "C", "datctype": "C"}


def _type(oid: int, name: str, size: int, category: str, array: int, element: int) -> dict[str, Any]:
    row = {"oid": oid, "typname": name, "typnamespace": NAMESPACES["pg_catalog"], "typowner": OWNER, "typlen": size}
    more = {"typtype": "b", "typcategory": category, "typisdefined": 1, "typdelim": ",", "typrelid": 0}
    last = {"typbasetype": 0, "typtypmod": -1, "typndims": 0, "typcollation": 0, "typnotnull": 0, "typispreferred": 0}
    return {**row, **more, **last, "typelem": element, "typarray": array, "typbyval": int(0 < size <= 8)}


def _table(policy: Policy, oid: int, name: str, columns: dict[str, Column]) -> Iterator[Row]:
    dataset, declared = policy.dataset.name, policy.tables[name]
    public = NAMESPACES["public"]
    flags = "relhasindex relisshared relhasrules relhastriggers relhassubclass relrowsecurity relforcerowsecurity"
    row: dict[str, Any] = {"oid": oid, "relname": name, "relnamespace": public, "relowner": OWNER, "relam": HEAP}
    row |= dict.fromkeys((*flags.split(), "relispartition", "relchecks", "reltoastrelid", "reltablespace"), 0)
    row |= {"relkind": "r", "relpersistence": "p", "relreplident": "d", "relnatts": len(columns), "reloftype": 0}
    # how many rows there are is not for the catalogue to say: -1 is PostgreSQL's own "not known"
    row |= {"reltype": 0, "relpages": 0, "reltuples": -1, "relispopulated": 1, "relfilenode": 0}
    yield "pg_catalog.pg_class", row
    table = {"schemaname": "public", "tablename": name, "tableowner": "tacit"}
    yield "pg_catalog.pg_tables", {**table, "hasindexes": 0, "hasrules": 0, "hastriggers": 0, "rowsecurity": 0}
    place = {"table_catalog": dataset, "table_schema": "public", "table_name": name}
    base = {"table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}
    yield "information_schema.tables", {**place, **base}
    rights = {"grantor": "tacit", "grantee": "PUBLIC", "privilege_type": "SELECT", "is_grantable": "NO"}
    yield "information_schema.table_privileges", {**place, **rights}
    comment = "public" if declared.public else f"protected: each {policy.privacy.unit}"
    yield "pg_catalog.pg_description", _comment(oid, 0, comment)
    for number, (key, column) in enumerate(columns.items(), 1):
        yield from _column(place, oid, number, key, column)


def _column(place: dict[str, Any], table: int, number: int, name: str, column: Column) -> Iterator[Row]:
    oid = UNTYPED if column.type is None else OF_COLUMNS[column.type]
    short, words, size, *_ = TYPES[oid]
    row = {"attrelid": table, "attname": name, "atttypid": oid, "attlen": size, "attnum": number, "atttypmod": -1}
    more = {"attnotnull": int(not column.nullable), "attidentity": "", "attgenerated": "", "attstorage": "p"}
    zero = ("attndims", "atthasdef", "atthasmissing", "attisdropped", "attinhcount", "attcollation")
    full = {**row, **more, **dict.fromkeys(zero, 0), "attislocal": 1, "attstattarget": -1, "attcompression": ""}
    yield "pg_catalog.pg_attribute", full
    nullable = "YES" if column.nullable else "NO"
    kind = {"data_type": words, "udt_catalog": place["table_catalog"], "udt_schema": "pg_catalog", "udt_name": short}
    view = {"column_name": name, "ordinal_position": number, "is_nullable": nullable, "is_updatable": "NO"}
    rest = {"is_identity": "NO", "is_generated": "NEVER", "dtd_identifier": str(number), "is_self_referencing": "NO"}
    yield "information_schema.columns", {**place, **view, **kind, **rest}
    facts = [f"{word} = {shown(value)}" for word in ("bounds", "keys") if (value := getattr(column, word)) is not None]
    if facts:
        yield "pg_catalog.pg_description", _comment(table, number, "; ".join(facts))


def _comment(oid: int, number: int, text: str) -> dict[str, Any]:
    return {"objoid": oid, "classoid": CLASSES["pg_class"], "objsubid": number, "description": text}
