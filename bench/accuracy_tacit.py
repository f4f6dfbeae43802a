"""tacit's own answers in the accuracy benchmark: with nothing said of how much a person may do, with a profile, with a
clip that a user would declare, and with the best clip by the truth; in ε and in ρ."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from bench.accuracy_data import AMOUNT
from bench.accuracy_questions import SalesQuestion
from bench.sql_data import REGION_NAMES
from tacit.base import TacitError
from tacit.desk import TableRelease
from tacit.engine.duckdb import DuckDBEngine
from tacit.ledger import Ledger
from tacit.plan.price import rho_of
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Policy, Privacy, Table
from tacit.session.session import Session

__all__ = ["CURRENCIES", "Measured", "Way", "doubt_of", "error_of", "measure", "releases", "tuned", "ways"]

CURRENCIES = ("epsilon", "rho")
QUESTIONS = 1000  # that the policy has budget for, so that each has a thousandth of its δ
PROFILE = Fraction(1, 10)  # of the price of a question that is asked alone
SHARED = 20  # questions that share a profile, for a twentieth of the price of each
CLIP_ROWS, CLIP, TYPICAL = Fraction(50), Fraction(2000), Fraction(30)  # as one would say who has not looked
GRID_ROWS, GRID_SUMS, SEARCH = (3, 5, 10, 20, 50, 100, 200), (500, 1000, 2000, 5000, 10000), 4


@dataclass(frozen=True)
class Way:
    """How much a person may do, as the policy declares it, and what is paid in. None is for what tacit finds itself."""

    name: str
    currency: str
    clip_rows: Fraction | None = None
    clip: Fraction | None = None
    typical: Fraction | None = None
    profile: Fraction = Fraction(0)  # of the price of a question
    questions: int = 1  # that share the profile

    @property
    def told(self) -> str:
        if self.clip_rows is not None:
            return f"clip_rows = {self.clip_rows}, clip = {self.clip}"
        shared = f", shared by {self.questions} questions" if self.questions > 1 else ""
        return f"profile for {self.profile} of the price{shared}" if self.profile else "nothing declared"


@dataclass
class Measured:
    """Answers of every trial by key, or why there is none; processor time of one."""

    answers: list[dict[str, float]] = field(default_factory=list)
    cpu: float = 0.0
    cannot: str = ""


def ways(question: SalesQuestion) -> Iterator[Way]:
    for currency in CURRENCIES:
        yield Way("default", currency)
        if question.shape != "single":
            yield Way("declared", currency, CLIP_ROWS, CLIP, TYPICAL)
            yield Way("profile", currency, profile=PROFILE)
            yield Way("shared", currency, profile=Fraction(1, SHARED), questions=SHARED)


def amount_of(question: SalesQuestion, currency: str, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The whole price: where keys are unknown, half of δ pays for finding them if the rest states ρ as (ε, δ)."""
    if currency == "epsilon":
        return epsilon
    return rho_of(epsilon, delta / 2 if question.keys is None else delta)


def policy(question: SalesQuestion, way: Way, data: Path, ledger: Path, price: Fraction, delta: Fraction) -> Policy:
    whole = Column(type=ColumnType.INTEGER, nullable=False)
    clip: Fraction | str = "private" if way.clip is None else way.clip
    single = question.shape == "single"
    paid = Column(
        type=ColumnType.FLOAT,
        bounds=(0, AMOUNT),
        step=Fraction(1, 100),
        nullable=False,
        clip=None if single else clip,
        typical=way.typical,
    )
    columns = {
        "person": whole,
        "region": Column(type=ColumnType.TEXT, group_keys=REGION_NAMES, nullable=False),
        "product": whole,
        "amount": paid,
    }
    whose: dict[str, Any] = {
        "unit_column": "person",
        "clip_rows": "private" if way.clip_rows is None else way.clip_rows,
    }
    if way.profile:
        whose["profile"] = price * way.profile * way.questions
    table = Table(source=str(data), columns=columns, **({"each_row_is_a_unit": True} if single else whose))
    return Policy(
        dataset=Dataset(name="sales", source=str(data), ledger=str(ledger)),
        privacy=Privacy(
            currency=Currency(way.currency), budget=price * QUESTIONS, delta=delta * QUESTIONS, least=Fraction(0)
        ),
        tables={"sales": table},
        analysts={"ana": Analyst()},
    )


