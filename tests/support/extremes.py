"""Tables that hold the ends of every stored type, beside rows that are like any other.

The columns are those of `support.expressions`, so that its random expressions can be asked of them. Each is stored as
one of the engine's types that fit its declaration. `calm` has the plain rows; `wild` has them too, and for each column
and each extreme value a row of a person of their own, plain but for that value. The column `side` tells them apart.
"""

from collections.abc import Iterator
from random import Random

from support.expressions import COLUMNS
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["SIDE", "rounds", "scan", "table_sql"]

SIDE = Facts(type=Type.INTEGER, domain=(0, 1), low=0, high=1, nullable=False)
WHO = Facts(type=Type.INTEGER)
Kinds = dict[Type, dict[str, list[str]]]


def _casts(kind: str, *values: str) -> tuple[str, list[str]]:
    return kind, [f"CAST({value} AS {kind})" for value in values]


def _whole(kind: str, bits: int, *, signed: bool = True) -> tuple[str, list[str]]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    odd = [end for end in (0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**40, -(2**40) - 1) if low <= end <= high]
    return _casts(kind, *(f"'{end}'" for end in (low, high, *odd)))


def _quoted(*values: str) -> tuple[str, ...]:
    return tuple(f"'{value}'" for value in values)


TEXTS = _quoted("", " ", "a ", "\u0301", "\uffff", "\U0010ffff", "\u202e", "İ", "ﬃ", "ß", "\u0663", "\uff11", "9" * 400,
                "+", "-", ".", "1e999", "-1e999", "1e-999", "0x10", "1_0", "nan", "Infinity", "-0", "00000000",
                "2024-02-30", "0000-00-00", "99999-01-01", "infinity", "-0001-01-01", "true ", "T",
                "%", "_", "!", "\t\n\r", "12\n")  # fmt: skip
HUGE = "REPEAT('aé😀', 20000)"
DAYS = ("0001-01-01", "9999-12-31", "1582-10-10", "1970-01-01", "0001-12-31", "9999-01-01")
TIMES = (
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "1969-12-31 23:59:59.999999",
    "9999-12-31 00:00:00.000001",
)
FLOATS = _quoted("NaN", "Infinity", "-Infinity", "0", "-0", "1e-30", "3e38")
DOUBLES = (*FLOATS, *_quoted("5e-324", "-5e-324", "2.2250738585072014e-308", "1e-310", "1.7976931348623157e308",
                             "-1.7976931348623157e308", "9007199254740993", "1099511627776.5"))  # fmt: skip
NUMERICS = _quoted("NaN", "Infinity", "-Infinity", "1e-324", "2.4e-324", "2.5e-324", "5e-324", "1e-330", "1e-400",
                   "-1e-400", "1e-16383", "1e400", "-1e400", "1e131071", "1.7976931348623157e308",
                   "1.7976931348623159e308",
                   "-1.8e308", "0.000", "1e-5", "9007199254740993")  # fmt: skip

