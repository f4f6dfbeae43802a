"""How far answers about people are from the truth at equal (ε, δ), and what they take: tacit beside its peers.

OpenDP, Tumult Analytics, PipelineDP and SmartNoise are run themselves, each in an environment of its own (made once, by
bench/peers/install.py; one that does not install is left out with a line that says why). Each has a setting that a user
would pick without looking, and the best of a grid, chosen by the truth (bench/accuracy_choice.py). tacit is asked with
nothing declared, with a profile, with a declared clip, and with the best clip by the truth; the whole price is counted.

`python -m bench.accuracy --json bench/accuracy.json --picture docs/images/accuracy.svg --page` writes the numbers, the
picture and the page of the documentation; with `--read bench/accuracy.json` instead of `--json`, nothing is run, and
with `--again bench/accuracy.json` only what `--asked`, `--ways` and `--peers` say: the rest stays as it is in the file.
What peers answered is kept beside the data and used again: `--fresh` asks them anew.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.accuracy_choice import best, picked
from bench.accuracy_data import AMOUNT, PEOPLE, SHAPES, made
from bench.accuracy_page import PAGE, markdown, rewrite
from bench.accuracy_peers import PeerTask, answered
from bench.accuracy_questions import QUESTIONS, SalesQuestion, truth
from bench.accuracy_table import COUNTED, AccuracyResult, picture, tables
from bench.accuracy_tacit import doubt_of, error_of, measure, tuned, ways
from bench.peers.install import PEERS
from tacit.engine.duckdb import DuckDBEngine
from tacit.plan.price import rho_of
from tacit.plot import write

__all__ = ["COUNT", "Plan", "run"]

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
TRIALS, OURS = 20, 40  # of a peer; of tacit, where they are cheap
WAYS = ("default", "declared", "profile", "shared")
AT_ONCE = 2  # peers that are run side by side: processor time is what is told
COUNT = len(QUESTIONS) * (1 + 2 * len(PEERS))


@dataclass(frozen=True)
class Plan:
    """What is run: all of it, unless told otherwise."""

    trials: int = TRIALS
    ours: int = OURS
    people: int = PEOPLE
    shapes: Sequence[str] = SHAPES
    peers: Sequence[str] = tuple(PEERS)
    fresh: bool = False
    ways: Sequence[str] = WAYS
    asked: str = ""  # only questions in whose name this regular expression is found

    def questions(self, shape: str) -> tuple[SalesQuestion, ...]:
        return tuple(
            question for question in QUESTIONS if question.shape == shape and re.search(self.asked, question.name)
        )


def own(plan: Plan, shape: str, tick: Callable[[str], None], *, search: bool = True) -> Iterator[AccuracyResult]:
    """tacit's results for one file; the best clip by the truth only with a `search` for it."""
    data = made(shape, plan.people)
    engine = DuckDBEngine({"sales": data})
    try:
        for question in plan.questions(shape):
            tick(f"{question.label}, tacit")
            known = truth(question, data)
            asked = [way for way in ways(question) if way.name in plan.ways]
            if search and shape != "single":
                asked.append(tuned(question, data, engine, known, epsilon=EPSILON, delta=DELTA))
            for way in asked:
                found = measure(question, way, data, engine, epsilon=EPSILON, delta=DELTA, trials=plan.ours)
                told = (shape, question.name, "tacit", way.name, way.currency, way.told)
                yield _measured(told, _clamped(question, found.answers), known, found.cpu, found.cannot)
    finally:
        engine.close()


def others(plan: Plan, shape: str, tick: Callable[[str], None]) -> Iterator[AccuracyResult]:
    """The results of the peers for one file; a best setting is never worse than the one that was picked."""
    data = made(shape, plan.people)
    asked = [list(tasks(plan, name, shape, data)) for name in plan.peers]

    def results(all_of_it: Sequence[PeerTask]) -> dict[tuple[SalesQuestion, str], AccuracyResult]:
        pairs = answered(all_of_it, data, tick, fresh=plan.fresh)
        return {(task.question, task.way): _result(task, result, data) for task, result in pairs}

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for found in pool.map(results, asked):
            for question in plan.questions(shape):
                one = found[question, "picked"]
                two = found.get((question, "best"), one)
                yield one
                errors = [other for other in (two, one) if other.error is not None]
                chosen = min(errors, key=lambda other: other.error or 0.0) if errors else two
                yield replace(chosen, way="best")


def tasks(plan: Plan, name: str, shape: str, data: Path) -> Iterator[PeerTask]:
    """What a peer is asked of one file; once, where the best setting is the one that was picked."""
    rho = float(rho_of(EPSILON, DELTA))
    for question in plan.questions(shape):
        pick = picked(name, question)
        yield PeerTask(question, name, "picked", pick, plan.trials, EPSILON, DELTA)
        tried = best(name, question, data, epsilon=float(EPSILON), delta=float(DELTA), rho=rho)
        if tried != pick:
            yield PeerTask(question, name, "best", tried, plan.trials, EPSILON, DELTA)


