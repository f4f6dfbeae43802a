"""All that differs between the engines: one object for each writes in its own SQL what means the same in all.

`Dialect` writes as DuckDB has it; PostgreSQL and Spark say what they write otherwise.

Names and constants are quoted, none is copied. Sums are exact and wide enough, doubles are IEEE, casts of whole doubles
to integers are exact, and truncation is toward zero.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from re import compile as pattern

from tacit.base import InputError
from tacit.plan.facts import WHOLE, Type, Value

__all__ = ["DIALECTS", "DUCKDB", "LARGEST_DOUBLE", "PLAIN", "POSTGRES", "SPARK", "Dialect"]

LARGEST_DOUBLE = 1.7976931348623157e308
LONGEST_NAME = 63  # bytes, in PostgreSQL, which cuts off the rest
DIGITS = 38  # of a whole number: as many as every engine holds
HALF = 2**63
SUMMAND = 2**20  # Spark adds integers up to this size in 64 bits: see measure.py
NARROW = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
SURE_CASTS = {"BIGINT": NARROW, "DOUBLE": (*NARROW, "FLOAT", "DECIMAL")}  # of DuckDB: no value of these fails
YEAR, MONTH, DAY = (f"CAST(SUBSTRING({{0}}, {at}, {n}) AS INTEGER)" for at, n in ((1, 4), (6, 2), (9, 2)))  # of a text
BEGIN = f"MAKE_DATE({YEAR}, {MONTH}, 1) + ({DAY} - 1)"  # of PostgreSQL: a day that the month has not is in the next
CUT = f"(CASE WHEN ABS({{x}}) < {{n[{WHOLE // 2}]}} THEN CAST(? AS DOUBLE) ELSE {{x}} END)"  # of Spark, as integers
PLAIN = pattern(r"[A-Za-z0-9 _.,:;/%#@!?*+=<>()\[\]|^~&-]*")  # what no setting of any engine reads as something else


class Dialect:
    """The SQL of one engine."""

    name = "duckdb"
    double = "DOUBLE"
    string = "VARCHAR"
    timestamp = "TIMESTAMP"
    wide = "HUGEINT"  # holds whole numbers below 2^126
    digits = f"DECIMAL({DIGITS}, 0)"  # holds whole numbers of so many digits
    counted = "HUGEINT"  # what a count is cast to before it is multiplied
    summand = ""  # what a 64-bit integer is cast to so that its sum cannot overflow; "" for nothing
    materialized = " MATERIALIZED"
    held = ""  # after SELECT: the table c that is joined is held by each task
    total = True  # nothing fails on a value: TRY_CAST gives NULL, arithmetic gives infinities and zeros
    columnar = True  # reading a column twice is cheap: integers as such for keys, numbers unclamped for sums
    any_text = True  # functions take every text and truth value, also one that breaks its facts
    cast_moments: tuple[str, ...] = ("timestamp_s", "timestamp_ms", "timestamp_ns")  # whose infinities survive a cast
    wide_integers: tuple[str, ...] = ("ubigint", "hugeint", "uhugeint", "uint64", "int128", "uint128")
    places = frozenset({"rowid"})  # columns that say where a row stands in its table
    halves = ("({} // {})", "({} % {})")  # the quotient and the remainder of whole numbers
    cast = "TRY_CAST({} AS {})"  # NULL where the value does not fit, or an error where `total` is not so
    truncated = "CAST(TRUNC({}) AS BIGINT)"  # a double below 2^63 toward zero, as an integer
    finite = "(CASE WHEN ISFINITE({0}) THEN {0} END)"  # a moment of one of `cast_moments`; NULL for infinities
    bytewise = "{}"  # a text that is compared by its bytes, whatever the collation of the column
    matches = "REGEXP_FULL_MATCH({}, '{}')"  # whether a whole text fits a pattern of ours, without quote and backslash
    truth_to_double = "CAST({} AS DOUBLE)"
    # the date of a text that has the form of one; NULL for 0000-01-01 and 2023-02-30
    text_to_date = "CASE WHEN {0} >= '0001' THEN TRY_CAST({0} AS DATE) END"
    interval = "'{}' {}"
    stored_text = '(CAST({} AS VARCHAR) COLLATE "C")'  # as bytes
    stored_padded = stored_text  # the same of a char(n), without the blanks that fill it up
    valid_text = "{}"  # of such a text NULL where it is not UTF-8
    stored_whole = f"TRY_CAST({{}} AS {digits})"  # that 64 bits may not hold: of at most 38 digits, else NULL
    # by its value: as its digits, since decimals of two scales may not compare
    stored_decimal = "CAST({} AS VARCHAR)"
    # the same with a point, without a 0 before it where the type has no room for one
    stored_pointed = r"REGEXP_REPLACE(RTRIM(RTRIM(CAST({} AS VARCHAR), '0'), '.'), '^(-?)([.]|$)', '\10\2')"
    templates: Mapping[str, str] = {"sign": "CAST(SIGN({x}) AS DOUBLE)"}  # of operations that differ from the plan's

    def __str__(self) -> str:
        return self.name

    def type_name(self, kind: Type) -> str:
        """What expressions of this type are held as: every number is a double."""
        if kind.numeric:
            return self.double
        return {Type.TEXT: self.string, Type.TIMESTAMP: self.timestamp}.get(kind, kind.upper())

    def cast_to(self, sql: str, native: str, target: str) -> str:
        """A stored value in the type in which it is compared; NULL where it does not fit.

        A cast that cannot fail is written as one, so that what an engine knows of a column it knows of the cast.
        """
        kind = native.upper().partition("(")[0]
        sure = kind == target or (kind in SURE_CASTS.get(target, ()) and self.columnar)
        return f"CAST({sql} AS {target})" if sure else self.cast.format(sql, target)

    def identifier(self, name: str) -> str:
        """A name in quotes, which it cannot leave."""
        if not name or "\0" in name:
            raise InputError("a name is empty or holds the character NUL, which no engine takes")
        return '"' + name.replace('"', '""') + '"'

    def dotted(self, name: str, schema: str = "") -> str:
        """A name in parts, such as schema.table, each in quotes; in `schema` where it has one part."""
        parts = name.split(".")
        return ".".join(map(self.identifier, [schema, *parts] if schema and len(parts) == 1 else parts))

    def constant(self, value: Value, kind: Type) -> str:
        """A constant of this type, numbers as the nearest double."""
        if value is None:
            return f"CAST(NULL AS {self.type_name(kind)})"
        if isinstance(value, bool) and kind is Type.BOOLEAN:
            return "TRUE" if value else "FALSE"
        if isinstance(value, int | Fraction) and not isinstance(value, bool) and kind.numeric:
            return self.number(float(value))
        if isinstance(value, str) and kind is Type.TEXT:
            return self.text(value)
        if isinstance(value, datetime) and kind is Type.TIMESTAMP and value.tzinfo is None:
            return f"{self.timestamp} '{value.isoformat(sep=' ')}'"
        if isinstance(value, date) and not isinstance(value, datetime) and kind is Type.DATE:
            return f"DATE '{value.isoformat()}'"
        raise InputError(f"a constant of type {type(value).__name__} is no {kind}")

    def number(self, value: float) -> str:
        """A finite double, to the last bit: the shortest decimal that reads as it, and read as a double at once."""
        written = repr(value + 0.0)  # -0 is written as any other
        if written in ("inf", "-inf", "nan"):
            raise InputError("a constant must be a finite number")
        return self._literal(written)

    def text(self, value: str) -> str:
        """A text, in a form that no server setting reads differently."""
        if "\0" in value:
            raise InputError("a text constant holds the character NUL, which not every engine stores")
        return self._quoted(value)

    def _literal(self, written: str) -> str:
        return f"({written})" if "e" in written else f"({written}e0)"

    def _quoted(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def to_double(self, sql: str) -> str:
        return f"CAST({sql} AS {self.double})"

    def sum(self, sql: str, largest: int = 2**63) -> str:
        """The exact sum of 64-bit integers of at most this size, or of sums; NULL over nothing."""
        return f"SUM(CAST({sql} AS {self.summand}))" if self.summand else f"SUM({sql})"

    def factor(self, sql: str) -> str:
        """A 64-bit integer as the factor of a product that is added up."""
        return f"CAST({sql} AS {self.summand or self.wide})"

    def product(self, sql: str, factor: str) -> str:
        """Two integers below 2^63 and 2^48 multiplied, as wide as it gets."""
        return f"{self.factor(sql)} * {factor}"

    def wide_to_double(self, sql: str) -> str:
        """A wide whole number ≥ 0 as the same double in every engine, within 2^-52 of it.

        Engines round wide integers each in its own way. Two halves below 2^63 are rounded by hardware, to nearest, and
        their sum once more.
        """
        high, low = (self.to_double(f"CAST({half.format(sql, HALF)} AS BIGINT)") for half in self.halves)
        return f"({high} * {self.number(float(HALF))} + {low})"

    def extreme(self, function: str, kind: Type) -> str:
        """The aggregate MIN or MAX of values of this type."""
        return function

    def let(self, name: str, parts: Sequence[tuple[str, str]], inside: str) -> str:
        """`inside`, in which `name.field` is the part beside that field, computed once."""
        inner = ", ".join(f"'{field}': {part}" for field, part in parts)
        return f"list_transform([{{{inner}}}], lambda {name}: {inside})[1]"

    def few(self, sql: str, names: Sequence[str]) -> str:
        """The rows of a SELECT with these columns, written so that the engine takes them for few: DuckDB builds the
        table of a join from the side that it guesses to be smaller, and it takes a list for one row."""
        fields = ", ".join(f"'{name}': {name}" for name in names)
        columns = ", ".join(f"f.{name}" for name in names)
        listed = f"SELECT UNNEST(LIST({{{fields}}})) AS f FROM ({sql}) AS e"
        return f"SELECT {columns} FROM ({listed}) AS l"

    def trunc(self, unit: str, sql: str, kind: Type) -> str:
        """The beginning of the unit that a date or a timestamp is in."""
        return f"CAST(DATE_TRUNC('{unit}', {sql}) AS {self.type_name(kind)})"

    def extract(self, field: str, sql: str) -> str:
        """A field of a date or a timestamp as a whole double."""
        return f"CAST(DATE_PART('{field}', {sql}) AS DOUBLE)"

    def later(self, sql: str, amount: int, unit: str, kind: Type) -> str:
        """So many months, days, hours … later; the result is known to be within years 1 to 9999."""
        moved = f"{sql} + INTERVAL {self.interval.format(amount, unit)}"
        return f"CAST({moved} AS DATE)" if kind is Type.DATE else f"({moved})"


class _Postgres(Dialect):
    name = "postgres"
    double = "DOUBLE PRECISION"
    string = "TEXT"
    wide = counted = digits = "NUMERIC"
    total = columnar = any_text = False
    cast_moments = wide_integers = ()
    places = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax"})
    halves = ("DIV({}, {})", "MOD({}, {})")
    cast = "CAST({} AS {})"
    bytewise = '({} COLLATE "C")'
    matches = "({} COLLATE \"C\") ~ '^({})$'"
    truth_to_double = "CAST(CAST({} AS INTEGER) AS DOUBLE PRECISION)"
    text_to_date = (
        "CASE WHEN ({0} COLLATE \"C\") < '0001' THEN NULL "
        f"WHEN EXTRACT(month FROM {BEGIN}) = {MONTH} THEN {BEGIN} END"
    )
    interval = "'{} {}'"
    stored_text = stored_padded = '(CAST({} AS TEXT) COLLATE "C")'
    stored_whole = f"(CASE WHEN ABS({{0}}) < 1e{DIGITS} THEN {{0}} END)"  # NaN is above everything
    # neither NaN nor infinite
    stored_decimal = stored_pointed = (
        "(CASE WHEN CAST({0} AS NUMERIC) - CAST({0} AS NUMERIC) = 0 THEN CAST({0} AS NUMERIC) END)"
    )
    templates: Mapping[str, str] = {
        "modulo": f"(CASE WHEN {{y}} <> {{n[0]}} AND ABS({{x}}) <= {{n[{WHOLE}]}} AND ABS({{y}}) <= {{n[{WHOLE}]}} "
        "THEN CAST(CAST({x} AS BIGINT) % CAST({y} AS BIGINT) AS {double}) END)",
        "log10": "(CASE WHEN {x} > {n[0]} THEN LOG({x}) END)",
        "ends_with": '((RIGHT({x}, CHAR_LENGTH({y})) COLLATE "C") = {y})',
        "contains": "(STRPOS({c}, {y}) > 0)",
    }

    def identifier(self, name: str) -> str:
        if len(name.encode()) > LONGEST_NAME:
            raise InputError(f"the name {name!r} is longer than the {LONGEST_NAME} bytes PostgreSQL keeps: rename it")
        return super().identifier(name)

    def _literal(self, written: str) -> str:
        return f"'{written}'::float8"

    def _quoted(self, value: str) -> str:
        return ("E" if "\\" in value else "") + super()._quoted(value.replace("\\", "\\\\")) + "::text"

    def few(self, sql: str, names: Sequence[str]) -> str:
        return sql

    def extreme(self, function: str, kind: Type) -> str:
        return {"MIN": "BOOL_AND", "MAX": "BOOL_OR"}[function] if kind is Type.BOOLEAN else function

    def let(self, name: str, parts: Sequence[tuple[str, str]], inside: str) -> str:
        inner = ", ".join(f"{part} AS {field}" for field, part in parts)
        return (
            f"(SELECT {inside} FROM (SELECT {inner} OFFSET 0) AS {name})"  # OFFSET keeps the parts from going back in
        )

    def trunc(self, unit: str, sql: str, kind: Type) -> str:
        return super().trunc(unit, f"CAST({sql} AS TIMESTAMP)" if kind is Type.DATE else sql, kind)

    def extract(self, field: str, sql: str) -> str:
        found = f"EXTRACT({'microseconds' if field == 'microsecond' else field} FROM {sql})"
        return self.to_double(f"FLOOR({found})" if field == "second" else found)


class _Spark(Dialect):
    """Its own truncation of timestamps goes through a time zone, so they are put together anew."""

    name = "spark"
    string = "STRING"
    timestamp = "TIMESTAMP_NTZ"
    wide = "DECIMAL(38, 0)"
    counted = "DECIMAL(20, 0)"
    summand = "DECIMAL(19, 0)"
    materialized = ""
    held = "/*+ BROADCAST(c) */ "
    columnar = any_text = False
    cast_moments = wide_integers = ()
    places = frozenset[str]()  # what there is can be seen in the plan
    halves = ("({} div {})", "({} % {})")
    truncated = "CAST({} AS BIGINT)"
    matches = "REGEXP_REPLACE({0}, '^({1})$', '') = '' AND {0} <> ''"  # $ alone lets a last newline pass
    stored_text = "COLLATE(CAST({} AS STRING), 'UTF8_BINARY')"
    stored_padded = f"RTRIM({stored_text})"
    valid_text = "TRY_VALIDATE_UTF8({})"
    stored_whole = "{}"
    stored_decimal = "CAST({} AS STRING)"
    stored_pointed = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST({} AS STRING)))"
    fields: Mapping[str, str] = {
        "dow": "(DAYOFWEEK({}) - 1)", "isodow": "(WEEKDAY({}) + 1)", "doy": "DAYOFYEAR({})", "week": "WEEKOFYEAR({})",
        "microsecond": "(EXTRACT(SECOND FROM {}) * 1000000)",
    }  # fmt: skip
    templates: Mapping[str, str] = {
        "floor": CUT.replace("?", "FLOOR({x})"),
        "ceil": CUT.replace("?", "CEIL({x})"),
        "trunc": CUT.replace("?", "CASE WHEN {x} < {n[0]} THEN CEIL({x}) ELSE FLOOR({x}) END"),
        "position": "CAST(INSTR({x}, {y}) AS DOUBLE)",
        "starts_with": "STARTSWITH({x}, {y})",
        "ends_with": "ENDSWITH({x}, {y})",
        "date_diff": "CAST(DATEDIFF(CAST({x} AS DATE), CAST({y} AS DATE)) AS DOUBLE)",
    }

    def identifier(self, name: str) -> str:
        super().identifier(name)
        if "${" in name:
            raise InputError(
                f"the name {name!r} holds ${{, which Spark would put something else in place of: rename it"
            )
        return "`" + name.replace("`", "``") + "`"

    def _literal(self, written: str) -> str:
        return f"({written}D)"

    def _quoted(self, value: str) -> str:
        return f"'{value}'" if PLAIN.fullmatch(value) else f"CAST(X'{value.encode().hex()}' AS STRING)"

    def few(self, sql: str, names: Sequence[str]) -> str:
        return sql

    def sum(self, sql: str, largest: int = 2**63) -> str:
        return f"SUM({sql})" if largest <= SUMMAND else super().sum(sql)

    def product(self, sql: str, factor: str) -> str:
        return f"{self.factor(sql)} * CAST({factor} AS DECIMAL(18, 0))"

    def let(self, name: str, parts: Sequence[tuple[str, str]], inside: str) -> str:
        inner = ", ".join(f"'{field}', {part}" for field, part in parts)
        return f"element_at(transform(array(named_struct({inner})), {name} -> {inside}), 1)"

    def trunc(self, unit: str, sql: str, kind: Type) -> str:
        if unit in ("hour", "minute", "second"):
            minute = f"MINUTE({sql})" if unit != "hour" else "0"
            second = f"CAST(FLOOR(SECOND({sql})) AS DECIMAL(8, 6))" if unit == "second" else "0"
            return f"MAKE_TIMESTAMP_NTZ(YEAR({sql}), MONTH({sql}), DAY({sql}), HOUR({sql}), {minute}, {second})"
        day = sql if kind is Type.DATE else f"CAST({sql} AS DATE)"
        begin = day if unit == "day" else f"TRUNC({day}, '{unit.upper()}')"
        return begin if kind is Type.DATE else f"CAST({begin} AS TIMESTAMP_NTZ)"

    def extract(self, field: str, sql: str) -> str:
        return self.to_double(self.fields.get(field, field.upper() + "({})").format(sql))

    def later(self, sql: str, amount: int, unit: str, kind: Type) -> str:
        days = kind is Type.DATE and unit == "day"
        return f"DATE_ADD({sql}, {amount})" if days else super().later(sql, amount, unit, kind)


DUCKDB, POSTGRES, SPARK = Dialect(), _Postgres(), _Spark()
DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SPARK)}
