"""Cells that nobody named: categories that enough units have, and edges between which about as many units lie.

Both are found before anything is measured, by steps of the same program, for `SHARE` of ρ together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.base import Sensitivity
from tacit.engine.result import Result
from tacit.loss import ZCDP
from tacit.mechanism import BinnedQuantiles, KeySelection
from tacit.plan.bounded import Bounded, Clip, Key, Presence, Ranks
from tacit.plan.cells import cell_points
from tacit.plan.expression import Column
from tacit.plan.node import Node
from tacit.program import Step, Task
from tacit.synth.columns import OpenBins, OpenCategories, OpenColumn
from tacit.synth.counts import Reach
from tacit.synth.domain import Domain

__all__ = ["SHARE", "OpenStep", "filled", "open_steps"]

SHARE = Fraction(1, 10)
PRESENT = 64  # steps of one, in the weights that find categories
RANKED = "ranks"


@dataclass(frozen=True, kw_only=True)
class OpenStep:
    """A step that finds the cells of one column, and what the engine is asked for it."""

    column: OpenColumn
    step: Step
    question: Bounded


def open_steps(
    opens: Sequence[OpenColumn], source: Node, rho: Fraction, delta: Fraction, reach: Reach
) -> tuple[OpenStep, ...]:
    """A step for each open column, for ρ and δ together."""
    keyed = sum(isinstance(each, OpenCategories) for each in opens)
    made = []
    for each in opens:
        read = Column(name=each.name, facts=each.facts)
        task = Task(kind="cells", measures=(each.name,))
        share = rho / len(opens)
        if isinstance(each, OpenCategories):
            loss = ZCDP(share, delta=delta / keyed, relation=reach.relation)
            step = Step(
                name=f"which values {each.name} has", mechanism=KeySelection.from_loss(loss, one=PRESENT), task=task
            )
            question = Bounded(
                source=source, keys=(Key(name=each.name, expression=read),), measures=(), clips=(),
                presence=Presence(norm="l2", one=PRESENT),
            )  # fmt: skip
        else:
            moved = Sensitivity.scalar(reach.one)
            mechanism = BinnedQuantiles.from_loss(
                ZCDP(share, relation=reach.relation), quantiles=each.quantiles,
                cells=sum(piece.cells for piece in each.pieces), sensitivity=moved,
            )  # fmt: skip
            step = Step(name=f"edges of {each.name}", mechanism=mechanism, sensitivity=moved, task=task)
            one = Fraction(reach.one)
            clip = Clip(names=(RANKED,), scales=(Fraction(1),), norm="l1", bound=one, exempt=one == 1, row=one)
            ranks = Ranks(name=RANKED, value=read, pieces=each.pieces, one=reach.one)
            question = Bounded(source=source, keys=(), measures=(), clips=(clip,), ranks=(ranks,))
        made.append(OpenStep(column=each, step=step, question=question))
    return tuple(made)


def filled(domain: Domain, steps: Sequence[OpenStep], ask: Callable[[Bounded], Result]) -> Domain:
    """The domain with the cells that the steps find."""
    for each in steps:
        result, mechanism, column = ask(each.question), each.step.mechanism, each.column
        if isinstance(column, OpenCategories):
            assert isinstance(mechanism, KeySelection)
            assert result.presence is not None  # as it was asked for
            shown = mechanism.sample(result.presence)
            (keys,) = result.groups.keys
            listed = sorted({str(keys[row]) for row in np.flatnonzero(shown).tolist() if keys[row] is not None})
            domain = domain.with_column(column.filled(listed))
        else:
            assert isinstance(mechanism, BinnedQuantiles)
            domain = domain.with_column(column.filled(_edges(column, mechanism, result)))
    return domain


def _edges(column: OpenBins, mechanism: BinnedQuantiles, result: Result) -> list[Fraction]:
    """Where the cells end that the quantiles lie in."""
    table = result.ranks[RANKED]
    counts = np.zeros(mechanism.cells, dtype=np.int64)
    np.add.at(counts, table.columns["cell"].astype(np.int64), table.columns["count"].astype(np.int64))
    ends, _ = cell_points(column.pieces)
    return [Fraction(float(ends[cell + 1])).limit_denominator(10**6) for cell in mechanism.sample(counts).tolist()]
