"""A price from sealed bids: the textbook's example, the exact law, privacy and truth over all lies of small markets."""

from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.channel import p_value
from tacit.base import InputError, Relation
from tacit.market import Pricing, cents, price
from tacit.session import Session

GRID = tuple(Fraction(each, 4) for each in (1, 2, 3, 4))
POLICY = """
[dataset]
name = "sale"
[privacy]
unit = "bidder"
relation = "replace"
currency = "epsilon"
budget = 3
population = 1000
[tables.bids]
source = "bids.parquet"
unit_column = "bidder"
[tables.bids.columns]
bidder = { type = "integer" }
[analysts.cora]
limit = 2
"""


def test_the_textbook() -> None:
    """Valuations 1.00, 1.01 and 3.01: each of the first two prices earns about what the third does, and just above
    nothing is earned."""
    plan = Pricing(grid=cents(1, 302), epsilon=1)
    earned = dict(zip(plan.grid, plan.revenues([1.00, 1.01, 3.01]), strict=True))
    assert [earned[Fraction(cent, 100)] for cent in (100, 101, 301, 302)] == [
        3,
        Fraction(202, 100),
        Fraction(301, 100),
        0,
    ]


def test_the_textbook_is_private_and_truthful_with_half_the_noise() -> None:
    """Each of the three bids replaced by any other, on the grid of cents: no chance moves by more than e^ε, which is
    nearly reached; noise for half of Δ would break it. Nobody expects more from any of these lies than e^ε of the
    truth."""
    values, plan = [1.0, 1.01, 3.01], Pricing(grid=cents(1, 302), epsilon=2)
    less, worst = Pricing(grid=cents(1, 302), epsilon=4), {2: 0.0, 4: 0.0}
    for buyer, lie in product(range(3), (0, 0.5, 0.99, 1.0, 1.02, 1.5, 2.0, 3.0, 3.01, 3.02, 9.0)):
        told = [*values[:buyer], lie, *values[buyer + 1 :]]
        for each in (plan, less):
            pairs = zip(each.law(values).values(), each.law(told).values(), strict=True)
            worst[int(each.epsilon)] = max(worst[int(each.epsilon)], *(abs(log(a / b)) for a, b in pairs))
        honest, lying = (plan.expected_utility(bids, buyer, values[buyer]) for bids in (values, told))
        assert honest >= exp(-2) * lying - 1e-12
    assert 1 < worst[2] <= 2 * (1 + 1e-9) < worst[4]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
def test_no_bid_changes_the_odds_by_more(epsilon: float) -> None:
    """Every market of three bidders, every other bid of the first; the bound is reached."""
    plan = Pricing(grid=GRID, epsilon=epsilon)
    levels, worst = (Fraction(0), *GRID), 0.0
    laws = {bids: list(plan.law(bids).values()) for bids in product(levels, repeat=3)}
    for bids, lie in product(laws, levels):
        here, there = laws[bids], laws[(lie, *bids[1:])]
        worst = max(worst, *(abs(log(a / b)) for a, b in zip(here, there, strict=True)))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.7 * epsilon
    assert plan.loss.bound == Fraction(str(epsilon))
    assert plan.loss.relation is Relation.REPLACE


def test_scores_move_the_same_way() -> None:
    """What a factor of two in the price of privacy rests on: no score falls while another rises."""
    plan = Pricing(grid=GRID, epsilon=1)
    for bids in product((Fraction(0), *GRID), repeat=3):
        for lie in GRID:
            moved = [b - a for a, b in zip(plan.revenues(bids), plan.revenues((lie, *bids[1:])), strict=True)]
            assert min(moved) >= 0 or max(moved) <= 0
            assert max(map(abs, moved)) <= GRID[-1]


def test_what_is_drawn_has_the_law() -> None:
    plan, bids = Pricing(grid=GRID, epsilon=2), [0.3, 0.8, 1.0]
    drawn = [plan.draw(bids) for _ in range(4000)]
    law: dict[Any, float] = dict(plan.law(bids))
    assert p_value(law, drawn) > 1e-6
    other: dict[Any, float] = dict(Pricing(grid=GRID, epsilon=1).law(bids))
    assert p_value(other, drawn) < 1e-6


