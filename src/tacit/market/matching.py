"""Goods of which there are few, given to those who value them, at prices found in noisy rounds: nothing is oversold.

Each agent asks for the good that is worth most above its price. The rounds see noisy counts of that, and move prices
toward counts that the supply covers; one last count, with most of the ρ, says how sure the supply is to be enough. What
it leaves open is a lottery, whose chances are public. An agent's own outcome follows from prices, chances and its own
values. Statement and proofs: docs/theory/market.md.
"""

from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from math import exp, sqrt
from typing import Any

import numpy as np

from tacit.base import InputError, Relation, Sensitivity, between, cached_property, positive, round_up, whole
from tacit.base.number import Number, Ratio, frozen
from tacit.loss import ZCDP, Loss
from tacit.market.sale import Sale, Tell, numbers, sold
from tacit.mechanism import DiscreteGaussian
from tacit.mechanism.additive import least_whole
from tacit.noise import rng_or_default
from tacit.program import Program, Step, Task

__all__ = ["ONE_HOT", "Matching", "coin", "match"]

MOST_GOODS, MOST_AGENTS, MOST_ROUNDS = 10_000, 10_000_000, 1000
FINE = 1 << 20  # steps of the largest value
COIN = 1 << 32
PART = 1 << 22  # values looked at together
ONE_HOT = Sensitivity(l1=2, l2=round_up(sqrt(2) * (1 + 1e-15)), linf=1)  # one agent's choice in the place of another

# how prices are found, chosen once on markets that no figure of the documentation is about
SEARCHING = Fraction(1, 4)  # of ρ; the rest is the last count's
SPARE = 1.15  # of the reserve, is aimed at below the supply
FARTHEST = 0.25  # of the largest value, that a price moves in a round
FASTER = 1.3  # is a step while its direction stays

Ints = np.ndarray[Any, np.dtype[Any]]


def coin(seed: str, agent: int) -> int:
    """A public number below 2^32 of each agent's own, drawn with the billboard."""
    return int.from_bytes(sha256(f"{seed} {agent}".encode()).digest()[:4], "big")


