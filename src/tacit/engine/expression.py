"""An expression of the plan as SQL of an engine, which gives what `plan/operation.py` says and never fails on a row."""

from tacit.base import InputError
from tacit.engine import (
    operation_cast,
    operation_choice,
    operation_logic,
    operation_number,
    operation_power,
    operation_text,
    operation_time,
)
from tacit.engine.dialect import Dialect, constant_sql, identifier
from tacit.engine.writer import Render, Writer
from tacit.plan.expression import Call, Column, Constant, Expression

__all__ = ["RENDERS", "constant_sql", "expression_sql"]

RENDERS: dict[str, Render] = {
    **operation_number.RENDERS,
    **operation_power.RENDERS,
    **operation_logic.RENDERS,
    **operation_choice.RENDERS,
    **operation_text.RENDERS,
    **operation_time.RENDERS,
    **operation_cast.RENDERS,
}


def expression_sql(expression: Expression, dialect: Dialect) -> str:
    """SQL that can stand wherever a value can. Columns are named without a table, so their names are unique there."""
    return _written(expression, Writer(dialect))


def _written(expression: Expression, writer: Writer) -> str:
    if isinstance(expression, Column):
        return identifier(expression.name, writer.dialect)
    if isinstance(expression, Constant):
        return constant_sql(expression.value, expression.facts.type, writer.dialect)
    if not isinstance(expression, Call) or expression.operation not in RENDERS:
        raise InputError("an expression holds an operation that no engine has")
    arguments = [_written(argument, writer) for argument in expression.arguments]
    return RENDERS[expression.operation](writer, expression, arguments)
