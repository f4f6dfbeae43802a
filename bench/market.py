"""Markets: revenue of private prices, welfare of private matchings, regret of private routes, and what they take.

Markets are made up, and none of them was looked at when settings were chosen. Best welfare is that of a linear program.
Seconds are of processor time.
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from tacit.market import Matching, Pricing, Routing, cents
from tacit.pufferfish import Chain, quilt

__all__ = ["COUNT", "run"]

RHO = "0.02"
RUNS = 20
FAMILIES = ("uniform", "unequal copies", "popular goods", "lognormal", "narrow values", "rich and poor")
REVENUES = {(100, "0.1"): 0.756, (100, "1"): 0.95, (1000, "0.1"): 0.959, (1000, "1"): 0.995}
WELFARE = {1000: 0.785, 10_000: 0.98}
REGRET = {1000: 0.035, 10_000: 0.0035}
COUNT = len(REVENUES) + 2 * len(FAMILIES) + 2 * 4 + 3


def values_of(family: str, agents: int, chance: np.random.Generator) -> tuple[Any, list[int]]:
    """What everybody values each good at, and how many copies there are: as many as agents, in all."""
    quarter = [agents // 4] * 4
    if family == "unequal copies":
        return chance.random((agents, 3)), [agents // 2, agents // 4, agents // 4]
    if family == "popular goods":
        return np.clip(chance.random((agents, 5)) / 2 + [0.5, 0.4, 0.3, 0.1, 0], 0, 1), [agents // 5] * 5
    if family == "lognormal":
        return np.minimum(np.exp(chance.normal(0, 1, (agents, 6))) / 20, 1), [agents // 6] * 6
    if family == "narrow values":
        return 0.45 + chance.random((agents, 4)) / 10, quarter
    if family == "rich and poor":
        return chance.random((agents, 1)) * chance.random((agents, 4)), quarter
    return chance.random((agents, 4)), quarter


def best(values: Any, supply: list[int]) -> float:
    agents, goods = values.shape
    rows = np.concatenate([np.repeat(np.arange(agents), goods), agents + np.tile(np.arange(goods), agents)])
    cells = (np.ones(2 * agents * goods), (rows, np.tile(np.arange(agents * goods), 2)))
    found: Any = linprog(-values.ravel(), A_ub=coo_matrix(cells).tocsr(), b_ub=[*[1] * agents, *supply], method="highs")  # type: ignore[call-overload]
    return -float(found.fun)


def silent(_: float) -> None:
    """Nobody waits."""


def row(shown: Table, *cells: str, met: bool | None = None) -> bool:
    shown.add_row(*cells, "" if met is None else "yes" if met else "NO")
    return met is not False


def table(title: str, *columns: str) -> Table:
    shown = Table(title=title)
    for column in columns:
        shown.add_column(column)
    return shown


def revenues(tick: Callable[[str], None]) -> tuple[Table, bool]:
    shown = table(
        "Revenue over the best price, uniform values, 1 to 100 cents", "bidders", "ε", "share", "limit", "met"
    )
    good = True
    for (bidders, epsilon), limit in REVENUES.items():
        tick(f"prices for {bidders}")
        plan, chance, found = Pricing(grid=cents(1, 100), epsilon=epsilon), np.random.default_rng(41), []
        for _ in range(RUNS):
            bids = chance.random(bidders)
            found.append(plan.expected_revenue(bids) / float(max(plan.revenues(bids))))
        share = float(np.mean(found))
        good &= row(shown, f"{bidders:,}", epsilon, f"{share:.3f}", f"{limit}", met=share >= limit)
    return shown, good


def welfare(tick: Callable[[str], None]) -> tuple[Table, bool]:
    heads = ("values", "agents", "welfare over the best", "least of the runs", "goods oversold", "limit", "met")
    shown, good = table(f"Matching, ρ = {RHO} (ε = 0.84 at δ = 2e-6), {RUNS} runs", *heads), True
    for family in FAMILIES:
        for agents, limit in WELFARE.items():
            tick(f"goods for {agents}")
            values, supply = values_of(family, agents, np.random.default_rng(43))
            plan, most = Matching(supply=tuple(supply), agents=agents, rho=RHO), best(values, supply)
            reports, found, over = plan.read(values), [], 0
            for _ in range(RUNS):
                outcome = plan.play(reports, silent)
                goods = plan.allocation(outcome, reports)
                over += int((np.bincount(goods[goods >= 0], minlength=len(supply)) > supply).sum())
                found.append(plan.welfare(outcome, reports) / most)
            share, wanted = float(np.mean(found)), limit if family == "uniform" else None
            cells = (family, f"{agents:,}", f"{share:.3f}", f"{min(found):.3f}", str(over), str(wanted or ""))
            good &= row(shown, *cells, met=over == 0 and (wanted is None or share >= wanted))
    return shown, good


def regret(tick: Callable[[str], None]) -> tuple[Table, bool]:
    heads = ("own costs up to", "agents", "mean regret", "99 % of agents", "largest", "limit", "met")
    shown, good = table(f"Routes over five links, ρ = {RHO}, costs of about 1, {RUNS} runs", *heads), True
    for spread in (0.0, 0.05, 0.2, 0.5):
        for agents, limit in REGRET.items():
            tick(f"routes for {agents}")
            chance, found = np.random.default_rng(47), []
            for _ in range(RUNS):
                free, crowded = chance.random(5) / 5, chance.random(5) * (1 - spread)
                routes = tuple((link,) for link in range(5))
                plan = Routing(routes=routes, free=free.tolist(), crowded=crowded.tolist(), agents=agents, rho=RHO)
                reports = plan.read(chance.random((agents, 5)) * spread)
                saved = plan.regret(plan.play(reports, silent), reports)
                found.append((saved.mean(), np.quantile(saved, 0.99), saved.max()))
            mean, most, largest = np.mean(found, axis=0)
            cells = (f"{spread}", f"{agents:,}", f"{mean:.5f}", f"{most:.4f}", f"{largest:.4f}", f"{limit}")
            good &= row(shown, *cells, met=bool(mean <= limit))
    return shown, good


def speed(tick: Callable[[str], None]) -> tuple[Table, bool]:
    shown, good, chance = table("What it takes", "what", "s", "limit", "met"), True, np.random.default_rng(53)
    tick("a million bids")
    bids, plan = chance.random(1_000_000), Pricing(grid=cents(1, 100), epsilon=1)
    begun = process_time()
    plan.draw(bids)
    good &= row(shown, "a price from 1,000,000 bids", f"{(took := process_time() - begun):.2f}", "1", met=took <= 1)
    tick("100,000 agents, 100 goods")
    values, sale = chance.random((100_000, 100)), Matching(supply=(1000,) * 100, agents=100_000, rho=RHO)
    begun = process_time()
    reports = sale.read(values)
    outcome = sale.play(reports, silent)
    took = process_time() - begun
    share = sale.welfare(outcome, reports) / values.max(axis=1).sum()
    words = f"a matching of 100,000 agents and 100 goods ({share:.3f} of each one's best)"
    good &= row(shown, words, f"{took:.2f}", "10", met=took <= 10)
    tick("a long chain")
    begun = process_time()
    quilt(Chain([[".9", ".1"], [".1", ".9"]], length=10_000), epsilon=1)
    good &= row(shown, "a quilt for a chain of 10,000", f"{(took := process_time() - begun):.2f}", "1", met=took <= 1)
    return shown, good


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    parts = [part(tick) for part in (revenues, welfare, regret, speed)]
    return [shown for shown, _ in parts], all(good for _, good in parts)
