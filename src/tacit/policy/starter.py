"""A first policy file from names and types alone, with the blanks that only a person can fill."""

from collections.abc import Iterator, Mapping

from tacit.base import InputError
from tacit.policy.problem import instead, quoted
from tacit.policy.types import ColumnType, decimals, understood
from tacit.policy.write import bare, quote

__all__ = ["starter"]

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
    unit: str | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The text of a policy file for tables of these columns, each with the engine's name of its type ("" if unknown).

    `source` is where all tables are, `sources` where single ones are. `unit` is the column that names the person.
    `texts` are tables whose types were read from their values, each with the keys that say how it is written. Nothing
    but names and types goes in, so nothing else can come out.
    """
    columns = sorted({column for table in schema.values() for column in table})
    if unit is not None and unit not in columns:
        raise InputError(f"there is no column {quoted(unit)}: {instead(unit, columns, those='columns')}")
    for table, types in schema.items():
        if unit is not None and unit in types and understood(types[unit]) is ColumnType.FLOAT:
            raise InputError(
                f"table {quoted(table)}, column {quoted(unit)}: is stored as {types[unit]}, in which two people can "
                "have the same number: store it as an integer or a text"
            )
    head = HEAD.format(name=quote(name), engine=quote(engine), source=quote(source or "?"))
    if source is None:
        head = head.replace('source = "?"\n', "")
    lines = [head]
    for table, types in schema.items():
        lines += _table(table, types, unit, (sources or {}).get(table), (texts or {}).get(table))
    return "\n".join(lines) + "\n" + CLOSE


def _table(
    table: str, types: Mapping[str, str], unit: str | None, source: str | None, form: Mapping[str, str] | None
) -> Iterator[str]:
    yield f"[tables.{bare(table)}]"
    if source is not None:
        yield f"source = {quote(source)}"
    yield from (f"{key} = {quote(value)}" for key, value in (form or {}).items())
    if unit in types:
        yield f"unit = {quote(str(unit))}"
    else:
        yield '# unit = "…"               # to fill: the column that names the person. Or, if it is true, one of these:'
        yield "# each_row_is_a_unit = true   #   every row is a different person"
        yield "# public = true               #   the table is not about people at all"
    if form is not None:
        yield from READ_TYPES
    yield "# clip_rows = …             # to fill: the most rows of one person that should count in an answer"
    yield ""
    for column, native in types.items():
        yield f"[tables.{bare(table)}.columns.{bare(column)}]"
        yield from _column(column, native, column == unit, form is not None)
        yield ""


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
        yield "# keys = […]                # if everybody knows the possible values: list them; all groups are shown"
    if found is ColumnType.TEXT:
        yield "# hidden = true             # if nobody should ask about it (names, notes)"
