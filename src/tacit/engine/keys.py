"""The keys of a join: how two are compared, and public rows of which none may be matched twice."""

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.scan import WHOLE_COPY, copies
from tacit.plan.expression import Column, Expression
from tacit.plan.node import Join

__all__ = ["KEY", "equal_sql", "once_sql", "twice_sql"]

KEY = "tacit key "


def equal_sql(node: Join, left: Expression, right: Expression, dialect: Dialect) -> str:
    """Two keys compared; whole numbers as such where both were read so, which is the same and leaves an engine to find
    the stored columns behind them."""
    if isinstance(left, Column) and isinstance(right, Column):
        wholes = [WHOLE_COPY + left.name, WHOLE_COPY + right.name]
        if all(name in copies(side, dialect) for name, side in zip(wholes, node.inputs, strict=True)):
            return " = ".join(f"{side}.{dialect.identifier(name)}" for side, name in zip("lr", wholes, strict=True))
    return f"{expression_sql(left, dialect)} = {expression_sql(right, dialect)}"


def twice_sql(node: Join, right: str, dialect: Dialect) -> str:
    """SELECT of the keys of the right side that are there twice.

    Adding zero makes one of the two zeros of doubles, which are equal and which a GROUP BY might tell apart.
    """
    named = [f"{key} AS {dialect.identifier(f'{KEY}{i}')}" for i, key in enumerate(_keys(node, dialect))]
    names = ", ".join(dialect.identifier(f"{KEY}{i}") for i in range(len(node.on)))
    keyed = f"SELECT {', '.join(named)} FROM ({right}) AS p"
    there = " AND ".join(f"{dialect.identifier(f'{KEY}{i}')} IS NOT NULL" for i in range(len(node.on)))
    return f"SELECT {names} FROM ({keyed}) AS o WHERE {there} GROUP BY {names} HAVING COUNT(*) > 1"


def _keys(node: Join, dialect: Dialect) -> list[str]:
    """The keys of the right side, so that a GROUP BY takes equal ones for equal; whole numbers as such."""
    if node.right.private:
        raise InputError("only public rows are matched once: a private side has as many as its units do")
    found = []
    for _, key in node.on:
        sql = expression_sql(key, dialect)
        if isinstance(key, Column) and WHOLE_COPY + key.name in copies(node.right, dialect):
            sql = dialect.identifier(WHOLE_COPY + key.name)
        elif key.facts.type.numeric:
            sql = f"({sql} + {dialect.number(0.0)})"
        found.append(sql)
    return found


def once_sql(node: Join, right: str, dialect: Dialect) -> str:
    """The right side without the rows whose keys occur twice, so that no row of the left has two matches.

    Of a group of one row MIN gives that row.
    """
    names = [dialect.identifier(f"{KEY}{i}") for i in range(len(node.on))]
    keys = [f"{key} AS {name}" for key, name in zip(_keys(node, dialect), names, strict=True)]
    least = {name: dialect.extreme("MIN", facts.type) for name, facts in node.right.schema.items()}
    least |= dict.fromkeys(copies(node.right, dialect), "MIN")
    columns = [f"{least[name]}({quoted}) AS {quoted}" for name in least for quoted in [dialect.identifier(name)]]
    keyed = f"SELECT *, {', '.join(keys)} FROM ({right}) AS p"
    return f"SELECT {', '.join(columns)} FROM ({keyed}) AS o GROUP BY {', '.join(names)} HAVING COUNT(*) = 1"
