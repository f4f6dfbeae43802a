"""An expression of the plan as SQL of an engine, which gives what `plan/operation` says and never fails on a row.

Most operations are templates in the table of the plan, or a dialect's own. The others follow from facts and constants.

PostgreSQL raises an error where a double overflows or underflows, so what can is tested before. The tests are exact:
scaled by powers of two, they ask whether the rounded result would leave the doubles. (A product within a 2^-52nd of
2^-1075, half the smallest double, may be 0 in PostgreSQL and that double elsewhere.)
"""

from fractions import Fraction
from math import exp, inf

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.engine.pattern import regex_sql
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import WHOLE, Facts, Type, domain_of
from tacit.plan.operation import OPERATIONS
from tacit.plan.operation.kind import text_constant, whole_constant
from tacit.plan.operation.logic import LOWER, pattern_tokens
from tacit.plan.operation.number import POWER_LIMIT, POWER_STEEP, POWER_TINY
from tacit.plan.operation.range import LARGEST, ends, is_whole, size_of
from tacit.plan.operation.text import DATE, FALSE, INTEGER, LONGEST, MOST, NUMBER, TRUE
from tacit.plan.operation.time import FIRST, LAST, later, room_to_add

__all__ = ["RENDERS", "expression_sql"]

TINY = Fraction(1, 2**1000)  # products and quotients from here on are normal
MARK = "!"  # the escape character of every pattern that needs one
MOST_KNOWN = 1000  # texts whose lengths are looked at


def expression_sql(expression: Expression, dialect: Dialect) -> str:
    """SQL that can stand wherever a value can. Columns are named without a table, so their names are unique there."""
    return _written(expression, Writer(dialect))


def _written(expression: Expression, writer: Writer) -> str:
    if isinstance(expression, Column):
        return writer.dialect.identifier(expression.name)
    if isinstance(expression, Constant):
        return writer.dialect.constant(expression.value, expression.facts.type)
    if not isinstance(expression, Call) or expression.operation not in OPERATIONS:
        raise InputError("an expression holds an operation that no engine has")
    arguments = [_written(argument, writer) for argument in expression.arguments]
    if expression.operation in RENDERS:
        return RENDERS[expression.operation](writer, expression, arguments)
    return writer.operation(expression.operation, arguments, expression)


def _like(w: Writer, call: Call, arguments: list[str]) -> str:
    folded = call.operation == "ilike"
    texts = [text_constant(argument) for argument in call.arguments[1:]]
    tokens = pattern_tokens(*(text.translate(LOWER) if folded else text for text in texts))
    marked = any(token in ("%", "_", "\\") for token in tokens)
    special = ("%", "_", MARK) if marked else ()
    written = "".join(
        "%" if token is None else "_" if token == "" else MARK + token if token in special else token
        for token in tokens
    )
    text = w.operation("lower", arguments[:1]) if folded else arguments[0]
    ending = f" ESCAPE '{MARK}'" if marked else ""
    return f"({w.dialect.bytewise.format(text)} LIKE {w.dialect.text(written)}{ending})"


def _regex(w: Writer, call: Call, arguments: list[str]) -> str:
    pattern, mode = map(text_constant, call.arguments[1:])
    return regex_sql(arguments[0], pattern, mode, w.dialect)


def _case(w: Writer, call: Call, arguments: list[str]) -> str:
    pairs = zip(arguments[0:-1:2], arguments[1::2], strict=True)
    return f"(CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in pairs)} ELSE {arguments[-1]} END)"


def _switch(w: Writer, call: Call, arguments: list[str]) -> str:
    """As a searched CASE over a value that is named where it is long: engines write a simple CASE out like this, too,
    with the value once for each arm, so that nested ones would double it every time."""
    text = call.arguments[0].facts.type is Type.TEXT
    pairs = list(zip(arguments[1:-1:2], arguments[2::2], strict=False))

    def body(x: str) -> str:
        x = w.dialect.bytewise.format(x) if text else x
        return f"(CASE {' '.join(f'WHEN {x} = {y} THEN {z}' for y, z in pairs)} ELSE {arguments[-1]} END)"

    return w.let(arguments[:1], body)


