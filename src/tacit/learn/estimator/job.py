"""A fit as a job of the desk: charged before it reads, kept before it is shown; and rows of a policy's table."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import InputError, Number
from tacit.base.number import between
from tacit.desk import ContentRelease, Job, Quote, Release, Run
from tacit.desk.release import release_from_bytes, release_of
from tacit.learn.estimator.bounds import Array, ColumnRange, declared_range
from tacit.learn.estimator.examples import Examples, codes_of, numbers
from tacit.noise import rng_or_default
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan
from tacit.policy.account import Currency
from tacit.program import Program

if TYPE_CHECKING:
    from tacit.learn.estimator.estimator import FitPlan

__all__ = ["FitJob", "LabelColumn", "TableSpender", "group_rows", "read_rows", "stored_state", "table_of"]

NUMERIC = (Type.INTEGER, Type.NUMBER, Type.BOOLEAN)


class FitJob(Job):
    """A priced program and the fit that runs under its receipt. What is kept are the arrays that were learned."""

    def __init__(self, program: Program, work: Callable[[Run], Mapping[str, Array]]) -> None:
        self._program, self._work = program, work

    @property
    def program(self) -> Program:
        return self._program

    def run(self, run: Run) -> bytes:
        state = {
            name: {"shape": list(np.shape(each)), "values": np.ravel(each).tolist()}
            for name, each in self._work(run).items()
        }
        found = {"model": self._program.query["model"], "state": state}
        return release_of(found, kind="model", facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


def stored_state(release: Release) -> dict[str, Array]:
    """The arrays of a fit's release."""
    if not isinstance(release, ContentRelease) or release.kind != "model":
        raise InputError("this release is no model")
    state = json.loads(release.content)["state"]
    return {name: np.array(each["values"]).reshape(each["shape"]) for name, each in state.items()}


@dataclass(frozen=True)
class LabelColumn:
    """What the policy declares of the column that is predicted."""

    name: str
    domain: tuple[Any, ...] | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class TableSpender:
    """A session, as a fit needs it: what it promises, the tables of its policy, and how it is paid."""

    session: Any

    def spend(self, job: Job) -> Release:
        found: Release = self.session.spend(job)
        return found

    def quote(self, job: Job) -> Quote:
        found: Quote = self.session.quote(job)
        return found

    def scan(self, table: str, columns: Collection[str], label: str | None = None) -> Scan:
        """These columns of a table, as the policy declares them."""
        found: Scan = self.session.scan(table, [*columns, *([label] if label else [])])
        return found

    def group_names(self, table: str, groups: str) -> tuple[Any, ...]:
        """The declared groups of a column."""
        (source,) = (each for each in self.scan(table, [groups]).columns if each.name == groups)
        found = _domain(source.facts)
        if found is None:
            raise InputError(f"column {groups!r} declares no groups: declare group_keys = […] for it in the policy")
        return found

    def neighbours(self, source: Any, table: str | None, query: dict[str, Any], delta: Number) -> dict[str, Any]:
        """What a program says of who is protected, what it reads, and how it is paid for."""
        privacy = self.session.policy.privacy
        if not isinstance(source, str):
            if table is None:
                raise InputError(
                    "rows in memory are charged to the table that they were made of: pass table=, or fit the table "
                    "itself by its name"
                )
            # another array is another question: without this it would be answered from the store
            query = query | {"rows in memory": rng_or_default(None).read(16).hex()}
        read = source if isinstance(source, str) else table
        # ρ and μ² of Gaussian noise add up exactly; ε has none, so the fit is paid for as one (ε, δ)-DP mechanism
        whole = between(delta, "delta", 0, 1) if privacy.currency is Currency.EPSILON else None
        return {
            "relation": privacy.relation,
            "unit": privacy.unit,
            "tables": (read,),
            "query": query,
            "whole": whole,
        }

    def check_units(self, table: str | None, units: Any) -> None:
        """Rows in memory of a table whose units have several rows must say whose they are."""
        declared = self.session.policy.tables.get(table)
        if declared is not None and not declared.each_row_is_a_unit and units is None:
            raise InputError(
                f"table {table!r} may have several rows of one {self.session.policy.privacy.unit}: pass units=, the "
                f"{declared.unit_column} of each row, so that they are clipped together"
            )


