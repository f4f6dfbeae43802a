"""The steps of a program: one mechanism each, run once or many times, on everybody or on Poisson samples."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tacit.base import InputError, Relation, Sensitivity, SensitivityError, between, positive, whole
from tacit.base.stored import fraction_from_text, fraction_to_text, only_fields, shown
from tacit.loss import ZCDP, Loss
from tacit.mechanism import Mechanism, mechanism_from_json, mechanism_to_json

__all__ = ["Adaptive", "AnyStep", "Step", "Task", "step_from_json"]

FIELDS = ("name", "mechanism", "sensitivity", "concentrated")
LATER = ("times", "rate", "task")  # since version 2 of stored programs


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a step is for, as data; sentences about it are written from this.

    `kind` is a word of the trade whose program it is. In SQL: choose (the bound of a clip, near `target` units above
    it, or near half of them), select (the keys to show), noise (on the measures of a clip), quantiles (of the value
    whose ranks a clip is for) and ends (of intervals round those). `part` and `clip` say which part of the question
    and which of its clips; `measures` are the names of what is released; `scaled` says that sizes are in units of a
    bound that an earlier step chooses.
    """

    kind: str
    part: int = 0
    clip: int | None = None
    measures: tuple[str, ...] = ()
    target: int | None = None
    scaled: bool = False

    def __post_init__(self) -> None:
        named(self.kind, "kind of a task")
        object.__setattr__(self, "measures", tuple(named(name, "a measure of a task") for name in self.measures))

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal task."""
        return {
            "kind": self.kind,
            "part": self.part,
            "clip": self.clip,
            "measures": list(self.measures),
            "target": self.target,
            "scaled": self.scaled,
        }

    @classmethod
    def from_json(cls, data: Any) -> "Task":
        """The inverse of `json`."""
        only_fields(data, "a stored task", ("kind", "part", "clip", "measures", "target", "scaled"))
        numbers = [data["part"], *(data[name] for name in ("clip", "target") if data[name] is not None)]
        if not all(type(number) is int for number in numbers) or type(data["scaled"]) is not bool:
            raise InputError("a stored task has whole numbers for part, clip and target, and true or false for scaled")
        measures = tuple(listed(data["measures"], "measures of a task"))
        return cls(**{**data, "measures": measures})


@dataclass(frozen=True, kw_only=True)
class Step:
    """One mechanism, and how far one unit can move its input.

    `sensitivity` stays out where the mechanism sets its own, such as a mean within bounds. `concentrated` prices a
    mechanism that states its zCDP apart (a selection, whose bounded range makes it four times cheaper there) by that.
    The mechanism runs `times` times with these parameters, each time on a fresh Poisson sample of the units if there is
    a `rate`. All of it is fixed in advance: to stop early is post-processing, and pays for the whole step.
    """

    name: str
    mechanism: Mechanism
    sensitivity: Sensitivity | None = None
    concentrated: bool = False
    times: int = 1
    rate: Fraction | None = None
    task: Task | None = None

    def __post_init__(self) -> None:
        named(self.name, "name of a step")
        if not isinstance(self.mechanism, Mechanism):
            raise InputError(f"mechanism of step {self.name!r} must be a mechanism, not {kind_of(self.mechanism)}")
        if self.sensitivity is not None and not isinstance(self.sensitivity, Sensitivity):
            raise SensitivityError(
                f"sensitivity of step {self.name!r} must say its norm: pass Sensitivity(l1=...) or (l2=...), "
                "or Sensitivity.scalar(...) for one number"
            )
        object.__setattr__(self, "times", whole(self.times, "times", least=1))
        if self.rate is not None:
            object.__setattr__(self, "rate", between(self.rate, "rate", 0, 1, toward="up"))
            if self.concentrated:
                raise InputError(f"step {self.name!r} has a rate, and zCDP does not gain from samples: leave one out")

    def loss(self, *, relation: Relation, unit: str) -> Loss:
        """What this step alone costs one unit, all of its runs together."""
        once = self._once(relation=relation, unit=unit)
        return self.times * (once if self.rate is None else once.sampled(self.rate))

    def _once(self, *, relation: Relation, unit: str) -> Loss:
        if not self.concentrated:
            return self.mechanism.loss(self.sensitivity, relation=relation, unit=unit)
        stated = getattr(self.mechanism, "concentrated", None)
        if stated is None:
            raise InputError(f"{type(self.mechanism).__name__} has no loss of its own in zCDP: leave concentrated out")
        loss: Loss = stated(self.sensitivity, relation=relation, unit=unit)
        return loss

    def json(self, version: int = 2) -> dict[str, Any]:
        """Plain data that `step_from_json` turns into an equal step."""
        first = {
            "name": self.name,
            "mechanism": mechanism_to_json(self.mechanism),
            "sensitivity": None if self.sensitivity is None else self.sensitivity.json(),
            "concentrated": self.concentrated,
        }
        if version == 1:
            if self.times != 1 or self.rate is not None or self.task is not None:
                raise InputError("a program of version 1 has no times, rate or task in its steps: leave version out")
            return first
        rate = None if self.rate is None else fraction_to_text(self.rate, "rate")
        return first | {"times": self.times, "rate": rate, "task": None if self.task is None else self.task.json()}


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """A step whose inner mechanisms follow from its own earlier noisy answers, under a zCDP filter.

    It costs its whole `limit` of ρ, however little of it is used, and gains nothing from samples. In an account that is
    paid in ε its program needs a `delta` of its own.
    """

    name: str
    limit: Fraction
    task: Task | None = field(default=None)

    def __post_init__(self) -> None:
        named(self.name, "name of a step")
        object.__setattr__(self, "limit", positive(self.limit, "limit", toward="decimal"))

    def loss(self, *, relation: Relation, unit: str) -> Loss:
        """The whole limit, as zCDP."""
        return ZCDP(self.limit, relation=relation, unit=unit)

    def json(self, version: int = 2) -> dict[str, Any]:
        """Plain data that `step_from_json` turns into an equal step."""
        if version == 1:
            raise InputError("a program of version 1 has no adaptive steps: leave version out")
        task = None if self.task is None else self.task.json()
        return {"name": self.name, "limit": fraction_to_text(self.limit, "limit"), "task": task}


AnyStep = Step | Adaptive


def step_from_json(data: Any, version: int = 2) -> AnyStep:
    """The inverse of `json`; anything not understood entirely is refused."""
    if version > 1 and isinstance(data, dict) and "limit" in data:
        only_fields(data, "a stored adaptive step", ("name", "limit", "task"))
        return Adaptive(name=data["name"], limit=fraction_from_text(data["limit"], "limit"), task=_task(data["task"]))
    only_fields(data, "a stored step", FIELDS if version == 1 else (*FIELDS, *LATER))
    stored = data["sensitivity"]
    step = Step(
        name=data["name"],
        mechanism=mechanism_from_json(data["mechanism"]),
        sensitivity=None if stored is None else Sensitivity.from_json(stored),
        concentrated=data["concentrated"],
    )
    if version == 1:
        return step
    rate = None if data["rate"] is None else fraction_from_text(data["rate"], "rate")
    return Step(
        name=step.name,
        mechanism=step.mechanism,
        sensitivity=step.sensitivity,
        concentrated=step.concentrated,
        times=data["times"],
        rate=rate,
        task=_task(data["task"]),
    )


def _task(data: Any) -> Task | None:
    return None if data is None else Task.from_json(data)


def listed(data: Any, name: str) -> list[Any] | tuple[Any, ...]:
    """A list, or an error that names it."""
    if not isinstance(data, list | tuple):
        raise InputError(f"{name} must be a list, not {kind_of(data)}")
    return data


def named(data: Any, what: str) -> str:
    """A text that is not empty, or an error that says what it should be."""
    if not isinstance(data, str) or not data:
        raise InputError(f"{what} must be a string that is not empty, not {shown(data)}")
    return data


def kind_of(data: Any) -> str:
    """What something is, for an error."""
    return type(data).__name__
