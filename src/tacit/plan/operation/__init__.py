"""The one table of operations on row values. Each is total: it has a result, or NULL, for all arguments.

An operation is its types, its meaning in Python, the facts that follow and its SQL. Numbers are IEEE doubles, so that
+ - * / and square roots are the same to the last bit in every engine; a result too large for a double is the largest
double with its sign. `exact = False` marks the few of which libraries round the last digits differently (ln, exp, …).
"""

from collections.abc import Callable, Mapping
from itertools import product
from math import isfinite, isnan, prod

from tacit.base import InputError
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts, Type, Value, domain_of
from tacit.plan.operation import automaton, logic, number, text, time
from tacit.plan.operation.kind import Held, Operation, held, shown

__all__ = ["OPERATIONS", "Held", "Operation", "call", "canonical_call", "evaluate", "held"]

MOST_COMBINATIONS = 512  # of argument values that are tried out to list a domain
TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
OPPOSITE = {
    "eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt",
    "is_null": "is_not_null", "is_not_null": "is_null",
    "is_distinct": "is_not_distinct", "is_not_distinct": "is_distinct",
}  # fmt: skip

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for family in (number, logic, text, automaton, time) for operation in family.OPERATIONS
}


def call(name: str, *arguments: Expression) -> Call:
    """`name` on the arguments, with the facts that follow; InputError where it does not take them."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise InputError(f"there is no operation {name}")
    fitted = operation.fit(name, arguments)
    facts = operation.facts(*fitted)
    if operation.exact:
        facts = _listed(operation, fitted, facts)
    return Call(operation=name, arguments=fitted, facts=facts)


def _listed(operation: Operation, arguments: tuple[Expression, ...], facts: Facts) -> Facts:
    """With few argument values, every result is known: try them all, each NULL too."""
    if facts.type is Type.BOOLEAN or facts.domain is not None:
        return facts
    choices: list[tuple[Held, ...]] = []
    for argument in arguments:
        values = domain_of(argument.facts, MOST_COMBINATIONS)
        if values is None:
            return facts
        choices.append(tuple(held(value) for value in values) + ((None,) if argument.facts.nullable else ()))
        if prod(len(choice) for choice in choices) > MOST_COMBINATIONS:
            return facts
    results = [operation.apply(*values) for values in product(*choices)]
    domain = tuple(dict.fromkeys(shown(result, facts.type) for result in results if result is not None))
    bounds: dict[str, object] = {}
    if domain and facts.type is not Type.TEXT:
        bounds = {"low": min(domain), "high": max(domain), "why": ""}  # type: ignore[type-var]  # all of one type
    return facts.but(domain=domain, nullable=None in results, **bounds)


def evaluate(expression: Expression, row: Mapping[str, Value | Held]) -> Held:
    """The value for one row in Python, which defines what every engine must give: numbers are doubles.

    A column that is not a number (NaN) counts as NULL, an infinity as the largest double.
    """
    if isinstance(expression, Column):
        return _finite(held(row[expression.name]))
    if isinstance(expression, Constant):
        return held(expression.value)
    assert isinstance(expression, Call)  # there is nothing else
    return OPERATIONS[expression.operation].apply(*(evaluate(argument, row) for argument in expression.arguments))


def _finite(value: Held) -> Held:
    if not isinstance(value, float) or isfinite(value):
        return value
    return None if isnan(value) else number.saturated(value)


def canonical_call(name: str, *arguments: Expression) -> Expression:
    """The operation in its one form: `77 < age` and `age > 77` are one question, and are paid for once.

    Every rule holds for all values and NULL, in SQL's logic of three values: comparisons turn round, `=`, `+` and `*`
    take their operands in either order (IEEE sums and products of two do not depend on it), AND and OR in any order and
    once each, IN its list. NOT goes into a comparison, since values have a total order. Nothing is moved across an
    operation that rounds: (a + b) + c stays what it is.
    """
    rule = CANONICAL.get(name)
    return call(name, *arguments) if rule is None else rule(name, arguments)


def _order(expression: Expression) -> tuple[bool, bool, str]:
    """Columns first, constants last."""
    return isinstance(expression, Constant), not isinstance(expression, Column), expression.identity


def _either_way(name: str, arguments: tuple[Expression, ...]) -> Expression:
    return call(name, *(sorted(arguments, key=_order) if len(arguments) == 2 else arguments))


def _comparison(name: str, arguments: tuple[Expression, ...]) -> Expression:
    if len(arguments) != 2:
        return call(name, *arguments)
    first, second = map(_order, arguments)
    turn = second < first or (second == first and name in ("gt", "ge"))
    return call(TURNED[name], *arguments[::-1]) if turn else call(name, *arguments)


def _several(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """AND and OR of what they join themselves, each once."""
    fitted = call(name, *arguments)  # which also says what does not fit
    flat: dict[str, Expression] = {}
    for argument in fitted.arguments:
        inside = argument.arguments if isinstance(argument, Call) and argument.operation == name else (argument,)
        flat.update({part.identity: part for part in inside})
    parts = sorted(flat.values(), key=_order)
    return parts[0] if len(parts) == 1 else call(name, *parts)


def _in(name: str, arguments: tuple[Expression, ...]) -> Expression:
    value, *listed = call(name, *arguments).arguments
    different = sorted({part.identity: part for part in listed}.values(), key=_order)
    return canonical_call("eq", value, different[0]) if len(different) == 1 else call(name, value, *different)


def _between(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """As two comparisons, if the value is a column, which costs nothing to name twice."""
    fitted = call(name, *arguments)
    value, low, high = fitted.arguments
    if not isinstance(value, Column):
        return fitted
    return canonical_call("and", canonical_call("ge", value, low), canonical_call("le", value, high))


def _not(name: str, arguments: tuple[Expression, ...]) -> Expression:
    made = call(name, *arguments)
    (inner,) = made.arguments
    if isinstance(inner, Call) and inner.operation == "not":
        return inner.arguments[0]
    if isinstance(inner, Call) and inner.operation in OPPOSITE:
        return canonical_call(OPPOSITE[inner.operation], *inner.arguments)
    return made


CANONICAL: dict[str, Callable[[str, tuple[Expression, ...]], Expression]] = {
    **dict.fromkeys(("eq", "ne", "is_distinct", "is_not_distinct", "add", "multiply"), _either_way),
    **dict.fromkeys(TURNED, _comparison),
    **dict.fromkeys(("and", "or"), _several),
    "in": _in,
    "between": _between,
    "not": _not,
}
