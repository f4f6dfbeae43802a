"""Labels that teachers voted for: charged before a teacher is asked, kept before they are shown, priced again after."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import ceil, log, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import InputError, Number, between, whole
from tacit.base.stored import fraction_to_text
from tacit.desk import ContentRelease, Job, Release, Run, Spender
from tacit.desk.release import release_from_bytes, release_of
from tacit.learn.agreement import Agreement
from tacit.learn.estimator.job import TableSpender
from tacit.learn.made_of import own_delta, table_of_data
from tacit.learn.votes import Ints, VoteRule, moved_votes
from tacit.loss import ZCDP
from tacit.loss.pate import DataDependent
from tacit.mechanism import SmoothNoise
from tacit.noise import rng_or_default
from tacit.program import Adaptive, Program, Step, Task

if TYPE_CHECKING:
    from tacit.learn.teachers import Teachers

__all__ = ["HindsightJob", "LabelJob", "Labels", "PublishedHindsight", "label_step", "labelled"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelJob(Job):
    """Queries to teachers, under a filter in zCDP that is charged whole before the first."""

    teachers: "Teachers"
    inputs: Any
    rule: VoteRule
    answers: int
    classes: Sequence[Any]
    priced: Program
    moved: int
    seen: list[Ints] = field(default_factory=list, repr=False)  # the votes, for hindsight in the same process

    scrubbed = False  # teachers are the curator's own code
    stops = None

    @property
    def program(self) -> Program:
        return self.priced

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"at most {self.answers:,} labels for {len(self.inputs):,} public inputs",)

    def run(self, run: Run) -> bytes:
        told = {"classes": list(self.classes), "labels": self._drawn(run), "inputs": len(self.inputs)}
        return release_of(told, kind="labels", facts=run.facts).to_bytes()

    def _drawn(self, run: Run) -> list[int | None]:
        """For each input that was looked at the number of its class, or None where teachers did not agree."""
        votes = self.teachers.votes(self.inputs, self.classes)
        self.seen.append(votes)
        (step,) = run.program.steps
        assert isinstance(step, Adaptive)
        check, answer = self.rule.check_rho(self.moved), self.rule.answer_rho(self.moved)
        spent, given, rng = Fraction(0), 0, rng_or_default(None)
        found: list[int | None] = []
        for row in votes:
            if given == self.answers or spent + check + answer > step.limit:
                break  # what a query may cost at most no longer fits
            spent += check
            said: int | None = None
            if self.rule.passes(row, rng):
                spent += answer
                said = self.rule.answer(row, rng)
                given += 1
            found.append(said)
        return found

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """What was released, and beside it, for the curator alone, what the votes happened to cost.

    `places` holds for each input that was looked at the number of its class, or None where the teachers did not agree.
    """

    release: ContentRelease
    loss: ZCDP
    inputs: Any = field(repr=False)
    classes: tuple[Any, ...]
    places: tuple[int | None, ...] = field(repr=False)
    job: LabelJob = field(repr=False)
    session: Spender = field(repr=False)

    def __repr__(self) -> str:
        return f"<{len(self.known[1]):,} labels for {len(self.inputs):,} public inputs>"

    @property
    def known(self) -> tuple[Any, Array]:
        """The inputs that have a label, and their labels: what a student learns from."""
        at = [row for row, place in enumerate(self.places) if place is not None]
        labels = np.array([self.classes[self.places[row]] for row in at])  # type: ignore[index]  # none is None
        return np.asarray(self.inputs)[at], labels

    def _votes(self) -> tuple[Ints, Array]:
        """The votes on the inputs that were looked at: secret."""
        votes = self.job.seen[-1] if self.job.seen else self.job.teachers.votes(self.inputs, self.classes)
        return votes[: len(self.places)], np.array([place is not None for place in self.places], dtype=bool)

    def hindsight(self, delta: Number | None = None) -> DataDependent:
        """What these very votes cost. It is as secret as they are, and no `Loss`: the curator's eyes only."""
        if self.job.moved != 1:
            raise InputError("hindsight is for add_remove: under replace the votes of two teachers may move")
        votes, answered = self._votes()
        found = self.job.rule.hindsight(votes, answered, {"relation": self.loss.relation, "unit": self.loss.unit})
        return DataDependent(found.curve, None if delta is None else between(delta, "delta", 0, 1))

    def publish_hindsight(
        self, epsilon: Number, *, delta: Number = Fraction(1, 10**7), order: Number | None = None
    ) -> "PublishedHindsight":
        """The figure at one Rényi order, with noise scaled to its smooth sensitivity: paid for with (ε, δ)."""
        if self.job.moved != 1:
            raise InputError("hindsight is for add_remove: under replace the votes of two teachers may move")
        at = self._order() if order is None else whole(order, "order", least=2)
        answered = sum(place is not None for place in self.places)
        if not self.places:
            raise InputError("no input was looked at, so there is nothing to publish")
        figure = Agreement(
            rule=self.job.rule,
            order=at,
            teachers=self.job.teachers.count,
            classes=len(self.classes),
            answered=answered,
            checked=len(self.places),
        )
        noise = SmoothNoise(epsilon=epsilon, delta=delta, top=figure.top)
        first = self.job.program
        query = {"hindsight of": first.hash, "order": at, "step": fraction_to_text(figure.step, "step")}
        # another order is another question, and so is asking again after a crash: each pays
        program = Program(
            steps=(Step(name="hindsight", mechanism=noise, task=Task(kind="hindsight")),),
            tables=first.tables,
            relation=first.relation,
            unit=first.unit,
            query=query,
        )
        release = self.session.spend(HindsightJob(labels=self, figure=figure, noise=noise, priced=program))
        assert isinstance(release, ContentRelease)  # as its job keeps it
        return PublishedHindsight(order=at, divergence=float(release.value()["divergence"]), release=release)

    def _order(self) -> int:
        """From public facts: about the best for a cost of a quarter of what was charged, at a δ of 1e-6."""
        (step,) = self.job.program.steps
        assert isinstance(step, Adaptive)
        return 1 + ceil(sqrt(4 * log(1e6) / float(step.limit)))


