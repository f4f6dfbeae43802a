"""Private advice in games of congestion: privacy by listing, little regret, and what a lie may gain."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from support.rounds import LISTED, distance, divergence, law_of_two
from tacit.base import InputError
from tacit.market import Billboard, Routing, equilibrium, routing
from tacit.market.matching import COIN
from tacit.market.routing import SPREAD


def road(agents: int, **more: Any) -> Routing:
    """Two roads: one that is long, one that is crowded."""
    terms: dict[str, Any] = {
        "routes": ((0,), (1,)),
        "free": ("1/2", 0),
        "crowded": (0, 1),
        "agents": agents,
        "rho": 1,
        "rounds": 2,
    }
    return Routing(**terms | more)


def law(plan: Routing, costs: Any) -> Any:
    """The chance of both counts; traffic follows from the first by the code that ships."""
    reports = plan.read(costs)

    def after(seen: tuple[int, ...]) -> Any:
        return plan.count(plan.best(reports, plan.averaged(np.array([0.5, 0.5]), np.array(seen), 0)))

    return law_of_two(plan.mechanism, plan.mechanism, plan.count(plan.best(reports, [0.5, 0.5])), after)


def test_the_law_keeps_its_rho_whatever_one_agent_reports() -> None:
    plan = road(2, rho=8)
    rows = [(0, 0), (1, 0), (0, 1), (0.6, 0)]
    laws = {pair: law(plan, [rows[pair[0]], rows[pair[1]]]) for pair in product(range(4), repeat=2)}
    worst = 0.0
    for (own, other), lie in product(laws, range(4)):
        for order in (2, 4):
            worst = max(worst, divergence(laws[own, other], laws[lie, other], order) / order)
    assert 0.4 * 8 < worst <= 8 * (1 + 1e-6)


@pytest.mark.parametrize(("agents", "most"), [(1000, 0.035), (10_000, 0.0035)])
@pytest.mark.parametrize("spread", [0.05, 0.2, 0.5])
def test_regret(agents: int, most: float, spread: float) -> None:
    chance, found = np.random.default_rng(9), []
    for _ in range(5):
        sale = equilibrium(
            chance.random((agents, 5)) * spread,
            [[link] for link in range(5)],
            free=(chance.random(5) * 0.2).tolist(),
            crowded=(chance.random(5) * (1 - spread)).tolist(),
            rho="0.02",
        )
        found.append(sale.plan.regret(sale.outcome, sale.reports).mean())
    assert np.mean(found) <= most


def test_a_net_of_roads() -> None:
    """Two ways and a crossing between them; the advice splits the traffic, and blind advice would not."""
    chance = np.random.default_rng(4)
    sale = equilibrium(
        chance.random((5000, 4)) * 0.3,
        [[0, 2], [1, 3], [0, 4, 3], [1, 5]],
        free=[0.1] * 6,
        crowded=["0.8", "0.3", "0.3", "0.8", "0.1", "0.5"],
        rho="0.02",
    )
    plan, outcome, reports = sale.plan, sale.outcome, sale.reports
    saved = plan.regret(outcome, reports)
    assert saved.mean() <= 0.002
    assert saved.max() <= 0.2
    everybody = dict(outcome) | {"ends": [2**32] * plan.rounds}  # the first round's best for all: a herd
    everybody["shares"] = everybody["rounds"][0]["shares"]
    assert plan.regret(everybody, reports).mean() > 5 * saved.mean()


def test_regret_is_that_of_trying_every_other_route() -> None:
    plan = Routing(
        routes=((0,), (1,), (0, 1)), free=(0, "0.1", ), crowded=(1, "0.5"), agents=4, rho=50, rounds=3
    )  # fmt: skip
    costs = np.array([[0.1, 0.2, 0], [0.5, 0, 0.1], [0, 0.9, 0.2], [0.3, 0.3, 0]])
    reports = plan.read(costs)
    outcome = plan.play(reports, lambda _: None)
    taken = plan.allocation(outcome, reports)

    def cost(agent: int, route: int) -> float:
        others = [int(each) for place, each in enumerate(taken) if place != agent]
        total = float(costs[agent, route])
        for link in plan.routes[route]:
            load = sum(link in plan.routes[each] for each in (*others, route))
            total += float(plan.free[link]) + float(plan.crowded[link]) * load / 4
        return total

    tried = [max(cost(a, int(taken[a])) - min(cost(a, r) for r in range(3)), 0) for a in range(4)]
    assert plan.regret(outcome, reports) == pytest.approx(tried, abs=1e-5)


def test_advice_follows_from_one_s_own_report() -> None:
    costs = np.random.default_rng(1).random((30, 2)).tolist()
    costs[3] = [None, None]
    sale = equilibrium(costs, [[0], [1]], free=[0.5, 0], crowded=[0, 1], rho=2)
    board = Billboard(plan=sale.plan, outcome=sale.outcome)
    taken = sale.plan.allocation(sale.outcome, sale.reports)
    for agent in range(30):
        told = board.for_agent(costs[agent], agent)
        assert told == sale.for_agent(agent)
        assert (-1 if told["route"] is None else told["route"]) == taken[agent]
    assert board.for_agent(costs[3], 3) == {"route": None}  # who stays at home


def test_a_lie_moves_the_traffic_by_what_is_said() -> None:
    """All lies of one of three agents on two roads, by listing: the chance of no traffic moves by more."""
    plan = road(3, rho=2)
    rows, others = [(0, 0), (1, 0), (0, 1)], [(1, 0), (0, 1)]
    laws = [law(plan, [row, *others]) for row in rows]
    assert 0.3 < max(distance(first, second) for first, second in product(laws, repeat=2)) <= plan.gain


def test_no_lie_gains_more_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two roads, two agents, every true cost and every lie: what the first expects to pay if both follow their advice,
    over all noises and coins. A lie saves at most the distance of the laws, times the largest difference of two costs,
    and what the advice was off the best reply."""
    plan, rows, start = road(2, rho=2), [(0, 0), (1, 0), (0, 1), (0.3, 0)], np.array([0.5, 0.5])
    laws = {pair: law(plan, [rows[pair[0]], rows[pair[1]]]) for pair in product(range(4), repeat=2)}
    shown = np.argwhere(np.max([*laws.values()], axis=0) > 1e-7)
    reports = np.vstack([plan.read([row]) for row in rows])
    taken = []  # by what is shown, by round, by report
    for place in shown:
        counts = np.array([LISTED[at] for at in place])
        middle = plan.averaged(start, counts[:2], 0)
        outcome = {"rounds": [{"shares": start}, {"shares": middle}], "shares": plan.averaged(middle, counts[2:], 1)}
        taken.append([plan._advised(reports, outcome, number) for number in (0, 1)])
    ends = np.round(np.array([1 / 3, 1]) * COIN).astype(np.int64)  # weights 1 and 2
    cuts = sorted({0, COIN} | {(int(end) - agent * SPREAD) % COIN for end in ends for agent in range(2)})
    routes: Any = np.array(taken)

    def expected(true: int, told: int, other: int) -> tuple[float, float]:
        """The first agent's cost, and how much of it the best reply to each outcome would save."""
        chances = laws[told, other][tuple(shown.T)]
        paid = off = 0.0
        for at, after in pairwise(cuts):
            monkeypatch.setattr(routing, "coin", lambda seed, agent, at=at: at)
            rounds = [plan.picked({"ends": ends, "seed": ""}, agent) for agent in (0, 1)]
            mine, theirs = routes[:, rounds[0], told], routes[:, rounds[1], other]
            costs = [rows[true][0] + 0.5 + 0 * theirs, rows[true][1] + (1 + (theirs == 1)) / 2]
            share = (after - at) / COIN
            paid += share * float(chances @ np.where(mine == 0, *costs))
            off += share * float(chances @ (np.where(mine == 0, *costs) - np.minimum(*costs)))
        return paid, off

    most = 0.0
    for true, other in product(range(4), repeat=2):
        honest, off = expected(true, true, other)
        gained = max(honest - expected(true, told, other)[0] for told in range(4))
        most = max(most, gained)
        assert gained <= plan.gain * 1.5 + off
    assert most > 0


def test_what_is_no_game_is_refused() -> None:
    wrong: Any
    for wrong in (
        {"routes": ((0,),)}, {"routes": ((0,), (5,))}, {"routes": ((0,), ())}, {"free": (1,)}, {"rounds": 0},
        {"rho": 0}, {"crowded": (-1, 1)}, {"free": (1e15, 1)}, {"largest": 1e-12},
    ):  # fmt: skip
        with pytest.raises(InputError):
            road(3, **wrong)
    for costs in ([[0.5, None]], [[1]], [[-1, 0]], [["a", 1]], [[1, 2], [1]]):
        with pytest.raises(InputError, match="costs must be"):
            road(3).read(costs)
