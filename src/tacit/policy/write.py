"""Write a policy: as TOML for people, and as plain data for its hash."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

from tacit.base import InputError
from tacit.policy.declaration import Declaration, duration, instead, keys, number, part_of, quoted
from tacit.policy.kind import ColumnType, decimals, understood
from tacit.policy.link import TableLink
from tacit.policy.rule import DependentColumn, ImpossibleRow

__all__ = ["bare", "content", "link_text", "quote", "starter", "written"]

VERSION = 1
INLINE = (TableLink, ImpossibleRow, DependentColumn)  # values with parts, written in braces


def content(policy: Declaration) -> dict[str, Any]:
    """What a policy says, as data without floats; keys left at their default are left out.

    Hashes are taken of it, so a key that was renamed stands here under the name it had.
    """
    return {"version": VERSION, "policy": _plain(policy)}


def _given(part: Declaration) -> Iterator[tuple[str, Any]]:
    """The keys that say something else than their default."""
    for item in keys(type(part)):
        value = getattr(part, item.name)
        if part_of(item) is None and value != item.default:
            yield item.name, value


def _plain(value: Any) -> Any:
    if isinstance(value, Declaration):
        parts = {item.name: getattr(value, item.name) for item in keys(type(value)) if part_of(item)}
        former = {new: old for old, new in value.renamed.items()}
        return {former.get(name, name): _plain(each) for name, each in [*_given(value), *parts.items()]}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, INLINE):
        return _plain(value.data())
    if isinstance(value, Fraction):
        return {"number": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, datetime | date):
        return {"time" if isinstance(value, datetime) else "date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": int(value.total_seconds())}
    return str(value.value) if isinstance(value, Enum) else value


def written(policy: Declaration) -> str:
    """A TOML file that reads back as an equal policy."""
    return "\n".join(line for block in _blocks(policy, ()) for line in (*block, ""))


def _blocks(part: Declaration, path: tuple[str, ...]) -> Iterator[list[str]]:
    own = [f"{name} = {_value(value)}" for name, value in _given(part)]
    if path:
        yield [f"[{'.'.join(map(bare, path))}]", *own]
    for item in keys(type(part)):
        inner = getattr(part, item.name)
        if part_of(item) is None:
            continue
        if isinstance(inner, Declaration):
            yield from _blocks(inner, (*path, item.name))
        else:
            for name, each in inner.items():
                yield from _blocks(each, (*path, item.name, name))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return quote(str(value.value))
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Fraction):
        text = number(value)
        return quote(text) if "/" in text else text
    if isinstance(value, timedelta):
        return quote(duration(value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, INLINE):
        return _value(value.data())
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{bare(name)} = {_value(each)}' for name, each in value.items())} }}"
    return str(value)


def link_text(link: TableLink) -> str:
    """A link as TOML writes it."""
    return _value(link)


def bare(name: str) -> str:
    """A key as TOML wants it: quoted unless it is plain."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quote(name)


def quote(text: str) -> str:
    """Text as a basic TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'


HEAD = """\
# A policy for tacit: what is protected, how much may be learned, and who may ask.
# Lines that begin with # are comments. Fill in the lines marked "to fill": remove the # and write your value.
# Choose values from what everybody knows, never by looking at the data: a bound taken from the data gives away the
# person who has it. Then run `tacit check`.

[dataset]
name = {name}
# people = "…"             # whose data this is. Datasets about the same people must name the same people here.
engine = {engine}
source = {source}
ledger = "tacit.ledger"    # the book in which spending is written down. Keep it safe: it is the memory of the budget.

[privacy]
unit = "person"            # one protected person, as a noun: patient, customer, household …
currency = "rho"           # what questions are paid in. "rho" suits most uses; it cannot be changed later.
budget = 0.1               # all that may ever be spent, by everybody together. Small is private: at 0.1, somebody who
                           # tosses a coin on whether you are in the data can come to be 91 % sure, not more.
                           # `tacit account choose` finds one from how near answers have to be, and how many they are.
delta = 1e-6               # the chance that the promise fails: far below 1 divided by the number of people.
# population = …           # about how many people there are, if that is public: tacit then checks delta.
# reset = "365 days"       # a fresh budget after this time. The same people pay again, so think twice.
"""

CLOSE = """\

