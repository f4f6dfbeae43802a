"""A training as a job of the desk: checked before the charge, run under the receipt, kept before it is shown."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit.base import InputError
from tacit.desk import ContentRelease, Expected, Job, Release, Run, Spender
from tacit.desk.release import release_from_bytes
from tacit.learn.identity import data_name
from tacit.learn.need import need_torch
from tacit.learn.rows import InputSize, Rows
from tacit.learn.run import TrainingRun
from tacit.learn.weights import Arrays, arrays_to_bytes, tensors_to_arrays
from tacit.learn.work import Work
from tacit.policy import Policy
from tacit.program import Program

if TYPE_CHECKING:
    from tacit.learn.gradient import Gradients
    from tacit.learn.model import TrainedModel
    from tacit.learn.ranks import Ranks
    from tacit.learn.training import Training

__all__ = ["FORMAT", "PlanJob", "TrainingJob", "followed", "model_file", "trained"]

FORMAT = "tacit model 1"


class PlanJob(Job):
    """A plan that has no model yet: it can be quoted."""

    def __init__(self, plan: "Training", session: Spender) -> None:
        self._plan = plan
        if not plan.program().tables:
            raise InputError(
                "whose data are these rows? Say Training(table=…, …), the table of the policy they were made of: its "
                "people are protected, and its budget pays"
            )
        self._unit = _unit(plan, session)
        _one_row_a_unit(plan, session)
        self._rows = plan.rows.bind(session)  # what is not declared, or out of range, is told now
        self._shapes: dict[str, list[int]] | None = None

    @property
    def program(self) -> Program:
        return self._plan.program(unit=self._unit, model=self._shapes)

    def run(self, run: Run) -> bytes:
        raise InputError("a plan alone cannot run: plan.run(session, model, loss=…, loop=…)")

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)

    @property
    def expected(self) -> tuple[Expected, ...]:
        plan = self._plan
        share = plan.sigma_in_clips / plan.batch
        words = f"standard deviation {float(share):.3g} clips on each number of the mean gradient, {plan.steps:,} times"
        return (Expected(column="gradient", error=None, words=words),)

    @property
    def notes(self) -> tuple[str, ...]:
        plan = self._plan
        rate = "in fixed groups" if plan.rate is None else f"at rate {float(plan.rate):.4g}"
        return (f"{plan.steps:,} steps {rate}, sigma = {float(plan.sigma_in_clips):.4g} clips",)


class TrainingJob(PlanJob):
    """A plan with a model, a loss and a loop, which are the curator's own code."""

    stops: int | None = None
    scrubbed = False

    def __init__(self, plan: "Training", session: Spender, work: Work, ranks: "Ranks | None" = None) -> None:
        super().__init__(plan, session)
        self._work, self._ranks = work, ranks
        self._shapes = {name: list(each.shape) for name, each in work.trainable.items()}
        self._gradients = prepared(plan, self._rows, work)
        self.program.loss  # noqa: B018  # priced now: nothing may fail later that could be known before

    def own_data(self, policy: Policy) -> str:
        mark = self._plan.rows.mark()
        return data_name(mark, policy) if mark else ""

    def run(self, run: Run) -> bytes:
        work = self._work
        with self._rows.open(run) as examples:
            own = TrainingRun(
                self._plan, work, examples, self._gradients, save=run.save, saved=run.saved(), ranks=self._ranks
            )
            if self._ranks is not None:
                self._ranks.begin(work.model)
            work.loop(own)
            if self._ranks is not None:
                self._ranks.end()
            own.finish()
        content = model_file(run, self._plan.json(), tensors_to_arrays(work.model.state_dict()))
        some = f"{own.done:,} of the {own.steps:,} steps that were paid for are in it"
        notes = () if own.done >= own.steps else (some,)
        return ContentRelease(kind="model", content=content, facts=run.facts, notes=notes).to_bytes()


