"""The tour in SQL: a made-up clinic with a policy, and questions until the budget is spent."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.padding import Padding
from rich.text import Text

from tacit.base import Denied, InputError
from tacit.base.bar import progress_bar
from tacit.cli.demo import ANALYST, WHY
from tacit.cli.demo.data import DRUGS, WARDS, Visits, visits
from tacit.cli.screen import WIDTH, bar, bullets, check_outputs, output, write_out
from tacit.cli.survey import survey_demo
from tacit.desk.show import number, table_of
from tacit.loss import Cost
from tacit.session import Quote, Session, TableRelease

__all__ = ["POLICY", "Story", "Turn", "build", "show_clinic"]

POLICY = f"""\
[dataset]
name = "clinic"
people = "patients of a made-up clinic"
ledger = "clinic.ledger"

[privacy]
unit = "patient"
currency = "epsilon"
budget = 3
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit_column = "patient_id"
clip_rows = 20  # more rows of one patient are scaled down to this

[tables.visits.columns]
patient_id = {{ type = "integer" }}
ward = {{ type = "text", group_keys = [{", ".join(f'"{ward}"' for ward in WARDS)}], nullable = false }}
drug = {{ type = "text", nullable = false }}
age = {{ type = "integer", bounds = [0, 110], nullable = false }}
cost = {{ type = "decimal", bounds = [0, 5000], step = 0.01, nullable = false }}

[analysts.{ANALYST}]
limit = 2
"""

BY_WARD = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
OLD = "SELECT COUNT(DISTINCT patient_id) AS patients FROM visits WHERE age >= 65"
BY_DRUG = "SELECT drug, COUNT(*) AS visits FROM visits GROUP BY drug ORDER BY visits DESC"
WORDS = (
    "",
    "The same question again: the same noisy numbers from the store. Nothing new is learned, so it is free.",
    "The other way round: say which error will do, and be told the price.",
    "Keys that nobody declared are shown only if enough patients are behind them.",
    "And when the budget is spent, it is spent. Nothing was looked at:",
)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One question: what was offered, and the answer or why there is none; beside it the truth, and what is left."""

    sql: str
    offer: Mapping[str, float]
    answer: TableRelease | None
    left: Cost
    refused: str = ""
    truth: Mapping[str, list[float]] | None = None

    def json(self) -> dict[str, Any]:
        answer = None if self.answer is None else {**self.answer.json(), "cached": self.answer.cached}
        return {
            "sql": self.sql,
            "offer": dict(self.offer),
            "answer": answer,
            "refused": self.refused or None,
            "left": self.left.json(),
        }


@dataclass(frozen=True, kw_only=True)
class Story:
    """A quote, then questions in turn."""

    rows: int
    patients: int
    limit: Cost
    quote: Quote
    turns: tuple[Turn, ...]

    @classmethod
    def ask(cls, folder: Path) -> "Story":
        """Build the clinic in `folder` and ask."""
        data = build(folder)
        wards = [data.ward == ward for ward in range(len(WARDS))]
        costs = [float(data.cents[rows].mean() / 100) for rows in wards]
        by_ward = {"visits": [float(rows.sum()) for rows in wards], "cost": costs}
        with Session(folder / "tacit.toml", ANALYST) as session:
            limit = session.left()
            quote = session.quote(BY_WARD, epsilon=0.5)
            turns = (
                _ask(session, BY_WARD, {"epsilon": 0.5}, by_ward),
                _ask(session, BY_WARD, {"epsilon": 0.5}),
                _ask(session, OLD, {"error": 25}, {"patients": [len(np.unique(data.patient[data.age >= 65]))]}),
                _ask(session, BY_DRUG, {"epsilon": 0.8}),
                _ask(session, BY_WARD, {"epsilon": 1}),
            )
        patients = len(np.unique(data.patient))
        return cls(rows=len(data.patient), patients=patients, limit=limit, quote=quote, turns=turns)

    def json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "patients": self.patients,
            "limit": self.limit.json(),
            "quote": self.quote.json(),
            "turns": [turn.json() for turn in self.turns],
        }


