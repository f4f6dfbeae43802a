"""How often tacit's 95 % intervals hold the truth: over the data of the accuracy benchmark, from ε = 0.1 to 4, with
clips that tacit finds (by a profile too) and with one that is declared.

An interval says what it covers (`Release.covers`): the truth, the truth from below alone (its lower end), or only
the noise. The first two must hold the truth as often as they say; of the third it is shown how often it does, since
what was clipped comes on top. `python -m bench.coverage` does the same, with options.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import mean, median

from rich.console import Console
from rich.table import Table

from bench.accuracy_data import made
from bench.accuracy_page import PAGE, rewrite
from bench.accuracy_questions import QUESTIONS, SalesQuestion, truth
from bench.accuracy_table import SIGNS
from bench.accuracy_tacit import CURRENCIES, Way, releases, ways
from tacit.base import TacitError
from tacit.desk import TableRelease
from tacit.engine.duckdb import DuckDBEngine

__all__ = ["COUNT", "CoverageResult", "run"]

EPSILONS, DELTA = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(4)), Fraction(1, 10**6)
SHAPES = ("skewed", "even", "concentrated")
TRIALS, CONFIDENCE = 40, 0.95
FEWER, LEAST = 5, 4  # times fewer trials by groups, each of which has an interval; at least so many
SLACK = 3.0  # standard deviations of chance, of trials that are all alike inside
ASKED = tuple(question for question in QUESTIONS if question.shape in SHAPES)
COUNT = len(ASKED)
SAID = {"truth": "the truth", "least": "at least", "noise": "noise only"}
CLIPS = {"default": "found", "declared": "declared", "profile": "by a profile", "shared": "by a shared profile"}


@dataclass(frozen=True)
class CoverageResult:
    """Of the intervals of one question in one way: what they say that they cover, and how many do."""

    shape: str
    question: str
    way: str
    currency: str
    epsilon: float
    of: str
    held: int
    intervals: int
    trials: int
    width: float | None  # the median, as a share of the truth; None where there is no upper end

    @property
    def share(self) -> float:
        return self.held / self.intervals

    @property
    def met(self) -> bool | None:
        """None where nothing is said about the truth."""
        if self.of == "noise":
            return None
        return self.share >= CONFIDENCE - SLACK * sqrt(CONFIDENCE * (1 - CONFIDENCE) / self.trials)


def measured(
    question: SalesQuestion, way: Way, epsilon: Fraction, data: Path, engine: DuckDBEngine, trials: int
) -> Iterator[CoverageResult]:
    """One result for each thing that an interval said it covers."""
    known = truth(question, data)
    held: dict[str, list[tuple[bool, float | None]]] = {}
    turns: dict[str, int] = {}
    for release in releases(question, way, data, engine, epsilon=epsilon, delta=DELTA, trials=trials):
        if "x" not in release.intervals:
            continue
        said = release.covers("x").of
        turns[said] = turns.get(said, 0) + 1
        held.setdefault(said, []).extend(_checked(release, question, known))
    for of, ones in held.items():
        if ones:
            widths = [width for _, width in ones if width is not None]
            yield CoverageResult(
                question.shape,
                question.name,
                way.name,
                way.currency,
                float(epsilon),
                of,
                sum(inside for inside, _ in ones),
                len(ones),
                turns[of],
                median(widths) if widths else None,
            )


def _checked(
    release: TableRelease, question: SalesQuestion, known: Mapping[str, float]
) -> Iterator[tuple[bool, float | None]]:
    """Of each group that is shown: whether its interval holds the truth, and its width as a share of that."""
    answer = release.table.to_pydict()
    keys = [str(key) for key in answer["k"]] if question.by else [""]
    for key, low, high in zip(keys, *release.intervals["x"], strict=True):
        if low is None and high is None:
            continue
        exact = known.get(key, 0.0)
        below = high is None or exact <= high or release.covers("x").of == "least"  # which speaks of the lower end
        yield (
            (low is None or low <= exact) and below,
            None if low is None or high is None else (high - low) / max(abs(exact), 1.0),
        )


def run(
    tick: Callable[[str], None],
    trials: int = TRIALS,
    epsilons: Sequence[Fraction] = EPSILONS,
    currencies: Sequence[str] = CURRENCIES[:1],
    written: Path | None = None,
    page: Path | None = None,
    shapes: Sequence[str] = SHAPES,
    earlier: Sequence[CoverageResult] = (),
    asked: str = "",
) -> tuple[list[Table], bool]:
    """The table, and whether every interval that speaks of the truth holds it often enough; with what was measured
    `earlier` of other questions."""
    wanted = [question for question in ASKED if question.shape in shapes and re.search(asked, question.name)]
    known = {(question.shape, question.name) for question in wanted}
    found = [one for one in earlier if (one.shape, one.question) not in known]
    refused: dict[str, str] = {}
    for question in wanted:
        tick(question.label)
        data = made(question.shape)
        engine = DuckDBEngine({"sales": data})
        try:
            for way in ways(question):
                for epsilon in epsilons if way.currency in currencies else ():
                    try:
                        times = trials if question.by is None else max(LEAST, trials // FEWER)
                        found += measured(question, way, epsilon, data, engine, times)
                    except TacitError as failure:
                        refused[f"{question.label}, {way.name}, ε = {float(epsilon):g}"] = str(failure)
        finally:
            engine.close()
    if written is not None:
        written.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    if page is not None:
        rewrite(page, "coverage", markdown(found, epsilons, trials))
    return table(found, refused, epsilons, trials)


def read(places: Sequence[Path]) -> list[CoverageResult]:
    """What was written before."""
    return [CoverageResult(**line) for place in places for line in json.loads(place.read_text())]


def markdown(found: Sequence[CoverageResult], epsilons: Sequence[Fraction], trials: int) -> str:
    """For each clip and what its intervals say that they cover: the least and the mean share of a question."""
    lines = [
        f"{trials} trials of one number, {max(LEAST, trials // FEWER)} by groups, each of which has an interval; the "
        "mean over the questions of a table, and in brackets the least of any question with its number of intervals.",
        "",
        f"| data | clip | covers | questions | {' | '.join(f'ε = {float(one):g}' for one in epsilons)} |",
        f"|---|---|---|--:|{'--:|' * len(epsilons)}",
    ]
    for shape, way, currency, of in sorted({(one.shape, one.way, one.currency, one.of) for one in found}):
        ones = [one for one in found if (one.shape, one.way, one.currency, one.of) == (shape, way, currency, of)]
        cells = []
        for at in epsilons:
            here = [one for one in ones if one.epsilon == float(at)]
            least = min(here, key=lambda one: one.share, default=None)
            told = "" if least is None else f"{least.share:.1%} of {least.intervals:,}"
            cells.append(f"{mean(one.share for one in here):.1%} ({told})" if here else "–")
        asked = len({one.question for one in ones})
        head = f"{shape} | {CLIPS[way]}, in {SIGNS[currency]} | {SAID[of]} | {asked}"
        lines.append(f"| {head} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table(
    found: Sequence[CoverageResult], refused: Mapping[str, str], epsilons: Sequence[Fraction], trials: int
) -> tuple[list[Table], bool]:
    shown = Table(title=f"How often intervals of {CONFIDENCE:.0%} hold the truth ({trials} trials)")
    for column in ("data", "question", "clip", "covers", *(f"ε = {float(one):g}" for one in epsilons), "met"):
        shown.add_column(column, justify="right" if column.startswith("ε") else "left")
    lines = dict.fromkeys((one.shape, one.question, one.way, one.currency, one.of) for one in found)
    for line in lines:
        ones = {one.epsilon: one for one in found if (one.shape, one.question, one.way, one.currency, one.of) == line}
        verdicts = [one.met for one in ones.values() if one.met is not None]
        cells = (f"{ones[float(at)].share:.1%}" if float(at) in ones else "" for at in epsilons)
        met = "" if not verdicts else "yes" if all(verdicts) else "NO"
        shown.add_row(line[0], line[1], CLIPS[line[2]], SAID[line[4]], *cells, met)
    shown.caption = "; ".join(f"{where}: {why}" for where, why in refused.items())
    return [shown], all(one.met is not False for one in found)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=TRIALS)
    options.add_argument("--currencies", nargs="+", choices=CURRENCIES, default=CURRENCIES[:1])
    options.add_argument("--shapes", nargs="*", choices=SHAPES, default=SHAPES)
    options.add_argument("--asked", default="", help="only questions in whose name this regular expression is found")
    options.add_argument("--read", type=Path, nargs="+", default=[], help="numbers of other questions, written before")
    options.add_argument("--json", type=Path, help="where to write the numbers")
    options.add_argument("--page", type=Path, nargs="?", const=PAGE, help=f"the page to rewrite, by default {PAGE}")
    chosen, console = options.parse_args(), Console(width=max(Console().width, 140))
    shown, met = run(
        lambda what: console.print(what, style="dim"),
        chosen.trials,
        currencies=chosen.currencies,
        written=chosen.json,
        page=chosen.page,
        shapes=chosen.shapes,
        earlier=read(chosen.read),
        asked=chosen.asked,
    )
    for one in shown:
        console.print(one)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
