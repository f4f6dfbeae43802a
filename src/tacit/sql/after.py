"""What is made of released tables, computed: joins, filters, windows, totals. Every number in it is out already.

An interval follows its column through joins, filters and orders, and through arithmetic with constants that only
rises or only falls. Of what is made of several noisy numbers none is told: their noises are not independent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import numpy as np

from tacit.desk.coverage import Coverage
from tacit.plan.expression import Call, Column, Expression
from tacit.plan.node import Filter, Join, Node, Project
from tacit.plan.operation import Held, evaluate, held
from tacit.plan.released import Appended, DistinctRows, OneRow, Page, ReleasedTable, Total, Totals, Windows
from tacit.sql.window_values import ranks, window_values

__all__ = ["ReleasedRows", "after_release", "held_column"]

MONOTONE = {"add", "subtract", "multiply", "divide", "negate", "round", "floor", "ceil", "trunc"}
Ends = tuple[list[Held], list[Held]]
Rows = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class ReleasedRows:
    """Columns by name. Those in `noisy` hold noise; of some of them there are the two ends of an interval for each row,
    and what that covers."""

    size: int
    columns: Mapping[str, list[Held]]
    noisy: frozenset[str] = frozenset()
    ends: Mapping[str, Ends] = field(default_factory=dict)
    covers: Mapping[str, Coverage] = field(default_factory=dict)

    def values(self, expression: Expression) -> list[Held]:
        """An expression in every row."""
        if isinstance(expression, Column):
            return self.columns[expression.name]
        names = sorted({part.name for part in expression.walk() if isinstance(part, Column)})
        if not names:
            return [evaluate(expression, {})] * self.size
        rows = zip(*(self.columns[name] for name in names), strict=True)
        return [evaluate(expression, dict(zip(names, row, strict=True))) for row in rows]

    def take(self, rows: Rows) -> "ReleasedRows":
        """Some rows, in this order."""
        return replace(
            self,
            size=len(rows),
            columns={name: [column[row] for row in rows] for name, column in self.columns.items()},
            ends={name: _taken(ends, rows) for name, ends in self.ends.items()},
        )

    @property
    def padded(self) -> "ReleasedRows":
        """With a last row of NULLs, for what meets none of them."""
        return replace(
            self,
            size=self.size + 1,
            columns={name: [*column, None] for name, column in self.columns.items()},
            ends={name: ([*low, None], [*high, None]) for name, (low, high) in self.ends.items()},
        )

    def noise_in(self, *expressions: Expression) -> frozenset[str]:
        """The noisy columns that these are made of."""
        parts = (part for expression in expressions for part in expression.walk())
        return self.noisy & {part.name for part in parts if isinstance(part, Column)}

    def interval(self, expression: Expression) -> tuple[Ends, Coverage] | None:
        """That of the one noisy column an expression is made of, where it only rises or falls with it."""
        used = self.noise_in(expression)
        if len(used) != 1 or not used <= self.ends.keys() or not expression.facts.type.numeric:
            return None
        (name,) = used
        if isinstance(expression, Column):
            return self.ends[name], self.covers[name]
        if not _monotone(expression, name):
            return None
        low, high = (replace(self, columns={**self.columns, name: end}) for end in self.ends[name])
        pairs = list(zip(low.values(expression), high.values(expression), strict=True))
        least = [None if None in pair else min(pair) for pair in pairs]  # type: ignore[type-var]  # numbers
        most = [None if None in pair else max(pair) for pair in pairs]  # type: ignore[type-var]  # numbers
        of = self.covers[name].of
        return (least, most), Coverage(of="truth" if of == "truth" else "noise")


def _monotone(expression: Expression, name: str) -> bool:
    """Whether an expression rises or falls with a column, all else being equal: arithmetic in which it stands once, and
    not under a fraction stroke."""
    if isinstance(expression, Column):
        return True
    if not isinstance(expression, Call) or expression.operation not in MONOTONE:
        return False
    inside = [_names(part, name) for part in expression.arguments]
    if sum(inside) != 1 or (expression.operation == "divide" and inside[1]):
        return False
    return _monotone(expression.arguments[inside.index(True)], name)


def _names(expression: Expression, name: str) -> bool:
    return any(isinstance(part, Column) and part.name == name for part in expression.walk())


def _taken(ends: Ends, rows: Rows) -> Ends:
    return [ends[0][row] for row in rows], [ends[1][row] for row in rows]


def after_release(node: Node, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    """The rows of `node`, whose leaves are these tables, by their columns' own names."""
    rule = RULES.get(type(node))
    if rule is None:
        raise AssertionError(f"no rule for {type(node).__name__}")
    return rule(node, tables)


