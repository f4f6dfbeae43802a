"""What will run: mechanisms and the sensitivities they rest on, fixed before anything touches the data.

A program is what a policy decides on, what a ledger charges and keeps, and what is run. It is plain data both ways, so
that spending can be priced again, years later, with a better proof.
"""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tacit.base import InputError, Relation, Sensitivity, SensitivityError, between, cached_property, positive, whole
from tacit.base.stored import fraction_from_text, fraction_to_text, only_fields, shown
from tacit.loss import ZCDP, Approx, Cost, Loss, composed
from tacit.mechanism import Mechanism, mechanism_from_json, mechanism_to_json

__all__ = ["Adaptive", "AnyStep", "Program", "Step", "Task", "canonical", "step_from_json"]

VERSION = 2
DEEPEST = 100  # lists and objects within one another
AROUND = 10  # of them left for what a program, and the ledger entry it stands in, put round a query
FIELDS = ("name", "mechanism", "sensitivity", "concentrated")
LATER = ("times", "rate", "task")  # since version 2 of stored programs


def canonical(data: Any) -> str:
    """JSON that depends on the content alone: sorted keys, no spaces, and no floats, which are refused."""
    try:
        text = json.dumps(_plain(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        # a whole number of thousands of digits, or half of a surrogate pair
        raise InputError(
            "this data has no stored form: it holds a number or a character that cannot be written"
        ) from None
    return text


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a step is for, as data; sentences about it are written from this.

    `kind` is a word of the trade whose program it is. In SQL: choose (the bound of a clip, with about `target` units
    above it, or of n units half of them, at most √(`root`·n/10,000) and at most `most`), centre (the number that an
    average is measured from), select (the keys to show), noise (on the measures of a clip, which may also decide on
    keys), quantiles (of the value whose ranks a clip is for) and ends (of intervals round those). `part` and `clip` say
    which part of the question and which of its clips; `measures` are the names of what is released; `scaled` says that
    sizes are in units of a bound that an earlier step chooses.
    """

    kind: str
    part: int = 0
    clip: int | None = None
    measures: tuple[str, ...] = ()
    target: int | None = None
    scaled: bool = False
    root: int | None = None
    most: int | None = None

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
            # which tasks once did without:
            **{name: given for name in ("root", "most") if (given := getattr(self, name)) is not None},
        }

    @classmethod
    def from_json(cls, data: Any) -> "Task":
        """The inverse of `json`."""
        later = tuple(name for name in ("root", "most") if isinstance(data, dict) and data.get(name) is not None)
        only_fields(data, "a stored task", ("kind", "part", "clip", "measures", "target", "scaled", *later))
        numbers = [data["part"], *(data[name] for name in ("clip", "target", *later) if data[name] is not None)]
        if not all(type(number) is int for number in numbers) or type(data["scaled"]) is not bool:
            raise InputError(
                "a stored task has whole numbers for part, clip, target, root and most, and true or false for scaled"
            )
        measures = tuple(listed(data["measures"], "measures of a task"))
        return cls(**{**data, "measures": measures})


@dataclass(frozen=True, kw_only=True)
class Step:
    """One mechanism, and how far one unit can move its input.

    `sensitivity` stays out where the mechanism sets its own, such as a mean within bounds. `concentrated` prices a
    mechanism that states its zCDP apart (a selection, whose bounded range makes it four times cheaper there) by that.
    The mechanism runs `times` times with these parameters, each time on a fresh Poisson sample of the units if there is
    a `rate`. All of it is fixed in advance: to stop early is post-processing, and pays for the whole step. `slack` is a
    δ that all its runs together cost beside, of which samples take nothing away: what is drawn is not quite its law.
    """

    name: str
    mechanism: Mechanism
    sensitivity: Sensitivity | None = None
    concentrated: bool = False
    times: int = 1
    rate: Fraction | None = None
    task: Task | None = None
    slack: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        named(self.name, "name of a step")
        if self.slack:
            object.__setattr__(self, "slack", between(self.slack, "slack", 0, 1, toward="up"))
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
        whole = self.times * (once if self.rate is None else once.sampled(self.rate))
        return whole + Approx(0, self.slack, relation=relation, unit=unit) if self.slack else whole

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
            if self.times != 1 or self.rate is not None or self.task is not None or self.slack:
                raise InputError("a program of version 1 has no times, rate or task in its steps: leave version out")
            return first
        rate = None if self.rate is None else fraction_to_text(self.rate, "rate")
        if self.slack:  # absent where there is none, as in all programs before there was any
            first |= {"slack": fraction_to_text(self.slack, "slack")}
        return first | {"times": self.times, "rate": rate, "task": None if self.task is None else self.task.json()}


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """A step whose inner mechanisms follow from its own earlier noisy answers, under a zCDP filter.

    It costs its whole `limit` of ρ, however little of it is used, and gains nothing from samples. In an account that is
    paid in ε its program needs a `delta` of its own.
    """

    name: str
    limit: Fraction
    task: Task | None = None

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
    slack = ("slack",) if version > 1 and isinstance(data, dict) and "slack" in data else ()
    only_fields(data, "a stored step", FIELDS if version == 1 else (*FIELDS, *LATER, *slack))
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
    beside = fraction_from_text(data["slack"], "slack") if slack else Fraction(0)
    return replace(step, times=data["times"], rate=rate, task=_task(data["task"]), slack=beside)


def _task(data: Any) -> Task | None:
    return None if data is None else Task.from_json(data)


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """The steps of one release, for one `unit` under one `relation`, over `tables`.

    All parameters are fixed before the first step runs, so their losses compose by addition. `query` is the bounded
    question the steps answer, as plain data without floats; the program keeps a copy of its own. With `delta` the
    program is paid for as one finished (ε, δ)-DP mechanism. Programs are equal when their JSON is: they ask the same
    thing at the same price. `version` is of the stored form: one that was read from an older ledger keeps its own.
    """

    steps: tuple[AnyStep, ...]
    tables: tuple[str, ...] = ()
    relation: Relation = Relation.ADD_REMOVE
    unit: str = "row"
    query: Any = None
    delta: Fraction | None = None
    version: int = VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(listed(self.steps, "steps")))
        if not self.steps:
            raise InputError("a program needs at least one step: nothing would be released")
        for step in self.steps:
            if not isinstance(step, AnyStep):
                raise InputError(f"steps must be a list of Step, and one of them is {kind_of(step)}")
        tables = {named(table, "name of a table") for table in listed(self.tables, "tables")}
        object.__setattr__(self, "tables", tuple(sorted(tables)))
        object.__setattr__(self, "relation", Relation(self.relation))
        named(self.unit, "unit")
        if self.delta is not None:
            object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "query", _plain(self.query, AROUND))
        _ = self.text  # written now: what cannot be stored cannot be run, and nothing changes it afterwards

    @cached_property
    def loss(self) -> Loss:
        """What the whole program costs one unit."""
        return composed(step.loss(relation=self.relation, unit=self.unit) for step in self.steps)

    @cached_property
    def cost(self) -> Cost:
        """The same in units that add up across programs.

        What adaptive steps may spend is ρ already; beside them only the fixed steps are priced as one mechanism.
        """
        limits = sum((step.limit for step in self.steps if isinstance(step, Adaptive)), Fraction(0))
        if not limits or self.delta is None:
            return self.loss.cost(self.delta)
        fixed = [step.loss(relation=self.relation, unit=self.unit) for step in self.steps if isinstance(step, Step)]
        rest = composed(fixed).cost(self.delta).rho if fixed else Fraction(0)
        whole = self.loss.cost(self.delta)
        return Cost(
            epsilon=whole.epsilon,
            mu_squared=whole.mu_squared,
            rho=None if rest is None else limits + rest,
            delta=self.delta,
            relation=self.relation,
            unit=self.unit,
        )

    @cached_property
    def text(self) -> str:
        """The canonical JSON, on which `hash` is taken."""
        stored = {
            "version": self.version,
            "relation": self.relation.value,
            "unit": self.unit,
            "tables": list(self.tables),
            "query": self.query,
            "delta": None if self.delta is None else fraction_to_text(self.delta, "delta"),
            "steps": [step.json(self.version) for step in self.steps],
        }
        return canonical(stored)

    @cached_property
    def hash(self) -> str:
        """The identity of the question and its price, for the answer cache."""
        return sha256(self.text.encode()).hexdigest()

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """The hash, and before it the one that this program had in version 1, under which it may have been answered."""
        plain = [replace(step, task=None) for step in self.steps if isinstance(step, Step)]
        if self.version == 1 or any(step.times != 1 or step.rate is not None or step.slack for step in plain):
            return (self.hash,)
        if len(plain) < len(self.steps):
            return (self.hash,)
        return (replace(self, steps=tuple(plain), version=1).hash, self.hash)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal program."""
        data: dict[str, Any] = json.loads(self.text)
        return data

    @classmethod
    def from_json(cls, data: Any) -> "Program":
        """The inverse of `json`; anything not understood entirely is refused."""
        only_fields(data, "a stored program", ("version", "relation", "unit", "tables", "query", "delta", "steps"))
        version = data["version"]
        if type(version) is not int or not 1 <= version <= VERSION:
            raise InputError(f"this stored program has version {shown(version)}; this release reads up to {VERSION}")
        steps = tuple(step_from_json(step, version) for step in listed(data["steps"], "steps"))
        program = cls(
            steps=steps,
            tables=data["tables"],
            relation=Relation(data["relation"]),
            unit=data["unit"],
            query=data["query"],
            delta=None if data["delta"] is None else fraction_from_text(data["delta"], "delta"),
            version=version,
        )
        if canonical(data) != program.text:
            raise InputError(
                "this stored program is not as one is written, with its tables in order and each of them once"
            )
        return program


def _plain(data: Any, depth: int = 0) -> Any:
    """A copy of strings, whole numbers, truth values, nothing, and lists and objects of them; all else is refused."""
    if data is None or isinstance(data, str | int):
        return data
    if depth == DEEPEST:
        raise InputError(f"this data is nested too deeply to be stored: at most {DEEPEST - AROUND} lists and objects")
    if isinstance(data, list | tuple):
        return [_plain(item, depth + 1) for item in data]
    if isinstance(data, dict):
        for key in data:
            if not isinstance(key, str):
                raise InputError(
                    f"stored data has strings for keys, not {kind_of(key)}: write {shown(key)} as a string"
                )
        return {key: _plain(item, depth + 1) for key, item in data.items()}
    if isinstance(data, float):
        raise InputError(f"stored data has no floats, which are not exact: write {data!r} as a string")
    raise InputError(f"stored data has strings, whole numbers, lists and objects, not {kind_of(data)}")


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
