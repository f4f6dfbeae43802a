"""Few goods for many: nothing is oversold, the law by listing keeps its ρ, no lie gains more than is said, and most of
the welfare is reached."""

from fractions import Fraction
from itertools import permutations, product
from math import exp, factorial, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_matrix
from scipy.stats import binom

from support.channel import p_value
from support.rounds import LISTED, divergence, law_of_two
from tacit.base import InputError, Relation
from tacit.loss import ZCDP
from tacit.market import Billboard, Matching, match, matching
from tacit.market.matching import COIN
from tacit.session import Session


def law(plan: Matching, values: Any) -> Any:
    """The chance of all that a sale of one round shows: the first count and the last. Prices move as they do in use."""
    reports = plan.read(values)

    def after(seen: tuple[int, ...]) -> Any:
        search = plan.search()
        next(search)
        return plan.count(plan.wanted(reports, search.send(np.array(seen))))

    first = plan.count(plan.wanted(reports, next(plan.search())))
    return law_of_two(plan.searching, plan.counting, first, after)


def tiny(**more: Any) -> Matching:
    terms: dict[str, Any] = {"supply": (1,), "agents": 2, "rho": 2, "rounds": 1, "overflow": "0.1"} | more
    return Matching(**terms)


LEVELS = (0.0, 0.45, 0.7, 1.0)


def test_the_law_keeps_its_rho_whatever_one_agent_reports() -> None:
    """One good, two agents, every report of both: what everybody else may see, at several orders."""
    plan = tiny()
    laws = {pair: law(plan, [[pair[0]], [pair[1]]]) for pair in product(LEVELS, repeat=2)}
    assert all(each.sum() == pytest.approx(1, abs=1e-6) for each in laws.values())
    worst = 0.0
    for (own, other), lie in product(laws, LEVELS):
        for order in (1.5, 2, 4):
            worst = max(worst, divergence(laws[own, other], laws[lie, other], order) / order)
    assert 0.4 < worst <= 2 * (1 + 1e-9)


