"""How far answers are from the truth at equal (ε, δ): tacit beside the bounding of its peers at its best setting.

Questions about people are asked of ten million rows. Their peers (OpenDP, Tumult Analytics, PipelineDP) are simulated
at the best setting of a grid, chosen with the truth in hand (see bench/peers/sampled.py); tacit's declared clip is the
best of a few round numbers in either currency, and "private" is found by tacit itself, from the same budget. Questions
about rows are asked of a million rows, of OpenDP itself. `python -m bench.accuracy --picture FILE` also draws it.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt
import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

from bench.peers.sampled import Sample, Setting, Vector, settings
from bench.sql_data import sales
from bench.sql_tasks import policy
from tacit.engine.duckdb import DuckDBEngine
from tacit.ledger import Ledger
from tacit.plan.price import rho_of
from tacit.plot import page, write
from tacit.policy import Currency
from tacit.session.session import Session

__all__ = ["COUNT", "Found", "run"]

EPSILON, DELTA = 1.0, 1e-6
TRIALS, SAMPLES, SEARCH = 24, 2, 4
QUESTIONS = 1000  # that the policy has budget for, so that each has a thousandth of its δ
SMALL = 1_000_000  # rows, for questions about rows
BETTER, EQUAL = 3.0, 0.95  # targets: times less error about people; about rows the same, within the error of 24 trials

BOUND, AVERAGED = 5000, 1000  # of an amount: beyond every one there is, and where its range matters
TYPICAL = Fraction(40)  # of an amount: a public guess, for averages
PEOPLE: dict[str, tuple[str, str, tuple[int, ...], int]] = {
    "COUNT": ("SELECT region AS k, COUNT(*) AS x FROM sales GROUP BY region", "clip_rows", (100, 200, 400, 800), BOUND),
    "SUM": (
        "SELECT region AS k, SUM(amount) AS x FROM sales GROUP BY region",
        "clip",
        (2000, 4000, 8000, 16000),
        BOUND,
    ),
    "AVG": ("SELECT region AS k, AVG(amount) AS x FROM sales GROUP BY region", "clip_rows", (2, 3, 5, 10), AVERAGED),
    "people": (
        "SELECT product AS k, COUNT(DISTINCT person) AS x FROM sales GROUP BY product",
        "clip_rows",
        (5, 10, 15, 20),
        BOUND,
    ),
}
ROWS = {
    "COUNT": "SELECT region AS k, COUNT(*) AS x FROM each_sale GROUP BY region",
    "SUM": "SELECT region AS k, SUM(amount) AS x FROM each_sale GROUP BY region",
    "median": "SELECT region AS k, MEDIAN(amount) AS x FROM each_sale GROUP BY region",
}
TITLES = {
    "COUNT": "COUNT by region",
    "SUM": "SUM by region",
    "AVG": "AVG by region",
    "people": "people by product, keys unknown",
    "median": "MEDIAN by region",
}
TRUTHS = {
    "COUNT": "SELECT region, COUNT(*) FROM '{data}' GROUP BY region",
    "SUM": "SELECT region, SUM(LEAST(amount, {most})) FROM '{data}' GROUP BY region",
    "AVG": "SELECT region, AVG(amount) FROM '{data}' GROUP BY region",
    "people": "SELECT product, COUNT(DISTINCT person) FROM '{data}' GROUP BY product",
    "median": "SELECT region, MEDIAN(amount) FROM '{data}' GROUP BY region",
}
COUNT = 1 + SAMPLES + 2 * len(PEOPLE) + 2 * len(ROWS)


class Remembering(DuckDBEngine):
    """What is there before noise does not change from one trial to the next, so each statement runs once."""

    _known: dict[str, Any]

    def _read(self, instance: Any, statement: str) -> Sequence[Sequence[Any]]:
        known = self.__dict__.setdefault("_known", {})
        if statement not in known:
            known[statement] = super()._read(instance, statement)
        found: Sequence[Sequence[Any]] = known[statement]
        return found


@dataclass(frozen=True)
class Found:
    """The error of one way to answer."""

    task: str
    about: str  # people or rows
    way: str
    setting: str
    error: float


@contextmanager
def session(engine: DuckDBEngine, data: Path, *, currency: str, budget: Fraction, **declared: Any) -> Iterator[Session]:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "ledger"
        declares = policy(
            data,
            place,
            currency=currency,
            budget=budget * QUESTIONS,
            delta=Fraction(str(DELTA)) * QUESTIONS,
            **declared,
        )
        with Ledger.open(place) as ledger:
            yield Session(declares, "ana", ledger=ledger, engine=engine)


def ours(opened: Session, sql: str, amount: Fraction, truth: Mapping[Any, float], trials: int) -> float:
    """The root of the mean square, over groups and trials; a group that is not shown counts as zero."""
    squares = []
    for turn in range(1, trials + 1):
        spend = amount * (1 - Fraction(turn, 10**9))  # the same price twice would be answered from the store
        pure = opened.policy.privacy.currency is Currency.EPSILON
        answer = (opened.ask(sql, epsilon=spend) if pure else opened.ask(sql, rho=spend)).table.to_pydict()
        shown = dict(zip(answer["k"], answer["x"], strict=True))
        squares += [(float(shown.get(key) or 0) - value) ** 2 for key, value in truth.items()]
    return sqrt(float(np.mean(squares)))


def truths(data: Path, tasks: Sequence[str], most: float) -> dict[str, dict[Any, float]]:
    with duckdb.connect(":memory:") as connection:
        return {
            task: {
                key: float(value)
                for key, value in connection.execute(TRUTHS[task].format(data=data, most=most)).fetchall()
            }
            for task in tasks
        }


def about_people(tick: Callable[[str], None], trials: int) -> Iterator[Found]:
    data = sales()
    tick("the truth")
    truth = truths(data, tuple(PEOPLE), BOUND)
    samples = []
    for seed in range(SAMPLES):
        tick(f"sampling groups of each person, {seed + 1}")
        samples.append(Sample(data, seed))
    engine = Remembering({"sales": data, "each_sale": data})
    try:
        for task in PEOPLE:
            tick(f"{TITLES[task]}, peers")
            yield peers(task, samples, truth[task], trials)
            tick(f"{TITLES[task]}, tacit")
            yield from clipped(task, engine, data, truth[task], trials)
    finally:
        engine.close()


def clipped(task: str, engine: DuckDBEngine, data: Path, truth: Mapping[Any, float], trials: int) -> Iterator[Found]:
    """tacit with the best declared clip, and with one it finds itself, each in the better currency."""
    sql, cut, clips, most = PEOPLE[task]
    own = DELTA / 2 if task == "people" else DELTA  # half of δ is spent on finding keys
    offers = {"rho": rho_of(Fraction(EPSILON), Fraction(str(own))), "epsilon": Fraction(EPSILON)}

    def error(currency: str, clip: int | str, times: int) -> float:
        amount = offers[currency]
        declared: dict[str, Any] = {"amount": most, cut: _declared(clip), "typical": TYPICAL}
        with session(engine, data, currency=currency, budget=amount, **declared) as opened:
            return ours(opened, sql, amount, truth, times)

    found = {(currency, clip): error(currency, clip, SEARCH) for currency in offers for clip in clips}
    currency, clip = min(found, key=found.__getitem__)
    yield Found(task, "people", "tacit, declared", f"{cut} = {clip}, in {currency}", error(currency, clip, trials))
    private = {currency: error(currency, "private", trials) for currency in offers}
    currency = min(private, key=private.__getitem__)
    yield Found(task, "people", "tacit, private", f'{cut} = "private", in {currency}', private[currency])


def _declared(clip: int | str) -> Fraction | str:
    return clip if isinstance(clip, str) else Fraction(clip)


def peers(task: str, samples: Sequence[Sample], truth: Mapping[Any, float], trials: int) -> Found:
    """The best setting, and its error over fresh noise."""
    keys = samples[0].product if task == "people" else samples[0].region
    exact = np.array([truth[key] for key in keys])

    def error(setting: Setting, times: int) -> float:
        drawn: list[Vector] = [
            (samples[turn % len(samples)].answer(task, setting, EPSILON, DELTA) - exact) ** 2 for turn in range(times)
        ]
        return sqrt(float(np.mean(drawn)))

    best = min(settings(task), key=lambda setting: error(setting, SEARCH))
    return Found(task, "people", "best peer, simulated", str(best), error(best, trials))


def about_rows(tick: Callable[[str], None], trials: int) -> Iterator[Found]:
    data = sales(SMALL)
    truth = truths(data, tuple(ROWS), 500)
    engine = Remembering({"sales": data, "each_sale": data})
    try:
        for task, sql in ROWS.items():
            tick(f"{TITLES[task]} of rows, OpenDP")
            answers = _opendp(data, task, trials)
            squares = [(answer[key] - value) ** 2 for answer in answers for key, value in truth[task].items()]
            yield Found(task, "rows", "OpenDP", f"{EPSILON:g}-DP", sqrt(float(np.mean(squares))))
            tick(f"{TITLES[task]} of rows, tacit")
            most = 100 if task == "median" else 500  # the range that OpenDP is given
            with session(engine, data, currency="epsilon", budget=Fraction(EPSILON), amount=most) as opened:
                error = ours(opened, sql, Fraction(EPSILON), truth[task], trials)
            yield Found(task, "rows", "tacit", "", error)
    finally:
        engine.close()


def _opendp(data: Path, task: str, trials: int) -> list[dict[str, float]]:
    python = os.environ.get("TACIT_BENCH_PEERS") or sys.executable
    command = [python, "-m", "bench.peers.opendp_accuracy", str(data), task, str(EPSILON), str(trials)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[dict[str, float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def table(found: Sequence[Found], trials: int) -> tuple[Table, bool]:
    shown = Table(title=f"Root mean squared error at ε = {EPSILON:g}, δ = {DELTA:g} ({trials} trials)")
    for column in ("question", "way", "setting", "error", "peer's to it", "target", "met"):
        shown.add_column(column, justify="left" if column in ("question", "way", "setting") else "right")
    good = True
    theirs = {(one.task, one.about): one.error for one in found if not one.way.startswith("tacit")}
    for one in found:
        question = f"{TITLES[one.task]}, {one.about}"
        if not one.way.startswith("tacit"):
            shown.add_row(question, one.way, one.setting, f"{one.error:,.4g}", "", "", "")
            continue
        ratio, least = theirs[one.task, one.about] / one.error, BETTER if one.about == "people" else EQUAL
        good &= ratio >= least
        target = f"≥ {BETTER:g}×" if one.about == "people" else "≥ 1×"
        shown.add_row(
            "", one.way, one.setting, f"{one.error:,.4g}", f"{ratio:.2f}×", target, "yes" if ratio >= least else "NO"
        )
    shown.caption = f"about rows, {EQUAL} counts as 1: what the error itself is uncertain by"
    return shown, good


def picture(found: Sequence[Found]) -> alt.VConcatChart:
    """How many times less error than the peer, a bar for each question."""
    theirs = {(one.task, one.about): one.error for one in found if not one.way.startswith("tacit")}
    rows = [
        {
            "question": f"{TITLES[one.task]} ({one.about})",
            "way": {"tacit": "tacit, rows"}.get(one.way, one.way),
            "times": theirs[one.task, one.about] / one.error,
        }
        for one in found
        if one.way.startswith("tacit")
    ]
    bars = alt.Chart(alt.InlineData(values=rows))
    place = alt.Y("question:N", sort=None, title=None, axis=alt.Axis(labelLimit=260))
    drawn = bars.mark_bar().encode(
        x=alt.X(
            "times:Q",
            title="the peer's error ÷ tacit's: above 1, tacit is nearer to the truth",
            scale=alt.Scale(domainMin=0),
        ),
        y=place,
        yOffset=alt.YOffset("way:N", sort=None),
        color=alt.Color("way:N", title=None, sort=None, legend=alt.Legend(orient="bottom")),
    )
    words = drawn.mark_text(align="left", dx=4).encode(text=alt.Text("times:Q", format=".2f"), color=alt.value("#444"))
    lines: list[dict[str, float]] = [{"times": 1.0}, {"times": BETTER}]
    ends = alt.Chart(alt.InlineData(values=lines))
    rules = ends.mark_rule(strokeDash=[4, 4], color="#999").encode(x="times:Q")
    chart = (rules + drawn + words).properties(width=460, height=alt.Step(16))
    told = f"root mean squared error at ε = {EPSILON:g}, δ = {DELTA:g}; dashed: equal, and the target about people"
    return page([[chart]], title="Error beside the best peer's, at the same price", subtitle=told)


def run(
    tick: Callable[[str], None],
    trials: int = TRIALS,
    drawn: Path | None = None,
    tell: Callable[[Found], None] = lambda _: None,
) -> tuple[list[Table], bool]:
    """The table, and whether every target was met; `tell` hears of each error as it is found."""
    found = []
    for one in chain(about_people(tick, trials), about_rows(tick, trials)):
        found.append(one)
        tell(one)
    if drawn is not None:
        write(picture(found), drawn)
    shown, good = table(found, trials)
    return [shown], good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", type=Path, help="where to draw it, such as docs/images/accuracy.svg")
    options.add_argument("--trials", type=int, default=TRIALS)
    chosen, console = options.parse_args(), Console()
    tables, met = run(lambda what: console.print(what, style="dim"), chosen.trials, chosen.picture, console.print)
    for shown in tables:
        console.print(shown)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