def _extreme(w: Writer, call: Call, arguments: list[str]) -> str:
    """LEAST and GREATEST leave NULLs out in every engine, and some do not take one argument alone."""
    return arguments[0] if len(arguments) == 1 else w.operation(call.operation, arguments, call)


def _part(sql: str, start: int, length: int) -> str:
    return f"SUBSTRING({sql}, {start}, {length})"


def _substr(w: Writer, call: Call, arguments: list[str]) -> str:
    start, length = (*map(whole_constant, call.arguments[1:]), MOST)[:2]
    return _part(arguments[0], start, length)


def _concat(w: Writer, call: Call, arguments: list[str]) -> str:
    longest = [_longest(argument) for argument in call.arguments]
    if sum(longest) <= LONGEST:
        return f"({' || '.join(arguments)})"
    lengths = zip(arguments, longest, strict=True)
    parts = [sql if length <= LONGEST else _part(sql, 1, LONGEST) for sql, length in lengths]
    return _part(f"({' || '.join(parts)})", 1, LONGEST)


def _longest(argument: Expression) -> int:
    values = domain_of(argument.facts, MOST_KNOWN)
    return MOST if values is None else max((len(value) for value in values if isinstance(value, str)), default=0)


def _replace(w: Writer, call: Call, arguments: list[str]) -> str:
    sought, put = (text_constant(argument) for argument in call.arguments[1:])
    if len(put) <= len(sought):
        return f"REPLACE({', '.join(arguments)})"
    return _part(f"REPLACE({_part(arguments[0], 1, LONGEST)}, {arguments[1]}, {arguments[2]})", 1, LONGEST)


def _date_trunc(w: Writer, call: Call, arguments: list[str]) -> str:
    unit = text_constant(call.arguments[0])
    return w.let(arguments[1:], lambda x: w.dialect.trunc(unit, x, call.facts.type))


def _extract(w: Writer, call: Call, arguments: list[str]) -> str:
    return w.dialect.extract(text_constant(call.arguments[0]), arguments[1])


def _date_add(w: Writer, call: Call, arguments: list[str]) -> str:
    facts, amount, unit = call.arguments[0].facts, whole_constant(call.arguments[1]), text_constant(call.arguments[2])
    room = room_to_add(amount, unit, facts.type)
    if room is None:
        return w.dialect.constant(None, facts.type)
    by = {"quarter": (amount * 3, "month"), "week": (amount * 7, "day")}.get(unit, (amount, unit))
    low = FIRST[facts.type] if facts.low is None else facts.low
    high = LAST[facts.type] if facts.high is None else facts.high
    if later(low, amount, unit) is not None and later(high, amount, unit) is not None:  # type: ignore[arg-type]  # dates
        return w.dialect.later(arguments[0], *by, call.facts.type)
    first, last = (w.dialect.constant(end, facts.type) for end in room)
    return w.let(
        arguments[:1],
        lambda x: f"(CASE WHEN {x} BETWEEN {first} AND {last} THEN {w.dialect.later(x, *by, call.facts.type)} END)",
    )


def _read(w: Writer, call: Call, arguments: list[str]) -> str:
    """A number from a text that is matched first, so that the engine's own cast has nothing to refuse."""
    facts, pattern = call.arguments[0].facts, INTEGER if call.operation == "to_integer" else NUMBER
    if facts.type is Type.TEXT:
        fits, double = w.dialect.matches, w.dialect.to_double
        return w.let(arguments, lambda x: f"(CASE WHEN {fits.format(x, pattern)} THEN {double(x)} END)")
    if facts.type is Type.BOOLEAN:
        return w.dialect.truth_to_double.format(arguments[0])
    return arguments[0] if pattern == NUMBER or is_whole(facts) else _nearest(w, arguments[0])


