"""A question in SQL as a job for the desk: what it is priced as, how it runs, and how its answer is shown."""

from dataclasses import dataclass
from functools import cached_property

from tacit.desk.job import Job, Run
from tacit.desk.quote import Expected, Hint
from tacit.desk.release import TableRelease
from tacit.engine import Engine, Watch
from tacit.ledger import Receipt
from tacit.plan.bounded import Bounded
from tacit.plan.price import Priced
from tacit.policy import Policy
from tacit.program import Program
from tacit.sql.assemble import assemble
from tacit.sql.expect import columns_of, expected
from tacit.sql.hints import facts_of, hints_of, notes_of, raised
from tacit.sql.noise import Released, StoredAnswer, choose_bound, release, unmeasured, with_bound
from tacit.sql.offer import Offer, Purchase

__all__ = ["Query"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Query(Job):
    """A priced question, with the rules it was priced by."""

    sql: str
    dialect: str | None
    offer: Offer
    policy: Policy
    purchase: Purchase

    @property
    def priced(self) -> Priced:
        return self.purchase.priced

    @property
    def program(self) -> Program:
        return self.priced.program

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """The error of each column at the offer's confidence."""
        return tuple(expected(self.priced, self.offer.confidence))

    @cached_property
    def hints(self) -> tuple[Hint, ...]:
        return hints_of(self.purchase, self.policy, self.offer.confidence)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        return (*(hint.words for hint in self.hints), *notes_of(self.priced, self.policy))

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return columns_of(self.priced.question)

    def run(self, run: Run) -> bytes:
        """Stages 7 and 8: bound and add up in the engine, choose what was left open, add noise."""
        parts, bounds = [], {}
        for number, part in enumerate(self.priced.planned.parts):
            bounds[number] = _filled(self.priced, number, part, run.engine, run.receipt, run.watch)
            parts.append(_part(self.priced, number, bounds[number], run))
        return StoredAnswer(parts=tuple(parts), facts={**run.facts, **facts_of(self.priced, bounds)}).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> TableRelease:
        """Stage 9: aggregates, HAVING, ORDER BY, LIMIT and intervals, from noisy measures alone."""
        stored = StoredAnswer.from_bytes(kept)
        answer = assemble(self.priced, stored.parts, confidence=self.offer.confidence)
        remarks = [hint.words for hint in raised(self.purchase, self.policy)]  # that it cost more than was offered
        return TableRelease(
            table=answer.table,
            intervals=answer.intervals,
            confidence=self.offer.confidence,
            notes=(*remarks, *notes_of(self.priced, self.policy, stored.parts)),
            facts=stored.facts,
            cached=cached,
        )


def _part(priced: Priced, number: int, bounded: Bounded, run: Run) -> Released:
    empty = unmeasured(bounded)
    if empty is not None:
        return empty
    return release(priced, number, bounded, run.engine.run(bounded, run.watch), run.receipt)


def _filled(priced: Priced, number: int, part: Bounded, engine: Engine, receipt: Receipt, watch: Watch) -> Bounded:
    """The part with every bound that was left open chosen, by its own paid step."""
    filled = part
    for task, step in priced.steps:
        if task.kind == "choose" and task.part == number and task.clip is not None:
            units = engine.norms(part, task.clip, part.clips[task.clip].edges, watch)
            filled = with_bound(filled, task.clip, choose_bound(priced, step, part, units, receipt))
    return filled
