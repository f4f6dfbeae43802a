"""A question in SQL as a job for the desk: what it is priced as, how it runs, and how its answer is shown.

A plan depends on the words, the offer and what is declared, and of who asks on their least price; never on data or on
what was spent. So remembering one changes no price and allows nothing: the policy decides, and the ledger charges, each
time anew.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.base import RefusalKind, Refused, TacitError, cached_property
from tacit.desk.job import Job, Run
from tacit.desk.quote import Expected, Hint
from tacit.desk.release import TableRelease
from tacit.plan.bounded import Bounded
from tacit.plan.centre import centre_part, with_centre
from tacit.plan.price import PricedPlan
from tacit.plan.profile import TableProfile
from tacit.plan.profiled import Missing, missing_of
from tacit.plan.question import LoweredQuestion
from tacit.policy import Policy
from tacit.program import Program
from tacit.sql.assemble import assemble
from tacit.sql.catalog import Catalog
from tacit.sql.estimate import expected
from tacit.sql.hints import coverage_notes, facts_of, hints_of, notes_of, profile_hint, raised
from tacit.sql.lower import lower
from tacit.sql.noise import centre_steps, choose_bound, choose_centre, declared_groups, release, with_bound
from tacit.sql.offer import Offer, Purchase
from tacit.sql.parse import parse
from tacit.sql.rehearse import OUTSIDE, rehearse
from tacit.sql.stored import NoisyPart, StoredAnswer

__all__ = ["Plans", "Query"]

MOST = 2000  # plans that are remembered
AT_ONCE = 2
LONGEST = 10_000  # characters of a question that is


@dataclass(frozen=True, kw_only=True, eq=False)
class Query(Job):
    """A priced question, with the rules it was priced by."""

    sql: str
    dialect: str | None
    offer: Offer
    policy: Policy
    purchase: Purchase

    @property
    def priced(self) -> PricedPlan:
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
        return self.priced.question.columns

    def run(self, run: Run) -> bytes:
        """Stages 7 and 8: bound and add up in the engine, choose what was left open, add noise."""
        profiles = {name: each for name, each in self.priced.profiles.items() if name in self.program.tables}
        before = {table: _version(run, table) for table in profiles}
        filled = [self._filled(number, run) for number in range(len(self.priced.parts))]
        parts = tuple(self._released(number, part, run) for number, part in enumerate(filled))
        known = {
            table: profile
            for table, profile in profiles.items()
            if before[table] == profile.version == _version(run, table)
        }
        clipping = [missing.json() for missing in missing_of(replace(self.priced, parts=tuple(filled)), known)]
        facts = {**run.facts, **facts_of(self.priced, filled), "clipping": clipping}
        return StoredAnswer(parts=parts, facts=facts).to_bytes()

    def _filled(self, number: int, run: Run) -> Bounded:
        """A part with every centre and bound that was left open chosen, by its own paid step."""
        part = filled = self.priced.parts[number]
        for place, (step, centre) in enumerate(centre_steps(self.priced, number)):
            ranks = run.engine.run(centre_part(part, centre, self.priced.norm), run.watch)
            part = filled = with_centre(part, place, choose_centre(self.priced, step, centre, ranks, run.receipt))
        choices = {
            task.clip: step
            for task, step in self.priced.steps
            if task.kind == "choose" and task.part == number and task.clip is not None
        }
        if not choices:
            return filled
        units = run.engine.norms(part, {clip: part.clips[clip].edges for clip in choices}, run.watch)
        for clip, step in choices.items():
            filled = with_bound(filled, clip, choose_bound(self.priced, step, part, units, run.receipt))
        return filled

    def _released(self, number: int, part: Bounded, run: Run) -> NoisyPart:
        if not part.measures and not part.ranks and part.presence is None:  # there is nothing to run
            return NoisyPart(groups=declared_groups(part), measures={}, quantiles={}, ends={})
        return release(self.priced, number, part, run.engine.run(part, run.watch), run.receipt)

    def show(self, kept: bytes, *, cached: bool) -> TableRelease:
        """Stage 9: aggregates, HAVING, ORDER BY, LIMIT and intervals, from noisy measures alone."""
        stored = StoredAnswer.from_bytes(kept)
        missing = [Missing.from_json(each) for each in stored.facts.get("clipping", ())]
        answer = assemble(self.priced, stored.parts, confidence=self.offer.confidence, missing=missing)
        told = (*raised(self.purchase, self.policy), *profile_hint(self.priced, self.policy))
        remarks = [hint.words for hint in told]  # that it cost more than was offered, or bought a bound
        return TableRelease(
            table=answer.table,
            intervals=answer.intervals,
            confidence=self.offer.confidence,
            coverage=answer.coverage,
            notes=(
                *remarks,
                *coverage_notes(answer.coverage, self.policy),
                *notes_of(self.priced, self.policy, stored.parts),
            ),
            facts=stored.facts,
            cached=cached,
        )


def _version(run: Run, table: str) -> str | None:
    """Of the data as they are now; None if that cannot be told, which is no reason for an answer to fail."""
    with suppress(Exception):
        return run.engine.version((table,))
    return None


def _bought(
    question: LoweredQuestion, offer: Offer, policy: Policy, least: Fraction, profiles: Mapping[str, TableProfile]
) -> Purchase:
    """The question with its price, after a rehearsal; what numbers of these sizes cannot do is refused."""
    try:
        purchase = offer.price(question, policy, least=least, profiles=profiles)
        rehearse(purchase.priced, policy.dataset.engine.value, confidence=offer.confidence)
    except TacitError:
        raise
    except (ArithmeticError, ValueError):
        raise Refused(OUTSIDE, kind=RefusalKind.LIMIT) from None
    return purchase


class Plans:
    """The newest plans, by everything that they depend on. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._planning = threading.Semaphore(AT_ONCE)
        self._plans: OrderedDict[tuple[object, ...], tuple[Query, Catalog]] = OrderedDict()

    def plan(
        self,
        sql: str,
        dialect: str | None,
        offer: Offer,
        policy: Policy,
        catalog: Catalog,
        *,
        least: Fraction = Fraction(0),
        profiles: Mapping[str, TableProfile] | None = None,
    ) -> Query:
        """The question as a job. One that cannot be planned raises what `lower` and `price` do, every time."""
        profiles = profiles or {}
        entries = tuple(sorted((table, profile.entry) for table, profile in profiles.items()))
        place = (id(policy), id(catalog), sql, dialect, offer, least, entries)
        with self._lock:
            found = self._plans.get(place)
            if found is not None:
                self._plans.move_to_end(place)
                return found[0]
        with self._planning:  # it is all Python: more at once would only keep each other, and everybody else, waiting
            purchase = _bought(lower(parse(sql, dialect), catalog), offer, policy, least, profiles)
        made = Query(sql=sql, dialect=dialect, offer=offer, policy=policy, purchase=purchase)
        if len(sql) <= LONGEST:
            with self._lock:
                self._plans[place] = (made, catalog)  # held, so that its number stays its own
                while len(self._plans) > MOST:
                    self._plans.popitem(last=False)
        return made
