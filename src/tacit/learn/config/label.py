"""What `tacit label` takes: teachers fitted to a private table, and public inputs of a file that they vote on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.csv import read_csv
from pyarrow.parquet import read_table

from tacit.base import InputError, Problem
from tacit.desk import Job, Run, Spender
from tacit.desk.kind import JobKind, JobSettings, job_setting
from tacit.desk.release import release_of
from tacit.engine.result import UnitRows
from tacit.learn.config.columns import classes_of, column_facts, wrong
from tacit.learn.labels import LabelJob, label_step
from tacit.learn.made_of import own_delta
from tacit.learn.table_rows import encoded_column
from tacit.learn.teachers import Teachers
from tacit.learn.votes import GNMax, LNMax, VoteRule, moved_votes
from tacit.noise import rng_or_default
from tacit.plan.node import Scan
from tacit.policy.declaration import declared
from tacit.policy.kind import choice, names, number, text, whole
from tacit.program import Program

__all__ = ["LABEL", "LabelSettings", "TableLabels"]


class TeacherName(StrEnum):
    """The models that teachers can be; the last two are scikit-learn's."""

    NEAREST = "nearest"
    LOGISTIC = "logistic"
    FOREST = "forest"


positive = number(above=0)


@declared
class LabelSettings(JobSettings):
    """One vote on public inputs."""

    table: str = job_setting("The private table that teachers learn from.", text, example='"visits"', suggests="tables")
    features: tuple[str, ...] = job_setting(
        "The columns to learn from: numbers with bounds in the policy, or columns with a short list of values. A name "
        "that ends in * is every column that begins so.",
        names, example='["age", "cost"]', suggests="columns",
    )  # fmt: skip
    label: str = job_setting(
        "The column to predict, with a list of values.", text, example='"ward"', suggests="columns"
    )
    public: str = job_setting(
        "The public inputs: a CSV or Parquet file that has these features.", text, example='"public.csv"', local=True
    )
    answers: int | None = job_setting(
        "How many labels are paid for. Default: one for each input.", whole, example="100", default=None, shown=True
    )
    teacher: TeacherName = job_setting(
        "What teachers are: nearest, logistic or forest (the last two need scikit-learn).", choice(TeacherName),
        example='"nearest"', default=TeacherName.NEAREST,
    )  # fmt: skip
    teachers: int = job_setting(
        "How many there are: each has so many times fewer units.", whole, example="100", default=100
    )
    sigma: Fraction | None = job_setting(
        "Gaussian noise on each count of votes: an answer costs 1/sigma² of ρ.", positive, example="12", default=None,
        shown=True,
    )  # fmt: skip
    scale: Fraction | None = job_setting(
        "Or Laplace noise: an answer costs ε = 2/scale.", positive, example="20", default=None
    )
    check_sigma: Fraction | None = job_setting(
        "With sigma: look first whether enough teachers agree, with this noise; a look costs 1/(2·check_sigma²) of ρ.",
        positive, example="30", default=None,
    )  # fmt: skip
    check_votes: Fraction | None = job_setting(
        "With check_sigma: how many votes are enough.", positive, example="45", default=None
    )
    delta: Fraction | None = job_setting(
        "The δ of an account that is paid in ε.", number(above=0, below=1), example="1e-7", default=None
    )
    name: str = job_setting(
        "Tells one vote from another: the same settings of the same data under the same name are one release.",
        text, example='"first"', default="labels",
    )  # fmt: skip

    @property
    def title(self) -> str:
        return f"labels from {self.table}" + (f" ({self.name})" if self.name != "labels" else "")

    @property
    def rule(self) -> VoteRule:
        if self.scale is not None:
            return LNMax(scale=self.scale)
        assert self.sigma is not None  # see `contradictions`
        check = None if self.check_sigma is None else (self.check_sigma, self.check_votes)
        return GNMax(sigma=self.sigma, confident=check)

    def contradictions(self) -> Iterator[Problem]:
        yield from super().contradictions()
        if (self.sigma is None) == (self.scale is None):
            yield Problem(("sigma",), "say how much noise: sigma = 12 for Gaussian, or scale = 20 for Laplace noise")
        if (self.check_sigma is None) != (self.check_votes is None) or (self.check_sigma and self.scale):
            yield Problem(("check_sigma",), "a check is check_sigma, check_votes and sigma together")
        if self.label in self.features:
            yield Problem(
                ("features",), f'features hold the label "{self.label}", which is to be voted on: leave it out'
            )
        if self.teachers < 2:
            yield Problem(("teachers",), "teachers must be at least 2")


class Nearest:
    """The label of the nearest row."""

    def fit(self, inputs: Any, labels: Any) -> None:
        self.inputs, self.labels = inputs, labels

    def predict(self, inputs: Any) -> Any:
        far = (self.inputs**2).sum(axis=1) - 2 * (inputs @ self.inputs.T)  # but for what is the same for all rows
        return self.labels[far.argmin(axis=1)]


