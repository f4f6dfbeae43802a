"""A rehearsal without data, before anything is charged: all that a priced question will do, done once on made-up
numbers, for the least and the largest bound that may be chosen and for sums as large as engines hold.

What can be known to fail fails here, while it is free. After the charge only rows can be at fault.
"""

from typing import Any

import numpy as np

from tacit.base import InputError, RefusalKind, Refused, TacitError
from tacit.engine.dialect import DIALECTS, Dialect
from tacit.engine.render import norms_sql, statements
from tacit.engine.unit import StoredTable
from tacit.mechanism import BinnedQuantiles, KeySelection
from tacit.plan.bounded import Bounded, Clip
from tacit.plan.centre import centre_part, with_centre
from tacit.plan.facts import Type, Value
from tacit.plan.node import Node, scans_of
from tacit.plan.price import PricedPlan
from tacit.sql.assemble import assemble
from tacit.sql.noise import centre_steps, drawn_edge, noisy_counts, noisy_part, with_bound
from tacit.sql.stored import Groups, NoisyPart, StoredAnswer

__all__ = ["OUTSIDE", "rehearse"]

OUTSIDE = (
    "this question is refused, since its numbers would leave what a double holds: offer more, declare narrower bounds "
    "or a smaller clip, or bound the value, as in CLAMP(x, low, high)"
)
NATIVE = {Type.BOOLEAN: "BOOLEAN", Type.INTEGER: "BIGINT", Type.NUMBER: "DOUBLE", Type.TEXT: "VARCHAR",
          Type.DATE: "DATE", Type.TIMESTAMP: "TIMESTAMP"}  # fmt: skip
LARGEST_SUM = 2**96  # of steps over all rows of a table


def rehearse(priced: PricedPlan, dialect: str, *, confidence: float) -> None:
    """`Refused` if this question would be charged for and could not be answered, in the dialect of its engine."""
    written = DIALECTS[dialect]
    try:
        for largest in (False, True):
            parts = [_part(priced, number, written, largest) for number in range(len(priced.parts))]
            kept = StoredAnswer(parts=tuple(parts), facts={}).to_bytes()
            assemble(priced, StoredAnswer.from_bytes(kept).parts, confidence=confidence)
    except InputError as error:
        raise Refused(f"this question is refused, since it could not be run: {error}", kind=RefusalKind.LIMIT) from None
    except TacitError:
        raise
    except Exception:
        raise Refused(OUTSIDE, kind=RefusalKind.LIMIT) from None


def _part(priced: PricedPlan, number: int, dialect: Dialect, largest: bool) -> NoisyPart:
    """One part with the least or the largest bounds: written as SQL, and released over one group of made-up sums."""
    part = bounded = priced.parts[number]
    tables = _tables(part.source)
    many = 2**40 if largest else 0
    for place, (step, centre) in enumerate(centre_steps(priced, number)):
        statements(centre_part(part, centre, priced.norm), dialect, tables)
        assert isinstance(step.mechanism, BinnedQuantiles)
        near, far = step.mechanism.sample(np.array([many] + [0] * (centre.ranks.cells - 1))).tolist()
        last = centre.ranks.cells - 1
        part = bounded = with_centre(part, place, (last, last) if largest else (near, far))
    for task, step in priced.steps:
        if task.part == number and task.kind == "select":
            assert isinstance(step.mechanism, KeySelection)
            step.mechanism.sample(np.array([0, many or 1]))
        if task.part == number and task.kind == "choose" and task.clip is not None:
            edges = part.clips[task.clip].edges
            if largest:  # which writes all of them
                norms_sql(part, {task.clip: edges}, dialect, tables)
            drawn_edge(step, part, np.array([0] * len(edges) + [many]))
            bounded = with_bound(bounded, task.clip, edges[-1 if largest else 0])
    statements(bounded, dialect, tables)
    groups, known = _one_group(priced, number, bounded), {}
    if bounded.counted is not None:
        _, noisy = noisy_counts(priced, number, bounded, np.array([many or 1]))
        known = {bounded.counted: noisy}

    def sums(clip: Clip) -> Any:
        return np.array([[LARGEST_SUM if largest else 0]] * len(clip.names), dtype=object)

    def quantiles(clip: Clip, mechanism: BinnedQuantiles) -> Any:
        shape = (len(groups), len(mechanism.quantiles), *([2] if mechanism.margin else []))
        return np.full(shape, mechanism.cells - 1 if largest else 0)

    return noisy_part(priced, number, bounded, groups, sums, quantiles, known)


def _tables(source: Node) -> dict[str, StoredTable]:
    """The tables as they are declared. That they are stored so is checked when an engine opens them."""
    types: dict[str, dict[str, str]] = {}
    # a unit without a type is stored like the others: that is checked when the dataset is opened
    units = next((scan.unit_type for scan in scans_of(source) if scan.unit_type is not None), Type.TEXT)
    for scan in scans_of(source):
        found = types.setdefault(scan.table, {})
        for column in scan.columns:
            is_unit = column.name == scan.unit_name
            native = NATIVE[units if is_unit and scan.unit_type is None else column.facts.type]
            exact = is_unit and native == "DOUBLE"
            found[column.column] = "DECIMAL(18, 3)" if exact else native
        named = () if scan.path is None else scan.path.reads(scan.table)
        keys = ((scan.table, s.column, s.canonical.type) for s in scan.columns if s.canonical is not None)
        for table, name, kind in (*named, *keys):  # compared as what they are declared as
            native = "VARCHAR" if kind is None else NATIVE[kind]
            types.setdefault(table, {})[name] = "DECIMAL(18, 3)" if native == "DOUBLE" else native
    return {name: StoredTable(sql="t", types=found) for name, found in types.items()}


def _one_group(priced: PricedPlan, number: int, bounded: Bounded) -> Groups:
    """One group of the question; in a part that counts by one more key, one for each of its values."""
    (keys,) = [len(plan.question.keys) for own, plan in priced.measured if own.start <= number < own.stop]
    values: list[tuple[Value, ...]] = [key.values or (None,) for key in bounded.keys]
    return Groups.every([*(some[:1] for some in values[:keys]), *values[keys:]])
