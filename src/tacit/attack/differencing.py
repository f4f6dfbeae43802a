"""Differencing: two harmless answers whose difference is one person.

Mr Gluble leaves, and the average salary is published before and after. Or a desk refuses groups that are too small, and
padding a question with a group that is large enough, a tracker, gets round it (Denning, Denning and Schwartz 1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.attack.population import Chance, chance
from tacit.attack.registry import Attempt, Outcome, Progress, bars, silent
from tacit.base import InputError, Refused
from tacit.policy import Currency
from tacit.session import Session
from tacit.session.single import OneTable

__all__ = [
    "Condition",
    "GuardedDesk",
    "PrivateDesk",
    "QueryDesk",
    "TrackerAnswer",
    "equals",
    "find_tracker",
    "leaver",
    "stage",
    "track",
]


@dataclass(frozen=True)
class Condition:
    """Rows to ask about, as `sql` and as the same filter for Arrow. Joined with &, |, and negated with ~."""

    sql: str
    expression: Any

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql} AND {other.sql})", self.expression & other.expression)

    def __or__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql} OR {other.sql})", self.expression | other.expression)

    def __invert__(self) -> "Condition":
        return Condition(f"NOT {self.sql}", ~self.expression)


def equals(column: str, value: str | int) -> Condition:
    """Rows whose `column` has this value."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f'the value of "{column}" must be text or a whole number, not {type(value).__name__}')
    name = '"' + column.replace('"', '""') + '"'
    written = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    return Condition(f"({name} = {written})", pc.field(column) == value)


class QueryDesk(Protocol):
    """SELECT COUNT(*), SUM(column) FROM table WHERE condition; no condition is the whole table."""

    asked: list[str]

    def ask(self, condition: Condition | None = None) -> tuple[float, float]:
        """The count and the sum."""
        ...


@dataclass
class GuardedDesk:
    """Exact answers about groups of at least `least` rows that leave out at least `least`; the rest is refused.

    That was the rule of statistical offices in the 1970s (query-set-size control). The answers are those that a
    database gives to the SQL in `asked`, computed with Arrow.
    """

    table: pa.Table
    column: str
    least: int
    name: str = "data"
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.column not in self.table.column_names:
            raise InputError(f'there is no column "{self.column}"; there are {", ".join(self.table.column_names)}')
        if self.least < 1:
            raise InputError("least must be at least 1: the size of the smallest group that is answered")

    def ask(self, condition: Condition | None = None) -> tuple[float, float]:
        self.asked.append(_sql(self.column, self.name, condition))
        rows = self.table if condition is None else self.table.filter(condition.expression)
        if rows.num_rows < self.least or (condition is not None and len(self.table) - rows.num_rows < self.least):
            raise Refused(f"the group, or what it leaves out, has fewer than {self.least} rows")
        return rows.num_rows, pc.sum(rows.column(self.column)).as_py()


@dataclass
class PrivateDesk:
    """The same questions to tacit, each with `epsilon`; no group is too small to ask about."""

    session: Session
    column: str
    epsilon: float
    name: str = "data"
    asked: list[str] = field(default_factory=list)

    def ask(self, condition: Condition | None = None) -> tuple[float, float]:
        self.asked.append(_sql(self.column, self.name, condition))
        row = self.session.ask(self.asked[-1], epsilon=self.epsilon).table.to_pylist()[0]
        return float(row["n"]), float(row["total"])


def _sql(column: str, table: str, condition: Condition | None) -> str:
    question = f'SELECT COUNT(*) AS n, SUM("{column}") AS total FROM "{table}"'
    return question if condition is None else f"{question} WHERE {condition.sql}"


MOST = 200_000  # what is declared as the largest salary
NEAR = 0.05
LEAST = 10
AVERAGE = "SELECT AVG(salary) AS mean, COUNT(*) AS n FROM staff"


@dataclass(frozen=True)
class TrackerAnswer:
    """How many rows the target condition has and what they sum to, and how many questions that took."""

    count: float
    total: float
    questions: int


def leaver(*, before: float, after: float, people: float) -> float:
    """What the one who left had, from the averages before and after and the number of `people` before."""
    if not people > 1:
        raise InputError("people must be more than one: the number before one of them left")
    return people * before - (people - 1) * after


def find_tracker(desk: QueryDesk, candidates: Sequence[Condition]) -> Condition:
    """The first candidate that the desk answers, and its complement too: large enough, and not too large."""
    for candidate in candidates:
        try:
            desk.ask(candidate)
            desk.ask(~candidate)
        except Refused:
            continue
        return candidate
    raise InputError("no candidate is a tracker: give conditions that hold for about half of the rows")


def track(desk: QueryDesk, target: Condition, tracker: Condition) -> TrackerAnswer:
    """Count and sum of the rows of `target`, never asking for them alone.

    q(C) = q(C or T) + q(C or not T) − q(T) − q(not T), for every query that adds up rows: the general tracker. With
    groups of `least` rows answered, any T with 2·least to n − 2·least rows does for every C.
    """
    start = len(desk.asked)
    answers = [desk.ask(each) for each in (target | tracker, target | ~tracker, tracker, ~tracker)]
    count, total = (a + b - c - d for a, b, c, d in zip(*answers, strict=True))
    return TrackerAnswer(count=count, total=total, questions=len(desk.asked) - start)


