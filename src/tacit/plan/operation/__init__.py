"""The one table of operations on row values. Each is total: it has a result, or NULL, for all arguments.

An operation is its types, its meaning in Python, the facts that follow and its SQL. Numbers are IEEE doubles, so that
+ - * / and square roots are the same to the last bit in every engine; a result too large for a double is the largest
double with its sign. `exact = False` marks the few of which libraries round the last digits differently (ln, exp, …).
"""

from collections.abc import Mapping
from itertools import product
from math import isfinite, isnan, prod

from tacit.base import InputError
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts, Type, Value, domain_of
from tacit.plan.operation import logic, number, text, time
from tacit.plan.operation.kind import Held, Operation, held, shown

__all__ = ["OPERATIONS", "Held", "Operation", "call", "evaluate", "held"]

MOST_COMBINATIONS = 512  # of argument values that are tried out to list a domain

OPERATIONS: dict[str, Operation] = {
    operation.name: operation for family in (number, logic, text, time) for operation in family.OPERATIONS
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