def _result(task: PeerTask, result: Mapping[str, Any], data: Path) -> AccuracyResult:
    question = task.question
    told = (question.shape, question.name, PEERS[task.peer].name, task.way, "", task.setting.told(question))
    answers = _clamped(question, result.get("answers", []))
    cpu, cannot = result.get("cpu", 0.0), str(result.get("cannot", ""))
    return _measured(told, answers, truth(question, data), cpu, cannot)


def _clamped(question: SalesQuestion, answers: list[dict[str, float]]) -> list[dict[str, float]]:
    """Averages and medians within the declared range, as anybody would who is told of a mean beyond it."""
    if question.aggregate not in ("avg", "median"):
        return answers
    return [{key: min(max(value, 0.0), AMOUNT) for key, value in one.items()} for one in answers]


def _measured(
    told: tuple[str, str, str, str, str, str],
    answers: list[dict[str, float]],
    known: Mapping[str, float],
    cpu: float,
    cannot: str,
) -> AccuracyResult:
    if cannot:
        return AccuracyResult(*told, None, 0.0, 0, cannot=cannot)
    return AccuracyResult(*told, error_of(answers, known), cpu, len(answers), doubt_of(answers, known))


def run(
    tick: Callable[[str], None],
    plan: Plan | None = None,
    written: Path | None = None,
    drawn: Path | None = None,
    page: Path | None = None,
) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    plan = plan or Plan()
    found: list[AccuracyResult] = []
    for shape in plan.shapes:
        found += own(plan, shape, tick)
        found += others(plan, shape, tick)
    about = {
        "epsilon": float(EPSILON),
        "delta": float(DELTA),
        "people": plan.people,
        "measured": datetime.now(UTC).date().isoformat(),
        "versions": {peer.name: peer.version for peer in PEERS.values()},
    }
    if written is not None:
        written.write_text(json.dumps({"about": about, "results": [asdict(one) for one in found]}, indent=1) + "\n")
    return told(about, found, drawn, page)


def again(
    tick: Callable[[str], None], plan: Plan, kept: Path, drawn: Path | None, page: Path | None
) -> tuple[list[Table], bool]:
    """The same with what the plan says measured anew, and all else as it was written before; the file has both then."""
    stored = json.loads(kept.read_text())
    found = {_name(one): one for one in (AccuracyResult(**line) for line in stored["results"])}
    for shape in plan.shapes:
        found |= {_name(one): one for one in own(plan, shape, tick, search=False)}
        found |= {_name(one): one for one in others(plan, shape, tick)}
    about = {**stored["about"], "measured": datetime.now(UTC).date().isoformat()}
    kept.write_text(json.dumps({"about": about, "results": [asdict(one) for one in found.values()]}, indent=1) + "\n")
    return told(about, list(found.values()), drawn, page)


def _name(one: AccuracyResult) -> tuple[str, ...]:
    return (one.shape, one.question, one.system, one.way, one.currency)


def told(
    about: Mapping[str, Any], found: Sequence[AccuracyResult], drawn: Path | None, page: Path | None
) -> tuple[list[Table], bool]:
    if page is not None:
        rewrite(page, "accuracy", markdown(found, about))
    if drawn is not None:
        write(picture(found, about), drawn)
    return tables(found, about)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path, help="where to write the numbers")
    options.add_argument("--read", type=Path, help="show numbers that were written before, and run nothing")
    options.add_argument(
        "--again", type=Path, help="measure anew what is asked for, and keep the rest of what was written"
    )
    options.add_argument("--picture", type=Path, help="where to draw them, such as docs/images/accuracy.svg")
    options.add_argument("--page", type=Path, nargs="?", const=PAGE, help=f"the page to rewrite, by default {PAGE}")
    options.add_argument("--trials", type=int, default=TRIALS, help="of each peer")
    options.add_argument("--ours", type=int, default=OURS, help="trials of tacit")
    options.add_argument("--people", type=int, default=PEOPLE)
    options.add_argument("--shapes", nargs="+", choices=SHAPES, default=SHAPES)
    options.add_argument("--peers", nargs="*", choices=tuple(PEERS), help="by default all; with --again none")
    options.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS, help="of how much a person may do")
    options.add_argument("--asked", default="", help="only questions in whose name this regular expression is found")
    options.add_argument("--fresh", action="store_true", help="ask peers again whose answers are known")
    chosen, console = options.parse_args(), Console(width=max(Console().width, COUNTED))
    if chosen.read is not None:
        stored = json.loads(chosen.read.read_text())
        shown, met = told(
            stored["about"], [AccuracyResult(**one) for one in stored["results"]], chosen.picture, chosen.page
        )
        return _shown(console, shown, met)
    peers = tuple(PEERS) if chosen.peers is None and chosen.again is None else chosen.peers or ()
    plan = Plan(
        chosen.trials, chosen.ours, chosen.people, chosen.shapes, peers, chosen.fresh, chosen.ways, chosen.asked
    )

    def tick(what: str) -> None:
        console.print(what, style="dim")

    if chosen.again is not None:
        return _shown(console, *again(tick, plan, chosen.again, chosen.picture, chosen.page))
    return _shown(console, *run(tick, plan, chosen.json, chosen.picture, chosen.page))


def _shown(console: Console, shown: Sequence[Table], met: bool) -> int:
    for table in shown:
        console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
