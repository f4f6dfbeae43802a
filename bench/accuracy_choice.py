"""How a person is bounded by peers: what a user would pick without looking, and the best of a grid, by the truth.

The best setting is found from the data: what bounding would take from each group, and the noise that each peer adds
for it (`noise_of`). That only picks the setting, which the peer itself is then run with.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from math import erfc, exp, log, sqrt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from bench.accuracy_data import AMOUNT
from bench.accuracy_questions import SalesQuestion

__all__ = ["PeerSetting", "best", "picked"]

Vector = NDArray[np.float64]

ROWS, GROUPS, INSIDE = 50, 5, 10  # of a person, as one would say who knows that people buy about ten times
PRODUCTS, OF_A_PRODUCT = 20, 5
GRID_ROWS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300)
GRID_GROUPS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50)
GRID_INSIDE = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100)
GRID_SUMS = (50, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 5000, 7500, 10000)
GRID_VALUES = (100, 150, 200, 300, AMOUNT)
RANKS, DENSITY = 2.0, 0.02  # of a median: ranks it is off by for a person who counts once; rows near it, by amount


@dataclass(frozen=True)
class PeerSetting:
    """rows: so many (`inside`) of a person in all. groups: so many groups, with so many rows `inside` each. sums: so
    many groups, with a sum up to `inside` in each. Values are clamped to `value`."""

    mode: str
    groups: int
    inside: int
    noise: str
    value: int = AMOUNT

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def told(self, question: SalesQuestion) -> str:
        values = (
            f", values to {self.value}"
            if question.aggregate in ("sum", "avg", "median") and self.mode != "sums"
            else ""
        )
        if question.aggregate == "people":
            return (
                f"{self.noise}, {self.groups} groups" if self.mode == "groups" else f"{self.noise}, {self.inside} rows"
            )
        if self.mode == "rows":
            return f"{self.noise}, {self.inside} rows{values}"
        kind = "rows" if self.mode == "groups" else "as sum"
        return f"{self.noise}, {self.groups} groups × {self.inside} {kind}{values}"


def modes(peer: str, question: SalesQuestion) -> tuple[str, ...]:
    """The ways that a peer can bound a person for a question."""
    summed = ("sums",) if question.aggregate == "sum" and peer in ("opendp", "pipelinedp") else ()
    if question.shape == "single":
        return ("groups",) if peer == "pipelinedp" else ("rows",)
    if question.by is None or peer == "smartnoise":
        return ("rows", *summed)
    if question.aggregate == "people":
        return ("groups",)
    if peer == "pipelinedp" and (question.keys is None or question.aggregate == "median"):
        return ("groups", *summed)
    return ("groups", "rows", *summed)


def picked(peer: str, question: SalesQuestion) -> PeerSetting:
    """Laplace noise, which each of them has unless told otherwise, and round numbers."""
    one = question.shape == "single" or question.aggregate == "people"
    mode = modes(peer, question)[0]
    if mode == "rows":
        once = question.shape == "single" or (one and question.by is None)
        return PeerSetting("rows", 1, 1 if once else ROWS, "laplace")
    if question.shape == "single":
        return PeerSetting("groups", 1, 1, "laplace")
    if question.by == "product":
        return PeerSetting("groups", PRODUCTS, 1 if one else OF_A_PRODUCT, "laplace")
    return PeerSetting("groups", GROUPS, 1 if one else INSIDE, "laplace")


def grid(peer: str, question: SalesQuestion) -> Iterator[PeerSetting]:
    what = question.aggregate
    noises = (
        ("laplace",)
        if peer == "smartnoise" or (peer == "tumult" and question.by == "product")
        else ("laplace", "gaussian")
    )
    values = GRID_VALUES if what in ("sum", "avg", "median") else (AMOUNT,)
    for mode, noise in product(modes(peer, question), noises):
        groups = (1,) if mode == "rows" or question.by is None else GRID_GROUPS
        inside = {"rows": GRID_ROWS, "groups": GRID_INSIDE, "sums": GRID_SUMS}[mode]
        if what == "people" and (mode == "groups" or question.by is None):
            inside = (1,)
        for most, within, value in product(groups, inside, values if mode != "sums" else (AMOUNT,)):
            yield PeerSetting(mode, most, within, noise, value)


class PersonCells:
    """What each person has in each group."""

    def __init__(self, data: Path, by: str | None) -> None:
        values = ", ".join(f"SUM(LEAST(amount, {most})) AS s{most}" for most in GRID_VALUES)
        key = f"CAST({by} AS VARCHAR)" if by else "''"
        with duckdb.connect(":memory:") as connection:
            cells = connection.execute(
                f"SELECT *, SUM(n) OVER (PARTITION BY person) AS t, "
                "ROW_NUMBER() OVER (PARTITION BY person ORDER BY hash(person, k)) AS place, "
                "ROW_NUMBER() OVER (PARTITION BY person ORDER BY k) AS named "
                f"FROM (SELECT person, {key} AS k, COUNT(*) AS n, {values} FROM '{data}' GROUP BY ALL)"
            ).fetchnumpy()
        self.keys, self.group = np.unique(np.asarray(cells["k"], dtype=str), return_inverse=True)
        self.columns: dict[str, Vector] = {
            name: np.asarray(column, dtype=np.float64) for name, column in cells.items() if name not in ("k", "person")
        }

    def total(self, weights: Vector) -> Vector:
        found: Vector = np.bincount(self.group, weights=weights, minlength=len(self.keys)).astype(np.float64)
        return found


@cache
def cells(data: Path, by: str | None) -> PersonCells:
    return PersonCells(data, by)


def best(peer: str, question: SalesQuestion, data: Path, *, epsilon: float, delta: float, rho: float) -> PeerSetting:
    """The setting of the grid with the least error to expect."""
    if question.shape == "single":
        options = [one for one in grid(peer, question) if one.groups == 1 and one.inside == 1]
    else:
        options = list(grid(peer, question))
    held = cells(data, question.by)
    return min(options, key=lambda one: expected(peer, question, one, held, epsilon, delta, rho))


def expected(
    peer: str,
    question: SalesQuestion,
    setting: PeerSetting,
    held: PersonCells,
    epsilon: float,
    delta: float,
    rho: float,
) -> float:
    """The mean square error over groups."""
    of, what = held.columns, question.aggregate
    share = _kept(peer, setting, of)
    unknown = question.keys is None
    split = peer != "opendp" and unknown and not (peer == "smartnoise" and what == "people")
    amount = epsilon / (2 if split else 1) / (2 if what == "avg" else 1)
    size = noise_of(peer, setting, amount, delta, rho / (2 if what == "avg" else 1))
    n, kept = held.total(of["n"]), held.total(of["n"] * share)
    if what == "people":
        ones = (
            np.where(share > 0, 1.0, 0.0)
            if setting.mode != "rows"
            else 1 - (1 - np.minimum(1, setting.inside / of["t"])) ** of["n"]
        )
        whole, seen = held.total(np.ones_like(ones)), held.total(ones)
        reach = float(setting.inside) if setting.mode == "rows" and question.by else 1.0
        square = (seen - whole) ** 2 + (size * reach) ** 2
        return float(np.mean(_found(square, seen, whole, peer, setting, epsilon, delta, unknown)))
    if what == "rows":
        square = (kept - n) ** 2 + (size * setting.inside) ** 2
        seen = held.total(np.where(share > 0, 1.0, 0.0))
        return float(np.mean(_found(square, seen, n, peer, setting, epsilon, delta, unknown)))
    whole, clamped = held.total(of[f"s{AMOUNT}"]), of[f"s{setting.value}"]
    if what == "sum":
        if setting.mode == "sums":
            total, reach = held.total(np.minimum(of[f"s{AMOUNT}"], setting.inside) * (share > 0)), float(setting.inside)
        else:
            total, reach = held.total(clamped * share), float(setting.inside * setting.value)
        return float(np.mean((total - whole) ** 2 + (size * reach) ** 2))
    kept = np.maximum(kept, 1)
    if what == "avg":
        mean, middle = whole / n, 0.0 if peer == "smartnoise" else setting.value / 2
        reach = setting.value - middle
        noise = size * setting.inside * np.sqrt(reach**2 + (mean - middle) ** 2) / kept
        drawn = 1700 * (1 / kept - 1 / n)  # the variance of an amount
        return float(np.mean((held.total(clamped * share) / kept - mean) ** 2 + noise**2 + np.maximum(drawn, 0)))
    ranks = RANKS * setting.groups * setting.inside / epsilon
    return float(np.mean((ranks / kept / DENSITY) ** 2 + np.maximum(1 / kept - 1 / n, 0) / (2 * DENSITY) ** 2)) * (
        1 + setting.value / 10**4
    )


def _kept(peer: str, setting: PeerSetting, of: dict[str, Vector]) -> Vector:
    """The share of each cell's rows that is kept, on average."""
    if setting.mode == "rows":
        return np.minimum(1.0, setting.inside / of["t"])
    place = of["place"]
    if peer == "opendp":
        place = of["named"] + (of["named"].max() > 1)  # of n groups it keeps the first n - 1, by name
    inside = np.ones_like(place) if setting.mode == "sums" else np.minimum(1.0, setting.inside / of["n"])
    return np.where(place <= setting.groups, inside, 0.0)


