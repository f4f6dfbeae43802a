"""The results of the accuracy benchmark as tables and as a picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

import altair as alt
from rich.table import Table

from tacit.plot import page

__all__ = [
    "AHEAD",
    "COUNTED",
    "NEAR",
    "SIGNS",
    "AccuracyResult",
    "picture",
    "questions",
    "tables",
    "trials_of",
    "verdict",
]

COUNTED = 160  # columns of a terminal that the tables need
DOUBTS = 2.0  # standard errors that a ratio may be below its target by chance
AHEAD, NEAR = 1.0, 1 / 1.1  # targets: of a peer as a user sets it; of its best setting by the truth
SIGNS = {"epsilon": "ε", "rho": "ρ"}


@dataclass(frozen=True)
class AccuracyResult:
    """One way to answer one question: the root mean squared error and the processor seconds of one answer, or why there
    is none. `doubt` is the standard error of the error, as a share of it. `currency` is tacit's alone."""

    shape: str
    question: str
    system: str
    way: str
    currency: str
    setting: str
    error: float | None
    cpu: float
    trials: int
    doubt: float = 0.0
    cannot: str = ""

    @property
    def label(self) -> str:
        paid = f", in {SIGNS.get(self.currency, self.currency)}" if self.currency else ""
        return f"{self.system}, {self.way}{paid}"


def questions(found: Sequence[AccuracyResult]) -> Iterator[tuple[str, str, list[AccuracyResult]]]:
    for shape, question in dict.fromkeys((one.shape, one.question) for one in found):
        yield shape, question, [one for one in found if (one.shape, one.question) == (shape, question)]


def verdict(ours: AccuracyResult, theirs: Sequence[AccuracyResult | None], least: float) -> str:
    """Whether every ratio reaches its target: yes, NO, or chance where all that miss it do so within their doubt."""
    said = "yes"
    for one in theirs:
        if one is None or one.error is None or not ours.error or one.error / ours.error >= least:
            continue
        if one.error / ours.error * (1 + DOUBTS * hypot(one.doubt, ours.doubt)) < least:
            return "NO"
        said = "chance"
    return said


def trials_of(found: Sequence[AccuracyResult]) -> str:
    """How many trials there were of tacit and of each peer: of one number, and by groups, which have errors each."""
    alone = [one for one in found if " by " not in one.question]
    groups = [one for one in found if " by " in one.question]
    return f"of one number {_trials(alone)}; by groups {_trials(groups)}"


def _trials(found: Sequence[AccuracyResult]) -> str:
    told = []
    for system in dict.fromkeys(one.system for one in found):
        counts = [one.trials for one in found if one.system == system and one.error is not None]
        if counts:
            least, most = min(counts), max(counts)
            told.append(f"{system} {least}" if least == most else f"{system} {least} to {most}")
    return ", ".join(told)


def tables(found: Sequence[AccuracyResult], about: Mapping[str, Any]) -> tuple[list[Table], bool]:
    """Every way, the ratios to tacit's default, and what was left out; whether every target was met."""
    shown, good = ratios(found)
    missing = left_out(found)
    return [everything(found, about), shown, *([missing] if missing.row_count else [])], good


def everything(found: Sequence[AccuracyResult], about: Mapping[str, Any]) -> Table:
    table = Table(
        title=f"Root mean squared error at ε = {about['epsilon']:g}, δ = {about['delta']:g}, and processor time of one "
        f"answer ({about['people']:,} people; trials: {trials_of(found)})"
    )
    for column in ("data", "question", "way", "setting", "error", "processor s"):
        table.add_column(column, justify="right" if column in ("error", "processor s") else "left")
    for shape, question, ones in questions(found):
        for place, one in enumerate(ones):
            head = (shape, question) if place == 0 else ("", "")
            error = "–" if one.error is None else f"{one.error:,.4g}"
            time = "" if one.error is None else f"{one.cpu:.3f}"
            table.add_row(*head, one.label, one.setting, error, time, end_section=place == len(ones) - 1)
    return table