@frozen
class Matching:
    """A plan: so many copies of each good, `agents` who each get at most one, and the ρ that all of it may cost.

    `overflow` bounds the chance that somebody is turned away, which is a δ of its own.
    """

    supply: tuple[int, ...]
    agents: int
    rho: Ratio
    overflow: Ratio = Fraction(1, 10**6)  # type: ignore[assignment]
    largest: Ratio = Fraction(1)  # type: ignore[assignment]
    rounds: int = 24
    unit: str = "agent"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "supply", tuple(whole(each, "supply of a good", least=0) for each in self.supply))
        if not 1 <= len(self.supply) <= MOST_GOODS:
            raise InputError(f"there must be 1 to {MOST_GOODS:,} goods, not {len(self.supply):,}")
        put(self, "agents", _size(self.agents, "agents", MOST_AGENTS))
        put(self, "rounds", _size(self.rounds, "rounds", MOST_ROUNDS))
        put(self, "rho", positive(self.rho, "rho", toward="decimal"))
        put(self, "largest", positive(self.largest, "largest"))
        put(self, "overflow", _share(self.overflow))

    @cached_property
    def searching(self) -> DiscreteGaussian:
        return DiscreteGaussian.from_loss(ZCDP(self.rho * SEARCHING / self.rounds), sensitivity=ONE_HOT)

    @cached_property
    def counting(self) -> DiscreteGaussian:
        return DiscreteGaussian.from_loss(ZCDP(self.rho * (1 - SEARCHING)), sensitivity=ONE_HOT)

    def program(self, table: str | None = None) -> Program:
        steps = (
            Step(
                name="rounds", mechanism=self.searching, sensitivity=ONE_HOT, times=self.rounds, task=Task(kind="ask")
            ),
            Step(
                name="reserve",
                mechanism=self.counting,
                sensitivity=ONE_HOT,
                task=Task(kind="match"),
                slack=self.overflow,
            ),
        )
        about = {"supply": list(self.supply), "agents": self.agents, "largest": str(self.largest)}
        return Program(
            steps=steps,
            tables=() if table is None else (table,),
            relation=Relation.REPLACE,
            unit=self.unit,
            query={"market": "match", **about},
        )

    @cached_property
    def loss(self) -> Loss:
        return self.program().loss

    @property
    def truth(self) -> str:
        return (
            f"a false report gains at most {self.gain:.3g} of the largest value on average, beside what the lottery "
            "leaves"
        )

    @cached_property
    def gain(self) -> float:
        """The most that a false report moves the chance of anything public: the distance of the two laws."""
        return float(self.loss.delta(0).upper)

    # --- what agents do, given prices

    def read(self, reports: Any) -> Ints:
        """Values in steps. A value above the largest counts as that."""
        words = f"values must be a row for each agent with {len(self.supply)} numbers of at least 0"
        given = numbers(reports, words)
        if given.ndim != 2 or given.shape[1] != len(self.supply) or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(words)
        if len(given) > self.agents:
            raise InputError(f"this market is for {self.agents:,} agents, and there are reports of {len(given):,}")
        return np.asarray(np.floor(np.minimum(given / float(self.largest), 1.0) * FINE), dtype=np.int32)

    @property
    def absent(self) -> Any:
        return [0] * len(self.supply)

    def wanted(self, values: Ints, prices: Any) -> Ints:
        """The good that each agent gains most by at these prices, −1 where none is worth its price."""
        part = max(PART // len(self.supply), 1)
        found = np.empty(len(values), dtype=np.int32)
        for start in range(0, len(values), part):
            gained = values[start : start + part] - np.asarray(prices, dtype=np.int32)
            best = gained.argmax(axis=1)
            found[start : start + part] = np.where(gained[np.arange(len(best)), best] > 0, best, -1)
        return found

    def count(self, wanted: Ints) -> Ints:
        return np.asarray(np.bincount(wanted + 1, minlength=len(self.supply) + 1)[1:])

    # --- what the billboard is made of

    @cached_property
    def failure(self) -> float:
        """The chance, for each good, of a count too low or too many heads: see the proof of the overflow."""
        return float(self.overflow) * exp(-float(self.rho)) / 3 / (2 * len(self.supply))

    @cached_property
    def reserve(self) -> int:
        """The last count is below the truth by more than this with a chance of at most `failure`."""
        return least_whole(lambda steps: self.counting.reaches(steps + 1)[0] <= self.failure)

    def chances(self, demand: Sequence[int]) -> list[int]:
        """Of 2^32, how many coins get each good that was asked for so often by the last count."""
        return [self._chance(seen + self.reserve, copies - 1) for seen, copies in zip(demand, self.supply, strict=True)]

    def _chance(self, asking: int, copies: int) -> int:
        """The largest chance at which so many coins show more than `copies` heads at most so seldom."""
        from scipy.stats import binom  # takes long to import

        if asking <= copies:
            return COIN
        low, high = 0, COIN
        while high - low > 1:
            middle = (low + high) // 2
            rare = copies >= 0 and binom.sf(copies, asking, middle / COIN) <= 0.99 * self.failure
            low, high = (middle, high) if rare else (low, middle)
        return low

    def search(self) -> Generator[Ints, Ints, None]:
        """Prices to ask at, round by round; it is sent the noisy counts. The last ones are those of the sale."""
        goods = len(self.supply)
        copies = np.array(self.supply, dtype=float)
        target = np.maximum(copies - 1 - SPARE * self.reserve, copies / 5)
        prices, last = np.full(goods, 0.5), np.zeros(goods)
        turns, speed, tail = np.zeros(goods), np.ones(goods), np.zeros(goods)
        for place in range(self.rounds):
            seen = yield _steps(prices)
            above = np.asarray(seen, dtype=float) - target
            way = np.sign(above)
            # slower after each turn (Kesten 1958), faster while there is none; a good's count moves by about as many
            # agents as its price moves by parts of the largest value
            turned, same = way * last < 0, way * last > 0
            turns += turned
            speed = np.where(turned, np.maximum(speed / FASTER, 1), np.where(same, speed * FASTER, speed))
            step = above * speed / (1 + turns) / self.agents
            prices, last = np.clip(prices + np.clip(step, -FARTHEST, FARTHEST), 0, 1), way
            if place >= self.rounds // 2:  # later prices scatter round the right ones: their mean is nearer
                tail += prices
        yield _steps(tail / (self.rounds - self.rounds // 2))

    def play(self, reports: Ints, tell: Tell) -> dict[str, Any]:
        search = self.search()
        prices, rounds = next(search), []
        for place in range(self.rounds):
            demand = self.searching.sample(self.count(self.wanted(reports, prices)))
            rounds.append({"prices": prices.tolist(), "demand": demand.tolist()})
            prices = search.send(demand)
            tell((place + 1) / (self.rounds + 1))
        wanted = self.wanted(reports, prices)
        demand = self.counting.sample(self.count(wanted)).tolist()
        outcome = {
            "prices": prices.tolist(),
            "demand": demand,
            "reserve": self.reserve,
            "chances": self.chances(demand),
            "seed": bytes(rng_or_default(None).read(16)).hex(),
            "turned_away": [],
            "rounds": rounds,
        }
        return outcome | {"turned_away": self.too_many(outcome, wanted)}

    def too_many(self, outcome: Mapping[str, Any], wanted: Ints) -> list[int]:
        """Agents whose coins would get a good that is sold out: the largest coins go. Nearly always none."""
        chances, away = outcome["chances"], list[int]()
        for good, copies in enumerate(self.supply):
            asking = np.flatnonzero(wanted == good)
            if len(asking) > copies:
                coins = sorted((coin(outcome["seed"], int(agent)), int(agent)) for agent in asking)
                away += [agent for drawn, agent in coins[copies:] if drawn < chances[good]]
        return sorted(away)

    def advice(self, outcome: Mapping[str, Any], report: Any, agent: int) -> dict[str, Any]:
        """The good that this agent gets, if it gets one, and its price."""
        good = int(self.wanted(np.asarray(report)[None], outcome["prices"])[0])
        lucky = good >= 0 and coin(outcome["seed"], agent) < outcome["chances"][good]
        if not lucky or agent in outcome["turned_away"]:
            return {"good": None, "price": None}
        return {"good": good, "price": self.priced(outcome["prices"][good])}

    def priced(self, steps: int) -> float:
        """A price in the unit of values."""
        return steps * float(self.largest) / FINE

    def lottery(self, outcome: Mapping[str, Any]) -> float:
        """What a lottery leaves to be gained: asking for another good has at most so much more chance. Public."""
        return float(max(outcome["chances"]) - min(outcome["chances"])) / COIN

    def allocation(self, outcome: Mapping[str, Any], reports: Ints) -> Ints:
        """The good of every agent, −1 for none. For the eyes of whoever holds the reports."""
        wanted = self.wanted(reports, outcome["prices"])
        coins = np.array([coin(outcome["seed"], agent) for agent in range(len(wanted))], dtype=np.int64)
        served = (wanted >= 0) & (coins < np.array(outcome["chances"], dtype=np.int64)[wanted])
        served[outcome["turned_away"]] = False
        return np.where(served, wanted, -1)

    def welfare(self, outcome: Mapping[str, Any], reports: Ints) -> float:
        """What those who get a good value it at, together. For the eyes of whoever holds the reports."""
        goods = self.allocation(outcome, reports)
        (served,) = np.nonzero(goods >= 0)
        return self.priced(int(reports[served, goods[served]].sum(dtype=np.int64)))


def _steps(prices: Any) -> Ints:
    found: Ints = np.round(prices * FINE).astype(np.int64)
    return found


def _share(overflow: Number) -> Fraction:
    found = between(overflow, "overflow", 0, 1, toward="decimal")
    if found > Fraction(1, 2):
        raise InputError(f"overflow must be at most 1/2, not {float(found):.3g}: it is a δ, so far below 1/agents")
    return found


def _size(value: Number, name: str, most: int) -> int:
    found = whole(value, name, least=1)
    if found > most:
        raise InputError(f"{name} must be at most {most:,}, not {found:,}")
    return found


def match(
    values: Any,
    supply: Sequence[int],
    *,
    rho: Number,
    overflow: Number = "1e-6",
    largest: Number = 1,
    session: Any = None,
    table: str | None = None,
    unit: str = "agent",
) -> Sale:
    """Each agent gets at most one good: `values` has a row for each agent, a column for each good."""
    given = numbers(values, f"values must be a row for each agent with {len(supply)} numbers of at least 0")
    plan = Matching(
        supply=tuple(supply), agents=max(len(given), 1), rho=rho, overflow=overflow, largest=largest, unit=unit
    )
    return sold(plan, given, session=session, table=table)
