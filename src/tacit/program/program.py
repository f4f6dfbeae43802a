"""What will run: mechanisms and the sensitivities they rest on, fixed before anything touches the data.

A program is what a policy decides on, what a ledger charges and keeps, and what is run. It is plain data both ways, so
that spending can be priced again, years later, with a better proof.
"""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from hashlib import sha256
from operator import add
from typing import Any

from tacit.base import InputError, Relation, between
from tacit.base.stored import fraction_from_text, fraction_to_text, only_fields, shown
from tacit.loss import Cost, Loss
from tacit.program.step import Adaptive, AnyStep, Step, kind_of, listed, named, step_from_json

__all__ = ["Program", "canonical"]

VERSION = 2
DEEPEST = 100  # lists and objects within one another
AROUND = 10  # of them left for what a program, and the ledger entry it stands in, put round a query


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
        return reduce(add, (step.loss(relation=self.relation, unit=self.unit) for step in self.steps))

    @cached_property
    def cost(self) -> Cost:
        """The same in units that add up across programs.

        What adaptive steps may spend is ρ already; beside them only the fixed steps are priced as one mechanism.
        """
        limits = sum((step.limit for step in self.steps if isinstance(step, Adaptive)), Fraction(0))
        if not limits or self.delta is None:
            return self.loss.cost(self.delta)
        fixed = [step.loss(relation=self.relation, unit=self.unit) for step in self.steps if isinstance(step, Step)]
        rest = reduce(add, fixed).cost(self.delta).rho if fixed else Fraction(0)
        return Cost(
            epsilon=self.loss.cost(self.delta).epsilon,
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
        if self.version == 1 or any(step.times != 1 or step.rate is not None for step in plain):
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
