"""Questions to the catalogue (psql's \\d, reflection, schema browsers), answered from declared facts alone.

The client's SQL runs in a sealed SQLite in memory that holds nothing but the policy's names and types. It may only
read, and may neither run for long nor give much.
"""

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache, partial
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tacit.policy import Policy
from tacit.server.auth.people import Identity
from tacit.server.problem import Fault
from tacit.server.wire.catalog.tables import CLASSES, FIRST, NAMESPACES, SCHEMAS, TABLES, TYPES, comments, fill, listed
from tacit.server.wire.catalog.translate import read_catalog, rows_of, to_sqlite
from tacit.server.wire.setting import Settings
from tacit.server.wire.value import WireField
from tacit.server.wire.value import listed as array_items

__all__ = ["catalog_tree", "look_up"]

STEPS = 1000  # of SQLite's machine between two looks at the clock
MOST_STEPS = 5_000  # looks: a second or so
MOST_ROWS = 20_000
LENGTH = 1_000_000
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# SQLite's own functions that mean what they mean in PostgreSQL; with ours, the only ones
NATIVE = (
    "abs avg char coalesce concat concat_ws count current_date current_time current_timestamp dense_rank "
    "group_concat instr json_object length like lower ltrim max min nullif rank replace round row_number rtrim "
    "substr substring sum trim upper"
)
NOTHING = (  # of things that this catalogue does not have, or does not tell
    "pg_get_expr pg_get_indexdef pg_get_constraintdef pg_get_viewdef pg_get_serial_sequence pg_get_partkeydef "
    "pg_get_statisticsobjdef_columns pg_get_function_result pg_get_function_arguments pg_get_triggerdef "
    "pg_get_ruledef shobj_description pg_tablespace_location pg_get_function_identity_arguments "
    "pg_table_size pg_relation_size pg_total_relation_size pg_get_functiondef"
)
OF_NOTHING = "pg_size_pretty age"  # asked of columns that are NULL here
VISIBLE = "pg_table_is_visible pg_type_is_visible pg_function_is_visible pg_collation_is_visible pg_opclass_is_visible"
GRANTED = "has_table_privilege has_schema_privilege has_database_privilege has_column_privilege "
GRANTED += "has_any_column_privilege has_function_privilege has_sequence_privilege has_type_privilege pg_has_role"
READS = {"select", "usage", "connect", "execute", "member"}  # nothing is written here, whoever it is


def catalog_tree(sql: str) -> exp.Expr | None:
    """The tree of a question to the catalogue; None for any other. A `Fault` if it asks what the catalogue has not."""
    tree = read_catalog(sql)
    if tree is None:
        return None
    own, every = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}, list(tree.find_all(exp.Table))
    named = [(table.db.lower(), table.name.lower()) for table in every if isinstance(table.this, exp.Identifier)]
    if not all(schema in SCHEMAS or (not schema and (name in own or name.startswith("pg_"))) for schema, name in named):
        return None
    for node in (*tree.find_all(exp.Unnest), *every):
        if not isinstance(node.this, exp.Identifier):
            rows_of(node)  # a function, or a fault
    for schema, name in named:
        if (schema or "pg_catalog", name) not in TABLES and (schema or name not in own):
            missing = f'there is no table "{name[:100]}" in the catalogue'
            raise Fault("42P01", missing, "it has the tables of the policy")
    return tree