@dataclass(frozen=True, kw_only=True, eq=False)
class HindsightJob(Job):
    """The figure with noise."""

    labels: Labels
    figure: Agreement
    noise: SmoothNoise
    priced: Program

    @property
    def program(self) -> Program:
        return self.priced

    def run(self, run: Run) -> bytes:
        votes, answered = self.labels._votes()
        noisy = self.noise.sample((self.figure.figure(votes, answered), self.figure.moves(votes, answered)))
        told = {"order": self.figure.order, "divergence": float(noisy * self.figure.step)}
        return release_of(told, kind="value", facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


@dataclass(frozen=True, kw_only=True)
class PublishedHindsight:
    """A noisy Rényi divergence of one order: an estimate of what the votes cost, and no guarantee. How large the noise
    was is secret, so it has no error bar."""

    order: int
    divergence: float
    release: ContentRelease = field(repr=False)

    def epsilon(self, delta: Number) -> float:
        """The ε that a divergence of just this much would give (Canonne, Kamath and Steinke 2020): an estimate."""
        chosen, a = float(between(delta, "delta", 0, 1)), float(self.order)
        found = max(0.0, self.divergence) + log1p(-1 / a) - (log(chosen) + log(a)) / (a - 1)
        return max(0.0, found)


def label_step(rule: VoteRule, *, answers: int, inputs: int, moved: int) -> Adaptive:
    """What is charged: so many answers, and a check of every input where the rule has one."""
    limit = answers * rule.answer_rho(moved) + inputs * rule.check_rho(moved)
    return Adaptive(name="labels", limit=limit, task=Task(kind="label"))


def labelled(
    teachers: "Teachers",
    public_x: Any,
    rule: VoteRule,
    session: Spender,
    *,
    answers: Number | None,
    table: str | None,
    delta: Number | None,
    key: str | None,
) -> Labels:
    """Price, charge, ask; see `Teachers.label`."""
    if not isinstance(rule, VoteRule):
        raise InputError("vote must be learn.GNMax(sigma=…) or learn.LNMax(scale=…)")
    inputs = np.asarray(public_x)
    if inputs.ndim < 2 or not len(inputs):
        raise InputError("public_x must be a table of inputs, one row each: of one input, pass [input]")
    if inputs.shape[1:] != teachers.shape:
        raise InputError(
            f"public inputs are of shape {inputs.shape[1:]}, and the teachers learned from {teachers.shape}: pass the "
            "same columns in the same order, without label and unit"
        )
    most = len(inputs) if answers is None else whole(answers, "answers", least=1)
    if most > len(inputs):
        raise InputError(f"answers = {most} is more than there are inputs, {len(inputs)}: ask for at most as many")
    policy = session.policy
    name = table_of_data(policy, table)
    declared = policy.tables[name].unit_column
    if isinstance(teachers._by, str) and declared is not None and teachers._by != declared:
        raise InputError(
            f"teachers were dealt {teachers._by!r}, and table {name!r} counts {policy.privacy.unit}s by {declared!r}: "
            f"one {policy.privacy.unit} could be with two teachers; fit them with by={declared!r}"
        )
    if policy.tables[name].each_row_is_a_unit is False and teachers._by is None:
        raise InputError(
            f"table {name!r} may have several rows of one {policy.privacy.unit}: fit the teachers with "
            f"by={policy.tables[name].unit_column!r}, so that all of them are with one teacher"
        )
    classes = _classes(teachers, session, name)
    moved = moved_votes(policy.privacy.relation)
    program = Program(
        steps=(label_step(rule, answers=most, inputs=len(inputs), moved=moved),),
        tables=(name,),
        relation=policy.privacy.relation,
        unit=policy.privacy.unit,
        query={
            "labels": rule.json(),
            "answers": most,
            "inputs": {"rows": len(inputs), "sha256": sha256(np.ascontiguousarray(inputs).tobytes()).hexdigest()},
            "teachers": teachers.count,
            "fit": teachers._mark,
        },
        delta=own_delta(policy, delta),
    )
    job = LabelJob(
        teachers=teachers, inputs=inputs, rule=rule, answers=most, classes=classes, priced=program, moved=moved
    )
    release, loss = session.spend(job, idempotency_key=key), program.loss
    assert isinstance(release, ContentRelease)  # as its job keeps it
    assert isinstance(loss, ZCDP)  # of its one step
    places = tuple(release.value()["labels"])
    return Labels(release=release, loss=loss, inputs=inputs, classes=classes, places=places, job=job, session=session)


def _classes(teachers: "Teachers", session: Spender, table: str) -> tuple[Any, ...]:
    if teachers._classes is not None:
        return tuple(teachers._classes)
    if teachers._label is None:
        raise InputError(
            "which labels can be asked for is not read from the data: say Teachers.fit(…, classes=range(10))"
        )
    return tuple(TableSpender(session).group_names(table, teachers._label))