POSTGRES: Kinds = {
    Type.BOOLEAN: dict([_casts("boolean", "true", "false")]),
    Type.INTEGER: dict(
        [
            _whole("smallint", 16),
            _whole("integer", 32),
            _whole("bigint", 64),
            _casts("numeric(60,0)", "'NaN'", "'1e59'", "'-1e59'", "'9007199254740993'", "0"),
        ]
    ),
    Type.NUMBER: dict(
        [
            _casts("real", *FLOATS, "'1e-45'"),
            _casts("double precision", *DOUBLES),
            _casts("numeric", *NUMERICS),
            _casts("numeric(1000,500)", "'1e-500'", "'-1e-400'", "'1e499'", "'NaN'", "0"),
            _casts("numeric(20,4)", "'NaN'", "'9999999999999999.9999'", "'0.0001'", "-1"),
            _whole("bigint", 64),
        ]
    ),
    Type.TEXT: dict([_casts("text", *TEXTS, HUGE), _casts("varchar(500)", *TEXTS), _casts("char(410)", *TEXTS)]),
    Type.DATE: dict(
        [
            _casts("date", *_quoted(*DAYS, "4713-01-01 BC", "0001-12-31 BC", "10000-01-01", "294276-12-31",
                                    "5874897-12-31", "infinity", "-infinity")),
            _casts("timestamp", *_quoted(*TIMES, "4714-11-24 BC", "294276-12-31 23:59:59.999999", "infinity",
                                         "-infinity")),
            _casts("timestamptz", *_quoted("4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00", "infinity",
                                           "0001-01-01 00:00:00+14", "9999-12-31 23:00:00-12")),
        ]
    ),
    Type.TIMESTAMP: dict(
        [
            _casts("timestamp", *_quoted(*TIMES, "4714-11-24 BC", "294276-12-31 23:59:59.999999", "infinity",
                                         "-infinity")),
            _casts("timestamptz", *_quoted("4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00", "infinity",
                                           "-infinity", "0001-01-01 00:00:00+14", "9999-12-31 23:00:00-12")),
            _casts("timestamp(0)", *_quoted(*TIMES, "294276-12-31 23:59:59", "infinity")),
        ]
    ),
}  # fmt: skip
DUCKDB: Kinds = {
    Type.BOOLEAN: dict([_casts("BOOLEAN", "true", "false")]),
    Type.INTEGER: dict(
        [
            _whole("TINYINT", 8),
            _whole("SMALLINT", 16),
            _whole("INTEGER", 32),
            _whole("BIGINT", 64),
            _whole("HUGEINT", 128),
            _whole("UTINYINT", 8, signed=False),
            _whole("UBIGINT", 64, signed=False),
            _whole("UHUGEINT", 128, signed=False),
            _casts("DECIMAL(38,0)", f"'{'9' * 38}'", f"'-{'9' * 38}'", "0"),
        ]
    ),
    Type.NUMBER: dict(
        [
            _casts("FLOAT", *FLOATS, "'1e-45'"),
            _casts("DOUBLE", *DOUBLES),
            _casts("DECIMAL(38,38)", "'0.1'", f"'-0.{'9' * 38}'", f"'0.{'0' * 37}1'", "0"),
            _casts("DECIMAL(38,0)", f"'{'9' * 38}'", f"'-{'9' * 38}'", "0"),
            _casts("DECIMAL(18,3)", "'999999999999999.999'", "'0.001'", "0"),
            _whole("UHUGEINT", 128, signed=False),
        ]
    ),
    Type.TEXT: dict(
        [
            _casts("VARCHAR", *TEXTS, HUGE, "'a' || CHR(0) || 'b'"),
            _casts("ENUM('', 'a', 'É', '12', '9999-99-99')", *_quoted("", "a", "É", "12", "9999-99-99")),
        ]
    ),
    Type.DATE: dict(
        [
            _casts("DATE", *_quoted(*DAYS, "infinity", "-infinity", "5877642-06-25 (BC)", "5881580-07-10",
                                    "10000-01-01", "0001-12-31 (BC)")),
            _casts("TIMESTAMP", *_quoted(*TIMES, "infinity", "-infinity", "290309-12-22 (BC) 00:00:00",
                                         "294247-01-10 04:00:54.775806")),
            _casts("TIMESTAMP_NS", *_quoted("1677-09-22 00:00:00", "2262-04-11 23:47:16.854775806")),
        ]
    ),
    Type.TIMESTAMP: dict(
        [
            _casts("TIMESTAMP", *_quoted(*TIMES, "infinity", "-infinity", "290309-12-22 (BC) 00:00:00",
                                         "294247-01-10 04:00:54.775806")),
            _casts("TIMESTAMPTZ", *_quoted(*TIMES, "infinity", "-infinity", "294247-01-10 04:00:54.775806+00",
                                           "0001-01-01 00:00:00+14", "9999-12-31 23:00:00-12")),
            _casts("TIMESTAMP_S", *_quoted("0001-01-01 00:00:00", "9999-12-31 23:59:59", "infinity", "-infinity")),
            _casts("TIMESTAMP_MS", *_quoted("0001-01-01 00:00:00", "9999-12-31 23:59:59.999", "infinity")),
            _casts("TIMESTAMP_NS", *_quoted("1677-09-22 00:00:00", "2262-04-11 23:47:16.854775806", "infinity")),
        ]
    ),
}  # fmt: skip
LAST = "TIMESTAMP_NTZ '+294247-01-10 04:00:54.775807'"
FIRST = "TIMESTAMP_NTZ '-290308-12-21 19:59:05.224192'"
NTZ = [*(f"TIMESTAMP_NTZ '{time}'" for time in TIMES), FIRST, LAST]
MICROS = ["TIMESTAMP_MICROS(9223372036854775807)", "TIMESTAMP_MICROS(-9223372036854775808)"]
FAR = ["DATE_ADD(DATE '1970-01-01', 2147483647)", "DATE_ADD(DATE '1970-01-01', -2147483648)", "DATE '-0001-12-31'"]
SPARK: Kinds = {
    Type.BOOLEAN: dict([_casts("BOOLEAN", "true", "false")]),
    Type.INTEGER: dict(
        [
            _whole("TINYINT", 8),
            _whole("SMALLINT", 16),
            _whole("INT", 32),
            _whole("BIGINT", 64),
            _casts("DECIMAL(38,0)", f"'{'9' * 38}'", f"'-{'9' * 38}'", "0"),
        ]
    ),
    Type.NUMBER: dict(
        [
            _casts("FLOAT", *FLOATS, "'1e-45'"),
            _casts("DOUBLE", *DOUBLES),
            _casts("DECIMAL(38,38)", "'0.1'", f"'-0.{'9' * 38}'", f"'0.{'0' * 37}1'", "0"),
            _casts("DECIMAL(38,0)", f"'{'9' * 38}'", f"'-{'9' * 38}'", "0"),
        ]
    ),
    Type.TEXT: dict([_casts("STRING", *TEXTS, HUGE, "X'61ff'", "X'c3'", "X'eda080'", "X'610062'")]),
    Type.DATE: {"DATE": [*(f"DATE '{day}'" for day in DAYS), *FAR, "DATE '+10000-01-01'"], "TIMESTAMP_NTZ": NTZ},
    Type.TIMESTAMP: {"TIMESTAMP_NTZ": NTZ, "TIMESTAMP": [*(f"TIMESTAMP '{time}+00:00'" for time in TIMES), *MICROS]},
}
KINDS: dict[str, Kinds] = {"duckdb": DUCKDB, "postgres": POSTGRES, "spark": SPARK}
PLAIN: dict[str, tuple[str, ...]] = {
    "b": ("true", "false", "NULL"),
    "t": ("'a'", "'12'", "NULL", "''"),
    "g": ("'a'", "'a'"),
    "q": ("1", "2", "3"),
    "d": ("'2024-02-29'", "'1999-12-31'", "NULL"),
    "e": ("'2024-01-31'", "'2024-02-29'"),
    "s": ("'2024-02-29 10:20:30'", "NULL", "'1999-12-31 23:59:59'"),
    "r": ("'2024-02-01 00:00:01'", "'2024-01-31 23:00:00'"),
}


