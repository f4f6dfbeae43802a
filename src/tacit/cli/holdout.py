"""`tacit holdout`: a reusable holdout for columns of files, asked line by line."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sqlglot import exp

from tacit.attack.population import table_of
from tacit.base import ExhaustedError, InputError, Refused
from tacit.cli.options import Json, argument, flag, option
from tacit.cli.screen import line, output, remark, show
from tacit.cli.settings import AskerOptions
from tacit.learn.holdout import Holdout
from tacit.sql.parse import parse

__all__ = ["HoldoutOptions", "holdout", "row_values"]

READ = "a query is made of columns, numbers, texts, = <> < <= > >=, AND OR NOT, + - * and ABS(): nothing else is read"

COMPARED: dict[type[exp.Expression], Any] = {
    exp.EQ: np.equal, exp.NEQ: np.not_equal, exp.GT: np.greater, exp.GTE: np.greater_equal, exp.LT: np.less,
    exp.LTE: np.less_equal, exp.And: np.logical_and, exp.Or: np.logical_or,
    exp.Add: np.add, exp.Sub: np.subtract, exp.Mul: np.multiply,
}  # fmt: skip
ALONE: dict[type[exp.Expression], Any] = {exp.Not: np.logical_not, exp.Neg: np.negative, exp.Abs: np.abs}


@dataclass(frozen=True, kw_only=True)
class HoldoutOptions:
    """What is paid for."""

    threshold: Annotated[str, option("NUMBER", "How far means of training and held rows may differ for free.")]
    sigma: Annotated[str, option("NUMBER", "The noise; ε = 2·budget/(sigma·units).")]
    budget: Annotated[str, option("COUNT", "How many queries may overfit.")]
    size: Annotated[str | None, option("COUNT", "About how many units are held, where that is no public fact.")] = None
    unit: Annotated[str | None, option("COLUMN", "Whose each held row is. Default: each row is a unit.")] = None
    table: Annotated[str | None, option("TABLE", "The policy's table that pays. Default: the only one.")] = None
    delta: Annotated[str | None, option("NUMBER", "The δ of an account that is paid in ε.")] = None


def holdout(
    train: Annotated[Path, argument("TRAIN", "Rows that you may see: CSV or Parquet.")],
    held: Annotated[Path, argument("HELD", "Rows that were held back, with the same columns.")],
    terms: HoldoutOptions,
    asker: AskerOptions,
    quote: Annotated[bool, flag("--quote", "Only what it would cost; nothing is asked.")] = False,
    as_json: Json = False,
) -> None:
    """Test models on held rows as often as you like: each line of standard input is a query, answered at once.

    A query gives each row a number from 0 to 1 by its columns alone, such as guess = label, (score > 0.5) = label or
    1 - abs(score - label). As long as training and held rows agree, the training rows' mean is the answer, for free; a
    query that overfits is answered by the held rows, with noise, and spends one of the budget. The threshold lives as
    long as the command runs: run again, it opens another holdout, and pays for it.

    Example: printf 'guess = label\\n' | tacit holdout train.csv held.csv --threshold 0.06 --sigma 0.001 --budget 20
    """
    seen, kept = _columns(train), _columns(held)
    if {name: each.dtype.kind for name, each in seen.items()} != {name: each.dtype.kind for name, each in kept.items()}:
        raise InputError(f"{train} and {held} must have the same columns, of the same types")
    kept = {name: kept[name] for name in seen}
    if terms.unit is not None and terms.unit not in kept:
        raise InputError(f'--unit: {held} has no column "{terms.unit}": it has {", ".join(kept)}')
    rows = tuple(seen.values()), tuple(kept.values())
    with asker.open() as session:
        told: dict[str, Any] = {
            "threshold": terms.threshold, "sigma": terms.sigma, "budget": terms.budget, "size": terms.size,
            "units": None if terms.unit is None else kept[terms.unit], "table": terms.table, "delta": terms.delta,
        }  # fmt: skip
        if quote:
            found = Holdout.quote(*rows, session=session, **told)
            output(as_json, found.json(), found)
            return
        hold = Holdout(*rows, session=session, **told)
        for text in sys.stdin:
            if text.strip():
                try:
                    _told(hold, text.strip(), seen, as_json)
                except ExhaustedError:
                    raise
                except (InputError, Refused) as error:
                    show(line(f"tacit: {error}", "bold red"), stderr=True)
        if not as_json:
            output(False, None, remark(f"{hold.left} of {hold.settings.budget} queries that overfit are left"))


def _columns(path: Path) -> dict[str, Any]:
    table = table_of(path, str(path))
    return {name: table[name].to_numpy() for name in table.column_names}


def _told(hold: Holdout, text: str, seen: dict[str, Any], as_json: bool) -> None:
    """The answer, in a line, at once."""
    names = list(seen)
    select = parse(f"SELECT {text}")
    if {name for name, value in select.args.items() if value} - {"expressions", "kind"} or len(select.expressions) != 1:
        raise InputError(READ)
    tree = select.expressions[0]
    for column in tree.find_all(exp.Column):
        if column.name not in names:
            raise InputError(f'there is no column "{column.name}": there are {", ".join(names)}')
    try:  # says what cannot be asked before anything is
        row_values(tree, {name: each[:1] for name, each in seen.items()})
    except TypeError:
        raise InputError("numbers are compared with numbers and added to them, texts are compared with texts") from None
    before = hold.left
    answer = hold.ask(lambda *columns: row_values(tree, dict(zip(names, columns, strict=True))))
    paid = hold.left < before
    shown = {"query": text, "answer": answer, "from": "held rows" if paid else "training rows", "left": hold.left}
    overfits = f"overfits: of the held rows, with noise; {hold.left} of {hold.settings.budget} left"
    beside = overfits if paid else "of the training rows, and the held ones agree"
    typer.echo(json.dumps(shown) if as_json else f"{text}: {answer:.4f} ({beside})")
    sys.stdout.flush()


def row_values(tree: Any, columns: Mapping[str, Any]) -> Any:
    """An expression of each row, by its own columns and nothing else: there is no other row that it could name."""
    kind = type(tree)
    if isinstance(tree, exp.Paren | exp.Alias):
        return row_values(tree.this, columns)
    if isinstance(tree, exp.Column):
        return columns[tree.name]
    if isinstance(tree, exp.Boolean):
        return tree.this
    if isinstance(tree, exp.Literal):
        return tree.this if tree.is_string else float(tree.this)
    if kind in COMPARED:
        left, right = row_values(tree.left, columns), row_values(tree.right, columns)
        if _is_text(left) is not _is_text(right):
            raise TypeError
        return COMPARED[kind](left, right)
    if kind in ALONE:
        return ALONE[kind](row_values(tree.this, columns))
    raise InputError(READ)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or getattr(value, "dtype", np.dtype(float)).kind in "OU"
