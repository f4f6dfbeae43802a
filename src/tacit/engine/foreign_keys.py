"""The foreign keys of a database, by name, as links that a policy may declare. No row is read."""

from collections.abc import Iterable, Mapping
from typing import Any

from tacit.policy import TableLink

__all__ = ["IN_DUCKDB", "IN_POSTGRES", "proposed_links"]

# of one column each: schema, table and column, and where they lead to
IN_DUCKDB = """
SELECT schema_name, table_name, constraint_column_names[1], schema_name, referenced_table, referenced_column_names[1]
FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' AND len(constraint_column_names) = 1
AND database_name = current_database() ORDER BY schema_name, table_name, constraint_index
"""
IN_POSTGRES = """
SELECT n.nspname::text, c.relname::text, a.attname::text, m.nspname::text, d.relname::text, b.attname::text
FROM pg_catalog.pg_constraint f
JOIN pg_catalog.pg_class c ON c.oid = f.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class d ON d.oid = f.confrelid JOIN pg_catalog.pg_namespace m ON m.oid = d.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = f.conkey[1]
JOIN pg_catalog.pg_attribute b ON b.attrelid = d.oid AND b.attnum = f.confkey[1]
WHERE f.contype = 'f' AND pg_catalog.cardinality(f.conkey) = 1 ORDER BY 1, 2, f.conname
"""


def proposed_links(
    rows: Iterable[tuple[Any, ...]], names: Mapping[tuple[str, str], str]
) -> dict[str, tuple[TableLink, ...]]:
    """The links of each table; `names` are what tables are called in the policy. A table that leads to itself says
    nothing of whose its rows are."""
    found: dict[str, list[TableLink]] = {}
    for schema, table, column, other, target, key in rows:
        here, there = names.get((schema, table)), names.get((other, target))
        if here is not None and there is not None and here != there:
            found.setdefault(here, []).append(TableLink(column=column, table=there, key=key))
    return {name: tuple(links) for name, links in found.items()}
