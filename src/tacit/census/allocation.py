"""How ρ is shared: a step of the program for each level and query, with its noise."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, pi, sqrt
from typing import Any

from tacit.base import InputError, Relation, Sensitivity
from tacit.base.number import non_negative, positive
from tacit.census.schema import CellSchema
from tacit.census.spine import Spine
from tacit.plan.contribution import root_up
from tacit.plan.price import noise_step
from tacit.program import Step, Task

__all__ = ["ExpectedError", "Shares", "expected_errors", "shares_of", "steps_of"]

Shares = Mapping[tuple[str, str], Fraction]
"""Of each measured level and query its share of ρ; together one."""


def shares_of(spine: Spine, schema: CellSchema, queries: Mapping[str, Any], levels: Mapping[str, Any] | None) -> Shares:
    """Shares from weights: `queries` says how much weight each query has, the same at every level or by level, and
    `levels` how much each level has, the same if nothing is said. Weights of a level's queries are of its share."""
    if not queries:
        raise InputError('say which queries are measured, with their weights: queries={"total": 1, "detail": 1}')
    given = dict.fromkeys(spine.levels, 1) if levels is None else dict(levels)
    for level in given:
        spine.place(level)
    wide = {level: non_negative(given.get(level, 0), f"the weight of level {level!r}") for level in spine.levels}
    found: dict[tuple[str, str], Fraction] = {}
    for query, weight in queries.items():
        schema.factors(query)
        by_level = weight if isinstance(weight, Mapping) else dict.fromkeys(spine.levels, weight)
        for level, each in by_level.items():
            spine.place(level)
            found[level, query] = non_negative(each, f"the weight of {level}.{query}")
    shares: dict[tuple[str, str], Fraction] = {}
    for level in spine.levels:
        own = {query: weight for (at, query), weight in found.items() if at == level and weight}
        if not own and wide[level]:
            raise InputError(f"level {level!r} has a share and no query that is measured there: give one a weight")
        for query, weight in own.items():
            if wide[level]:
                shares[level, query] = wide[level] * weight / sum(own.values())
    if not shares:
        raise InputError("every weight is zero, so nothing would be measured")
    whole = sum(shares.values())
    return {place: share / whole for place, share in shares.items()}


def moved_by(relation: Relation, rows: int) -> Fraction:
    """How far one unit of at most so many rows moves the counts of one query, in l2: replaced, it leaves one count and
    enters another (docs/theory/topdown.md)."""
    return rows * (root_up(Fraction(2)) if relation is Relation.REPLACE else Fraction(1))


def steps_of(shares: Shares, rho: Any, relation: Relation, rows: int) -> tuple[Step, ...]:
    """Discrete Gaussian noise on the counts of each level and query: σ² = Δ²/2ρ, which is 1/ρ where units are replaced
    and have one row."""
    amount, moved = positive(rho, "rho", toward="decimal"), moved_by(relation, rows)
    return tuple(
        noise_step(
            f"{level}.{query}",
            moved,
            amount * share,
            Sensitivity(l2=moved),
            "l2",
            relation,
            Task(kind="measure", measures=(f"{level}.{query}",)),
        )
        for (level, query), share in shares.items()
    )


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """What to expect of the counts of one query at one level: the standard deviation of the `noise` that is added to
    each (None where it is not measured there), and the mean absolute `error` after all levels were put together.

    The error is of counts that may be negative, in families of average size. That none is negative helps where most
    are near zero.
    """

    level: str
    query: str
    counts: int
    share: float
    noise: float | None
    error: float

    def json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("level", "query", "counts", "share", "noise", "error")}


def expected_errors(
    spine: Spine, schema: CellSchema, shares: Shares, steps: Sequence[Step], fixed: Sequence[Collection[str]]
) -> list[ExpectedError]:
    """Each level and query, by the variance of least squares: up the tree, then down (docs/theory/topdown.md). What is
    `fixed` at a level, and every sum of it, has no error."""
    variance = {name: float(step.mechanism.sigma) ** 2 for name, step in zip(shares, steps, strict=True)}  # type: ignore[attr-defined]  # Gaussian
    queries = list(dict.fromkeys(query for _, query in shares))
    sizes = {query: schema.partition(query)[1] for query in queries}
    places = [len(names) for names in spine.names]
    found = []
    for query in queries:
        finer = {other: sizes[other] / sizes[query] for other in queries if _refines(schema, other, query)}
        up = [0.0] * len(places)  # what is known of one count from its level and those below: one over the variance
        for at in reversed(range(len(places))):
            own = [1 / (variance[spine.levels[at], q] * n) for q, n in finer.items() if (spine.levels[at], q) in shares]
            below = 0.0 if at + 1 == len(places) else up[at + 1] * places[at] / places[at + 1]
            up[at] = inf if any(_refines(schema, one, query) for one in fixed[at]) else sum(own) + below
        spread = 0.0
        for at, level in enumerate(spine.levels):
            share = places[at - 1] / places[at] if at else 0.0  # of a parent's error that a child has
            spread = (1 / up[at] if up[at] else inf) * (1 - share) + share**2 * spread if up[at] < inf else 0.0
            found.append(
                ExpectedError(
                    level=level,
                    query=query,
                    counts=places[at] * sizes[query],
                    share=float(shares.get((level, query), 0)),
                    noise=sqrt(variance[level, query]) if (level, query) in shares else None,
                    error=sqrt(2 / pi * spread),
                )
            )
    return sorted(found, key=lambda each: spine.place(each.level))


def _refines(schema: CellSchema, one: str, other: str) -> bool:
    """Whether counts of `other` are sums of those of `one`."""
    return schema.partition(one)[1] >= schema.partition(other)[1] and schema.nested(one, other)