def _maker(name: TeacherName) -> Callable[[], Any]:
    if name is TeacherName.NEAREST:
        return Nearest
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise wrong("teacher", f"a {name.value} teacher needs scikit-learn: pip install scikit-learn") from None
    return LogisticRegression if name is TeacherName.LOGISTIC else lambda: RandomForestClassifier(20)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableLabels(LabelJob):
    """Such a vote, whose teachers are fitted under its charge, to rows that only its run reads."""

    make: Callable[[], Any] = field(repr=False)
    scan: Scan = field(repr=False)
    features: tuple[str, ...]
    label: str
    count: int

    # whoever asks brings no code, and may not see the rows
    scrubbed = Job.scrubbed
    stops = Job.stops  # type: ignore[assignment]  # counted again

    def run(self, run: Run) -> bytes:
        with run.open(run.engine.rows(self.scan, run.watch)) as rows:
            object.__setattr__(self, "teachers", self._fitted(rows))
        places = self._drawn(run)
        said = [None if place is None else self.classes[place] for place in places]
        table = pa.table({"input": list(range(1, len(said) + 1)), self.label: said})
        return release_of(table, facts=run.facts).to_bytes()

    def _fitted(self, rows: UnitRows) -> Teachers:
        inputs = _encoded(self.features, self.scan, rows.columns)
        place = {value: at for at, value in enumerate(self.classes)}
        codes = np.array([place.get(each, -1) for each in rows.columns[self.label].to_pylist()], dtype=np.int64)
        rng, known = rng_or_default(None), codes >= 0
        # a coin for each unit: dealt by their places, others would be with other teachers when one is gone
        coins = np.array([rng.read(16).hex() for _ in range(rows.units)], dtype=object)
        owner = np.repeat(coins, np.diff(rows.offsets))[known]
        data = inputs[known], np.array(self.classes)[codes[known]]
        with suppress(InputError):  # there may be no rows, or none that a teacher can learn from: a fact about them
            return Teachers.fit(self.make, data, count=self.count, by=owner, classes=self.classes)
        nobody = [None] * self.count
        return Teachers(nobody, shape=inputs.shape[1:], label=None, classes=self.classes, table=None, by=None)


def _encoded(features: tuple[str, ...], scan: Scan, columns: Mapping[str, Any]) -> Any:
    """Columns as inputs, by what the policy declares and nothing else."""
    return np.concatenate([encoded_column(name, scan.schema[name], columns[name]) for name in features], axis=1)


def _public(settings: LabelSettings, features: tuple[str, ...], scan: Scan) -> Any:
    """The public inputs, read the same way as the private rows."""
    path = Path(settings.public)
    if path.suffix.lower() not in {".csv", ".parquet"} or not path.is_file():
        raise wrong("public", f'"{path}" is no CSV or Parquet file that can be read')
    try:
        table = read_csv(path) if path.suffix.lower() == ".csv" else read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise wrong("public", f"{path} cannot be read: {error}") from None
    absent = [name for name in features if name not in table.column_names]
    if absent or not table.num_rows:
        raise wrong("public", f"{path} has no column {absent[0]!r}" if absent else f"{path} has no rows")
    try:
        return _encoded(features, scan, {name: table[name] for name in features})
    except (ValueError, TypeError, pa.ArrowInvalid):
        raise wrong("public", f"{path} holds something else than numbers where the policy declares numbers") from None


def _job(settings: LabelSettings, spender: Spender) -> Job:
    features, known = column_facts(settings, spender)
    classes, rule, policy = classes_of(settings.label, known[settings.label]), settings.rule, spender.policy
    scan = spender.scan(settings.table, [*features, settings.label])
    inputs = _public(settings, features, scan)
    most = len(inputs) if settings.answers is None else settings.answers
    if most > len(inputs):
        raise wrong(
            "answers", f"answers = {most} is more than there are inputs, {len(inputs)}: ask for at most as many"
        )
    moved = moved_votes(policy.privacy.relation)
    program = Program(
        steps=(label_step(rule, answers=most, inputs=len(inputs), moved=moved),),
        tables=(settings.table,),
        relation=policy.privacy.relation,
        unit=policy.privacy.unit,
        query={"labels": settings.json(), "inputs": sha256(np.ascontiguousarray(inputs).tobytes()).hexdigest()},
        delta=own_delta(policy, settings.delta),
    )
    nobody = Teachers([], shape=inputs.shape[1:], label=None, classes=classes, table=None, by=None)
    return TableLabels(
        teachers=nobody, inputs=inputs, rule=rule, answers=most, classes=classes, priced=program, moved=moved,
        make=_maker(settings.teacher), scan=scan, features=features, label=settings.label, count=settings.teachers,
    )  # fmt: skip


LABEL = JobKind(
    name="label",
    title="Label public inputs",
    words="Labels for public inputs, voted on by teachers that learn from disjoint parts of a private table.",
    settings=LabelSettings,
    job_of=_job,
    makes="table",
)
