"""`Session.ask` as a black box: two databases that differ in one person, and as many answers as an audit wants.

A question is asked `GROUP BY cell` over many declared cells. Every cell holds people of its own, the same in each, and
one person more in the second database. A person is in one cell alone and cells have noise of their own, so each cell of
one answer is an independent answer about two neighbouring databases: many draws for the price of one query. (Not so
where a clip is chosen from all the data at once: that is asked without GROUP BY, one draw a query.) Each ask has a
price of its own, a trifle below the claimed one, for the same question again is answered from the store.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.base import Number
from tacit.engine import Engine
from tacit.ledger import Ledger
from tacit.loss import Loss
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Policy, Privacy, Table
from tacit.session import Session

__all__ = ["SIDES", "Desk", "Question", "opened", "rows"]

SIDES = ("without", "with")
AMOUNTS = (2, 5, 9)  # of the three people whom every cell has in both databases
MORE = 10  # the amount of each row of the one who comes and goes, who has more rows than are counted
CLIP = 2
STEP = Fraction(1, 10**9)  # by which each price is below the last


@dataclass(frozen=True)
class Question:
    """What is selected `FROM visits`, by `key`: "cell" has declared values, "drug" has not, "" is one answer for all.

    `people` are in each group whether or not the one comes who comes and goes. `clip` is the policy's `clip_rows`.
    """

    select: str
    key: str = "cell"
    source: str = "visits"
    having: str = ""
    people: int = len(AMOUNTS)
    clip: Fraction | str = Fraction(CLIP)

    @property
    def sql(self) -> str:
        if not self.key:
            return f"SELECT {self.select} FROM {self.source}"
        return f"SELECT {self.key}, {self.select} FROM {self.source} GROUP BY {self.key}{self.having}"

    def __str__(self) -> str:
        return f"{self.select}{self.having} by {self.key or 'nothing'}" + (
            ", private clip" if self.clip == "private" else ""
        )


def rows(cells: int, side: str, *, people: int = len(AMOUNTS)) -> pa.Table:
    """The table of one of the two databases."""
    made: dict[str, list[Any]] = {"person": [], "cell": [], "drug": [], "amount": [], "kind": []}

    def add(person: int, cell: int, amount: int, kind: str) -> None:
        values = {"person": person, "cell": f"c{cell}", "drug": f"d{cell}", "amount": amount, "kind": kind}
        for name, value in values.items():
            made[name].append(value)

    for cell in range(cells):
        for place in range(people):
            add(1000 * cell + place, cell, AMOUNTS[place % len(AMOUNTS)], "ab"[place % 2])
        if side == "with":
            for _ in range(CLIP + 1):
                add(1000 * cell + 999, cell, MORE, "c")
    kinds = {"person": pa.int64(), "amount": pa.int64()}
    return pa.table({name: pa.array(values, kinds.get(name, pa.string())) for name, values in made.items()})


def policy(cells: int, currency: Currency, clip: Fraction | str) -> Policy:
    columns = {
        "person": Column(type=ColumnType.INTEGER),
        "cell": Column(type=ColumnType.TEXT, group_keys=tuple(f"c{cell}" for cell in range(cells)), nullable=False),
        "drug": Column(type=ColumnType.TEXT, nullable=False),
        "amount": Column(type=ColumnType.INTEGER, bounds=(0, MORE), nullable=False),
        "kind": Column(type=ColumnType.TEXT, group_keys=("a", "b", "c"), nullable=False),
    }
    return Policy(
        dataset=Dataset(name="audited", source="audited"),
        privacy=Privacy(
            unit="person",
            currency=currency,
            budget=Fraction(10**6),
            delta=Fraction(1, 10**2),
            least=Fraction(0),  # prices are told apart by next to nothing, so that each draws anew
        ),
        tables={"visits": Table(unit_column="person", clip_rows=clip, columns=columns)},
        analysts={"ana": Analyst()},
    )


@dataclass
class Desk:
    """Both databases behind sessions of their own, and what each was asked. `outputs` is what an audit calls."""

    sessions: Mapping[str, Session]
    question: Question
    cells: int
    currency: Currency
    price: Fraction
    _turn: Iterator[int] = field(default_factory=count)
    _left: dict[str, list[Any]] = field(default_factory=dict)

    def claim(self) -> Loss:
        """What the ledger charges for one question, as a guarantee."""
        cost = self.sessions["with"].quote(self.question.sql, **self._offer(self.price)).cost
        spend = getattr(cost, self.currency.value)
        return self.currency.loss(spend, cost.delta, relation=cost.relation, unit="row")

    def outputs(self, side: str, size: int) -> list[Any]:
        """So many answers about one of the two databases: None where a key is not shown, else the numbers."""
        stock = self._left.setdefault(side, [])
        while len(stock) < size:
            stock += self.ask(side)
        self._left[side] = stock[size:]
        return stock[:size]

    def ask(self, side: str) -> list[Any]:
        """One answer of each cell."""
        price = self.price - STEP * next(self._turn)
        answer = self.sessions[side].ask(self.question.sql, **self._offer(price))
        assert not answer.cached
        key, table = self.question.key, answer.table
        columns = [table.column(name).to_pylist() for name in table.column_names if name != key]
        values = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        if not key:
            return values
        shown = dict(zip(table.column(key).to_pylist(), values, strict=True))
        return [(shown[name],) if (name := f"{key[0]}{cell}") in shown else None for cell in range(self.cells)]

    def _offer(self, price: Number) -> dict[str, Any]:
        return {self.currency.value: price}


@contextmanager
def opened(
    question: Question,
    folder: Path,
    engine: Callable[[pa.Table, str], Engine],
    *,
    cells: int,
    currency: Currency,
    price: str,
) -> Iterator[Desk]:
    """A desk over engines that `engine(table, side)` opens; everything is closed at the end."""
    declared = policy(cells, currency, question.clip)
    sessions: dict[str, Session] = {}
    engines: list[Engine] = []
    ledgers: list[Ledger] = []
    try:
        for side in SIDES:
            ledgers.append(Ledger.open(folder / f"{side}.ledger"))
            engines.append(engine(rows(cells, side, people=question.people), side))
            sessions[side] = Session(declared, "ana", ledger=ledgers[-1], engine=engines[-1])
        yield Desk(sessions, question, cells, currency, Fraction(price))
    finally:
        for each in engines:
            each.close()
        for ledger in ledgers:
            ledger.close()
