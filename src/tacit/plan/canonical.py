"""One form for expressions that mean the same: `77 < age` and `age > 77` are one question, and are paid for once.

Every rule holds for all values and NULL, in SQL's logic of three values: comparisons turn round, `=`, `+` and `*` take
their operands in either order (IEEE sums and products of two do not depend on it), AND and OR in any order and once
each, IN its list. NOT goes into a comparison, since values have a total order. Nothing is moved across an operation
that rounds: (a + b) + c stays what it is.
"""

from collections.abc import Callable

from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.operation import call

__all__ = ["canonical"]

TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
OPPOSITE = {
    "eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt",
    "is_null": "is_not_null", "is_not_null": "is_null",
    "is_distinct": "is_not_distinct", "is_not_distinct": "is_distinct",
}  # fmt: skip


def canonical(name: str, *arguments: Expression) -> Expression:
    """The operation on the arguments, in its one form; InputError where it does not take them."""
    rule = RULES.get(name)
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


def _listed(name: str, arguments: tuple[Expression, ...]) -> Expression:
    value, *listed = call(name, *arguments).arguments
    different = sorted({part.identity: part for part in listed}.values(), key=_order)
    return canonical("eq", value, different[0]) if len(different) == 1 else call(name, value, *different)


def _between(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """As two comparisons, if the value is a column, which costs nothing to name twice."""
    fitted = call(name, *arguments)
    value, low, high = fitted.arguments
    if not isinstance(value, Column):
        return fitted
    return canonical("and", canonical("ge", value, low), canonical("le", value, high))


def _not(name: str, arguments: tuple[Expression, ...]) -> Expression:
    made = call(name, *arguments)
    (inner,) = made.arguments
    if isinstance(inner, Call) and inner.operation == "not":
        return inner.arguments[0]
    if isinstance(inner, Call) and inner.operation in OPPOSITE:
        return canonical(OPPOSITE[inner.operation], *inner.arguments)
    return made


RULES: dict[str, Callable[[str, tuple[Expression, ...]], Expression]] = {
    **dict.fromkeys(("eq", "ne", "is_distinct", "is_not_distinct", "add", "multiply"), _either_way),
    **dict.fromkeys(TURNED, _comparison),
    **dict.fromkeys(("and", "or"), _several),
    "in": _listed,
    "between": _between,
    "not": _not,
}
