"""Whose a linked row is: the keys of the table that a link leads to, each beside the units of its rows.

One line for each row of that table, not for each key: a key that is there twice leads to both units, so what one unit
stores takes nothing from another. Lines without a key or a unit lead nowhere.
"""

from collections.abc import Mapping
from dataclasses import replace

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.engine.unit import StoredTable, UnitKind, UnitPart, part_kinds, unit_sql, whole_unit_sql
from tacit.plan.node import Scan
from tacit.plan.owner import UnitPath

__all__ = ["OWNER_KEY", "UNIT", "own_unit_sql", "owners_sql", "stored_type", "unit_kinds"]

UNIT = "tacit unit"
OWNER_KEY = "tacit key"


def stored_type(stored: StoredTable, column: str) -> str:
    """The engine's name for the type of a column."""
    if column not in stored.types:
        raise InputError(f"the data has no column {column!r}: name it as it is there, or remove it")
    return stored.types[column]


def own_unit_sql(path: UnitPath, stored: StoredTable, dialect: Dialect) -> str:
    """The unit of a row of the table at the end of a path."""
    return whole_unit_sql(_parts(path, stored, dialect), dialect)


def _parts(path: UnitPath, stored: StoredTable, dialect: Dialect) -> list[UnitPart]:
    return [
        UnitPart(raw=dialect.identifier(column), declared=kind, native=stored_type(stored, column))
        for column, kind in zip(path.columns, path.types, strict=True)
    ]


def owners_sql(path: UnitPath, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    """SELECT of the keys that the first link leads to and of their units, once for each row there."""
    link, rest = path.links[0], path.links[1:]
    if link.table not in tables:
        raise InputError(f"table {link.table!r} was not given to this engine: a link leads to it, so name it there")
    stored, name = tables[link.table], dialect.identifier
    key = unit_sql(name(link.key), link.key_type, stored_type(stored, link.key), dialect)
    if not rest:
        unit = own_unit_sql(path, stored, dialect)
        chosen = f"SELECT {key} AS {name(OWNER_KEY)}, {unit} AS {name(UNIT)} FROM {stored.sql}"
        return f"{chosen} WHERE {unit} IS NOT NULL"  # what equals a key is not NULL
    further = owners_sql(replace(path, links=rest), dialect, tables)
    column = unit_sql(name(rest[0].column), rest[0].column_type, stored_type(stored, rest[0].column), dialect)
    return (
        f"SELECT {key} AS {name(OWNER_KEY)}, o.{name(UNIT)} FROM {stored.sql} AS t JOIN ({further}) AS o "
        f"ON {column} = o.{name(OWNER_KEY)}"
    )


def unit_kinds(scan: Scan, tables: Mapping[str, StoredTable], dialect: Dialect) -> tuple[UnitKind, ...]:
    """What the units of a table are compared as."""
    if scan.path is not None:
        return part_kinds(_parts(scan.path, tables[scan.reads[-1]], dialect))
    source = next(source for source in scan.columns if source.name == scan.unit)
    native = stored_type(tables[scan.table], source.column)
    return part_kinds([UnitPart(raw="", declared=scan.unit_type, native=native)])