def stage(
    *,
    seed: int = 1,
    people: int = 120,
    targets: int = 20,
    epsilon: float = 1.0,
    progress: Progress = silent,
) -> Outcome:
    """Salaries of `targets` colleagues, by both ways, from exact answers and from tacit's at `epsilon` an attack."""
    if people < 4 * LEAST or not 1 <= targets <= people:
        raise InputError(f"the stage needs at least {4 * LEAST} people, and no more targets than people")
    staff = _staff(chance(seed), people)
    salaries = np.array(staff.column("salary").to_pylist(), dtype=float)
    exact, hits = GuardedDesk(staff, "salary", LEAST, "staff"), {True: [0, 0], False: [0, 0]}
    tracker = find_tracker(exact, [equals("name", "Gluble"), equals("sex", "female")])
    exact.asked.clear()
    mean, gluble = float(salaries.mean()), {}
    # 4 questions an attack, of which the two about the tracker alone are the same for everybody and paid for once
    with _private(staff, budget=epsilon * (targets + 2)).session() as session:
        private = PrivateDesk(session, "salary", epsilon / 4, "staff")
        first = session.ask(AVERAGE, epsilon=epsilon / 2).table.to_pylist()[0]
        for number in range(targets):
            own = float(salaries[number])
            target = equals("name", staff.column("name")[number].as_py())
            after = staff.filter(~target.expression)
            gone = float(np.delete(salaries, number).mean())
            with _private(after, budget=epsilon).session() as later:
                second = later.ask(AVERAGE, epsilon=epsilon / 2).table.to_pylist()[0]
            said = {
                (False, 0): leaver(before=mean, after=gone, people=people),
                (False, 1): track(exact, target, tracker).total,
                (True, 0): leaver(before=first["mean"], after=second["mean"], people=people),
                (True, 1): track(private, target, tracker).total,
            }
            for (defended, way), salary in said.items():
                hits[defended][way] += int(abs(salary - own) <= NEAR * own)
            if number == 0:
                gluble = {"salary": own, "exact": said[False, 0], "private": said[True, 0], "mean": mean, "after": gone}
            progress((number + 1) / targets)
    guess = max(float((np.abs(salaries - each) <= NEAR * salaries).mean()) for each in salaries)
    return Outcome(
        name="differencing",
        headline="Two harmless answers, one salary",
        measure=f"share of {targets} colleagues, two attacks each, whose salary is found to within {NEAR:.0%}",
        chance=guess,
        undefended=Attempt.counted("exact averages, and sums over at least 10 people", sum(hits[False]), 2 * targets),
        defended=Attempt.counted(f"tacit, epsilon {epsilon:g} for each attack", sum(hits[True]), 2 * targets),
        remarks=(
            f"the average was {mean:,.2f}; without Mr Gluble it is {gluble['after']:,.2f}, {people} and {people - 1} "
            f"people: so he earned {gluble['exact']:,.0f}. From tacit's averages he would have earned "
            f"{gluble['private']:,.0f}",
            f"the desk refuses groups of fewer than {LEAST}; so the tracker asks about the target and all women, the "
            "target and all men, and takes the women and the men away",
            f"with epsilon {epsilon:g} for an attack, none is right more than e^{epsilon:g} = "
            f"{exp(min(epsilon, 700)):.3g} times as often as without the target's row; guessing one salary for all is "
            f"right for {guess:.0%}",
        ),
        facts={"people": people, "targets": targets, "epsilon": epsilon, "gluble": gluble, "questions": exact.asked[:4]}
        | {"tracker": tracker.sql, "least": LEAST},
        draw=bars(
            [
                (row, Attempt.counted("", hits[defended][way], targets), defended)
                for way, row in enumerate(("average before and after", "tracker"))
                for defended in (False, True)
            ],
            title=("One person's salary from answers about many", f"{targets} targets for each way"),
            axis=f"salary found to within {NEAR:.0%}",
            chance=guess,
        ),
    )


def _staff(source: Chance, people: int) -> pa.Table:
    """The first is Mr Gluble."""
    salary = np.clip(source.lognormal(11, 0.45, people), 15_000, MOST).round(-2).astype(np.int64)
    sex = np.where(np.arange(people) % 2 == 1, "female", "male")
    names = ["Gluble", *(f"colleague {number}" for number in range(1, people))]
    return pa.table({"name": names, "sex": sex, "salary": salary})


def _private(staff: pa.Table, *, budget: float) -> OneTable:
    return OneTable(
        data=staff,
        unit_column="name",
        bounds={"salary": (0, MOST)},
        table="staff",
        currency=Currency.EPSILON,
        budget=budget,
        clip_rows=1,
    )
