"""How far answers are from the truth with a bound that is chosen privately, by law, beside the best bound by the truth.

Nothing is drawn but the data: for each edge the law of `edge_scores` says how likely it is, and what it takes and the
noise that it needs say how far off the answers are then. The best bound is that of somebody who saw the data and paid
nothing for it. The first five shapes are those that shares, targets and weights were found on, the others are not.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import geometric_mean
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr

from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Exponential, KeyedCounts, KeySelection, Mechanism
from tacit.mechanism.additive import Additive
from tacit.plan.bounded import Norm
from tacit.plan.price import PricedPlan
from tacit.policy import Currency
from tacit.program import Step
from tacit.session.single import OneTable
from tacit.sql.noise import edge_scores

__all__ = ["COUNT", "run"]

Vector = NDArray[np.float64]
Draw = np.random.Generator

PEOPLE, DELTA = (2_000, 20_000), Fraction(1, 10**6)
EPSILONS = (Fraction(1, 4), Fraction(1), Fraction(4))
REGIONS = 50


def _lognormal(spread: float) -> Callable[[Draw, int], Vector]:
    return lambda draw, people: np.ceil(np.exp(draw.normal(1.5, spread, people)))


def _pareto(power: float) -> Callable[[Draw, int], Vector]:
    return lambda draw, people: np.ceil(3 * (1 + draw.pareto(power, people)))


def _few(draw: Draw, people: int) -> Vector:
    """One in two hundred has fifty times as many rows."""
    return draw.integers(1, 9, people).astype(np.float64) * np.where(draw.random(people) < 0.005, 50.0, 1.0)


FOUND: dict[str, Callable[[Draw, int], Vector]] = {
    "even": lambda draw, people: np.full(people, 10.0),
    "uniform": lambda draw, people: draw.integers(1, 19, people).astype(float),
    "geometric": lambda draw, people: draw.geometric(0.1, people).astype(float),
    "log-normal 0.6": _lognormal(0.6),
    "log-normal 1.2": _lognormal(1.2),
}
JUDGED = {
    "log-normal 0.9": _lognormal(0.9),
    "log-normal 1.6": _lognormal(1.6),
    "Pareto 1.3": _pareto(1.3),
    "Pareto 2": _pareto(2.0),
    "a few very heavy": _few,
}


@dataclass(frozen=True)
class Asked:
    """A count, of rows or of people, by so many groups; `listed` or not."""

    name: str
    sql: str
    groups: int
    listed: bool = True


ASKED = (
    Asked("one count", "SELECT COUNT(*) AS n FROM data", 1),
    Asked("count by 50 groups", "SELECT g, COUNT(*) AS n FROM data GROUP BY g", REGIONS),
    Asked("count by 300 unlisted", "SELECT g, COUNT(*) AS n FROM data GROUP BY g", 300, listed=False),
    Asked("count by 3,000 unlisted", "SELECT g, COUNT(*) AS n FROM data GROUP BY g", 3000, listed=False),
    Asked("people by 3,000 unlisted", "SELECT g, COUNT(DISTINCT p) AS n FROM data GROUP BY g", 3000, listed=False),
)
COUNT = len(ASKED) * 2


@dataclass(frozen=True)
class PeopleCells:
    """What each person counts in each group: one entry for each of its groups."""

    person: NDArray[np.int64]
    group: NDArray[np.int64]
    count: Vector
    people: int
    groups: int

    @classmethod
    def drawn(cls, rows: Vector, asked: Asked, draw: Draw) -> "PeopleCells":
        """Six rows in ten are in a person's home group."""
        people, sizes = len(rows), np.minimum(rows, 5000).astype(np.int64)
        popular = 1 / np.arange(1, asked.groups + 1) ** 0.8
        owner = np.repeat(np.arange(people), sizes)
        home, away = (draw.choice(asked.groups, many, p=popular / popular.sum()) for many in (people, len(owner)))
        group = np.where(draw.random(len(owner)) < 0.6, home[owner], away)
        places, counts = np.unique(owner * asked.groups + group, return_counts=True)
        if "DISTINCT" in asked.sql:
            counts = np.ones_like(counts)
        return cls(places // asked.groups, places % asked.groups, counts.astype(float), people, asked.groups)

    def norms(self, norm: str) -> Vector:
        power = 1 if norm == "l1" else 2
        found: Vector = np.bincount(self.person, self.count**power, self.people).astype(np.float64)
        return found if power == 1 else np.sqrt(found)

    def total(self, weights: Vector) -> Vector:
        """Of each group, where each person's counts are scaled by its weight."""
        found: Vector = np.bincount(self.group, self.count * weights[self.person], self.groups).astype(np.float64)
        return found


def planned(asked: Asked, currency: Currency, epsilon: Fraction) -> PricedPlan:
    """As the product prices it; in ρ for ε²/8, of about the same noise for a person in a few groups."""
    amount = epsilon if currency is Currency.EPSILON else epsilon**2 / 8
    keys: dict[str, Any] = {"g": range(asked.groups)} if asked.listed and asked.groups > 1 else {}
    table = pa.table({"p": pa.array([0]), "g": pa.array([0])})
    one = OneTable(data=table, unit_column="p", group_keys=keys, currency=currency, budget=amount, delta=DELTA)
    offer: Any = {currency.value: amount}
    with one.session(progress=False) as session:
        return session.job(asked.sql, **offer).priced


def ratio(priced: PricedPlan, cells: PeopleCells) -> float:
    """The error with the bound that is chosen, by that with the best one if all else gets what the choice costs."""
    part = priced.parts[0]
    choose = next(step for task, step in priced.steps if task.kind == "choose")
    task, noise = next((task, step) for task, step in priced.steps if task.kind == "noise")
    select = next((step.mechanism for _, step in priced.steps if isinstance(step.mechanism, KeySelection)), None)
    clip = priced.clip_of(task)
    assert isinstance(choose.mechanism, Exponential)
    edges, norms, row = np.array(clip.edges), cells.norms(clip.norm), float(clip.row)
    between = np.bincount(np.searchsorted(edges, norms * row), minlength=len(edges) + 1)
    law: Any = choose.mechanism.pmf(edge_scores(choose, part, between))
    clipped = [cells.total(np.minimum(1, edge / row / np.maximum(norms, 1e-9))) for edge in edges]

    def squares(size: float) -> Vector:
        """For each edge, with so much of the noise."""
        chance = None if select is None else _found(cells, select, size)
        each = zip(edges.tolist(), clipped, strict=True)
        return np.array([_square(noise.mechanism.scaled(edge), size, row, kept, cells, chance) for edge, kept in each])

    paid, free = squares(1.0), squares(_without(priced, choose, clip.norm))
    return sqrt(sum(chance * paid[place] for place, chance in law.items()) / float(free.min()))


def _without(priced: PricedPlan, choose: Step, norm: Norm) -> float:
    """The size of noise that nothing is taken from for a choice."""
    own, *every = (
        step.loss(relation=priced.program.relation, unit="person").cost()
        for step in (choose, *(step for _, step in priced.steps))
    )
    if norm == "l1":
        return 1 - float((own.epsilon or 0) / sum(each.epsilon or 0 for each in every))
    return sqrt(1 - float((own.rho or 0) / sum(each.rho or 0 for each in every)))


def _found(cells: PeopleCells, select: KeySelection, size: float) -> Vector:
    """How likely each group is to be shown by its people's weights."""
    keys = np.bincount(cells.person, minlength=cells.people)[cells.person]
    each = np.floor(select.one / (keys if select.norm == "l1" else np.sqrt(keys)))
    weights: Vector = np.bincount(cells.group, each, cells.groups).astype(np.float64)
    limit = replace(select, scale=select.scale * Fraction(size)).threshold()
    return _beyond(select.noise, size, limit - weights)[0]


def _square(
    mechanism: Mechanism, size: float, row: float, kept: Vector, cells: PeopleCells, chance: Vector | None
) -> float:
    """The mean square over groups, the noise being `size` times what was bought; what is not shown counts as zero."""
    truth = cells.total(np.ones(cells.people))
    if isinstance(mechanism, KeyedCounts):
        there = truth > 0
        kept, truth, cheaper = kept[there], truth[there], mechanism.noise.scaled(Fraction(size))
        limit = KeyedCounts(noise=cheaper, delta=mechanism.delta, most=mechanism.most).threshold()
        shown, first, second = _beyond(mechanism.noise, size / row, limit / row - kept)
        lost = kept - truth
        return float(np.mean(truth**2 * (1 - shown) + lost**2 * shown + 2 * lost * first + second))
    seen = (kept - truth) ** 2 + (size * mechanism.standard_deviation / row) ** 2
    if chance is None:
        return float(np.mean(seen))
    return float(np.mean((chance * seen + (1 - chance) * truth**2)[truth > 0]))


def _beyond(
    noise: Additive | DiscreteGaussian | DiscreteLaplace, size: float, least: Vector
) -> tuple[Vector, Vector, Vector]:
    """The chance of noise of at least so much, and its part of the mean and of the mean square; of continuous noise."""
    far = np.abs(least)
    scale = float(noise.magnitude) * size
    if noise.family == "laplace":
        tail = np.exp(-far / scale) / 2
        mean, square = tail * (far + scale), tail * (far**2 + 2 * far * scale + 2 * scale**2)
        whole = 2 * scale**2
    else:
        tail = ndtr(-far / scale)
        mean = scale * np.exp(-((far / scale) ** 2) / 2) / sqrt(2 * np.pi)
        square, whole = scale**2 * tail + far * mean, scale**2
    above = least > 0
    return np.where(above, tail, 1 - tail), mean, np.where(above, square, whole - square)


def settings() -> Iterator[tuple[str, bool, int]]:
    for shapes, held_out in ((FOUND, False), (JUDGED, True)):
        for shape in shapes:
            for people in PEOPLE:
                yield shape, held_out, people


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The table of geometric means, and whether no mean of the held-out shapes is 15 % above that of the others."""
    table = Table(title="Error with a private bound ÷ with the best by the truth: geometric mean (at most)")
    for column in ("question", "currency", "found on", "judged on"):
        table.add_column(column, justify="left" if column == "question" else "right")
    good = True
    for asked in ASKED:
        for currency in (Currency.EPSILON, Currency.RHO):
            tick(f"{asked.name}, {currency}")
            plans = [planned(asked, currency, epsilon) for epsilon in EPSILONS]
            found: dict[bool, list[float]] = {False: [], True: []}
            for seed, (shape, held_out, people) in enumerate(settings()):
                draw = np.random.default_rng(seed)
                cells = PeopleCells.drawn((FOUND | JUDGED)[shape](draw, people), asked, draw)
                found[held_out] += [ratio(plan, cells) for plan in plans]
            means = {held: geometric_mean(ones) for held, ones in found.items()}
            good &= means[True] <= means[False] * 1.15
            told = [f"{means[held]:.2f} ({max(found[held]):.2f})" for held in (False, True)]
            table.add_row(asked.name, str(currency), *told)
    return [table], good


def main() -> int:
    console = Console()
    tables, good = run(lambda what: console.print(what, style="dim"))
    for table in tables:
        console.print(table)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