def table_of(
    session: TableSpender, table: str, label: Any, bounds: Any
) -> tuple[tuple[str, ...], ColumnRange, LabelColumn]:
    """The columns to learn from, with their bounds, and the one that is predicted: those that `bounds` names, or every
    column with declared bounds. Bounds that are given here are used within the policy's, which reading enforces."""
    if label is not None and not isinstance(label, str):
        raise InputError("of a policy's table, y is the name of a column")
    whole = session.session.scan(table)
    facts = {source.name: source.facts for source in whole.columns if source.name != whole.unit_name}
    if label is not None and label not in facts:
        raise InputError(f"table {table!r} has no column {label!r}: there are {', '.join(map(repr, facts))}")
    if isinstance(bounds, Mapping):
        names = tuple(bounds)
        for name in names:
            if name not in facts or name == label:
                raise InputError(f"table {table!r} has no column {name!r} to learn from")
    else:
        names = tuple(name for name, each in facts.items() if name != label and _ends(each) is not None)
    if not names:
        raise InputError(
            f"table {table!r} has no column with bounds: declare them in the policy, as bounds = [low, high]"
        )
    pairs = {name: _ends(facts[name]) for name in names}
    missing = [name for name, pair in pairs.items() if pair is None]
    if missing and not isinstance(bounds, Mapping):
        raise InputError(f"column {missing[0]!r} has no bounds: declare bounds = [low, high] for it in the policy")
    given = bounds if bounds is not None else pairs
    found = LabelColumn("") if label is None else LabelColumn(label, _domain(facts[label]), _ends(facts[label]))
    return names, declared_range(given, names, "the model"), found


def _ends(facts: Facts) -> tuple[float, float] | None:
    if facts.type not in NUMERIC:
        return None
    if facts.type is Type.BOOLEAN:
        return 0.0, 1.0
    low, high = facts.low, facts.high
    return None if low is None or high is None else (float(low), float(high))  # type: ignore[arg-type]  # of numbers


def _domain(facts: Facts) -> tuple[Any, ...] | None:
    return None if facts.domain is None else tuple(facts.domain)


def read_rows(run: Run, scan: Scan, plan: "FitPlan", label: str | None, kind: str) -> Examples:
    """The rows of a table, by unit, as the engine reads them; NULL is a number that is not finite."""
    with run.open(run.engine.rows(scan, run.watch)) as found:
        features = np.column_stack([_numbers(found.columns[name]) for name in plan.names])
        target: Array | None = None
        if label is not None and kind == "classifier":
            target = codes_of(np.array(found.columns[label].to_pylist(), dtype=object), plan.classes, len(features))
        elif label is not None and kind == "regressor":
            assert plan.target is not None
            target = numbers(_numbers(found.columns[label]), plan.target, len(features))
        offsets = np.array(found.offsets)
    examples = Examples.of(features, target)
    # by declaration: a table in which each row is a unit has no unit column
    return (
        examples if scan.unit_name is None else Examples(examples.features, examples.target, examples.weight, offsets)
    )


def _numbers(column: Any) -> Array:
    return np.asarray(column.cast("float64").to_numpy(), dtype=float)


def group_rows(
    run: Run, scan: Scan, columns: Sequence[str], label: str, groups: str, names: Sequence[Any]
) -> tuple[Examples, Array]:
    """Rows of a table with their group as target, and their labels."""
    with run.open(run.engine.rows(scan, run.watch)) as found:
        features = np.column_stack([_numbers(found.columns[name]) for name in columns])
        codes = codes_of(np.array(found.columns[groups].to_pylist(), dtype=object), names, len(features))
        labels = np.array(found.columns[label].to_pylist(), dtype=object)
        offsets = np.array(found.offsets)
    examples = Examples.of(features, codes)
    if scan.unit_name is not None:
        examples = Examples(examples.features, examples.target, examples.weight, offsets)
    return examples, labels
