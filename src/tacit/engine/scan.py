"""A declared table, read so that its facts are true of every row whatever is stored.

Numbers become doubles; those that are not finite become NULL, the others are clamped to their bounds. If the bounds lie
within ±2^39, a number beyond ±2^40, which nothing measures, is NULL too: one comparison then tells what a number is,
and the numbers left are whole steps exactly. Values outside a declared domain become NULL. Where a column cannot be
NULL, a row in which it would be is left out, as is a row whose unit is NULL. Nothing here can fail on a value: casts
give NULL where they do not fit, or cannot but fit, since `Engine.check` has compared the types.

The unit travels beside the columns under a name of its own, in the canonical form of `unit.py`: as a double it could
make two people one, and as it is stored it could make one person two. Where a link leads to it, the table is joined
with the keys and units of what it is linked to (`owner.py`), unless the question itself joins along that link.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

from tacit.base import InputError
from tacit.engine.dialect import LARGEST_DOUBLE, Dialect
from tacit.engine.owner import OWNER_KEY, UNIT, own_unit_sql, owners_sql, stored_type
from tacit.engine.stored import ComparedColumn, inward
from tacit.engine.unit import StoredTable, column_kind, text_sql, unit_sql
from tacit.plan.facts import Facts, Type, Value, exact_step
from tacit.plan.node import Filter, Join, Node, Scan, Source
from tacit.policy import ColumnType

__all__ = [
    "RAW_COPY",
    "UNIT",
    "WHOLE_COPY",
    "clamped",
    "compared_columns",
    "copied",
    "copies",
    "furthest",
    "scan_sql",
]

WHOLE_COPY = "tacit whole "  # before the name of an integer that was not made a double, for grouping: twice as fast
RAW_COPY = "tacit raw "  # before that of a bounded number that is a double and not clamped yet, nor finite: for sums
EXACT = 2**53
SMALLEST_DOUBLE = "5e-324"
SENSIBLE = 2**40
FIRST, LAST = date(1, 1, 1), date(9999, 12, 31)
START, END = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)


def clamped(facts: Facts) -> bool:
    """Whether reading clamps a number to its bounds, and does no more than that."""
    return facts.type.numeric and facts.bounded and facts.domain is None


def furthest(facts: Facts) -> float:
    """The largest size that a number may have to be one."""
    if not facts.bounded:
        return LARGEST_DOUBLE
    ends = (abs(Fraction(end)) for end in (facts.low, facts.high))  # type: ignore[arg-type]  # numbers
    return float(SENSIBLE) if max(ends) <= SENSIBLE // 2 else LARGEST_DOUBLE


def copied(scan: Scan, dialect: Dialect) -> tuple[str, ...]:
    """The names of columns that are read a second time."""
    if not dialect.columnar:
        return ()
    wholes = (
        WHOLE_COPY + source.name
        for source in scan.columns
        if source.facts.type is Type.INTEGER and source.canonical is None
    )
    return (*wholes, *(RAW_COPY + source.name for source in scan.columns if clamped(source.facts)))


def copies(node: Node, dialect: Dialect) -> tuple[str, ...]:
    """Columns that are there a second time (see `copied`): those of a table that nothing was made of yet."""
    if isinstance(node, Scan):
        return copied(node, dialect)
    return (
        tuple(name for below in node.inputs for name in copies(below, dialect))
        if isinstance(node, Filter | Join)
        else ()
    )


def scan_sql(
    scan: Scan,
    dialect: Dialect,
    tables: Mapping[str, StoredTable],
    *,
    unowned: bool = False,
    conditions: Sequence[str] = (),
) -> str:
    """SELECT of the columns under their names in the plan, and of the unit. `tables` says how tables are stored.

    `unowned` leaves out what a link leads to, for a join along it, from whose other side the units come. `conditions`
    are more of those that rows have to fulfil, of stored columns.
    """
    if scan.table not in tables:
        raise InputError(f"table {scan.table!r} was not given to this engine: name it where the engine is opened")
    stored, copies = tables[scan.table], copied(scan, dialect)
    chosen, conditions = [], [*conditions]
    source_sql = stored.sql
    if unowned and not (scan.path is not None and scan.path.links):
        raise InputError("a table that is not linked names its units itself")
    if scan.path is not None and not unowned:
        unit, more, source_sql = _on_path(scan, dialect, tables)
        chosen += [f"{unit} AS {dialect.identifier(name)}" for name in (UNIT, scan.unit) if name is not None]
        conditions += more
    for source in scan.columns:
        native = stored_type(stored, source.column)
        if source.canonical is not None:
            key = unit_sql(dialect.identifier(source.column), source.canonical.type, native, dialect)
            chosen.append(f"{key} AS {dialect.identifier(source.name)}")
            continue
        read = _Reading(source, dialect, native)
        chosen.append(f"{read.sql()} AS {dialect.identifier(source.name)}")
        conditions += read.conditions()
        if (name := WHOLE_COPY + source.name) in copies:
            chosen.append(f"{read.sql(whole=True)} AS {dialect.identifier(name)}")
        if (name := RAW_COPY + source.name) in copies:
            chosen.append(f"{read.value} AS {dialect.identifier(name)}")
        if scan.private and source.name == scan.unit:
            unit = unit_sql(read.raw, scan.unit_type, read.native, dialect)
            chosen.append(f"{unit} AS {dialect.identifier(UNIT)}")
            conditions.append(f"{unit} IS NOT NULL")
    where = f" WHERE {' AND '.join(dict.fromkeys(conditions))}" if conditions else ""
    return f"SELECT {', '.join(chosen) or '1 AS one'} FROM {source_sql}{where}"


def compared_columns(scan: Scan, dialect: Dialect, tables: Mapping[str, StoredTable]) -> dict[str, ComparedColumn]:
    """The columns of a table as conditions on what is stored compare them, by their names in the plan."""
    stored = tables.get(scan.table)
    named = [source for source in scan.columns if source.canonical is None] if stored is not None else []
    return {
        source.name: _Reading(source, dialect, stored_type(stored, source.column)).column()
        for source in named
        if stored is not None
    }


def _on_path(scan: Scan, dialect: Dialect, tables: Mapping[str, StoredTable]) -> tuple[str, list[str], str]:
    """The unit, the condition that there is one, and what is read: the table, joined along its link if it has one,
    where every owner is one."""
    assert scan.path is not None
    stored = tables[scan.table]
    if not scan.path.links:
        unit = own_unit_sql(scan.path, stored, dialect)
        return unit, [f"{unit} IS NOT NULL"], stored.sql
    link = scan.path.links[0]
    column = unit_sql(dialect.identifier(link.column), link.column_type, stored_type(stored, link.column), dialect)
    owners, key = owners_sql(scan.path, dialect, tables), f"o.{dialect.identifier(OWNER_KEY)}"
    joined = f"{stored.sql} AS t JOIN ({owners}) AS o ON {column} = {key}"
    return f"o.{dialect.identifier(UNIT)}", [], joined


def _unlimited(native: str) -> bool:
    """Whether a numeric of PostgreSQL may be too large or too small for a double."""
    digits = re.fullmatch(r"numeric\((\d+),\d{1,2}\)", native.lower())
    return column_kind(native) is ColumnType.DECIMAL and (digits is None or int(digits[1]) > 300)


class _Reading:
    """One column of a table in one dialect; `native` is the engine's name for the stored type."""

    def __init__(self, source: Source, dialect: Dialect, native: str) -> None:
        self.facts, self.dialect, self.native = source.facts, dialect, native
        self.raw = dialect.identifier(source.column)
        self.compared = self._compared()
        self.value = self._value()

    def _compared(self) -> str:
        """The column in the type in which it is compared with constants: integers as integers, which is fast."""
        kind, dialect = self.facts.type, self.dialect
        if kind is Type.TEXT:
            return text_sql(self.raw, self.native, dialect, listed=self.facts.domain is not None)
        if kind.numeric and not dialect.total:
            return self.raw  # PostgreSQL's numeric may be too large for a double, and a cast would then fail
        target = "BIGINT" if kind is Type.INTEGER else dialect.type_name(kind)
        cast = dialect.cast_to(self.raw, self.native, target)
        if not kind.numeric and self.native.lower() in dialect.cast_moments:
            # from the least and largest of a column DuckDB infers what infinities break: it would pass over bounds
            return dialect.finite.format(cast)
        return cast

    def _value(self) -> str:
        kind, near = self.facts.type, self.dialect.to_double(self.compared)
        if not kind.numeric or (kind is Type.NUMBER and self.dialect.total):
            return self.compared
        if self.dialect.total or not _unlimited(self.native):
            return near
        # a numeric of PostgreSQL, whose cast is an error where a double would be infinite, or zero for what is not
        return (
            f"(CASE WHEN ABS({self.raw}) < {SMALLEST_DOUBLE} THEN {self.dialect.number(0.0)} "
            f"WHEN {self.raw} BETWEEN -{LARGEST_DOUBLE!r} AND {LARGEST_DOUBLE!r} THEN {near} END)"
        )

    def column(self) -> ComparedColumn:
        compared = ComparedColumn(sql=self.compared, native=self.native, facts=self.facts)
        if self.facts.domain is not None or self.facts.type in (Type.TEXT, Type.BOOLEAN):
            return compared
        low, high, least, most = self.ends()
        return replace(compared, low=low, high=high, least=least, most=most)

    def constant(self, value: Value) -> str:
        if isinstance(value, Fraction | int) and not isinstance(value, bool):
            if self.facts.type is Type.INTEGER:
                return str(int(value))
            # a bare literal in PostgreSQL takes on the type of the column it is compared with
            return self.dialect.number(float(value)) if self.dialect.total else repr(float(value))
        return self.dialect.constant(value, self.facts.type)

    def sql(self, *, whole: bool = False) -> str:
        """The value with its facts enforced; an integer as such if `whole`, else as a double."""
        value = self.compared if whole else self.value
        asked = not self.facts.nullable and self.harmless(whole)
        if self.facts.domain is not None:
            return value if asked else f"CASE WHEN {self.inside()} THEN {value} END"
        if self.facts.type in (Type.TEXT, Type.BOOLEAN):
            return self.value
        low, high, least, most = self.ends()
        if (low, high) == (least, most) and asked:
            return value
        cases = [f"WHEN {self.compared} BETWEEN {self.constant(low)} AND {self.constant(high)} THEN {value}"]
        for end, last, sign, back in ((low, least, "<", ">="), (high, most, ">", "<=")):
            if end != last:
                # doubles and dates may be infinite, and doubles no number; integers may be too far to be a number
                finite = "" if last is None else f" AND {self.compared} {back} {self.constant(last)}"
                beyond = f"{self.compared} {sign} {self.constant(end)}{finite}"
                double = self.facts.type.numeric and not whole
                there = self.dialect.number(float(end)) if double else self.constant(end)  # type: ignore[arg-type]  # numbers
                cases.append(f"WHEN {beyond} THEN {there}")
        return self.on_step(f"CASE {' '.join(cases)} END")

    def harmless(self, whole: bool) -> bool:
        """Whether it is enough that `conditions` leave a row out whose value breaks its facts.

        Engines test conditions in an order of their own, so an expression of a question may see such a value first, and
        rely on facts that it does not have: a square root, a quotient or a date would then fail on somebody's row. Keys
        as integers are in no expression, and of texts and truth values DuckDB's functions take all.
        """
        return whole or (self.dialect.any_text and self.facts.type in (Type.TEXT, Type.BOOLEAN))

    def on_step(self, value: str) -> str:
        """A number on its declared step, where that is a power of two: halves go upward, and all of it is exact.

        Bounds are multiples of a step, so a value within them stays there. Of other steps, such as 1/100, nothing is
        promised and nothing follows; measures round to them in the end.
        """
        step = exact_step(self.facts) if self.facts.type is Type.NUMBER else None
        if step is None:
            return value
        size, half = self.dialect.number(float(step)), self.dialect.number(0.5)
        return f"(FLOOR(({value}) / {size} + {half}) * {size})"

    def ends(self) -> tuple[Value, Value, Value, Value]:
        """The range values are clamped to, and the range of values that are values at all."""
        low, high = self.facts.low, self.facts.high
        match self.facts.type:
            case Type.INTEGER:
                first = -EXACT if low is None else -int(-Fraction(low) // 1)  # type: ignore[arg-type]  # a number
                last = EXACT if high is None else int(Fraction(high) // 1)  # type: ignore[arg-type]  # a number
                if furthest(self.facts) == SENSIBLE:
                    return first, last, -SENSIBLE, SENSIBLE
                # beyond 2^53 doubles skip integers: there is no value, unless a bound says what to read
                least = -EXACT if low is None else None
                most = EXACT if high is None else None
                return max(first, -EXACT), min(last, EXACT), least, most
            case Type.NUMBER:
                one, two = inward(low, high)
                far = Fraction(furthest(self.facts))
                return -far if one is None else Fraction(one), far if two is None else Fraction(two), -far, far
            case Type.DATE:
                return low or FIRST, high or LAST, FIRST, LAST
            case _:
                return low or START, high or END, START, END

    def inside(self) -> str:
        """Whether the value is in the domain."""
        domain = self.facts.domain or ()
        if not domain:
            return "FALSE"
        if self.facts.type is Type.INTEGER:
            wholes = sorted(int(value) for value in domain)  # type: ignore[arg-type]  # whole numbers
            if wholes == list(range(wholes[0], wholes[-1] + 1)):
                return f"{self.compared} BETWEEN {wholes[0]} AND {wholes[-1]}"
        if self.facts.type is Type.BOOLEAN and len(set(domain)) == 2:
            return f"{self.compared} IS NOT NULL"
        return f"{self.compared} IN ({', '.join(self.constant(value) for value in domain)})"

    def conditions(self) -> list[str]:
        """What a row must fulfil for a column that cannot be NULL."""
        if self.facts.nullable:
            return []
        if self.facts.domain is not None:
            return [self.inside()]
        match self.facts.type:
            case Type.TEXT:
                return [f"{self.raw} IS NOT NULL"]
            case Type.BOOLEAN:
                return [f"{self.compared} IS NOT NULL"]
            case Type.INTEGER if self.facts.bounded and furthest(self.facts) > SENSIBLE:
                return [f"{self.compared} IS NOT NULL"]
        low, high, least, most = self.ends()
        first = low if least is None else least
        last = high if most is None else most
        if self.facts.type is Type.INTEGER and None in (least, most):  # bounded on one side
            return [f"{self.compared} {sign} {end}" for sign, end in ((">=", least), ("<=", most)) if end is not None]
        return [f"{self.compared} BETWEEN {self.constant(first)} AND {self.constant(last)}"]