def ratios(found: Sequence[AccuracyResult]) -> tuple[Table, bool]:
    """A peer's error over that of tacit's default, in each currency; a target is met if one currency meets all rows."""
    systems = list(dict.fromkeys(one.system for one in found if one.system != "tacit"))
    currencies = list(dict.fromkeys(one.currency for one in found if one.system == "tacit"))
    table = Table(title="A peer's error ÷ that of tacit's default: as a user sets the peer / at its best by the truth")
    for column in ("data", "question", "tacit's default", "error", *systems, "ahead", "near the best"):
        table.add_column(column, justify="left" if column in ("data", "question", "tacit's default") else "right")
    good = dict.fromkeys(currencies, True)
    for shape, question, ones in questions(found):
        known = {(one.system, one.way, one.currency): one for one in ones}
        for place, currency in enumerate(currencies):
            ours = known.get(("tacit", "default", currency))
            if ours is None or not ours.error:
                continue
            cells = [
                " / ".join(_over(known.get((system, way, "")), ours.error) for way in ("picked", "best"))
                for system in systems
            ]
            verdicts = [
                verdict(ours, [known.get((system, way, "")) for system in systems], least)
                for way, least in (("picked", AHEAD), ("best", NEAR))
            ]
            good[currency] &= "NO" not in verdicts
            head = (shape, question) if place == 0 else ("", "")
            table.add_row(*head, f"in {SIGNS.get(currency, currency)}", f"{ours.error:,.4g}", *cells, *verdicts)
    table.caption = (
        "above 1, tacit is nearer to the truth; targets: at least 1, and at least 0.91 of the best; "
        "chance: below, but by less than two standard errors of the ratio"
    )
    return table, any(good.values())


def _over(theirs: AccuracyResult | None, ours: float) -> str:
    return "–" if theirs is None or theirs.error is None else f"{theirs.error / ours:.2f}"


def left_out(found: Sequence[AccuracyResult]) -> Table:
    table = Table(title="Left out")
    for column in ("way", "why", "questions"):
        table.add_column(column)
    why: dict[tuple[str, str], list[str]] = {}
    for one in found:
        if one.cannot:
            why.setdefault((one.label, one.cannot), []).append(f"{one.shape}: {one.question}")
    for (label, reason), asked in why.items():
        table.add_row(label, reason, "; ".join(asked) if len(asked) < 4 else f"{len(asked)} questions")
    return table


def picture(found: Sequence[AccuracyResult], about: Mapping[str, Any]) -> alt.VConcatChart:
    """How many times the error of tacit's default each peer has, a point for each setting; ε or ρ, as is better."""
    rows = []
    for shape, question, ones in questions(found):
        own = [one.error for one in ones if one.system == "tacit" and one.way == "default" and one.error]
        if own:
            rows += [
                {
                    "data": shape,
                    "question": f"{shape}: {question}",
                    "peer": one.system,
                    "setting": {"picked": "as a user sets it", "best": "at its best, by the truth"}[one.way],
                    "times": one.error / min(own),
                }
                for one in ones
                if one.system != "tacit" and one.error
            ]
    drawn = alt.Chart(alt.InlineData(values=rows))
    points = drawn.mark_point(size=55, strokeWidth=2).encode(
        x=alt.X(
            "times:Q",
            title="the peer's error ÷ that of tacit's default: right of 1, tacit is nearer to the truth",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100], format="~g"),
        ),
        y=alt.Y("question:N", sort=None, title=None, axis=alt.Axis(labelLimit=320, grid=True)),
        color=alt.Color("peer:N", title=None, sort=None, legend=alt.Legend(orient="bottom")),
        shape=alt.Shape(
            "setting:N",
            title=None,
            sort=None,
            scale=alt.Scale(range=["circle", "cross"]),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    one: list[dict[str, float]] = [{"times": 1.0}]
    rule = alt.Chart(alt.InlineData(values=one)).mark_rule(color="#444", strokeDash=[4, 4]).encode(x="times:Q")
    chart = (rule + points).properties(width=520, height=alt.Step(20))
    told = (
        f"root mean squared error at ε = {about['epsilon']:g}, δ = {about['delta']:g}; tacit with nothing declared, "
        "in ε or ρ, as is better"
    )
    return page([[chart]], title="Error of four peers beside tacit's default, at the same price", subtitle=told)