def model_file(run: Run, plan: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The file of a model: what was learned, the plan, and how it was paid for."""
    facts = run.facts
    told = {
        "format": FORMAT,
        "plan": plan,
        "cost": facts["cost"],
        "ledger": facts["ledger"],
        **{name: facts[name] for name in ("dataset", "unit", "relation", "program", "time")},
    }
    return arrays_to_bytes(arrays, {"tacit": json.dumps(told)})


def _one_row_a_unit(plan: "Training", session: Spender) -> None:
    """Rows from elsewhere are clipped one by one: the table they were made of has to say that each is a unit."""
    declared = None if plan.table is None or plan.rows.tables else session.policy.tables.get(plan.table)
    if declared is not None and not declared.each_row_is_a_unit:
        raise InputError(
            f"these rows are clipped one by one, and table {plan.table!r} may have several of one "
            f"{session.policy.privacy.unit}: learn from it by TableRows({plan.table!r}, …), unit by unit, or declare a "
            "table with each_row_is_a_unit = true for data that have one row for each unit"
        )


def _unit(plan: "Training", session: Spender) -> str:
    """The unit of the session's policy, which has to have the relation that the plan was priced for."""
    privacy = session.policy.privacy
    if privacy.relation is not plan.relation:
        raise InputError(
            f"the policy protects by {privacy.relation.value}, and the plan was priced for {plan.relation.value}: say "
            f"Training(relation={privacy.relation.value!r}, …)"
        )
    return str(privacy.unit)


def prepared(plan: "Training", rows: Rows, work: Work) -> "Gradients":
    """The model, checked on made-up inputs: what cannot be trained is told before anything is paid or read."""
    need_torch()
    from tacit.learn.gradient import Clipping, Flat, Gradients, InputShape

    size = sum(each.numel() for each in work.trainable.values())
    if size > plan.parameters:
        raise InputError(
            f"the model has {size:,} trainable parameters, and the plan was priced for {plan.parameters:,}: say "
            f"Training(parameters={size}, …)"
        )
    if plan.adaptive is not None:
        from tacit.learn.counted import CountedFlat

        clipping: Clipping = CountedFlat(plan.clip)
    else:
        clipping = plan.clip if isinstance(plan.clip, Clipping) else Flat(plan.clip)
    if clipping.sensitivity() > clipping.length() * plan.slack:
        raise InputError("this clipping has more slack than the plan prices: choose another")
    inputs = tuple(_size(each) for each in (work.shapes or rows.inputs()))
    if not inputs:
        raise InputError("say what one example looks like: run(…, shapes=((1, 28, 28), InputSize((), 10)))")
    shapes = [InputShape(each.size, each.below) for each in inputs]
    gradients = Gradients(work.model, work.loss, clipping=clipping, shapes=shapes)
    gradients.check()
    return gradients


def _size(shape: Any) -> InputSize:
    if hasattr(shape, "size") and hasattr(shape, "below"):
        return InputSize(tuple(shape.size), shape.below)
    return InputSize(tuple(shape))


def trained(
    plan: "Training", session: Spender, work: Work, *, ranks: "Ranks | None", idempotency_key: str | None
) -> "TrainedModel":
    """Spend the job, and put the released weights into the model, also where the release was known already."""
    from tacit.learn.model import ModelFile, TrainedModel

    job = TrainingJob(plan, session, work, ranks)
    release = session.spend(job, idempotency_key=idempotency_key)
    assert isinstance(release, ContentRelease)  # as the job keeps it
    file = ModelFile.from_bytes(release.content)
    work.model.load_state_dict(file.tensors())
    return TrainedModel(release=release, file=file, plan=plan)


def followed(plan: "Training", work: Work, ranks: "Ranks") -> None:
    """The part of a process that brings rows and pays nothing: it begins when rank 0 has paid."""
    gradients = prepared(plan, plan.rows, replace(work, report=None))
    if ranks.first:
        raise InputError("rank 0 runs the plan, with a session that pays: only the others follow")
    ranks.begin(work.model)
    with plan.rows.open(None) as examples:  # rows of its own, not a table of the policy
        work.loop(TrainingRun(plan, work, examples, gradients, save=None, ranks=ranks))
    ranks.end()
