"""A census as a job of the desk: planned and priced from declarations alone, charged, then counted, and given noise."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from multiprocessing import get_context
from typing import Any, Required, TypedDict

from tacit.base import InputError, PolicyError, cached_property
from tacit.base.number import between, positive
from tacit.census.allocation import ExpectedError, Shares, expected_errors, moved_by, shares_of, steps_of
from tacit.census.invariants import Invariants, invariants_of
from tacit.census.measure import (
    SparseCounts,
    bounded_census,
    categories_of,
    check_places,
    check_size,
    measured,
)
from tacit.census.release import MEDIA, CensusTables, tables_to_bytes
from tacit.census.schema import DETAIL, TOTAL, CellSchema, Recode
from tacit.census.spine import Spine
from tacit.census.topdown import Spread, top_down
from tacit.desk import ContentRelease, Expected, Job, Quote, Release, Run, Spender
from tacit.desk.release import release_from_bytes
from tacit.desk.show import margin
from tacit.engine import Watch
from tacit.noise import rng_or_default
from tacit.plan.bounded import Bounded
from tacit.plan.contribution import rows_per_unit
from tacit.plan.describe import describe
from tacit.plan.node import Scan
from tacit.plan.price import rho_of
from tacit.policy import Policy
from tacit.policy.account import Currency
from tacit.program import Program, Step

__all__ = ["Census", "CensusJob", "CensusTerms", "plan_census"]

CONDITION = "the guarantee is for two datasets in which what is held exactly is the same"


class CensusTerms(TypedDict, total=False):
    """What `Session.census` is given beside the table and the spine."""

    queries: Required[Mapping[str, Any]]
    rho: Any
    epsilon: Any
    delta: Any
    levels: Mapping[str, Any] | None
    columns: Sequence[str] | None
    recodes: Mapping[str, Any] | None
    zeros: Sequence[Mapping[str, Any]]
    invariants: Iterable[str] | Mapping[str, Any]
    passes: int | None
    workers: int


@dataclass(frozen=True, kw_only=True, eq=False)
class CensusJob(Job):
    """Steps of noise, one for each level and query; and what is made of them, for nothing."""

    policy: Policy
    table: str
    spine: Spine
    schema: CellSchema
    invariants: Invariants
    shares: Shares
    bounded: Bounded
    priced: Program
    totals_first: tuple[str, ...]
    left_out: str = ""
    spread: Spread = map

    @property
    def program(self) -> Program:
        return self.priced

    @property
    def _steps(self) -> tuple[Step, ...]:
        return tuple(step for step in self.program.steps if isinstance(step, Step))

    @cached_property
    def errors(self) -> list[ExpectedError]:
        return expected_errors(self.spine, self.schema, self.shares, self._steps, self.invariants.fixed)

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """The half-width that holds 95 % of the noise of one measured count."""
        found = []
        for step in self._steps:
            half = step.mechanism.error(Fraction(95, 100))  # type: ignore[attr-defined]  # Gaussian
            found.append(Expected(column=step.name, error=half, words=f"± {margin(half)} on each count before fitting"))
        return tuple(found)

    @property
    def notes(self) -> tuple[str, ...]:
        privacy = self.policy.privacy
        read = ", ".join(f"{level}.{query}" for level, query in self.invariants.read)
        lost = (f"NOT protected, since it is released exactly: {read}; {CONDITION}",) if read else ()
        totals, vacant = self.invariants.totals, self.invariants.vacant
        given = [*(f"{level}.total" for level in totals), *(f"{level}.vacant" for level in vacant)]
        known = (f"held at numbers that were given, and not read from the data: {', '.join(given)}",) if given else ()
        return (
            *lost,
            *known,
            *([self.left_out] if self.left_out else []),
            f"{len(self._steps)} steps of discrete Gaussian noise, for one {privacy.unit} ({privacy.relation.value})",
            "tables of all levels agree, and every count is a whole number; "
            + (f"totals are settled first at {', '.join(self.totals_first)}" if self.totals_first else "in one pass"),
        )

    def run(self, run: Run) -> bytes:
        """Count once, in the engine; add noise; fit whole and consistent numbers to the noisy ones, which is free."""
        found = run.open(run.engine.run(self.bounded, run.watch))
        counts = SparseCounts.of(found, self.invariants)
        held = counts.held(self.invariants)
        noisy = measured(counts, self._steps, tuple(self.shares), rng_or_default(None))
        del found, counts
        whole = top_down(noisy, held, totals_first=self.totals_first, spread=self.spread, progress=run.progress)
        about = {"errors": [each.json() for each in self.errors], "invariants": self.invariants.json()["read"]}
        content = tables_to_bytes(self.spine, self.schema, whole, about)
        return ContentRelease(kind="rows", content=content, media=MEDIA, facts=run.facts, notes=self.notes).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Census:
    """A census that is planned: `quote()` and `errors()` are free, and `release()` is paid for, once for the same data.

    `workers` is in how many processes families are solved: more than one needs a program whose start is guarded by
    `if __name__ == "__main__"`.
    """

    job: CensusJob
    spender: Spender = field(repr=False)
    workers: int = 1

    def quote(self) -> Quote:
        """What it costs and what would be left. Free, and nothing is looked at."""
        return self.spender.quote(self.job)

    def errors(self) -> list[dict[str, Any]]:
        """For each level and query its share, the noise on each count, and the mean absolute error to expect. Free."""
        return [each.json() for each in self.job.errors]

    def release(
        self, *, idempotency_key: str | None = None, watch: Watch | None = None, spread: Spread | None = None
    ) -> CensusTables:
        """The tables, after they are paid for. `spread` is a map over batches of families, such as one of Spark: they
        hold noisy counts alone."""
        pool = (
            nullcontext(None)
            if spread is not None or self.workers == 1
            else ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
        )
        with pool as several:
            job = replace(self.job, spread=spread or (map if several is None else several.map))
            found = self.spender.spend(job, idempotency_key=idempotency_key, watch=watch)
        assert isinstance(found, ContentRelease)
        return CensusTables(release=found)

    def __repr__(self) -> str:
        return f"<census of {self.job.table!r} over {self.job.spine!r}: {self.job.schema.cells:,} cells>"


def plan_census(
    spender: Spender,
    table: str,
    spine: Spine,
    *,
    rho: Any = None,
    epsilon: Any = None,
    delta: Any = None,
    queries: Mapping[str, Any],
    levels: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    recodes: Mapping[str, Any] | None = None,
    zeros: Sequence[Mapping[str, Any]] = (),
    invariants: Iterable[str] | Mapping[str, Any] = (),
    passes: int | None = None,
    workers: int = 1,
) -> Census:
    """A census of a table of the policy; see `Session.census`. Everything that can be wrong is told now."""
    if not isinstance(spine, Spine):
        raise InputError("the spine says which places there are: tacit.census.Spine(…, places=…)")
    policy: Policy = spender.policy
    coarser = _recodes(recodes or {})
    named = list(dict.fromkeys([*(columns or ()), *_named(queries, coarser)]))
    if not named:
        raise InputError("which columns are counted? name them in queries, or pass columns=[…]")
    for level in spine.levels:
        if level in named:
            raise InputError(f"{level!r} is a level of the spine, and cannot be a column of the cells too")
    scan: Scan = spender.scan(table, [spine.leaf, *named])
    if not scan.private:
        raise PolicyError(f'table "{table}" is public: there is nobody in it to protect')
    rows = rows_per_unit(scan)
    if rows is None:
        raise PolicyError(
            f'table "{table}" does not say how many rows one {policy.privacy.unit} has, and a census counts each once: '
            "declare each_row_is_a_unit = true, or max_rows_per_unit = 1"
        )
    schema = CellSchema(categories=categories_of(scan, named), recodes=coarser, zeros=tuple(zeros))
    left_out = check_places(scan, spine)
    shares = shares_of(spine, schema, queries, levels)
    check_size(spine, schema, tuple(shares))
    held = invariants_of(invariants, spine, schema)
    held.check_relation(policy.privacy.relation)
    held.check_allowed(policy.table(table).invariants, table)
    amount, own = _price(policy, rho, epsilon, delta)
    steps = steps_of(shares, amount, policy.privacy.relation, rows)
    first = _totals_first(schema, shares, steps) if passes is None else spine.levels * (_passes(passes) - 1)
    bounded = bounded_census(scan, spine.leaf, named, rows)
    told = {
        "spine": spine.json(),
        "schema": schema.json(),
        "invariants": held.json(),
        "totals first": list(first),
        "counts": describe(bounded),
        "moved": str(moved_by(policy.privacy.relation, rows)),
    }
    program = Program(
        steps=steps,
        tables=tuple(sorted(scan.tables)),
        relation=policy.privacy.relation,
        unit=policy.privacy.unit,
        query={"census": told, "released exactly": told["invariants"]["read"]},
        delta=own,
    )
    job = CensusJob(
        policy=policy,
        table=table,
        spine=spine,
        schema=schema,
        invariants=held,
        shares=shares,
        bounded=bounded,
        priced=program,
        totals_first=first,
        left_out=left_out,
    )
    if workers < 1:
        raise InputError("workers must be 1 or more")
    return Census(job=job, spender=spender, workers=workers)


def _named(queries: Mapping[str, Any], recodes: Mapping[str, Recode]) -> Iterable[str]:
    if not isinstance(queries, Mapping):
        raise InputError('queries say their weights: {"total": 1, "race": 1, "age*sex": 1, "detail": 2}')
    for query in queries:
        if query not in (TOTAL, DETAIL):
            for name in (part.strip() for part in str(query).split("*")):
                yield recodes[name].column if name in recodes else name


def _recodes(given: Mapping[str, Any]) -> dict[str, Recode]:
    found = {}
    for name, each in given.items():
        if not isinstance(each, Mapping) or set(each) != {"column", "groups"}:
            raise InputError(
                f"recode {name!r} says a column and groups of its categories: "
                '{"column": "age", "groups": {"minor": [0, 1], "adult": [2, 3]}}'
            )
        groups: dict[Any, str] = {}
        for group, values in each["groups"].items():
            for value in values:
                if value in groups:
                    raise InputError(f"recode {name!r} has {value!r} in two groups: {groups[value]!r} and {group!r}")
                groups[value] = str(group)
        found[name] = Recode(column=each["column"], groups=groups)
    return found


def _price(policy: Policy, rho: Any, epsilon: Any, delta: Any) -> tuple[Any, Fraction | None]:
    """How much ρ there is; and the δ of a program that is paid for in ε, of which ρ has none."""
    if (rho is None) == (epsilon is None):
        raise InputError('say what it may cost: either rho="1", or epsilon= with delta=')
    privacy = policy.privacy
    in_epsilon = privacy.currency is Currency.EPSILON
    if rho is not None and not in_epsilon:
        if delta is not None:
            raise InputError(f"rho has no delta: leave delta out, since this dataset is paid for in {privacy.currency}")
        return rho, None
    if delta is None and rho is not None:
        raise InputError("this dataset is paid for in epsilon, and Gaussian noise has one at a delta: pass delta= too")
    offered = None if epsilon is None else positive(epsilon, "epsilon", toward="decimal")
    if delta is None and in_epsilon:
        share = Fraction(1) if offered is None else min(offered / privacy.budget, Fraction(1))
        delta = privacy.own_delta * share
    slack = between(privacy.delta if delta is None else delta, "delta", 0, 1, toward="decimal")
    return rho if offered is None else rho_of(offered, slack), slack if in_epsilon else None


def _passes(passes: int) -> int:
    if passes not in (1, 2):
        raise InputError("passes is 1, all counts of a level at once, or 2, their totals first")
    return passes


def _totals_first(schema: CellSchema, shares: Shares, steps: Sequence[Step]) -> tuple[str, ...]:
    """The levels at which totals are settled first: where they are measured so much better than all else that the rest,
    whose counts may not be negative, would only push them. From the noise alone."""
    alone, other = Counter[str](), Counter[str]()
    for step, (level, query) in zip(steps, shares, strict=True):
        known = 1 / (float(step.mechanism.sigma) ** 2 * schema.partition(query)[1])  # type: ignore[attr-defined]  # Gaussian
        (alone if query == TOTAL else other)[level] += known  # type: ignore[assignment]  # a counter of numbers
    return tuple(level for level in alone if alone[level] > DOMINANT * other[level])


DOMINANT = 10.0
