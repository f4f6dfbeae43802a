"""One price for a good that costs nothing to copy, chosen privately, so that hardly anybody gains by a false bid.

The exponential mechanism over a declared grid of prices p with scores p·#{bids ≥ p} (McSherry and Talwar 2007). One bid
in the place of another moves all scores the same way, by at most the largest price: so scores are monotone, under
replace too, and ε = Δ/scale. Proof and figures: docs/theory/market.md.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import expm1, gcd, lcm
from typing import Any

import numpy as np

from tacit.base import InputError, Relation, Sensitivity, cached_property, exact, positive
from tacit.base.number import Number, Ratio, Ratios, frozen
from tacit.loss import Pure
from tacit.market.sale import Sale, Tell, numbers, sold
from tacit.mechanism import Exponential
from tacit.program import Program, Step, Task

__all__ = ["Pricing", "cents", "price"]

MOST_PRICES = 100_000


def cents(low: int, high: int) -> tuple[Fraction, ...]:
    """Prices from `low` to `high` hundredths, each cent: `cents(1, 100)` is 0.01 to 1.00."""
    if not 1 <= low <= high:
        raise InputError(f"prices go from a lowest of at least 1 cent up to a highest, not from {low} to {high}")
    return tuple(Fraction(cent, 100) for cent in range(low, high + 1))


@frozen
class Pricing:
    """A plan: the `grid` of prices, declared before any bid is seen, and the ε that the price may tell of one bid."""

    grid: Ratios
    epsilon: Ratio
    unit: str = "bidder"

    def __post_init__(self) -> None:
        put = object.__setattr__
        prices = tuple(positive(each, "a price of the grid", toward="decimal") for each in self.grid)
        if not 1 <= len(prices) <= MOST_PRICES or list(prices) != sorted(set(prices)):
            raise InputError(f"a grid is 1 to {MOST_PRICES:,} prices, each above the one before: market.cents(1, 100)")
        put(self, "grid", prices)
        put(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))

    @property
    def granularity(self) -> Fraction:
        """Every price is a multiple of it."""
        return Fraction(gcd(*(p.numerator for p in self.grid)), lcm(*(p.denominator for p in self.grid)))

    @cached_property
    def mechanism(self) -> Exponential:
        return Exponential.from_loss(
            Pure(self.epsilon), sensitivity=self.grid[-1], monotone=True, granularity=self.granularity
        )

    @cached_property
    def loss(self) -> Pure:
        """What the price tells of one bid, another being in its place."""
        return Pure(self.mechanism.loss(self.grid[-1]).bound, relation=Relation.REPLACE, unit=self.unit)

    def program(self, table: str | None = None) -> Program:
        step = Step(
            name="price",
            mechanism=self.mechanism,
            sensitivity=Sensitivity(linf=self.grid[-1]),
            task=Task(kind="price"),
        )
        prices = [str(each) for each in self.grid]
        return Program(
            steps=(step,),
            tables=() if table is None else (table,),
            relation=Relation.REPLACE,
            unit=self.unit,
            query={"market": "price", "grid": prices},
        )

    def read(self, reports: Any) -> Any:
        """Bids, one of each buyer."""
        words = "bids must be a list of numbers of at least 0"
        given = numbers(reports, words)
        if given.ndim != 1 or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(words)
        return given

    @property
    def absent(self) -> Any:
        return 0

    def counts(self, bids: Any) -> Any:
        """How many would buy at each price."""
        given = self.read(bids)
        return len(given) - np.searchsorted(np.sort(given), [float(p) for p in self.grid], side="left")

    def revenues(self, bids: Any) -> list[Fraction]:
        """What each price would earn. For the seller's eyes."""
        return [p * int(n) for p, n in zip(self.grid, self.counts(bids), strict=True)]

    def draw(self, bids: Any) -> Fraction:
        """A price."""
        return self.grid[self.mechanism.sample(np.array(self.revenues(bids), dtype=object))]

    def play(self, reports: Any, tell: Tell) -> dict[str, Any]:
        return {"price": str(self.draw(reports))}

    def advice(self, outcome: Mapping[str, Any], report: Any, agent: int) -> dict[str, Any]:
        """Whether this buyer buys: whoever bids the price or more does."""
        return {"price": outcome["price"], "buys": float(Fraction(outcome["price"])) <= float(report)}

    # --- what it is worth

    def law(self, bids: Any) -> dict[Fraction, float]:
        """The chance of each price, exactly. It follows from the bids: for the seller's eyes."""
        scores = np.array([float(each) for each in self.revenues(bids)]) / float(self.mechanism.scale)
        weights = np.exp(scores - scores.max())
        return dict(zip(self.grid, (weights / weights.sum()).tolist(), strict=True))

    def expected_revenue(self, bids: Any) -> float:
        """For the seller's eyes."""
        earned = [float(each) for each in self.revenues(bids)]
        return float(np.dot(list(self.law(bids).values()), earned))

    def shortfall(self, confidence: Number = 0.95) -> float:
        """With this confidence the price earns at most so much less than the best of the grid, whatever the bids."""
        return self.mechanism.error(confidence, candidates=len(self.grid))

    @property
    def truth(self) -> str:
        """What a lie is worth, in words."""
        return (
            f"whoever bids the truth expects at least {100 / np.exp(float(self.epsilon)):.3g} % of what any lie earns"
        )

    @property
    def gain(self) -> float:
        """A lie earns at most this share more than the truth does: e^ε − 1."""
        return expm1(float(self.epsilon))

    def expected_utility(self, bids: Any, buyer: int, value: Number) -> float:
        """What a buyer to whom the good is worth `value` expects from these bids, its own among them."""
        own, worth = float(list(bids)[buyer]), exact(value, "value")
        return sum(chance * float(worth - p) for p, chance in self.law(bids).items() if float(p) <= own)

    def largest_gain(self, values: Sequence[Any]) -> float:
        """The most that any one buyer gains by any bid other than the truth, if all others bid it. Exact, over all
        lies that matter: one just at each price, and none at all."""
        most = 0.0
        for buyer in {value: place for place, value in enumerate(values)}.values():
            honest = self.expected_utility(values, buyer, values[buyer])
            for lie in (Fraction(0), *self.grid):
                told = [*values[:buyer], lie, *values[buyer + 1 :]]
                most = max(most, self.expected_utility(told, buyer, values[buyer]) - honest)
        return most


def price(
    bids: Any,
    *,
    grid: Sequence[Any],
    epsilon: Number,
    session: Any = None,
    table: str | None = None,
    unit: str = "bidder",
) -> Sale:
    """A price for all, from everybody's sealed bid. With a `session` it is charged, to the people of `table`."""
    plan = Pricing(grid=tuple(grid), epsilon=epsilon, unit=unit)
    return sold(plan, bids, session=session, table=table)