@contextmanager
def asking(
    question: SalesQuestion, way: Way, data: Path, engine: DuckDBEngine, price: Fraction, delta: Fraction
) -> Iterator[Session]:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "ledger"
        declared = policy(question, way, data, place, price, delta)
        with Ledger.open(place) as ledger:
            yield Session(declared, "ana", ledger=ledger, engine=engine)


def _ask(opened: Session, question: SalesQuestion, way: Way, price: Fraction, turn: int) -> TableRelease:
    """The same price twice would be answered from the store, so each turn pays a billionth less."""
    spend = price * (1 - Fraction(turn + 1, 10**9))
    sql = question.sql()
    return opened.ask(sql, epsilon=spend) if way.currency == "epsilon" else opened.ask(sql, rho=spend)


def releases(
    question: SalesQuestion,
    way: Way,
    data: Path,
    engine: DuckDBEngine,
    *,
    epsilon: Fraction,
    delta: Fraction,
    trials: int,
) -> Iterator[TableRelease]:
    """One for each trial, each for the whole of (ε, δ). Each has a profile and a ledger of its own, if it has one."""
    price = amount_of(question, way.currency, epsilon, delta)
    if way.profile:
        for turn in range(trials):
            with asking(question, way, data, engine, price, delta) as opened:
                opened.profile("sales")
                yield _ask(opened, question, way, price * (1 - way.profile), turn)
        return
    with asking(question, way, data, engine, price, delta) as opened:
        for turn in range(trials):
            yield _ask(opened, question, way, price, turn)


def measure(
    question: SalesQuestion,
    way: Way,
    data: Path,
    engine: DuckDBEngine,
    *,
    epsilon: Fraction,
    delta: Fraction,
    trials: int,
) -> Measured:
    """The answers, or why the question is refused."""
    found, used = Measured(), process_time()
    try:
        for release in releases(question, way, data, engine, epsilon=epsilon, delta=delta, trials=trials):
            found.answers.append(_shown(release, question))
    except TacitError as refused:
        return Measured(cannot=f"{type(refused).__name__}: {refused}"[:300])
    found.cpu = (process_time() - used) / trials
    return found


def _shown(release: TableRelease, question: SalesQuestion) -> dict[str, float]:
    answer = release.table.to_pydict()
    keys = [str(key) for key in answer["k"]] if question.by else [""]
    return {key: float(value or 0) for key, value in zip(keys, answer["x"], strict=True)}


def error_of(answers: list[dict[str, float]], truth: Mapping[str, float]) -> float:
    """The root of the mean square over groups and trials; a group that is not shown counts as zero."""
    return sqrt(float(np.mean(_squares(answers, truth))))


def doubt_of(answers: list[dict[str, float]], truth: Mapping[str, float]) -> float:
    """The standard error of that root, as a share of it, by how much trials differ from one another."""
    each = np.array(_squares(answers, truth))
    if len(each) < 2 or not each.any():
        return 0.0
    return float(np.std(each, ddof=1) / sqrt(len(each)) / np.mean(each) / 2)


def _squares(answers: list[dict[str, float]], truth: Mapping[str, float]) -> list[float]:
    """The mean square over groups of each trial."""
    return [float(np.mean([(one.get(key, 0.0) - value) ** 2 for key, value in truth.items()])) for one in answers]


def tuned(
    question: SalesQuestion,
    data: Path,
    engine: DuckDBEngine,
    truth: Mapping[str, float],
    *,
    epsilon: Fraction,
    delta: Fraction,
) -> Way:
    """The clip of a grid and the currency with the least error over a few trials, by the truth."""

    def error(way: Way) -> float:
        found = measure(question, way, data, engine, epsilon=epsilon, delta=delta, trials=SEARCH)
        return float("inf") if found.cannot else error_of(found.answers, truth)

    sums = question.aggregate == "sum"
    options = [
        Way("best", currency, CLIP_ROWS if sums else Fraction(clip), Fraction(clip) if sums else CLIP, TYPICAL)
        for currency in CURRENCIES
        for clip in (GRID_SUMS if sums else GRID_ROWS)
    ]
    return min(options, key=error)