def _table(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    found: ReleasedRows = tables[node.number]
    names = {source.name: source.column for source in node.columns if source.column in found.columns}
    return replace(
        found,
        columns={name: found.columns[column] for name, column in names.items()},
        noisy=frozenset(name for name, column in names.items() if column in found.noisy),
        ends={name: found.ends[column] for name, column in names.items() if column in found.ends},
        covers={name: found.covers[column] for name, column in names.items() if column in found.covers},
    )


def _filter(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    below = after_release(node.below, tables)
    return below.take([row for row, kept in enumerate(below.values(node.condition)) if kept is True])


def _project(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    below = after_release(node.below, tables)
    found = {name: below.interval(value) for name, value in node.columns}
    return ReleasedRows(
        size=below.size,
        columns={name: below.values(value) for name, value in node.columns},
        noisy=frozenset(name for name, value in node.columns if below.noise_in(value)),
        ends={name: made[0] for name, made in found.items() if made is not None},
        covers={name: made[1] for name, made in found.items() if made is not None},
    )


def _windows(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    below = after_release(node.below, tables)
    made = {call.name: window_values(call, below.size, below.values) for call in node.calls}
    return replace(below, columns={**below.columns, **made}, noisy=below.noisy | made.keys())


def _page(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    below = after_release(node.below, tables)
    rows = list(range(below.size))
    if node.order:
        keys = [ranks(below.values(by.expression), by) for by in node.order]
        rows = np.lexsort(keys[::-1]).tolist()
    stop = None if node.limit is None else node.offset + node.limit
    return below.take(rows[node.offset : stop])


def _distinct(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    below = after_release(node.below, tables)
    seen: dict[tuple[Held, ...], int] = {}
    for row, values in enumerate(_rows(list(below.columns.values()), below.size)):
        seen.setdefault(values, row)
    return below.take(list(seen.values()))


def _rows(columns: Sequence[list[Held]], size: int) -> Iterator[tuple[Held, ...]]:
    return zip(*columns, strict=True) if columns else iter([()] * size)


def _join(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    """Rows with equal keys; those of the left in their order, and with `left` also the ones without a match; with
    `full` those of the right come last."""
    left, right = after_release(node.left, tables), after_release(node.right, tables)
    places: dict[tuple[Held, ...], list[int]] = {}
    for row, key in enumerate(_rows([right.values(key) for _, key in node.on], right.size)):
        if None not in key:
            places.setdefault(key, []).append(row)
    pairs: list[tuple[int, int]] = []
    for row, key in enumerate(_rows([left.values(key) for key, _ in node.on], left.size)):
        found = places.get(key, [])
        pairs += [(row, other) for other in found]
        if not found and node.kind != "inner":
            pairs.append((row, -1))
    if node.kind == "full":
        met = {other for _, other in pairs}
        pairs += [(-1, other) for other in range(right.size) if other not in met]
    one = left.padded.take([row for row, _ in pairs])
    two = right.padded.take([other for _, other in pairs])
    return ReleasedRows(
        size=len(pairs),
        columns={**one.columns, **two.columns},
        noisy=one.noisy | two.noisy,
        ends={**one.ends, **two.ends},
        covers={**one.covers, **two.covers},
    )


def _appended(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    parts = [after_release(part, tables) for part in node.parts]
    columns: dict[str, list[Held]] = {}
    ends: dict[str, Ends] = {}
    covers: dict[str, Coverage] = {}
    for name, _, sources in node.columns:
        pairs = list(zip(parts, sources, strict=True))
        columns[name] = [value for part, source in pairs for value in part.columns[source]]
        told = {part.covers.get(source) for part, source in pairs}
        if len(told) == 1 and None not in told:
            ends[name] = (
                [end for part, source in pairs for end in part.ends[source][0]],
                [end for part, source in pairs for end in part.ends[source][1]],
            )
            covers[name] = parts[0].covers[sources[0]]
    noisy = {
        name for name, _, sources in node.columns if any(s in p.noisy for p, s in zip(parts, sources, strict=True))
    }
    return ReleasedRows(
        size=sum(part.size for part in parts), columns=columns, noisy=frozenset(noisy), ends=ends, covers=covers
    )


def _totals(node: Any, tables: Sequence[ReleasedRows]) -> ReleasedRows:
    below = after_release(node.below, tables)
    groups: dict[tuple[Held, ...], list[int]] = {} if node.keys else {(): []}
    for row, key in enumerate(_rows([below.values(value) for _, value in node.keys], below.size)):
        groups.setdefault(key, []).append(row)
    columns: dict[str, list[Held]] = {name: [key[place] for key in groups] for place, (name, _) in enumerate(node.keys)}
    for total in node.totals:
        columns[total.name] = [_total(total, below.take(rows)) for rows in groups.values()]
    noisy = {name for name, value in node.keys if below.noise_in(value)} | {total.name for total in node.totals}
    return ReleasedRows(size=len(groups), columns=columns, noisy=frozenset(noisy))


def _total(total: Total, rows: ReleasedRows) -> Held:
    if total.condition is not None:
        rows = rows.take([row for row, kept in enumerate(rows.values(total.condition)) if kept is True])
    if total.argument is None:
        return float(rows.size)
    values: list[Any] = [value for value in rows.values(total.argument) if value is not None]
    if total.distinct:
        values = list(dict.fromkeys(values))
    if total.function == "count":
        return float(len(values))
    if total.function == "quantile":
        return float(np.quantile(values, float(total.fraction or 0))) if values else None
    if total.function in ("min", "max"):
        return (min(values) if total.function == "min" else max(values)) if values else None
    return TOTALS[total.function](values) if values else None


def _spread(values: list[float], *, sample: bool, root: bool) -> Held:
    if sample and len(values) < 2:
        return None
    found = float(np.var(values, ddof=int(sample)))
    return found**0.5 if root else found


TOTALS: dict[str, Callable[[list[float]], Held]] = {
    "sum": lambda values: float(sum(values)),
    "avg": fmean,
    "var_samp": lambda values: _spread(values, sample=True, root=False),
    "var_pop": lambda values: _spread(values, sample=False, root=False),
    "stddev_samp": lambda values: _spread(values, sample=True, root=True),
    "stddev_pop": lambda values: _spread(values, sample=False, root=True),
}
RULES: dict[type[Node], Callable[[Any, Sequence[ReleasedRows]], ReleasedRows]] = {
    ReleasedTable: _table,
    Filter: _filter,
    Project: _project,
    Join: _join,
    Windows: _windows,
    Totals: _totals,
    Page: _page,
    DistinctRows: _distinct,
    Appended: _appended,
    OneRow: lambda node, tables: ReleasedRows(size=1, columns={}),
}


def held_column(values: Sequence[Any]) -> list[Held]:
    """Released values as expressions hold them."""
    return [held(value) for value in values]
