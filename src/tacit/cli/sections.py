"""Outcomes and verdicts as sections of an HTML report. Imports Altair: to be imported when a report is wanted."""

from tacit.attack import Attempt, Outcome
from tacit.auditor import Verdict
from tacit.cli.screen import down
from tacit.cli.shares import percent, reach
from tacit.plot.report import Section, Table, pictured

__all__ = ["of_outcome", "of_verdict"]


def of_outcome(outcome: Outcome, title: str | None = None) -> Section:
    """Both attempts, beside chance, with the picture; `title` in place of the outcome's own headline."""
    sides = (outcome.undefended, outcome.defended)
    said = [f"{side.against}: {percent(side.success)}" for side in sides]
    shown = (
        f"{outcome.headline}. Picture of the {outcome.measure}. {'; '.join(said)}; chance: {percent(outcome.chance)}."
    )
    return Section(
        title=title or outcome.headline,
        lines=(f"Success: {outcome.measure}.",),
        picture=pictured(outcome.draw(), shown),
        table=Table(
            ("against", "success", "95 % interval"),
            (*(_attempt(side) for side in sides), ("chance, without any release", percent(outcome.chance), "")),
        ),
        remarks=outcome.remarks,
        row=(*(percent(side.success) for side in sides), percent(outcome.chance)),
    )


def of_verdict(verdict: Verdict, title: str | None = None) -> Section:
    """The verdict in words, the picture, and the numbers behind it."""
    first, *rest = str(verdict).splitlines()
    shown = (
        f"Outputs of {verdict.target} under both neighbours. Claimed epsilon {verdict.claimed:.4g}, certified at least "
        f"{down(verdict.epsilon, 4)}: {verdict.status}."
    )
    rows = (
        ("claimed ε", f"{verdict.claimed:.4g}"),
        ("at δ", f"{verdict.delta:.3g}"),
        ("certified: ε is at least", down(verdict.epsilon, 4)),
        ("confidence", f"{verdict.confidence:.4g}"),
        ("samples a side, in all", f"{verdict.samples:,}"),
    )
    return Section(
        title=title or f"{verdict.target}: {verdict.status}",
        lines=(f"{first[0].upper()}{first[1:]}.",),
        picture=pictured(verdict.plot(), shown),
        table=Table(("what", "value"), rows),
        remarks=tuple(rest),
    )


def _attempt(side: Attempt) -> tuple[str, str, str]:
    return side.against, percent(side.success), reach(side)
