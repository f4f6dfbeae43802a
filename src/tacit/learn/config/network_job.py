"""Networks by settings: a plan, a network of the closed list, and a loop, under the receipt of one charge."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tacit.base import InputError, Problem, SettingsError
from tacit.desk import Hint, Run, Spender
from tacit.learn.config.columns import column_facts, plan_of
from tacit.learn.config.network import loss_of, network_of, optimiser_of
from tacit.learn.config.text_rows import TextRows
from tacit.learn.config.train import TrainSettings
from tacit.learn.job import TrainingJob
from tacit.learn.loss_report import LossReport
from tacit.learn.rows import ArrowRows, Rows
from tacit.learn.table_rows import TableRows
from tacit.learn.training import Training
from tacit.learn.work import Work
from tacit.policy.declaration import quoted
from tacit.program import Program

__all__ = ["NetworkJob", "PlannedTraining", "network_job"]

CHUNK = 512  # units in memory at a time
REMEMBERED = 256  # plans


class NetworkJob(TrainingJob):
    """A training whose model, loss and loop are ours: whoever asks for it brings plain settings alone, so an error of
    its run tells nothing, and it may be stopped no more often than a question."""

    stops = 3
    scrubbed = True
    saves = True

    def __init__(self, settings: TrainSettings, planned: "PlannedTraining", rows: Rows, spender: Spender) -> None:
        self._settings, self._spender, self._bound, self._planned = settings, spender, rows, planned
        self._deadline = spender.policy.privacy.deadline
        super().__init__(planned.plan, spender, self._fresh())

    @property
    def program(self) -> Program:
        return self._planned.program

    def _fresh(self) -> Work:
        """A network that saw nothing yet, with its loop."""
        inputs = self._bound.inputs()
        network = network_of(self._settings, inputs)

        def loop(run: Any) -> None:
            optimiser = optimiser_of(self._settings, network)
            run.track(optimiser=optimiser)
            for _ in run:
                optimiser.step()

        return Work(model=network, loss=loss_of(inputs[1]), loop=loop, chunk=CHUNK)

    def run(self, run: Run) -> bytes:
        again = NetworkJob(self._settings, self._planned, self._bound, self._spender)  # one that never ran
        again._work = replace(again._work, report=lambda progress: run.watch.say(str(progress)))
        return again.trained(run)

    def trained(self, run: Run) -> bytes:
        """The training itself."""
        return super().run(run)

    @property
    def _size(self) -> int:
        return sum(each.numel() for each in self._work.trainable.values())

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Noise that is longer, over all steps, than the longest gradients could add up to."""
        plan = self._planned.plan
        ratio = float(plan.sigma_in_clips / plan.batch) * sqrt(self._size / plan.steps)
        if ratio <= 1:
            return ()
        words = (
            f"the noise of all steps together is about {ratio:.3g} times as long as the longest gradients could add up "
            "to, so almost nothing is learned: take a smaller network, a larger batch or a larger epsilon"
        )
        return (Hint(kind="noise", data={"ratio": ratio}, words=words),)

    @property
    def notes(self) -> tuple[str, ...]:
        late = () if self._deadline is None else (
            f"this dataset gives every answer after {self._deadline.total_seconds():g} seconds: a training that takes "
            "longer fails, and stays paid",
        )  # fmt: skip
        said = (hint.words for hint in self.hints)
        return (*said, f"a network of {self._size:,} numbers", *super().notes, *late)


def network_job(settings: TrainSettings, spender: Spender) -> NetworkJob:
    """The job of such settings: its network checked, its price known, and nothing read."""
    about: Mapping[str, Any] = {"settings": settings.json()}
    if settings.file is not None:
        rows: Rows = _file_rows(settings, spender)
    else:
        features, known = column_facts(settings, spender)
        about = plan_of(settings, features, known)
        rows = _table_rows(settings, features)
    bound, privacy = rows.bind(spender), spender.policy.privacy
    population = settings.population or privacy.population
    if population is None:
        told = (
            "how many units there are is a secret, so it is not read: add population = 10000, about how many there are "
            "as the public knows it, here or to [privacy] of the policy"
        )
        raise SettingsError(Problem(("population",), told, short="is needed: about how many units there are"))
    network = network_of(settings, bound.inputs())
    shapes = {name: list(each.shape) for name, each in network.named_parameters()}

    def plan() -> PlannedTraining:
        made = Training(
            rows=rows,
            batch=settings.batch,
            steps=settings.steps,
            epsilon=settings.epsilon,
            delta=settings.delta,
            population=population,
            clip=settings.clip,
            loss_report=None if settings.show_loss is None else LossReport(most=settings.show_loss),
            parameters=sum(each.numel() for each in network.parameters()),
            name=settings.name,
            table=settings.table,
            unit=str(privacy.unit),
            relation=privacy.relation,
            about=about,
        )
        return PlannedTraining(made, made.program(unit=str(privacy.unit), model=shapes))

    whole = json.dumps([settings.json(), about, population, str(privacy.unit), privacy.relation, shapes])
    return NetworkJob(settings, _planned(whole, plan) if settings.file is None else plan(), bound, spender)


class PlannedTraining(NamedTuple):
    """A plan with the noise found that it needs, and the program of it."""

    plan: Training
    program: Program


_plans: dict[str, PlannedTraining] = {}  # the newest, by everything that they follow from


def _planned(text: str, make: Callable[[], PlannedTraining]) -> PlannedTraining:
    """To find the noise takes a second or two, and a form asks for the same plan again and again."""
    found = _plans.get(text)
    if found is None:
        found = _plans[text] = make()
        for old in list(_plans)[:-REMEMBERED]:
            _plans.pop(old, None)
    return found


def _table_rows(settings: TrainSettings, features: tuple[str, ...]) -> TableRows:
    assert settings.label is not None  # as the settings say of every network
    if settings.model.value == "text":
        return TextRows(
            settings.table,
            column=features[0],
            label=settings.label,
            per_unit=settings.per_unit,
            vocabulary=settings.vocabulary,
            length=settings.length,
        )
    return TableRows(settings.table, features=features, label=settings.label, per_unit=settings.per_unit)


def _file_rows(settings: TrainSettings, spender: Spender) -> ArrowRows:
    """A file of the curator's own. One row is one unit there, so the table it was made of must be such a table."""
    assert settings.label is not None
    assert settings.file is not None
    declared = spender.policy.tables.get(settings.table)
    if declared is None or not declared.each_row_is_a_unit:
        raise InputError(
            f"file holds one row for each unit, and table {quoted(settings.table)} does not declare "
            "each_row_is_a_unit: leave file out, to learn from the table unit by unit"
        )
    path = Path(settings.file)
    source: Any = path
    if path.suffix in (".arrow", ".feather"):
        try:
            source = pa.ipc.open_file(path).read_all()
        except (OSError, pa.ArrowException):
            raise InputError(f"file = {quoted(settings.file)} cannot be read as Arrow: nothing was charged") from None
    return ArrowRows(source, features=settings.features, label=settings.label, classes=settings.classes)