@pytest.mark.parametrize("epsilon", [0.2, 1])
def test_a_lie_gains_no_more_than_was_said(epsilon: float) -> None:
    plan = Pricing(grid=GRID, epsilon=epsilon)
    for values in product(GRID, repeat=3):
        gained = plan.largest_gain(values)
        best = max(plan.expected_utility(values, buyer, values[buyer]) for buyer in range(3))
        assert gained <= plan.gain * max(best, 1e-12) + 1e-12
        for buyer, lie in product(range(3), GRID):
            told = [*values[:buyer], lie, *values[buyer + 1 :]]
            honest, lying = (plan.expected_utility(each, buyer, values[buyer]) for each in (values, told))
            assert honest >= exp(-epsilon) * lying - 1e-12


@pytest.mark.parametrize(
    ("bidders", "epsilon", "share"), [(100, 0.1, 0.756), (100, 1, 0.95), (1000, 0.1, 0.959), (1000, 1, 0.995)]
)
def test_revenue_of_uniform_values(bidders: int, epsilon: float, share: float) -> None:
    """Over the best price of the grid, by the exact law; published forms that pay twice reach `share`."""
    plan, chance = Pricing(grid=cents(1, 100), epsilon=epsilon), np.random.default_rng(1)
    found = []
    for _ in range(20):
        values = chance.uniform(size=bidders)
        found.append(plan.expected_revenue(values) / float(max(plan.revenues(values))))
    assert np.mean(found) >= share


def test_the_shortfall_holds() -> None:
    plan, values = Pricing(grid=cents(1, 100), epsilon=1), np.random.default_rng(2).uniform(size=500)
    best = float(max(plan.revenues(values)))
    law = plan.law(values)
    missed = sum(
        p for each, p in law.items() if best - float(each) * plan.counts(values)[int(each * 100) - 1] > plan.shortfall()
    )
    assert missed <= 0.05


def sale_of(folder: Path) -> Path:
    """A policy of five bidders."""
    pq.write_table(pa.table({"bidder": list(range(5))}), folder / "bids.parquet")
    (folder / "tacit.toml").write_text(POLICY)
    return folder / "tacit.toml"


def test_a_sale_is_charged_once(tmp_path: Path) -> None:
    with Session(sale_of(tmp_path), "cora") as session:
        sale = price([0.2, 0.5, 0.9, 1, 0.4], grid=GRID, epsilon=1, session=session, table="bids")
        assert sale.price in GRID
        assert session.left().epsilon == 1
        assert sale.release is not None
        other = price([0.9, 0.9, 0.9, 1, 1], grid=GRID, epsilon="0.5", session=session, table="bids")
        again = price([0.9, 0.9, 0.9, 1, 1], grid=GRID, epsilon="0.5", session=session, table="bids")
        assert other.release is not None
        assert again.release is not None
        assert not other.release.cached
        assert not again.release.cached  # other bids would be another sale, and nothing here may tell whether they are
        assert session.left().epsilon == 0
        with pytest.raises(InputError, match="Say table="):
            price([0.2], grid=GRID, epsilon=1, session=session)
        with pytest.raises(InputError, match="protects one bidder by replace"):
            price([0.2], grid=GRID, epsilon=1, session=session, table="bids", unit="buyer")
        with pytest.raises(Exception, match="left"):
            price([0.2], grid=GRID, epsilon=1, session=session, table="bids")
    assert "% of what any lie earns" in sale.billboard.truth


def test_what_is_no_market_is_refused() -> None:
    for grid in ((), (1, 1), (2, 1), (0, 1), (-1, 1)):
        with pytest.raises(InputError, match="grid"):
            Pricing(grid=grid, epsilon=1)
    for bids in ([-1.0], [float("nan")], [[1.0]], [float("inf")], ["a"], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="bids must be"):
            price(bids, grid=GRID, epsilon=1)
    with pytest.raises(InputError, match="epsilon"):
        Pricing(grid=GRID, epsilon=0)
