"""Private advice in a large game of congestion: which way each should go, so that hardly anybody gains by another way.

Everybody reports in secret what each route costs them beside the traffic. In each of several rounds all would take
their best route in the traffic so far; a noisy count of that is averaged in. Each agent is then advised the best route
of a round that its own public coin picks, so that the traffic of the advice is the average. Statement and proofs:
docs/theory/market.md.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from tacit.base import InputError, Relation, cached_property, positive, whole
from tacit.base.number import Number, Ratio, Ratios, frozen
from tacit.loss import ZCDP, Loss
from tacit.market.matching import COIN, ONE_HOT, coin
from tacit.market.sale import Sale, Tell, numbers, sold
from tacit.mechanism import DiscreteGaussian
from tacit.noise import rng_or_default
from tacit.program import Program, Step, Task

__all__ = ["Routing", "equilibrium"]

FINE = 1 << 20  # steps of the largest cost
MOST_ROUTES, MOST_ROUNDS, MOST_TRAFFIC = 10_000, 1000, 1_000_000_000

Numbers = np.ndarray[Any, np.dtype[Any]]


@frozen
class Routing:
    """A plan: `routes` are lists of links; a link costs `free` + `crowded`·(share of the agents on it).

    Each of the `agents` reports what each route costs it beside that, from 0 to `largest`. Simple resources are routes
    of one link.
    """

    routes: tuple[tuple[int, ...], ...]
    free: Ratios
    crowded: Ratios
    agents: int
    rho: Ratio
    largest: Ratio = 1  # type: ignore[assignment]
    rounds: int = 100
    unit: str = "agent"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "routes", tuple(tuple(whole(link, "a link", least=0) for link in route) for route in self.routes))
        for name in ("free", "crowded"):
            costs = tuple(positive(each, name) if each else 0 for each in getattr(self, name))
            put(self, name, costs)
        links = {link for route in self.routes for link in route}
        if len(self.free) != len(self.crowded) or not links or max(links) >= len(self.free):
            raise InputError("free and crowded need a number for each link, and routes are lists of links from 0")
        if not 2 <= len(self.routes) <= MOST_ROUTES or not all(self.routes):
            raise InputError(f"there must be 2 to {MOST_ROUTES:,} routes, each of one link or more")
        put(self, "agents", whole(self.agents, "agents", least=1))
        put(self, "rounds", whole(self.rounds, "rounds", least=1))
        if self.rounds > MOST_ROUNDS:
            raise InputError(f"rounds must be at most {MOST_ROUNDS:,}, not {self.rounds:,}")
        put(self, "rho", positive(self.rho, "rho", toward="decimal"))
        put(self, "largest", positive(self.largest, "largest"))
        if self.traffic(np.ones(len(self.routes))).max() > float(self.largest) * MOST_TRAFFIC:
            raise InputError(
                f"a crowded route may cost at most {MOST_TRAFFIC:,} times the largest report: nobody's own costs would "
                "be seen beside it"
            )

    @cached_property
    def mechanism(self) -> DiscreteGaussian:
        return DiscreteGaussian.from_loss(ZCDP(self.rho / self.rounds), sensitivity=ONE_HOT)

    def program(self, table: str | None = None) -> Program:
        step = Step(
            name="rounds", mechanism=self.mechanism, sensitivity=ONE_HOT, times=self.rounds, task=Task(kind="route")
        )
        about = {
            "routes": [list(route) for route in self.routes],
            "free": [str(each) for each in self.free],
            "crowded": [str(each) for each in self.crowded],
            "agents": self.agents,
            "largest": str(self.largest),
        }
        return Program(
            steps=(step,),
            tables=() if table is None else (table,),
            relation=Relation.REPLACE,
            unit=self.unit,
            query={"market": "game", **about},
        )

    @cached_property
    def loss(self) -> Loss:
        return self.program().loss

    @cached_property
    def gain(self) -> float:
        """How far a false report moves the law of everything public, at most."""
        return float(self.loss.delta(0).upper)

    @property
    def truth(self) -> str:
        return f"a false report moves the chance of any traffic by at most {self.gain:.3g}"

    # --- what routes cost

    @cached_property
    def uses(self) -> Numbers:
        """Which route uses which link."""
        found = np.zeros((len(self.routes), len(self.free)))
        for place, route in enumerate(self.routes):
            found[place, list(route)] = 1
        return found

    def traffic(self, shares: Numbers) -> Numbers:
        """What each route costs everybody, given the share of agents on each."""
        free, crowded = (np.array([float(each) for each in costs]) for costs in (self.free, self.crowded))
        found: Numbers = self.uses @ (free + crowded * (self.uses.T @ shares))
        return found

    def read(self, reports: Any) -> Numbers:
        """Costs in steps. Whoever reports nothing but None stays at home, and has −1 throughout."""
        words = f"costs must be a row for each agent with {len(self.routes)} numbers of at least 0"
        given = numbers(reports, words)
        if given.ndim != 2 or given.shape[1] != len(self.routes):
            raise InputError(words)
        home = np.asarray(np.isnan(given).all(axis=1))
        given = np.where(home[:, None], 0, given)
        if not np.isfinite(given).all() or (given < 0).any():
            raise InputError(words)
        if len(given) > self.agents:
            raise InputError(f"this game is for {self.agents:,} agents, and there are reports of {len(given):,}")
        steps: Numbers = np.floor(np.minimum(given / float(self.largest), 1.0) * FINE).astype(np.int64)
        steps[home] = -1
        return steps

    @property
    def absent(self) -> Any:
        return [None] * len(self.routes)

    def best(self, own: Numbers, shares: Any) -> Numbers:
        """The route of each agent that costs it least in this traffic; −1 for those at home."""
        return np.where(own[:, 0] < 0, -1, self._costs(own, shares).argmin(axis=1))

    def _costs(self, own: Numbers, shares: Any) -> Numbers:
        found: Numbers = own + np.round(self.traffic(np.asarray(shares)) / float(self.largest) * FINE).astype(np.int64)
        return found

    def count(self, taken: Numbers) -> Numbers:
        return np.asarray(np.bincount(taken + 1, minlength=len(self.routes) + 1)[1:])

    # --- the run

    def play(self, reports: Numbers, tell: Tell) -> dict[str, Any]:
        """Frank and Wolfe's way down the sum of all links' costs, whose lowest point is where nobody gains by another
        route: the t-th count weighs 2/(t + 1)."""
        many = len(self.routes)
        shares, rounds, weights = np.full(many, 1 / many), [], np.zeros(self.rounds)
        for place in range(self.rounds):
            demand = self.mechanism.sample(self.count(self.best(reports, shares)))
            rounds.append({"shares": shares.tolist(), "demand": demand.tolist()})
            weights *= 1 - 2 / (place + 2)
            weights[place] = 2 / (place + 2)
            shares = self.averaged(shares, demand, place)
            tell((place + 1) / self.rounds)
        ends = np.round(np.cumsum(weights / weights.sum()) * COIN).astype(np.int64)
        ends[-1] = COIN
        seed = bytes(rng_or_default(None).read(16)).hex()
        return {"rounds": rounds, "shares": shares.tolist(), "ends": ends.tolist(), "seed": seed}

    def averaged(self, shares: Numbers, demand: Numbers, place: int) -> Numbers:
        """The traffic after one more noisy count."""
        seen, part = np.maximum(demand, 0), 2 / (place + 2)
        return (1 - part) * shares + part * (seen / seen.sum() if seen.any() else 1 / len(seen))

    @cached_property
    def tolerance(self) -> float:
        """How much worse than the best way at the end a round's advice may be: what is left to find, and the noise."""
        slope = float((self.uses @ np.array([float(each) for each in self.crowded])).max())
        noise = 4 * self.mechanism.standard_deviation / (self.agents * sqrt(self.rounds))
        return slope * (2 / self.rounds + noise)

    def picked(self, outcome: Mapping[str, Any], agent: int) -> int:
        """The round whose best route this agent is advised. It is public; rounds come as often as they weigh."""
        turn = (coin(outcome["seed"], -1) + agent * SPREAD) % COIN
        return int(np.searchsorted(outcome["ends"], turn, side="right"))

    def _advised(self, own: Numbers, outcome: Mapping[str, Any], place: int) -> Numbers:
        """The routes of agents whose coins pick this round: its best, unless the end shows it to be far from that."""
        taken, final = self.best(own, outcome["rounds"][place]["shares"]), self._costs(own, outcome["shares"])
        allowed = final.min(axis=1) + self.tolerance / float(self.largest) * FINE
        late = (taken >= 0) & (final[np.arange(len(own)), taken] > allowed)
        return np.where(late, final.argmin(axis=1), taken)

    def advice(self, outcome: Mapping[str, Any], report: Any, agent: int) -> dict[str, Any]:
        route = int(self._advised(np.asarray(report)[None], outcome, self.picked(outcome, agent))[0])
        return {"route": route if route >= 0 else None}

    # --- for the eyes of whoever holds the reports

    def allocation(self, outcome: Mapping[str, Any], reports: Numbers) -> Numbers:
        """The route of every agent, −1 for those at home."""
        rounds = np.array([self.picked(outcome, agent) for agent in range(len(reports))])
        found = np.empty(len(reports), dtype=np.int64)
        for place in np.unique(rounds):
            here = rounds == place
            found[here] = self._advised(reports[here], outcome, int(place))
        return found

    def regret(self, outcome: Mapping[str, Any], reports: Numbers) -> Numbers:
        """What each agent would save by its best other route, if all others follow their advice. Exact."""
        taken = self.allocation(outcome, reports)
        crowded = np.array([float(each) for each in self.crowded])
        cost = reports * (float(self.largest) / FINE) + self.traffic(self.count(taken) / self.agents)
        # who comes to a link adds a share 1/agents to it, unless it was there already
        added = (self.uses[None] * (1 - self.uses[:, None])) @ crowded / self.agents
        saved: Numbers = np.maximum(cost[np.arange(len(taken)), taken] - (cost + added[taken]).min(axis=1), 0)
        return np.where(taken < 0, 0, saved)


SPREAD = 2654435769  # 2^32 over the golden ratio: multiples of it lie evenly round the circle


def equilibrium(
    costs: Any,
    routes: Sequence[Sequence[int]],
    *,
    free: Sequence[Number],
    crowded: Sequence[Number],
    rho: Number,
    largest: Number = 1,
    rounds: int = 100,
    session: Any = None,
    table: str | None = None,
    unit: str = "agent",
) -> Sale:
    """Which route each should take: `costs` has a row for each agent, what each route costs it beside the traffic."""
    given = numbers(costs, f"costs must be a row for each agent with {len(routes)} numbers of at least 0")
    plan = Routing(
        routes=tuple(map(tuple, routes)), free=tuple(free), crowded=tuple(crowded), agents=max(len(given), 1),
        rho=rho, largest=largest, rounds=rounds, unit=unit,
    )  # fmt: skip
    return sold(plan, given, session=session, table=table)
