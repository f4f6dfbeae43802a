"""A rehearsal without data, before anything is charged: all that a priced question will do, done once on made-up
numbers, for the least and the largest bound that may be chosen and for sums as large as engines hold.

What can be known to fail fails here, while it is free. After the charge only rows can be at fault.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import InputError, Refused, TacitError
from tacit.engine.dialect import DIALECTS, Dialect
from tacit.engine.render import norms_sql, statements
from tacit.engine.unit import StoredTable
from tacit.mechanism import KeySelection
from tacit.plan.bounded import Bounded, Key
from tacit.plan.facts import Type, Value
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan
from tacit.plan.price import Priced
from tacit.sql import noise as stored
from tacit.sql.assemble import assemble
from tacit.sql.groups import Groups
from tacit.sql.noise import Released, drawn_edge, noisy, quantiles_of, with_bound

__all__ = ["OUTSIDE", "rehearse"]

OUTSIDE = (
    "this question is refused, since its numbers would leave what a double holds: offer more, declare narrower bounds "
    "or a smaller clip, or bound the value, as in CLAMP(x, low, high)"
)
NATIVE = {Type.BOOLEAN: "BOOLEAN", Type.INTEGER: "BIGINT", Type.NUMBER: "DOUBLE", Type.TEXT: "VARCHAR",
          Type.DATE: "DATE", Type.TIMESTAMP: "TIMESTAMP"}  # fmt: skip
LARGEST_SUM = 2**96  # of steps over all rows of a table


def rehearse(priced: Priced, dialect: str, *, confidence: float) -> None:
    """`Refused` if this question would be charged for and could not be answered, in the dialect of its engine."""
    written = DIALECTS[dialect]
    try:
        for largest in (False, True):
            parts = [_part(priced, number, part, written, largest) for number, part in enumerate(priced.planned.parts)]
            kept = stored.StoredAnswer(parts=tuple(parts), facts={}).to_bytes()
            assemble(priced, stored.StoredAnswer.from_bytes(kept).parts, confidence=confidence)
    except InputError as error:
        raise Refused(f"this question is refused, since it could not be run: {error}") from None
    except TacitError:
        raise
    except Exception:
        raise Refused(OUTSIDE) from None


def _part(priced: Priced, number: int, part: Bounded, dialect: Dialect, largest: bool) -> Released:
    """One part with the least or the largest bounds: written as SQL, and released over one group of made-up sums."""
    tables = _tables(part.source)
    bounded = part
    for task, step in priced.steps:
        if task.kind == "choose" and task.part == number and task.clip is not None:
            edges = part.clips[task.clip].edges
            if largest:  # which writes all of them
                norms_sql(part, task.clip, edges, dialect, tables)
            drawn_edge(step, part, np.array([0] * len(edges) + [2**40 if largest else 0]))
            bounded = with_bound(bounded, task.clip, edges[-1 if largest else 0])
    statements(bounded, dialect, tables)
    return _released(priced, number, bounded, largest)


def _tables(node: Node) -> dict[str, StoredTable]:
    """The tables as they are declared. That they are stored so is checked when an engine opens them."""
    match node:
        case Scan():
            types = {source.column: NATIVE[source.facts.type] for source in node.columns}
            units = {source.column for source in node.columns if source.name == node.unit_name}
            exact = {name: "DECIMAL(18, 3)" for name in units if types[name] == "DOUBLE"}
            return {node.table: StoredTable(sql="t", types={**types, **exact})}
        case Join():
            found = _tables(node.left)
            for name, table in _tables(node.right).items():
                known = found.get(name, table)
                found[name] = StoredTable(sql="t", types={**known.types, **table.types})
            return found
        case Filter() | Project() | Group():
            return _tables(node.below)
    raise AssertionError(f"no rule for {type(node).__name__}")


def _released(priced: Priced, number: int, bounded: Bounded, largest: bool) -> Released:
    groups = _one_group(priced, bounded)
    measures: dict[str, Any] = {}
    quantiles: dict[str, Any] = {}
    ends: dict[str, Any] = {}
    for task, step in priced.steps:
        if task.part != number:
            continue
        if task.kind == "select":
            assert isinstance(step.mechanism, KeySelection)
            step.mechanism.sample(np.array([0, 2**40 if largest else 1]))
        if task.clip is None or task.kind == "choose":
            continue
        clip, original = bounded.clips[task.clip], priced.planned.parts[number].clips[task.clip]
        assert clip.bound is not None  # it was filled in
        units = Fraction(1) if original.bound is not None else clip.bound
        if task.kind == "noise":
            truth = np.array([[LARGEST_SUM if largest else 0]] * len(clip.names), dtype=object)
            drawn = noisy(step, clip, units, truth)
            measures |= {name: _spread(one, len(groups)) for name, one in drawn.items()}
        else:
            mechanism = quantiles_of(step, units)
            last = mechanism.cells - 1 if largest else 0
            shape = (len(groups), len(mechanism.quantiles), 2)
            if task.kind == "quantiles":
                quantiles[clip.names[0]] = np.full(shape[:2], last)
            else:
                ends[clip.names[0]] = np.full(shape, last)
    return Released(groups=groups, measures=measures, quantiles=quantiles, ends=ends)


def _spread(one: Any, size: int) -> Any:
    """The same noisy number in every group."""
    return type(one)(np.full(size, one.values[0]), one.kind, one.size)


def _one_group(priced: Priced, bounded: Bounded) -> Groups:
    """One group of the question; in a part that counts by one more key, one for each of its values."""
    keys = len(priced.question.keys)
    own: Iterator[tuple[Value, ...]] = (key.values or (None,) for key in bounded.keys[keys:])
    return Groups.every([*(_first(key) for key in bounded.keys[:keys]), *own])


def _first(key: Key) -> tuple[Value, ...]:
    return (key.values or (None,))[:1]