def scan(table: str) -> Scan:
    sources = (Source(name=name, column=name, facts=facts) for name, facts in COLUMNS.items())
    owner = Source(name="who", column="who", facts=WHO), Source(name="side", column="side", facts=SIDE)
    return Scan(table=table, columns=(*owner, *sources), is_private=True, unit_name="who", unit_type=Type.INTEGER)


def rounds(dialect: str, chance: Random | None = None) -> list[dict[str, str]]:
    """What columns are stored as: over all rounds, each type that fits a declaration occurs; or one round by chance."""
    kinds = KINDS[dialect]
    if chance is not None:
        return [{name: chance.choice(list(kinds[facts.type])) for name, facts in COLUMNS.items()}]
    most = max(len(found) for found in kinds.values())
    found = []
    for i in range(most):
        each = enumerate(COLUMNS.items())
        found.append({name: list(kinds[f.type])[(i + j) % len(kinds[f.type])] for j, (name, f) in each})
    return found


def table_sql(dialect: str, stored: dict[str, str], *, wild: bool) -> str:
    """The SELECT of a table's rows, `stored` in these types."""
    lines = [_line(dialect, stored, who, 0, {}) for who in range(1, 13)]
    if wild:
        odd = [
            (name, value)
            for name, kind in stored.items()
            for value in (*KINDS[dialect][COLUMNS[name].type][kind], f"CAST(NULL AS {kind})")
        ]
        lines += [_line(dialect, stored, 100 + i, 1, {name: value}) for i, (name, value) in enumerate(odd)]
        lines += [_line(dialect, stored, 10**6 + i, 1, dict(_all(dialect, stored, i))) for i in range(20)]
    names = ", ".join(("who", "side", *stored))
    return f"SELECT * FROM (VALUES {', '.join(lines)}) AS r({names})"


def _all(dialect: str, stored: dict[str, str], i: int) -> Iterator[tuple[str, str]]:
    """An extreme value of every column."""
    for name, kind in stored.items():
        values = KINDS[dialect][COLUMNS[name].type][kind]
        yield name, values[i % len(values)]


def _line(dialect: str, stored: dict[str, str], who: int, side: int, odd: dict[str, str]) -> str:
    chosen = [f"CAST({who} AS BIGINT)", f"CAST({side} AS INT)"]
    for at, (name, kind) in enumerate(stored.items()):
        plain = PLAIN.get(name, ("1", "2", "0", "3"))
        value = plain[(who + at) % len(plain)]
        if "(38,38)" in kind:  # which has no room for 1
            value = "'0.25'"
        chosen.append(odd.get(name, f"CAST({value} AS {kind})"))
    return f"({', '.join(chosen)})"