def test_a_move_between_goods_is_what_the_noise_is_for() -> None:
    """Two goods: who moves from one to the other moves two counts. Noise for one of them alone would be too little."""
    plan = tiny(supply=(1, 1), agents=1, rho="1/2")
    moved = [[0.9, 0.6], [0.6, 0.9]]
    first, second = (plan.count(plan.wanted(plan.read([row]), [COIN // 8192] * 2)) for row in moved)
    assert np.abs(first - second).tolist() == [1, 1]
    sigma = plan.counting.standard_deviation
    assert 2 / (2 * sigma**2) <= float(plan.rho * Fraction(3, 4)) * (1 + 1e-9)
    assert 2 / (2 * (sigma / sqrt(2)) ** 2) > float(plan.rho * Fraction(3, 4))  # the mutant
    spent = plan.loss.cost().rho
    assert spent is not None
    assert spent <= plan.rho * (1 + Fraction(1, 10**9))
    assert plan.loss.relation is Relation.REPLACE


def test_what_is_drawn_has_the_law() -> None:
    plan, values = tiny(), [[0.7], [1.0]]
    outcomes = [plan.play(plan.read(values), lambda _: None) for _ in range(600)]
    seen = [(tuple(each["rounds"][0]["demand"]), tuple(each["demand"])) for each in outcomes]
    right, wrong = (
        dict[Any, float]({((LISTED[a],), (LISTED[b],)): float(p) for (a, b), p in np.ndenumerate(law(plan, given))})
        for given in (values, [[0.0], [0.0]])
    )
    assert p_value(right, seen) > 1e-6
    assert p_value(wrong, seen) < 1e-6


@pytest.mark.parametrize("copies", [0, 1, 2, 3])
def test_an_overflow_is_as_rare_as_its_delta(copies: int) -> None:
    """With a copy to spare, whatever is asked for: the chance over noises and coins, by listing. Without the reserve it
    would not be."""
    plan = tiny(supply=(copies,), agents=6, overflow="0.3")
    allowed = 0.3 * exp(-2) / 3
    without = 0.0
    for asking in range(7):
        half = plan.counting.weights()
        over = bare = 0.0
        for z in range(-11, 12):
            chance = half[abs(z)] if abs(z) < len(half) else 0.0
            (heads,) = plan.chances([asking + z])
            over += chance * float(binom.sf(copies - 1, asking, heads / COIN)) if copies else chance * (heads > 0)
            (heads,) = plan.chances([asking + z - plan.reserve])
            bare += chance * float(binom.sf(copies - 1, asking, heads / COIN)) if copies else 0
        assert over <= allowed
        without = max(without, bare)
    assert not copies or without > allowed


def seen_by_others(plan: Matching, values: Any, monkeypatch: pytest.MonkeyPatch) -> dict[Any, float]:
    """The chance of all that others may see of one good: both counts, whose coins win and in which order, and who is
    turned away. What others get follows from that and from their own reports."""
    reports, base, found = plan.read(values), law(plan, values), dict[Any, float]()
    agents, chances = len(values), [plan.chances([counted])[0] for counted in LISTED]
    coins: dict[int, int] = {}
    monkeypatch.setattr(matching, "coin", lambda _, agent: coins[agent])
    away: dict[Any, Any] = {}
    orders = [order for many in range(agents + 1) for order in permutations(range(agents), many)]
    for place, seen in enumerate(LISTED):
        search = plan.search()
        next(search)
        wanted = plan.wanted(reports, search.send(np.array([seen])))
        for (last, heads), order in product(enumerate(chances), orders):
            key, many = (tuple(wanted), min(heads, agents), order), len(order)
            if key not in away:
                coins |= dict.fromkeys(range(agents), COIN) | {agent: at for at, agent in enumerate(order)}
                away[key] = tuple(plan.too_many({"chances": [heads], "seed": ""}, wanted))
            won = (heads / COIN) ** many * (1 - heads / COIN) ** (agents - many) / factorial(many)
            found[place, last, order, away[key]] = base[place, last] * won
    return found


@pytest.mark.parametrize(("agents", "copies", "rho"), [(2, 1, 2), (3, 2, "1/2")])
def test_all_that_others_see_keeps_epsilon_and_delta(
    agents: int, copies: int, rho: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the list of those who are turned away, which is what the δ is for: by listing, whatever one agent reports.
    Were everybody let in who asks, the list would tell more than the δ allows."""
    plan = tiny(agents=agents, supply=(copies,), rho=rho, overflow="0.3")
    levels = (0.0, 0.7, 1.0)[-3 if agents == 2 else -2 :]

    def worst(epsilon: float) -> float:
        laws = {
            each: seen_by_others(plan, [[one] for one in each], monkeypatch) for each in product(levels, repeat=agents)
        }
        pairs = ((laws[each], laws[lie, *each[1:]]) for each, lie in product(laws, levels))
        return max(sum(max(p - exp(epsilon) * b.get(at, 0), 0) for at, p in a.items()) for a, b in pairs)

    assert 0 < worst(1) <= plan.loss.delta(1).upper
    monkeypatch.setattr(Matching, "chances", lambda self, demand: [COIN] * len(demand))
    assert worst(6) > plan.loss.delta(6).upper


def test_nothing_is_oversold_even_then() -> None:
    """Chances of one for all are more than there is: who is turned away is on the billboard, and nobody else."""
    plan = tiny(supply=(2, 1), agents=5)
    reports = plan.read([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]])
    outcome = plan.play(reports, lambda _: None) | {"chances": [COIN, COIN], "prices": [1, 1]}
    outcome["turned_away"] = plan.too_many(outcome, plan.wanted(reports, outcome["prices"]))
    assert len(outcome["turned_away"]) == 2
    goods = [plan.advice(outcome, report, agent)["good"] for agent, report in enumerate(reports)]
    assert sorted(good for good in goods if good is not None) == [0, 0, 1]
    assert plan.allocation(outcome, reports).tolist() == [-1 if good is None else good for good in goods]


def utility(plan: Matching, shown: Any, true: float, told: float) -> float:
    """What an agent gets of one good that it wants by its report, over its coin."""
    prices, (chance,) = shown
    return (true - plan.priced(prices[0])) * chance / COIN if plan.read([[told]])[0][0] > prices[0] else 0.0


def test_no_lie_gains_more_than_is_said() -> None:
    """One good, two agents, all values and all lies: gains by listing are within the distance of laws."""
    plan = tiny(rho=1, overflow="0.01")
    laws = {pair: law(plan, [[pair[0]], [pair[1]]]) for pair in product(LEVELS, repeat=2)}
    prices, chances = {}, [plan.chances([counted]) for counted in LISTED]
    for place, seen in enumerate(LISTED):
        search = plan.search()
        next(search)
        prices[place] = search.send(np.array([seen]))

    def expected(true: float, told: float, other: float) -> float:
        gets = [[utility(plan, (prices[a], chances[b]), true, told) for b in range(len(LISTED))] for a in prices]
        return float((laws[told, other] * np.array(gets)).sum())

    most = max(
        expected(true, lie, other) - expected(true, true, other) for true, other, lie in product(LEVELS, repeat=3)
    )
    assert 0 < most <= plan.gain


def best_welfare(values: Any, supply: Any) -> float:
    """The most that any allocation is worth, by linear programming."""
    agents, goods = values.shape
    rows = np.concatenate([np.repeat(np.arange(agents), goods), agents + np.tile(np.arange(goods), agents)])
    columns = np.tile(np.arange(agents * goods), 2)
    limits = coo_matrix((np.ones(2 * agents * goods), (rows, columns))).tocsr()
    found: Any = linprog(-values.ravel(), A_ub=limits, b_ub=[*[1] * agents, *supply], method="highs")  # type: ignore[call-overload]
    return -float(found.fun)


def test_welfare_of_a_thousand() -> None:
    """Held out: no such market was looked at when the settings were chosen."""
    chance, found = np.random.default_rng(2024), []
    values = chance.random((1000, 4))
    best = best_welfare(values, [250] * 4)
    for _ in range(5):
        sale = match(values, [250] * 4, rho="0.02")
        plan = sale.plan
        goods = plan.allocation(sale.outcome, sale.reports)
        assert (np.bincount(goods[goods >= 0], minlength=4) <= 250).all()
        found.append(plan.welfare(sale.outcome, sale.reports) / best)
    assert np.mean(found) >= 0.76


def test_an_agent_s_own_good_follows_from_its_own_report() -> None:
    values = np.random.default_rng(5).random((50, 3))
    sale = match(values, [40, 40, 40], rho=5, overflow="1e-3")
    board = Billboard(plan=sale.plan, outcome=sale.outcome)
    goods = sale.plan.allocation(sale.outcome, sale.reports)
    for agent in range(50):
        told = board.for_agent(values[agent], agent)  # knows no other report
        assert told == sale.for_agent(agent)
        assert (-1 if told["good"] is None else told["good"]) == goods[agent]
        if told["good"] is not None:
            assert told["price"] < values[agent][told["good"]]
    assert "reports" not in repr(sale)
    small = match(values, [40, 40, 40], rho="0.1", overflow="1e-3").billboard
    alone, three = small.coalition(1), small.coalition(3, delta="1e-2")
    assert alone.epsilon(0.01).upper < three.epsilon(0.5).upper
    bare = Matching(supply=(1,), agents=2, rho="0.1").loss
    assert three.epsilon(0.09).upper <= 3 * small.loss.epsilon("1e-2").upper * (1 + 1e-9)
    assert isinstance(bare, ZCDP)
    assert bare.slack == Fraction(1, 10**6)


POLICY = """
[dataset]
name = "seats"
[privacy]
unit = "agent"
relation = "replace"
currency = "rho"
budget = 1
delta = "1e-5"
population = 1000
[tables.people]
source = "people.parquet"
unit_column = "agent"
[tables.people.columns]
agent = { type = "integer" }
[analysts.cora]
limit = 1
"""


def test_a_matching_is_charged_with_its_delta(tmp_path: Path) -> None:
    pq.write_table(pa.table({"agent": list(range(5))}), tmp_path / "people.parquet")
    (tmp_path / "tacit.toml").write_text(POLICY)
    with Session(tmp_path / "tacit.toml", "cora") as session:
        sale = match([[1.0, 0.5]] * 5, [2, 2], rho="0.5", session=session, table="people")
        assert sale.release is not None
        left = session.left()
        assert left.rho is not None
        assert float(left.rho) == pytest.approx(0.5, rel=1e-6)
        with pytest.raises(Exception, match="left"):
            match([[1.0, 0.5]] * 5, [2, 2], rho="0.6", session=session, table="people")


def test_what_is_no_market_is_refused() -> None:
    for values in ([[1, 2]], [[-1]], [[float("nan")]], [1.0], [["a", 1]], [[1, 2], [1]]):
        with pytest.raises(InputError, match="values must be"):
            match(values, [1], rho=1)
    for wrong in ({"supply": ()}, {"supply": (-1,)}, {"rho": 0}, {"overflow": 1}, {"rounds": 0}, {"agents": 0}):
        with pytest.raises(InputError):
            tiny(**wrong)
    with pytest.raises(InputError, match="there is none of number 7"):
        match([[1.0]], [1], rho=1).for_agent(7)
    with pytest.raises(InputError, match="for 2 agents"):
        tiny().read([[1], [1], [1]])