def _found(
    square: Vector,
    seen: Vector,
    whole: Vector,
    peer: str,
    setting: PeerSetting,
    epsilon: float,
    delta: float,
    unknown: bool,
) -> Vector:
    """Groups that too few people are in are not shown, and count as zero."""
    if not unknown:
        return square
    groups = setting.groups if setting.mode == "groups" else setting.inside
    own = epsilon if peer == "opendp" else epsilon / 2
    return np.where(seen > 1 + groups / own * log(groups / delta), square, whole**2)


def noise_of(peer: str, setting: PeerSetting, epsilon: float, delta: float, rho: float) -> float:
    """The standard deviation in each group for a person who moves each by at most 1."""
    if setting.noise == "laplace":
        return sqrt(2) * setting.groups / epsilon
    sigma = _gaussian(epsilon, delta) if peer == "pipelinedp" else 1 / sqrt(2 * rho)
    return sigma * sqrt(setting.groups)


@cache
def _gaussian(epsilon: float, delta: float) -> float:
    """The σ that sensitivity 1 needs for (ε, δ), by the analytic formula (Balle and Wang 2018)."""

    def spent(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return erfc((b - a) / sqrt(2)) / 2 - exp(epsilon) * erfc((a + b) / sqrt(2)) / 2

    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= delta else (middle, high)
    return high