def look_up(
    tree: exp.Expr, fields: Sequence[WireField], policy: Policy, who: Identity, settings: Settings
) -> list[tuple[Any, ...]]:
    """The rows of a catalogue question."""
    named = {"user": who.name, "schema": "public", "database": policy.dataset.name}
    sql, faults = to_sqlite(tree, named), list[Fault]()
    with closing(sqlite3.connect(":memory:")) as base:
        if tree.find(exp.Table) is not None:  # SELECT 1 needs none of it
            fill(base, policy, who, settings.all())
        ours = _functions(policy, who, settings)
        for name, arity, function in ours:
            base.create_function(name, arity, partial(_kept, faults, function))
        base.create_aggregate("tacit_array", 1, cast(Any, _ArrayAggregate))  # sqlite3 takes texts too
        _seal(base, {*NATIVE.split(), *(name for name, *_ in ours), "tacit_array"})
        try:
            found = base.execute(sql).fetchmany(MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
            raise (faults[0] if faults else _fault(error)) from None
    if len(found) > MOST_ROWS:
        raise Fault("54000", f"this catalogue query has more than {MOST_ROWS:,} rows")
    if any(len(row) != len(fields) for row in found[:1]):
        raise Fault("0A000", "name the columns of this catalogue query one by one: it has others than it seems")
    return [tuple(_fitting(value, field) for value, field in zip(row, fields, strict=True)) for row in found]


def _kept(faults: list[Fault], function: Callable[..., Any], *given: Any) -> Any:
    """What a function gives. SQLite tells only that one failed; why is put aside."""
    try:
        return function(*given)
    except Fault as fault:
        faults.append(fault)
        raise


# SQLite has one code for all of these, and says only in words what is not there
MISSING = {
    r"no such table: (?:\w+\.)?(.*)": ("42P01", 'there is no table "{}" in the catalogue'),
    r"no such column: (.*)": ("42703", 'there is no column "{}" in the catalogue'),
    r"(?:no such|not authorized to use) function: (.*)": ("42883", 'there is no function "{}" in the catalogue'),
    r"wrong number of arguments to function (\w+)\(\)": ("42883", 'the function "{}" has other arguments'),
    r"ambiguous column name: (.*)": ("42702", 'say which table the column "{}" is of: more than one has it'),
}
HINT = "the catalogue shows what the policy declares, and knows what psql and SQLAlchemy ask of it"


def _fault(error: Exception) -> Fault:
    """What SQLite says of a question, as PostgreSQL's clients understand it."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        return Fault("54000", "name fewer tables: this catalogue query takes too long")
    for pattern, (state, words) in MISSING.items():
        found = re.fullmatch(pattern, str(error))
        if found is not None:
            return Fault(state, words.format(found[1].lower()[:100]), HINT)
    return Fault("0A000", "this catalogue query is not understood", HINT)


def _seal(base: sqlite3.Connection, functions: set[str]) -> None:
    base.execute("PRAGMA case_sensitive_like = ON")
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)
    base.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200)
    base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 2)
    left = MOST_STEPS

    def watch() -> int:
        nonlocal left
        left -= 1
        return int(left <= 0)

    def allow(action: int, _: str | None, second: str | None, *__: str | None) -> int:
        unknown = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in functions
        return sqlite3.SQLITE_OK if action in READING and not unknown else sqlite3.SQLITE_DENY

    base.set_progress_handler(watch, STEPS)
    base.set_authorizer(allow)


FITTING: dict[str, Callable[[Any], Any]] = {"bool": lambda value: bool(int(value)), "float8": float}


def _fitting(value: Any, field: WireField) -> Any:
    """A value of SQLite's as the column's type holds it."""
    if value is None or field.kind.name == "text":
        return value
    if field.kind.element is not None:
        return _items(value)
    try:
        return FITTING.get(field.kind.name, int)(value)
    except (TypeError, ValueError):
        raise Fault("0A000", f'column "{field.name}" of this catalogue query is of another type') from None


class _ArrayAggregate:
    """array_agg: a text that holds the values one after another."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def step(self, value: Any, /) -> None:
        if len(self.values) < MOST_ROWS:
            self.values.append("" if value is None else str(value))

    def finalize(self) -> str:
        return APART.join(self.values)


APART = "\x1f"
REGISTERED = {
    "regclass": ("42P01", "table"),
    "regtype": ("42704", "type"),
    "regnamespace": ("3F000", "schema"),
    "regrole": ("42704", "role"),
}


def _items(value: Any) -> list[str]:
    """The elements of an array: of ours, or of one that the client wrote as {a,b}."""
    text = "" if value is None else str(value)
    if text.startswith("{") and text.endswith("}"):
        return [str(one) for one in array_items(text) if one is not None]
    return text.split(APART) if text else []


def _matches(value: Any, pattern: Any, *, ignore_case: bool = False) -> int | None:
    """A regular expression, by an engine that takes time in proportion to the text, whatever the pattern."""
    if value is None or pattern is None:
        return None
    try:
        found = pc.match_substring_regex(pa.array([str(value)]), str(pattern), ignore_case=ignore_case)
    except pa.ArrowInvalid:
        raise Fault("2201B", "this regular expression is not understood here") from None
    return int(found[0].as_py())


def _length(value: Any, *_: Any) -> int | None:
    """How many elements an array has; NULL for none, as in PostgreSQL."""
    return len(_items(value)) or None


def _item(value: Any, place: Any) -> str | None:
    """One element of an array, counted from 0."""
    items = _items(value)
    return items[place] if isinstance(place, int) and 0 <= place < len(items) else None


def _split(value: Any, sign: Any) -> str | None:
    return None if value is None else APART.join(str(value).split(str(sign)) if sign else [str(value)])


def _of_nothing(*given: Any) -> None:
    if any(value is not None for value in given):
        raise Fault("0A000", "this catalogue does not tell sizes or ages")


def _granted(*given: Any) -> int:
    """Whether one of the privileges in a list such as 'SELECT, INSERT' is to read."""
    return int(any(word.strip().lower() in READS for word in str(given[-1] if given else "").split(",")))


def _formatted(pattern: Any, *values: Any) -> str | None:
    """format() of PostgreSQL, with %s, %I and %L in their order. The length of the result is SQLite's to bound."""
    if pattern is None:
        return None
    left = list(values)

    def filled(found: re.Match[str]) -> str:
        if found[1] == "%":
            return "%"
        value = left.pop(0) if left else None
        text = "" if value is None else str(value)
        if found[1] == "L":
            return "NULL" if value is None else "'" + text.replace("'", "''") + "'"
        plain = found[1] == "s" or re.fullmatch(r"[a-z_][a-z0-9_]*", text) is not None
        return text if plain else '"' + text.replace('"', '""') + '"'

    return re.sub(r"%([sIL%])", filled, str(pattern)[:LENGTH])


def _functions(policy: Policy, who: Identity, settings: Settings) -> list[tuple[str, int, Callable[..., Any]]]:
    oids = {
        "regclass": {**{name: FIRST + i for i, name in enumerate(listed(policy))}, **CLASSES},
        "regtype": {name: oid for oid, both in TYPES.items() for name in both[:2]},
        "regnamespace": NAMESPACES,
        "regrole": {"tacit": 10, who.name: 11},
    }
    names = {kind: {oid: name for name, oid in found.items()} for kind, found in oids.items()}

    def known(kind: str, value: Any) -> int | None:
        schema, _, text = str(value).rpartition(".")
        text = text.strip('"')
        if text.lstrip("-").isdigit():
            return int(text)
        return oids.get(kind, {}).get(text) if schema.strip('"') in ("", *NAMESPACES) else None

    def oid(kind: str, value: Any) -> int | None:
        if value is None or kind not in oids:  # of functions none has a number
            return None
        found = known(kind, value)
        if found is None and value != "-":
            state, what = REGISTERED[kind]
            raise Fault(state, f'there is no {what} "{str(value)[:100]}" in the catalogue', HINT)
        return found or 0

    def name(kind: str, value: Any) -> str | None:
        number = oid(kind, value)
        return None if number is None else names.get(kind, {}).get(number, str(number))

    @cache
    def told() -> dict[tuple[int, int], str]:
        return comments(policy, who)

    def setting(key: Any, missing_ok: Any = None) -> str | None:
        try:
            return settings.show(str(key))
        except Fault:
            if missing_ok:
                return None
            raise

    found: list[tuple[str, int, Callable[..., Any]]] = [
        ("tacit_matches", 2, _matches),
        ("tacit_imatches", 2, lambda value, pattern: _matches(value, pattern, ignore_case=True)),
        ("tacit_format", -1, _formatted),
        ("tacit_oid", 2, oid),
        ("tacit_name", 2, name),
        ("tacit_list", -1, lambda *values: APART.join("" if one is None else str(one) for one in values)),
        ("tacit_join", -1, lambda value, sign, *_: None if value is None else str(sign).join(_items(value))),
        ("tacit_member", 2, lambda one, many: int(str(one) in _items(many))),
        ("format_type", -1, lambda number, _=None: TYPES[number][1] if number in TYPES else "-"),
        ("tacit_item", 2, _item),
        ("tacit_split", -1, _split),
        ("array_length", -1, _length),
        ("array_upper", -1, _length),
        ("array_lower", -1, lambda value, *_: 1 if _items(value) else None),
        ("to_regtype", 1, lambda value: known("regtype", value)),
        ("to_regclass", 1, lambda value: known("regclass", value)),
        ("to_regnamespace", 1, lambda value: known("regnamespace", value)),
        ("pg_get_userbyid", 1, lambda number: "tacit" if number == 10 else who.name),
        ("pg_encoding_to_char", 1, lambda _: "UTF8"),
        ("version", 0, lambda: f"PostgreSQL {settings.show('server_version')}"),
        ("current_schemas", 1, lambda _: "public"),
        ("current_setting", -1, setting),
        ("set_config", 3, lambda _, value, __: value),
        ("col_description", 2, lambda table, column: told().get((table, column))),
        ("obj_description", -1, lambda table, *_: told().get((table, 0))),
        ("quote_ident", 1, lambda text: None if text is None else '"' + str(text).replace('"', '""') + '"'),
        ("pg_backend_pid", 0, lambda: 0),
        ("pg_is_in_recovery", 0, lambda: 0),
        ("pg_relation_is_publishable", 1, lambda _: 0),
    ]
    found += [(each, -1, lambda *_: None) for each in NOTHING.split()]
    found += [(each, -1, _of_nothing) for each in OF_NOTHING.split()]
    found += [(each, -1, _granted) for each in GRANTED.split()]
    return found + [(each, -1, lambda *_: 1) for each in VISIBLE.split()]