# Who may ask. Names are those your analysts ask under; whoever is not named is refused.
# [analysts.ana]
# limit = 0.05             # the most that she may spend of the budget
# each = 0.01              # and on one question
# [analysts."*"]           # anybody else
"""

READ_TYPES = (
    "# The file does not say of what type its columns are: the types below are those that all its values have. Confirm",
    "# them: what is written here decides how every value is read, and one that does not suit it counts as missing.",
)


def starter(
    schema: Mapping[str, Mapping[str, str]],
    *,
    name: str,
    engine: str = "duckdb",
    source: str | None = None,
    sources: Mapping[str, str] | None = None,
    unit_column: str | None = None,
    links: Mapping[str, Sequence[TableLink]] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The text of a policy file for tables of these columns, each with the engine's name of its type ("" if unknown).

    `source` is where all tables are, `sources` where single ones are. `unit_column` names the person. `links` are
    foreign keys: one that leads to the person is written, others are proposed.
    `texts` are tables whose types were read from their values, each with the keys that say how it is written. Nothing
    but names and types goes in, so nothing else can come out.
    """
    columns = sorted({column for table in schema.values() for column in table})
    if unit_column is not None and unit_column not in columns:
        raise InputError(f"there is no column {quoted(unit_column)}: {instead(unit_column, columns, those='columns')}")
    for table, types in schema.items():
        if unit_column is not None and unit_column in types and understood(types[unit_column]) is ColumnType.FLOAT:
            raise InputError(
                f"table {quoted(table)}, column {quoted(unit_column)}: is stored as {types[unit_column]}, in which two "
                "people can have the same number: store it as an integer or a text"
            )
    head = HEAD.format(name=quote(name), engine=quote(engine), source=quote(source or "?"))
    if source is None:
        head = head.replace('source = "?"\n', "")
    lines = [head]
    named = {table for table, types in schema.items() if unit_column is not None and unit_column in types}
    for table, types in schema.items():
        lines += _table(
            table, types, unit_column, (sources or {}).get(table), (texts or {}).get(table), links or {}, named
        )
    return "\n".join(lines) + "\n" + CLOSE


def _table(
    table: str,
    types: Mapping[str, str],
    unit_column: str | None,
    source: str | None,
    form: Mapping[str, str] | None,
    links: Mapping[str, Sequence[TableLink]],
    named: Collection[str],
) -> Iterator[str]:
    yield f"[tables.{bare(table)}]"
    if source is not None:
        yield f"source = {quote(source)}"
    yield from (f"{key} = {quote(value)}" for key, value in (form or {}).items())
    if unit_column in types:
        yield f"unit_column = {quote(str(unit_column))}"
    elif (found := _leading(table, links, named)) is not None:
        yield f"link = {link_text(found)}   # a foreign key of the database. Is a row about that person? Else see below"
        yield "# public = true               # instead, if the table is not about people at all"
    else:
        for link in links.get(table, ()):
            yield f"# link = {link_text(link)}   # if its rows are about the people of that table"
        yield '# unit_column = "…"        # to fill: the column that names the person. Or, if it is true, one of these:'
        yield "# each_row_is_a_unit = true   #   every row is a different person"
        yield "# public = true               #   the table is not about people at all"
    if form is not None:
        yield from READ_TYPES
    yield "# clip_rows = …             # to fill: the most rows of one person that should count in an answer. Or,"
    yield "# profile = …               #   instead: what `tacit profile` may cost, once, to find it; about a tenth"
    yield ""
    for column, native in types.items():
        yield f"[tables.{bare(table)}.columns.{bare(column)}]"
        yield from _column(column, native, column == unit_column, form is not None)
        yield ""


def _leading(
    table: str, links: Mapping[str, Sequence[TableLink]], named: Collection[str], seen: tuple[str, ...] = ()
) -> TableLink | None:
    """The link of a table through which the person is found, at any depth; the shortest way of the first ones."""
    given = [link for link in links.get(table, ()) if link.table not in seen]
    for link in given:
        if link.table in named:
            return link
    return next((link for link in given if _leading(link.table, links, named, (*seen, table)) is not None), None)


def _column(column: str, native: str, is_unit: bool, was_read: bool) -> Iterator[str]:
    found = understood(native)
    if not native:
        yield f'# type = "…"                # to fill: {", ".join(ColumnType)}'
    elif found is None:
        yield "hidden = true               # questions about this type are not possible"
        return
    else:
        yield f"type = {quote(found.value)}".ljust(28) + "# read from the file: confirm it" * was_read
    if is_unit:
        return
    if found is None or found.numeric or found in (ColumnType.DATE, ColumnType.TIMESTAMP):
        end = {ColumnType.DATE: "2020-01-01, …", ColumnType.TIMESTAMP: "2020-01-01T00:00:00, … "}.get(
            found or ColumnType.TEXT, "…, …"
        )
        yield (
            f"# bounds = [{end}]".ljust(28)
            + "# to fill: the least and the most that is plausible; beyond, values are cut"
        )
    if found in (ColumnType.DECIMAL, ColumnType.FLOAT):
        digits = decimals(native)
        if digits is None:
            yield '# step = "0.01"             # the precision of the values, if they have one'
        else:
            yield f"step = {quote('1' if not digits else '0.' + '1'.rjust(digits, '0'))}"
    if found in (ColumnType.TEXT, ColumnType.INTEGER):
        yield "# group_keys = […]          # if everybody knows the possible values: list them; all groups are shown"
    if found is ColumnType.TEXT:
        yield "# hidden = true             # if nobody should ask about it (names, notes)"
