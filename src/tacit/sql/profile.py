"""The profile of a table as a job for the desk: made once by its curator, and charged to the dataset.

Each unit is in one bin of each histogram, so that k histograms have l1 sensitivity k and l2 sensitivity √k: the price
is shared among them equally. See docs/theory/profile.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tacit.base import PolicyError, Relation, Sensitivity, cached_property
from tacit.desk.job import Job, Run
from tacit.desk.quote import Expected
from tacit.desk.release import Release, TableRelease, release_from_bytes
from tacit.desk.show import margin
from tacit.ledger import Ledger
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace
from tacit.plan.bounded import Bounded, Clip, Measure, Norm
from tacit.plan.contribution import root_up
from tacit.plan.describe import describe
from tacit.plan.expression import Column
from tacit.plan.moments import coarse, grid_of, range_of, rows
from tacit.plan.mu_squared import filled
from tacit.plan.node import Scan
from tacit.plan.operation import call
from tacit.plan.price import noise_step
from tacit.plan.profile import BINS, ROWS, SizeHistogram, TableProfile
from tacit.policy import Currency, Grant, Policy
from tacit.policy.decide import CURATOR, decide_for_curator
from tacit.policy.table import Table
from tacit.program import Program, Step, Task
from tacit.sql.catalog import Catalog

__all__ = ["ProfileJob", "profile_jobs", "profile_of", "profiles_in"]

Noise = DiscreteGaussian | DiscreteLaplace
LARGEST_ROW = 2**24  # steps of one row: 65,536 rows of that size are as much as a clip can bound
ONE = 2**10  # steps of a row that is only counted
SMALLER = 24  # bins below the largest row, where rows differ
LARGER = 64  # bins above it: to 65,536 rows


@dataclass(frozen=True)
class _Sizes:
    """What one histogram counts units by: its name, the measure with its clip, and the edges in steps."""

    name: str
    bounded: Bounded
    edges: tuple[int, ...]
    step: Fraction

    def histogram(self, counts: tuple[int, ...], mechanism: Noise) -> SizeHistogram:
        return SizeHistogram(
            edges=tuple(edge * self.step for edge in self.edges),
            counts=counts,
            kind=mechanism.family,
            size=float(mechanism.magnitude),
            grain=Fraction(1) if self.name == ROWS else Fraction(0),
        )


class _Priced(NamedTuple):
    program: Program


class ProfileJob(Job):
    """The histograms of one private table whose policy says what they may cost."""

    def __init__(self, policy: Policy, catalog: Catalog, table: str) -> None:
        declared = policy.table(table)
        if declared.profile is None:
            raise PolicyError(
                f'table "{table}" has no profile: declare profile = … in the policy, what it may cost in '
                f"{policy.privacy.currency}"
            )
        self.policy, self.declared, self.price = policy, declared, declared.profile
        self._scan = catalog.scan(table)

    def grant(self, policy: Policy) -> Grant:
        return decide_for_curator(policy, self.program)

    @cached_property
    def _sizes(self) -> tuple[_Sizes, ...]:
        norm: Norm = "l2" if self.policy.privacy.currency.concentrated else "l1"
        return tuple(_sizes(self._scan, self.declared, norm))

    @cached_property
    def program(self) -> Program:
        if self.policy.privacy.currency is Currency.MU_SQUARED:
            return filled(lambda rho: _Priced(self._program(rho)), self.price).program
        return self._program(self.price)

    def _program(self, amount: Fraction) -> Program:
        """For an amount of ε, or of ρ."""
        privacy = self.policy.privacy
        steps = [
            _step(each.name, part, amount / len(self._sizes), each.bounded.clips[0].norm, privacy.relation)
            for part, each in enumerate(self._sizes)
        ]
        asked = {
            "profile": describe([each.bounded for each in self._sizes]),
            "edges": [list(s.edges) for s in self._sizes],
        }
        return Program(
            steps=tuple(steps),
            tables=(self.declared.name,),
            relation=privacy.relation,
            unit=privacy.unit,
            query=asked,
        )

    @property
    def _noises(self) -> Iterator[Noise]:
        for step in self.program.steps:
            assert isinstance(step, Step)
            assert isinstance(step.mechanism, DiscreteGaussian | DiscreteLaplace)
            yield step.mechanism

    @property
    def expected(self) -> tuple[Expected, ...]:
        error = next(self._noises).half_width(0.95)
        return (Expected(column="units", error=error, words=f"± {margin(error)} in each bin"),)

    @property
    def notes(self) -> tuple[str, ...]:
        unit = self.policy.privacy.unit
        named = ", ".join("rows" if each.name == ROWS else each.name for each in self._sizes)
        return (f"how many {unit}s have how many rows, and sums how large: {named}",)

    def run(self, run: Run) -> bytes:
        found = {}
        for number, (sizes, mechanism) in enumerate(zip(self._sizes, self._noises, strict=True)):
            exact = run.engine.norms(sizes.bounded, {0: sizes.edges}, run.watch)
            drawn = np.asarray(mechanism.sample(run.open(exact)[0]))
            found[sizes.name] = sizes.histogram(tuple(int(count) for count in drawn), mechanism)
            run.progress((number + 1) / len(self._sizes))
        profile = TableProfile(table=self.declared.name, histograms=found)
        return self._release(profile, {**run.facts, "profile": profile.json()}).to_bytes()

    def _release(self, profile: TableProfile, facts: Mapping[str, Any]) -> TableRelease:
        """A line for each bin."""
        half = next(self._noises).half_width(0.95)
        lines = [
            ("rows" if name == ROWS else name, low, high, count)
            for name, found in profile.histograms.items()
            for low, high, count in zip((0, *found.edges), (*found.edges, None), found.counts, strict=True)
        ]
        names, lows, highs, counts = zip(*lines, strict=True)
        table = pa.table(
            {
                "of": pa.array(names, pa.string()),
                "above": pa.array([float(low) for low in lows], pa.float64()),
                "at_most": pa.array([None if high is None else float(high) for high in highs], pa.float64()),
                "units": pa.array(counts, pa.int64()),
            }
        )
        ends = [max(0.0, count - half) for count in counts], [max(0.0, count + half) for count in counts]
        return TableRelease(table=table, intervals={"units": ends}, notes=self.notes, facts=facts)

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


def _sizes(scan: Scan, declared: Table, norm: Norm) -> Iterator[_Sizes]:
    """Of rows, and of the absolute values of each number column that has bounds and no clip of its own."""
    counted = tuple(dict.fromkeys(round(2 ** (j / BINS)) for j in range(LARGER + 1)))
    yield _sizes_of(ROWS, scan, rows("m1", ONE), tuple(edge * ONE for edge in counted), Fraction(1, ONE), norm)
    for source in scan.columns:
        column = declared.columns.get(source.column)
        if column is None or source.name == scan.unit_name or not source.facts.type.numeric:
            continue
        if not source.facts.bounded or column.group_keys is not None or column.clip not in (None, "private"):
            continue
        value = Column(name=source.name, facts=source.facts)
        largest = max(map(abs, range_of(value)))
        step = coarse(grid_of(value, "a profile").step, largest, LARGEST_ROW)
        high = max(1, floor(largest / step + Fraction(1, 2)))
        measure = Measure(name="m1", value=call("abs", value), step=step, low=0, high=high)
        found = dict.fromkeys(round(high * 2 ** (j / BINS)) for j in range(-SMALLER, LARGER + 1))
        yield _sizes_of(source.column, scan, measure, tuple(edge for edge in found if edge >= 1), step, norm)


def _sizes_of(name: str, scan: Scan, measure: Measure, edges: tuple[int, ...], step: Fraction, norm: Norm) -> _Sizes:
    clip = Clip(names=("m1",), scales=(Fraction(1),), norm=norm, bound=None, row=Fraction(measure.high))
    return _Sizes(name, Bounded(source=scan, keys=(), measures=(measure,), clips=(clip,)), edges, step)


def _step(name: str, part: int, share: Fraction, norm: Norm, relation: Relation) -> Step:
    """Noise on the bins of one histogram, of which a unit is in one; replacing it moves it from one to another."""
    task = Task(kind="profile", part=part, measures=(name,))
    what = f"how many units have how {'many rows' if name == ROWS else f'large a sum of {name}'}"
    bins = Fraction(1 if relation is Relation.ADD_REMOVE else 2)
    size = bins if norm == "l1" else root_up(bins)
    moved = Sensitivity(l1=size) if norm == "l1" else Sensitivity(l2=size)
    return noise_step(what, size, share, moved, norm, relation, task)


# --- those that were made


def profile_jobs(policy: Policy, catalog: Catalog) -> dict[str, ProfileJob]:
    """A job for each table that is to have a profile."""
    return {name: ProfileJob(policy, catalog, name) for name, table in policy.tables.items() if table.profile}


def profiles_in(ledger: Ledger, jobs: Mapping[str, ProfileJob]) -> dict[str, TableProfile]:
    """The newest profile of each table that has one in the ledger, by table."""
    found = {}
    for table, job in jobs.items():
        stored = ledger.newest(job.policy.dataset.identity, CURATOR, job.program)
        if stored is not None:
            release = release_from_bytes(stored.release)
            found[table] = profile_of(release, version=stored.version, entry=stored.seq)
    return found


def profile_of(release: Release, *, version: str = "", entry: int = 0) -> TableProfile:
    """The profile that a release is."""
    return TableProfile.from_json(release.facts["profile"], version=version, entry=entry)
