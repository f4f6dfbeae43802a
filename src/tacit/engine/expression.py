"""An expression of the plan as SQL of an engine, which gives what `plan/operation` says and never fails on a row.

Most operations are templates in the table of the plan, or a dialect's own. The others follow from facts and constants.
"""

from tacit.base import InputError
from tacit.engine import arithmetic
from tacit.engine.dialect import Dialect
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import WHOLE, Type, domain_of
from tacit.plan.operation import OPERATIONS
from tacit.plan.operation.kind import text_constant, whole_constant
from tacit.plan.operation.logic import LOWER, pattern_tokens
from tacit.plan.operation.range import is_whole
from tacit.plan.operation.text import DATE, FALSE, INTEGER, LONGEST, MOST, NUMBER, TRUE
from tacit.plan.operation.time import FIRST, LAST, later, room_to_add

__all__ = ["RENDERS", "expression_sql"]

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
    return f"({w.dialect.bytewise(text)} LIKE {w.dialect.text(written)}{ending})"


def _case(w: Writer, call: Call, arguments: list[str]) -> str:
    pairs = zip(arguments[0:-1:2], arguments[1::2], strict=True)
    return f"(CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in pairs)} ELSE {arguments[-1]} END)"


def _switch(w: Writer, call: Call, arguments: list[str]) -> str:
    """As a searched CASE over a value that is named where it is long: engines write a simple CASE out like this, too,
    with the value once for each arm, so that nested ones would double it every time."""
    text = call.arguments[0].facts.type is Type.TEXT
    pairs = list(zip(arguments[1:-1:2], arguments[2::2], strict=False))

    def body(x: str) -> str:
        x = w.dialect.bytewise(x) if text else x
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
    parts = [
        sql if length <= LONGEST else _part(sql, 1, LONGEST) for sql, length in zip(arguments, longest, strict=True)
    ]
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
        return w.let(
            arguments, lambda x: f"(CASE WHEN {w.dialect.matches(x, pattern)} THEN {w.dialect.to_double(x)} END)"
        )
    if facts.type is Type.BOOLEAN:
        return w.dialect.truth_to_double(arguments[0])
    return arguments[0] if pattern == NUMBER or is_whole(facts) else arithmetic.nearest_sql(w, arguments[0])


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
        x = w.dialect.bytewise(x)
        return f"(CASE WHEN {x} IN ({true}) THEN TRUE WHEN {x} IN ({false}) THEN FALSE END)"

    return w.let(arguments, body)


def _to_date(w: Writer, call: Call, arguments: list[str]) -> str:
    kind = call.arguments[0].facts.type
    if kind is not Type.TEXT:
        return arguments[0] if kind is Type.DATE else f"CAST({arguments[0]} AS DATE)"
    return w.let(arguments, lambda x: f"(CASE WHEN {w.dialect.matches(x, DATE)} THEN {w.dialect.text_to_date(x)} END)")


RENDERS: dict[str, Render] = {
    **arithmetic.RENDERS, "like": _like, "ilike": _like, "case": _case, "switch": _switch, "least": _extreme,
    "greatest": _extreme, "substr": _substr, "concat": _concat, "replace": _replace, "date_trunc": _date_trunc,
    "extract": _extract, "date_add": _date_add, "to_integer": _read, "to_number": _read, "to_text": _to_text,
    "to_boolean": _to_boolean, "to_date": _to_date,
}  # fmt: skip