def build(folder: Path) -> Visits:
    """Write the visits and their policy into a folder that has neither."""
    for name in ("visits.parquet", "tacit.toml", "clinic.ledger"):
        if (folder / name).exists():
            raise InputError(f"{name} exists already in {folder}: name a folder without it")
    data = visits()
    table = pa.table(
        {
            "patient_id": data.patient,
            "ward": pa.array(WARDS).take(pa.array(data.ward)),
            "drug": pa.array(DRUGS).take(pa.array(data.drug)),
            "age": data.age,
            "cost": data.cents / 100,
        }
    )
    pq.write_table(table, folder / "visits.parquet")
    (folder / "tacit.toml").write_text(POLICY, encoding="utf-8")
    return data


def _ask(
    session: Session, sql: str, offer: Mapping[str, float], truth: Mapping[str, list[float]] | None = None
) -> Turn:
    answer, refused = None, ""
    try:
        answer = session.ask(sql, epsilon=offer.get("epsilon"), error=offer.get("error"))
    except Denied as error:
        refused = str(error)
    return Turn(sql=sql, offer=offer, answer=answer, refused=refused, left=session.left(), truth=truth)


# --- on the terminal


def show_clinic(*, plot: Path | None = None, as_json: bool = False, keep: Path | None = None) -> None:
    """Ask a made-up clinic until its budget is spent. `keep` names a folder to leave it in, `plot` a picture."""
    check_outputs(plot=plot)  # a bad file name is refused before anything runs
    with ExitStack() as stack, progress_bar("asking"):
        story = Story.ask(_folder(keep, stack))
    again = f'tacit ask "SELECT …" --policy {keep}/tacit.toml --analyst {ANALYST} --epsilon 0.1'
    more = [] if keep is None else [bullets(["Ask it yourself:"]), again]
    output(as_json, story.json(), _parts(story), *more)
    first = story.turns[0]
    if first.answer is not None:
        write_out("picture", plot, partial(first.answer.plot, truth=first.truth), quiet=as_json)


def _folder(keep: Path | None, stack: ExitStack) -> Path:
    if keep is None:
        return Path(stack.enter_context(TemporaryDirectory(prefix="tacit-demo-")))
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f'--keep: the folder "{keep}" cannot be made: {error.strerror}') from None
    return keep


def _parts(story: Story) -> Iterator[Any]:
    first, limit = story.turns[0], float(story.limit.epsilon or 0)
    clinic = f"A made-up clinic: {story.rows:,} visits of {story.patients:,} patients, in Parquet, read by DuckDB."
    free = f"Its policy lets {ANALYST} spend ε = {limit:g}. A quote is free, and looks at nothing:"
    asked = "Asked. The price is written into the ledger first, then DuckDB runs, then the noise is drawn:"
    expected = table_of(["column", "noise"], [[e.column, e.words] for e in story.quote.expected], right=())
    yield from (Text(f"\n{WHY}Here they are answered so that no single person shows.\n"), bullets([clinic, free]), "")
    yield from (_question(first), expected, "", bullets([asked]))
    for turn, words in zip(story.turns, WORDS, strict=True):
        yield from (bullets([words] if words else []), "")
        if turn.sql != first.sql or turn.answer is None:
            yield _question(turn)
        yield from (_answer(turn), _left(turn, limit))
    yield from (bullets(["Or hold no data at all: in a survey each device tosses coins before it answers."]), "")
    yield from survey_demo()
    yield from ("", bullets(["To ask it in your browser, or from psql: make serve, which is tacit serve."]))


def _question(turn: Turn) -> Padding:
    offer = ", ".join(f"{name} = {value:g}" for name, value in turn.offer.items())
    return Padding(Text.assemble((turn.sql, "cyan"), (f"   [{offer}]", "dim")), (0, 0, 0, 4))


def _answer(turn: Turn) -> Any:
    """The answer; beside it the truth, which only a demo may show."""
    if turn.answer is None:
        return Text(f"tacit: {turn.refused}", style="red")
    names, cells, right = turn.answer.table.column_names, turn.answer.cells(), set(turn.answer.intervals)
    for name, values in (turn.truth or {}).items():
        place = names.index(name) + 1
        names = [*names[:place], f"(true {name})", *names[place:]]
        cells = [[*row[:place], number(round(float(v), 2)), *row[place:]] for row, v in zip(cells, values, strict=True)]
        right.add(f"(true {name})")
    return table_of(names, cells, right=right)


def _left(turn: Turn, limit: float) -> Text:
    """How much ε is left, as a bar."""
    have = float(turn.left.epsilon or 0)
    gauge = bar(round(WIDTH * have / limit) if limit else 0, "green")
    return Text.assemble("budget ", gauge, f" ε = {have:.4g} is left\n")
