"""Random expressions over every operation, and rows of the values that break things, for the engines to agree on."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import isclose
from random import Random
from typing import Any

from tacit.engine.dialect import Dialect
from tacit.plan.expression import Call, Column, Expression, constant
from tacit.plan.facts import Facts, Type, Value, domain_of, exact_step
from tacit.plan.operation import OPERATIONS, Held, call, held
from tacit.plan.operation.range import is_whole

__all__ = [
    "COLUMNS", "NUMBERS", "ROWS", "SHAPES", "agree", "broken_fact", "columns", "grown", "inexact", "of_operation",
    "values_sql",
]  # fmt: skip

LARGEST = 1.7976931348623157e308
NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 0.1, 1e-5, 0.49999999999999994, 3.0, 10.0, -7.25, 1e15, 123456.789,
]  # fmt: skip
NUMBERS += [2.0**52 + 1, 2.0**53, -(2.0**53), 2.0**63, -(2.0**63), 1e20, 1e100, -1e100, 1e154, 1.4e154, -1e155, 1e-154]
NUMBERS += [
    LARGEST, -LARGEST, LARGEST / 2, 9e307, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, -1e-200, 1e-162, 700.0,
]  # fmt: skip
TEXTS = [
    "", " ", "a", "A", "abc", "ABC def", "  pad  ", "été", "É", "日本語", "😀x", "a%b_c", "100%", "\\", "a\\b", "'",
    '"',
]  # fmt: skip
TEXTS += ["12", "-7", "+5", "3.25", "1e5", ".5", "1e99", "12 ", "12\n", "true", "F", "0", "2024-02-29", "2023-02-30"]
TEXTS += [
    "0000-01-01", "0001-01-01", "9999-12-31", "nan", "inf", "x" * 5000, "!", "a!b", "123456789012345",
    "1234567890123456",
]  # fmt: skip
DATES = [date.min, date(1, 1, 31), date(1582, 10, 10), date(1900, 2, 28), date(1969, 12, 31), date(1970, 1, 1)]
DATES += [
    date(2000, 2, 29), date(2024, 1, 31), date(2024, 2, 29), date(2020, 12, 31), date(2021, 1, 3), date(9998, 12, 31),
]  # fmt: skip
DATES += [date(9999, 11, 30), date.max]
TIMES = [
    datetime.min, datetime(1, 1, 31, 23, 59, 59, 999999), datetime(1969, 12, 31, 23, 59, 59, 1), datetime(1970, 1, 1),
]  # fmt: skip
TIMES += [datetime(2024, 3, 31, 2, 30, 15, 500000), datetime(2024, 2, 29, 12), datetime(2000, 12, 31, 0, 0, 0, 1)]
TIMES += [datetime(1883, 11, 18, 12, 3, 57), datetime(9999, 12, 31, 23), datetime.max]

COLUMNS: dict[str, Facts] = {
    "b": Facts(type=Type.BOOLEAN),
    "i": Facts(type=Type.INTEGER, low=-50, high=100, nullable=False),
    "j": Facts(type=Type.INTEGER, low=0, high=9),
    "k": Facts(type=Type.INTEGER, low=-(2**53), high=2**53),
    "u": Facts(type=Type.INTEGER, why='column "u" has no bounds'),
    "n": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(1000), step=Fraction(1, 4)),
    "p": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(5000), nullable=False),
    "x": Facts(type=Type.NUMBER, why='column "x" has no bounds'),
    "y": Facts(type=Type.NUMBER, low=Fraction(-3, 10), high=Fraction(1, 10)),
    "q": Facts(type=Type.INTEGER, low=1, high=3, domain=(1, 2, 3)),
    "t": Facts(type=Type.TEXT),
    "g": Facts(type=Type.TEXT, domain=("a", "B c", "É"), nullable=False),
    "d": Facts(type=Type.DATE),
    "e": Facts(type=Type.DATE, low=date(2023, 12, 25), high=date(2024, 3, 5)),
    "s": Facts(type=Type.TIMESTAMP),
    "r": Facts(type=Type.TIMESTAMP, low=datetime(2024, 1, 31, 22, 0), high=datetime(2024, 2, 1, 3, 30), nullable=False),
}


def _values(name: str) -> list[Value | float]:
    facts = COLUMNS[name]
    found: list[Value | float] = []
    match facts.type:
        case Type.BOOLEAN:
            found = [False, True]
        case Type.TEXT:
            found = list(facts.domain or TEXTS)
        case Type.DATE:
            found = [*DATES] if facts.low is None else [facts.low, facts.high, date(2024, 1, 31), date(2024, 2, 29)]
        case Type.TIMESTAMP:
            found = [*TIMES] if facts.low is None else [facts.low, facts.high, datetime(2024, 2, 1, 0, 0, 0, 1)]
        case _:
            found = [_fitted(number, facts) for number in NUMBERS]
    return [*found, None] if facts.nullable else found


def _fitted(number: float, facts: Facts) -> float:
    """The number as reading a column with these facts makes it."""
    most = float(2**53) if facts.type is Type.INTEGER else LARGEST
    low = -most if facts.low is None else float(facts.low)  # type: ignore[arg-type]  # of a number
    high = most if facts.high is None else float(facts.high)  # type: ignore[arg-type]  # of a number
    number = min(max(number, low), high)
    if is_whole(facts):
        return float(round(number))
    return float(round(number * 4) / 4) if facts.step is not None else number


_random = Random(20240229)  # rows are the same in every run
_lists = {name: _values(name) for name in COLUMNS}
ROWS: list[dict[str, Value | float]] = [
    {name: _random.choice(found) for name, found in _lists.items()} for _ in range(200)
]
ROWS += [
    {name: found[(i + 7 * j) % len(found)] for j, (name, found) in enumerate(_lists.items())}
    for i in range(max(len(found) for found in _lists.values()))
]


def values_sql(dialect: Dialect) -> str:
    """The rows as a SELECT, every value a constant of ours."""
    lines = []
    for row in ROWS:
        exact = ((Fraction(v) if isinstance(v, float) else v, COLUMNS[name].type) for name, v in row.items())
        lines.append(f"({', '.join(dialect.constant(value, kind) for value, kind in exact)})")
    names = ", ".join(dialect.identifier(name) for name in COLUMNS)
    return f"SELECT * FROM (VALUES {', '.join(lines)}) AS r({names})"


def columns(*types: Type) -> list[Expression]:
    return [Column(name=name, facts=facts) for name, facts in COLUMNS.items() if facts.type in types]


NUMERIC = (Type.INTEGER, Type.NUMBER)
TEMPORAL = (Type.DATE, Type.TIMESTAMP)
Shape = tuple[tuple[Type, ...] | list[Value | float] | str, ...]
"""What an argument is: of some types, one of some constants, "whole", "same" as the first, or "match", its constant."""

WORDS: list[Value | float] = ["", "a", "é", "b", "!", "%", "\\", "c ", "12"]
PATTERNS: list[Value | float] = [
    "%", "_", "a%", "%b%", "", "__", "100!%", "%\\%", "!_%", "%é%", "ABC%", "a!!b", "a\\\\b",
]  # fmt: skip
EXPRESSIONS: list[Value | float] = [
    "a", "^a", "c$", "^(abc|ABC)", "[0-9]+", "^[^0-9]*$", "^.$", "^..$", "é|日", "[[:alpha:]]{3}", "\\d{2,4}", "\\s",
    "\\\\", "^$", "x{100}", "(a|ab)(c|bcd)?$", "^(x*)*$", "[\\w.%]+$", "\\W", "'", "(?i)abc", "[^\n]\n$", "[a-é]",
    "[^x]$", "😀.", "a*?b",
]  # fmt: skip
WHOLE_EXPRESSIONS: list[Value | float] = ["", "a", "[a-c]+", "(abc|12)?", ".*", "[+-]?\\d+", "x{2,}", "(?:a%|b).*"]
UNITS: list[Value | float] = ["year", "quarter", "month", "week", "day"]
SHAPES: dict[str, list[Shape]] = {
    **{name: [(NUMERIC, NUMERIC)] for name in ("add", "subtract", "multiply", "divide", "power")},
    **{name: [("whole", "whole")] for name in ("div", "modulo")},
    **{
        name: [(NUMERIC,)]
        for name in ("negate", "abs", "sign", "floor", "ceil", "trunc", "sqrt", "ln", "log10", "log2", "exp")
    },
    "round": [(NUMERIC,), (NUMERIC, [0, 1, 2, 5, 15, -1, -3, -15])],
    **{
        name: [(tuple(Type), "same")] for name in ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct")
    },
    **{name: [(tuple(Type),)] for name in ("is_null", "is_not_null")},
    "between": [(tuple(Type), "same", "same")],
    "in": [(tuple(Type), "match", "match"), (tuple(Type), "match", [None])],
    **{name: [((Type.TEXT,), PATTERNS), ((Type.TEXT,), PATTERNS, ["!"])] for name in ("like", "ilike")},
    "regex": [
        ((Type.TEXT,), EXPRESSIONS, ["search", "search folded"]),
        ((Type.TEXT,), WHOLE_EXPRESSIONS, ["whole", "whole folded"]),
    ],
    **{name: [((Type.BOOLEAN,),) * n for n in (1, 2, 3)] for name in ("and", "or")},
    **{name: [((Type.BOOLEAN,),)] for name in ("not", "is_true", "is_false")},
    "case": [
        ((Type.BOOLEAN,), tuple(Type), "second"),
        ((Type.BOOLEAN,), tuple(Type), (Type.BOOLEAN,), "second", [None]),
    ],
    "switch": [(tuple(Type), "same", "same", "match"), (tuple(Type), "same", "same", "same", "match", [None])],
    "coalesce": [(tuple(Type), "same"), (tuple(Type), "same", "match")],
    "nullif": [(tuple(Type), "same")],
    **{name: [((*NUMERIC, *TEMPORAL, Type.TEXT), "same", "same")] for name in ("least", "greatest")},
    "clamp": [((*NUMERIC, *TEMPORAL), "same", "same"), (NUMERIC, [-2, 0], [3, 50])],
    **{name: [((Type.TEXT,),)] for name in ("lower", "upper", "length", "trim", "ltrim", "rtrim")},
    "substr": [((Type.TEXT,), [1, 2, 5]), ((Type.TEXT,), [1, 2, 5], [0, 1, 3])],
    **{name: [((Type.TEXT,), [0, 1, 2, 100])] for name in ("left", "right")},
    "concat": [((Type.TEXT,),), ((Type.TEXT,), (Type.TEXT,)), ((Type.TEXT,), WORDS, (Type.TEXT,))],
    "replace": [((Type.TEXT,), ["a", "é", " ", "\\", "x"], ["", "bb", "'"])],
    "position": [((Type.TEXT,), ["a", "é", " ", "\\", "x", "語", "bc"])],
    "split_part": [((Type.TEXT,), ["a", "é", " ", "\\", "%", "-", "x"], [1, 2, 3])],
    **{name: [((Type.TEXT,), WORDS)] for name in ("starts_with", "ends_with", "contains")},
    "date_trunc": [(UNITS, TEMPORAL), (["hour", "minute", "second"], (Type.TIMESTAMP,))],
    "extract": [
        (["year", "quarter", "month", "week", "day", "dow", "isodow", "doy"], TEMPORAL),
        (["hour", "minute", "second", "microsecond"], (Type.TIMESTAMP,)),
    ],
    "date_add": [
        (TEMPORAL, [0, 1, -1, 13, -40, 5000, 200000, -200000], UNITS),
        ((Type.TIMESTAMP,), [1, -1, 100000], ["hour", "minute", "second"]),
    ],
    "date_diff": [(TEMPORAL, TEMPORAL)],
    "to_timestamp": [(TEMPORAL,)],
    "to_integer": [((Type.BOOLEAN, *NUMERIC, Type.TEXT),)],
    "to_number": [((Type.BOOLEAN, *NUMERIC, Type.TEXT),)],
    "to_text": [((Type.BOOLEAN, Type.INTEGER, Type.TEXT),)],
    "to_boolean": [((Type.BOOLEAN, *NUMERIC, Type.TEXT),)],
    "to_date": [((Type.TEXT, *TEMPORAL),)],
}

CONSTANTS: dict[Type, list[Value | float]] = {
    Type.BOOLEAN: [False, True],
    Type.INTEGER: [0, 1, -1, 2, 3, 7, 10, 2**53],
    Type.NUMBER: [0.1, 0.5, -2.5, 1e-300, 1e300, 1e18, LARGEST, 5e-324],
    Type.TEXT: WORDS,
    Type.DATE: [*DATES],
    Type.TIMESTAMP: [*TIMES],
}
BY_RESULT: dict[Type, list[str]] = {
    Type.BOOLEAN: ["eq", "lt", "ge", "and", "or", "not", "like", "in", "is_null", "to_boolean", "case", "coalesce"],
    Type.INTEGER: ["floor", "round", "modulo", "div", "length", "extract", "date_diff", "to_integer", "sign", "case",
                   "switch"],
    Type.NUMBER: ["add", "subtract", "multiply", "divide", "negate", "abs", "sqrt", "round", "clamp", "least", "case"],
    Type.TEXT: ["lower", "upper", "substr", "concat", "trim", "replace", "to_text", "left", "case", "switch",
                "coalesce"],
    Type.DATE: ["date_trunc", "date_add", "to_date", "greatest", "case"],
    Type.TIMESTAMP: ["date_trunc", "date_add", "to_timestamp", "least", "case"],
}  # fmt: skip


def grown(chance: Random, types: tuple[Type, ...], depth: int) -> Expression:
    """A random expression of one of the types."""
    kind = chance.choice(types)
    if depth > 0 and chance.random() < 0.8:
        for _ in range(4):
            found = of_operation(chance, chance.choice(BY_RESULT[kind]), depth, kind)
            if found.facts.type in types:
                return found
    if chance.random() < 0.2:
        return constant(chance.choice(CONSTANTS[kind]))
    return chance.choice(columns(kind))


def of_operation(chance: Random, name: str, depth: int, prefer: Type | None = None) -> Call:
    """A call of the operation on random arguments."""
    shape = chance.choice(SHAPES[name])
    arguments: list[Expression] = []
    for part in shape:
        if isinstance(part, list):
            arguments.append(constant(chance.choice(part)))
        elif part == "whole":
            arguments.append(grown(chance, (Type.INTEGER,), depth - 1))
        elif isinstance(part, str):
            kind = arguments[1 if part == "second" else 0].facts.type
            alike = NUMERIC if kind in NUMERIC else TEMPORAL if kind in TEMPORAL else (kind,)
            if part == "match":
                arguments.append(constant(chance.choice(CONSTANTS[kind])))
            else:
                arguments.append(grown(chance, alike, depth - 1))
        else:
            arguments.append(grown(chance, (prefer,) if prefer in part else part, depth - 1))
    return call(name, *arguments)


def inexact(expression: Expression) -> bool:
    """Whether an operation in it may differ in the last digits between engines."""
    return any(getattr(part, "operation", None) in _INEXACT for part in expression.walk())


_INEXACT = {name for name, operation in OPERATIONS.items() if not operation.exact}


def broken_fact(facts: Facts, values: Iterable[Held]) -> str | None:
    """Which fact one of the values contradicts, if any."""
    listed = domain_of(facts, 5000)
    known = None if listed is None else {held(value) for value in listed}
    found = (_broken(facts, known, value) for value in values)
    return next((fact for fact in found if fact is not None), None)


def _broken(facts: Facts, known: set[Held] | None, value: Held) -> str | None:
    if value is None:
        return None if facts.nullable else "nullable"
    for name, bound, sign in (("low", facts.low, 1), ("high", facts.high, -1)):
        if bound is not None and _below(value, held(bound), sign):
            return name
    if known is not None and value not in known:
        return "domain"
    step = exact_step(facts)
    if step is not None and (not isinstance(value, float) or (Fraction(value) / step).denominator != 1):
        return "step"
    if facts.type is Type.INTEGER and (not isinstance(value, float) or abs(value) > 2**53):
        return "type"
    held_as = {Type.BOOLEAN: bool, Type.TEXT: str, Type.DATE: date, Type.TIMESTAMP: datetime}.get(facts.type, float)
    return None if type(value) is held_as else "type"


def agree(expression: Expression, wanted: Sequence[Held], found: Sequence[Held]) -> bool:
    """Whether two engines gave the same: to the last bit, or of ln, exp and power within a part in 10^12.

    Under another operation a last digit can decide anything, so there only the facts are compared.
    """
    if any(inexact(part) for part in expression.parts):
        return True
    same = _near if inexact(expression) else _same
    return len(wanted) == len(found) and all(same(a, b) for a, b in zip(wanted, found, strict=True))


def _same(a: Held, b: Held) -> bool:
    return type(a) is type(b) and a == b


def _near(a: Held, b: Held) -> bool:
    return isclose(a, b, rel_tol=1e-12) if isinstance(a, float) and isinstance(b, float) else _same(a, b)


def _below(value: Any, bound: Any, sign: int) -> bool:
    return bool(value < bound if sign > 0 else value > bound)