def _to_text(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = call.arguments[0].facts.type
    if kind is Type.TEXT:
        return arguments[0]
    if kind is Type.BOOLEAN:
        true, false = w.dialect.text("true"), w.dialect.text("false")
        return w.let(arguments, lambda x: f"(CASE WHEN {x} THEN {true} WHEN NOT {x} THEN {false} END)")
    limit, text = w.number(WHOLE), w.dialect.string
    return w.let(arguments, lambda x: f"(CASE WHEN ABS({x}) <= {limit} THEN CAST(CAST({x} AS BIGINT) AS {text}) END)")


def _to_boolean(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = call.arguments[0].facts.type
    if kind is not Type.TEXT:
        return arguments[0] if kind is Type.BOOLEAN else f"({arguments[0]} <> {w.number(0)})"
    true, false = (", ".join(map(w.dialect.text, words)) for words in (TRUE, FALSE))

    def body(x: str) -> str:
        x = w.dialect.bytewise.format(x)
        return f"(CASE WHEN {x} IN ({true}) THEN TRUE WHEN {x} IN ({false}) THEN FALSE END)"

    return w.let(arguments, body)


def _to_date(w: Writer, call: Call, arguments: list[str]) -> str:
    kind, fits, date = call.arguments[0].facts.type, w.dialect.matches, w.dialect.text_to_date
    if kind is not Type.TEXT:
        return arguments[0] if kind is Type.DATE else f"CAST({arguments[0]} AS DATE)"
    return w.let(arguments, lambda x: f"(CASE WHEN {fits.format(x, DATE)} THEN {date.format(x)} END)")


def _largest(facts: Facts) -> Fraction | float:
    """How large values can be in size."""
    return min(size_of(*ends(facts)), Fraction(WHOLE if facts.type is Type.INTEGER else LARGEST))


def _smallest(facts: Facts) -> Fraction:
    """How small in size what is not 0 can be. Of steps only whole ones are relied on: reading enforces no other."""
    low, high = ends(facts)
    away = max(low, -high)
    whole = Fraction(1) if facts.type is Type.INTEGER else Fraction(0)
    return max(whole, Fraction(away) if 0 < away < inf else Fraction(0), Fraction(5e-324))


def _saturated(w: Writer, sql: str) -> str:
    """An infinity becomes the largest double; NULL stays."""
    top, bottom = w.number(LARGEST), w.number(-LARGEST)
    return w.let([sql], lambda p: f"(CASE WHEN {p} > {top} THEN {top} WHEN {p} < {bottom} THEN {bottom} ELSE {p} END)")


def _sum(w: Writer, call: Call, arguments: list[str]) -> str:
    n, sign, more, less = w.number, *(("+", ">", "<") if call.operation == "add" else ("-", "<", ">"))
    a, b = (argument.facts for argument in call.arguments)
    plain = f" {sign} ".join(arguments)
    # less than 1 carries no double beyond the largest; and PostgreSQL would halve a constant even where it is not used
    if _largest(a) + _largest(b) <= LARGEST or min(_largest(a), _largest(b)) < 1:
        return f"({plain})"
    if w.dialect.total:
        return _saturated(w, f"({plain})")
    return w.let(
        arguments,
        lambda x, y: (
            f"(CASE WHEN LEAST(ABS({x}), ABS({y})) < {n(1)} THEN {x} {sign} {y}"
            f" WHEN ABS({x} * {n(0.5)} {sign} {y} * {n(0.5)}) <= {n(LARGEST / 2)} THEN {x} {sign} {y}"
            f" WHEN {x} > {n(0)} AND {y} {more} {n(0)} THEN {n(LARGEST)}"
            f" WHEN {x} < {n(0)} AND {y} {less} {n(0)} THEN -{n(LARGEST)} END)"
        ),
    )


def _multiply(w: Writer, call: Call, arguments: list[str]) -> str:
    a, b = (argument.facts for argument in call.arguments)
    over = _largest(a) * _largest(b) > LARGEST
    under = _smallest(a) * _smallest(b) < TINY
    plain = f"({arguments[0]} * {arguments[1]})"
    if w.dialect.total:
        return _saturated(w, plain) if over else plain
    return w.let(arguments, lambda x, y: _guarded_product(w, x, y, over, under)) if over or under else plain


def _guarded_product(w: Writer, x: str, y: str, over: bool, under: bool) -> str:
    n = w.number
    arms = [f"WHEN {x} = {n(0)} OR {y} = {n(0)} THEN {x} * {y}"]
    if over:
        scaled = f"ABS(({x} * {n(2.0**-600)}) * ({y} * {n(2.0**-450)}))"
        arms.append(
            f"WHEN ABS({x}) >= {n(1)} AND ABS({y}) >= {n(1)} THEN"
            f" CASE WHEN {scaled} <= {n(LARGEST * 2.0**-1000 * 2.0**-50)} THEN {x} * {y}"
            f" WHEN ({x} > {n(0)}) = ({y} > {n(0)}) THEN {n(LARGEST)} ELSE {n(-LARGEST)} END"
        )
    if under:
        scaled = f"ABS(({x} * {n(2.0**540)}) * ({y} * {n(2.0**540)}))"
        arms.append(
            f"WHEN ABS({x}) < {n(1)} AND ABS({y}) < {n(1)} AND LEAST(ABS({x}), ABS({y})) < {n(2.0**-500)} THEN"
            f" CASE WHEN {scaled} > {n(32)} THEN {x} * {y} ELSE {n(0)} END"
        )
    return f"(CASE {' '.join(arms)} ELSE {x} * {y} END)"


def _divide(w: Writer, call: Call, arguments: list[str]) -> str:
    a, b = (argument.facts for argument in call.arguments)
    over = _largest(a) / _smallest(b) > LARGEST
    under = _smallest(a) / Fraction(_largest(b) or 1) < TINY
    low, high = ends(b)
    plain, zero = f"({arguments[0]} / {arguments[1]})", not (low > 0 or high < 0)
    if w.dialect.total:
        if zero:
            plain = w.let(arguments, lambda x, y: f"(CASE WHEN {y} <> {w.number(0)} THEN {x} / {y} END)")
        return _saturated(w, plain) if over else plain
    if not (zero or over or under):
        return plain
    return w.let(arguments, lambda x, y: _guarded_quotient(w, x, y, over, under))


def _guarded_quotient(w: Writer, x: str, y: str, over: bool, under: bool) -> str:
    n = w.number
    arms = [f"WHEN {y} = {n(0)} THEN NULL"]
    if over:
        arms.append(
            f"WHEN ABS({y}) < {n(1)} AND ABS({x}) > {n(2.0**-60)} THEN"
            f" CASE WHEN ABS({x}) * {n(2.0**-24)} < ABS({y}) * {n(2.0**1000)} THEN {x} / {y}"
            f" WHEN ({x} > {n(0)}) = ({y} > {n(0)}) THEN {n(LARGEST)} ELSE {n(-LARGEST)} END"
        )
    if under:
        arms.append(
            f"WHEN ABS({y}) >= {n(1)} AND ABS({x}) < {n(2.0**-40)} THEN"
            f" CASE WHEN {x} = {n(0)} OR ABS({x}) * {n(2.0**1000)} > ABS({y}) * {n(2.0**-75)} THEN {x} / {y}"
            f" ELSE {n(0)} END"
        )
    return f"(CASE {' '.join(arms)} ELSE {x} / {y} END)"


def _div(w: Writer, call: Call, arguments: list[str]) -> str:
    zero = w.number(0)
    return w.let(arguments, lambda x, y: f"(CASE WHEN {y} <> {zero} THEN {w.operation('trunc', [f'({x} / {y})'])} END)")


def _nearest(w: Writer, x: str) -> str:
    """x to the nearest whole number, half away from 0."""
    cases = "WHEN ABS({x} - {y}) < {n[0.5]} THEN {y} WHEN {x} > {n[0]} THEN {y} + {n[1]} ELSE {y} - {n[1]}"
    return w.fill(f"(CASE {cases} END)", [x, w.operation("trunc", [x])])


def _round(w: Writer, call: Call, arguments: list[str]) -> str:
    digits = whole_constant(call.arguments[1]) if len(arguments) == 2 else 0
    if digits == 0:
        return _nearest(w, arguments[0])
    scale = 10.0 ** abs(digits)
    power = w.number(scale)

    def up(x: str) -> str:
        limit = w.number(WHOLE / 2 / scale)
        return f"(CASE WHEN ABS({x}) >= {limit} THEN {x} ELSE {_nearest(w, f'({x} * {power})')} / {power} END)"

    def down(x: str) -> str:
        near, limit = w.number(scale / 4), w.number(WHOLE / 2)
        return (
            f"(CASE WHEN ABS({x}) < {near} THEN {w.number(0)} WHEN ABS({x} / {power}) >= {limit} THEN {x}"
            f" ELSE {_nearest(w, f'({x} / {power})')} * {power} END)"
        )

    return w.let(arguments[:1], up if digits > 0 else down)


def _power(w: Writer, call: Call, arguments: list[str]) -> str:
    base, exponent = call.arguments
    if isinstance(exponent, Constant) and exponent.value in (2, 3):
        n = 2 if exponent.value == 2 else 3
        return w.let(arguments[:1], lambda x: _times_itself(w, base.facts, x, n))
    return w.let(arguments, lambda x, y: _general_power(w, x, y))


def _times_itself(w: Writer, facts: Facts, x: str, n: int) -> str:
    """x·x or x·x·x, which neither overflows nor underflows between these ends."""
    low, high = exp(-POWER_LIMIT / n), exp(POWER_LIMIT / n)
    product = f"({' * '.join([x] * n)})"
    if _smallest(facts) > low and _largest(facts) < high:
        return product
    top = w.number(LARGEST) if n == 2 else f"SIGN({x}) * {w.number(LARGEST)}"
    return (
        f"(CASE WHEN ABS({x}) < {w.number(low)} THEN {w.number(0)}"
        f" WHEN ABS({x}) > {w.number(high)} THEN {top} ELSE {product} END)"
    )


def _general_power(w: Writer, x: str, y: str) -> str:
    n = w.number
    size = f"({y} * LN(ABS({x})))"
    parity = f"{y} * {n(0.5)} <> FLOOR({y} * {n(0.5)})"
    return (
        f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL"
        f" WHEN {x} = {n(0)} THEN CASE WHEN {y} > {n(0)} THEN {n(0)} WHEN {y} = {n(0)} THEN {n(1)} END"
        f" WHEN {x} < {n(0)} AND ABS({y}) < {n(2.0**52)} AND {y} <> FLOOR({y}) THEN NULL"
        f" WHEN ABS({y}) < {n(POWER_TINY)} THEN {n(1)}"
        f" WHEN ABS({y}) > {n(POWER_STEEP)} THEN CASE WHEN ABS({x}) = {n(1)} THEN {n(1)}"
        f" WHEN (ABS({x}) > {n(1)}) = ({y} > {n(0)}) THEN {n(LARGEST)} ELSE {n(0)} END"
        f" WHEN {size} > {n(POWER_LIMIT)} THEN"
        f" CASE WHEN {x} < {n(0)} AND ABS({y}) < {n(2.0**53)} AND {parity} THEN {n(-LARGEST)} ELSE {n(LARGEST)} END"
        f" WHEN {size} < {n(-POWER_LIMIT)} THEN {n(0)} ELSE POWER({x}, {y}) END)"
    )


RENDERS: dict[str, Render] = {
    "add": _sum, "subtract": _sum, "multiply": _multiply, "divide": _divide, "div": _div, "round": _round,
    "power": _power, "like": _like, "ilike": _like, "case": _case, "switch": _switch, "least": _extreme,
    "greatest": _extreme, "substr": _substr, "concat": _concat, "replace": _replace, "date_trunc": _date_trunc,
    "extract": _extract, "date_add": _date_add, "to_integer": _read, "to_number": _read, "to_text": _to_text,
    "to_boolean": _to_boolean, "to_date": _to_date, "regex": _regex,
}  # fmt: skip
