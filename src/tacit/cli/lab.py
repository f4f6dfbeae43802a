"""`tacit lab`: every attack, and two audits, on one page."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from fractions import Fraction
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tacit.attack import ATTACKS, attack_named, staged
from tacit.base import whole
from tacit.cli.bar import bar
from tacit.cli.options import Seed
from tacit.cli.screen import down, page, reported

if TYPE_CHECKING:  # a report needs Altair, which the rest of the command line does without
    from tacit.plot.report import Section

__all__ = ["audited", "register", "sections"]

USUAL = Path("tacit-lab.html")
PROCESSES = 2
SURE = "0.99999"  # one page in a hundred thousand accuses the right noise
AUDITS = {"honest": "The right noise passes an audit", "half": "Half the noise is caught by an audit"}
SLOWEST = ("canary-exposure", "reconstruction", "frequencies", "microdata")  # begun first, so that none is left to last
LEAD = (
    "Each attack ran twice on data made up for this page: on what is commonly published, and on tacit's release of the "
    "same thing. What counts is how far the second stays from the first, and how near it is to chance.",
    "Private is not the same as silent: differential privacy limits how much better than chance anybody can do, and "
    "what is measured here stays within that limit.",
)

Page = Annotated[Path, typer.Option("--html", metavar="FILE", help="The page to write.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(lab)


def lab(html: Page = USUAL, seed: Seed = "1") -> None:
    """Run every attack on made-up data, and audits of right and of half noise, and write one page with the pictures.

    Takes about a minute.
    """
    page(html)
    number = whole(seed, "--seed")
    names = [attack.name for attack in ATTACKS]
    found: dict[str, Section] = {}
    with bar("in the laboratory") as told:
        for name, section in sections([*names, *AUDITS], seed=number):
            found[name] = section
            told(len(found) / (len(names) + len(AUDITS)), f"done: {section.title}")
    from tacit.plot.report import report, write_report

    ordered = [found[name] for name in (*names, *AUDITS)]
    contents = ("attack", "undefended", "tacit", "chance")
    write_report(report("The laboratory of tacit", lead=LEAD, sections=ordered, contents=contents), html)
    reported(Console(), html, quiet=False)


def sections(
    names: Sequence[str], *, seed: int, sizes: dict[str, dict[str, Any]] | None = None
) -> "Iterator[tuple[str, Section]]":
    """Each name with its section, as they are done, in as many processes as there are cores, at most two.

    `sizes` are options of the stages, for whoever is in a hurry.
    """
    order = sorted(names, key=lambda name: SLOWEST.index(name) if name in SLOWEST else len(SLOWEST))
    options = sizes or {}
    with ProcessPoolExecutor(min(PROCESSES, cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        asked: dict[Future[Section], str] = {
            pool.submit(_section, name, seed, options.get(name, {})): name for name in order
        }
        try:
            for done in as_completed(asked):
                yield asked[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _section(name: str, seed: int, options: dict[str, Any]) -> "Section":
    from tacit.cli.sections import of_outcome

    if name in AUDITS:
        return audited(name, **options)
    return of_outcome(staged(name, seed=seed, **options), attack_named(name).title)


def audited(name: str, *, samples: int = 100_000) -> "Section":
    """Laplace noise for ε = 1, or half of it, against the claim that it is 1."""
    from tacit.auditor import audit
    from tacit.cli.sections import of_verdict
    from tacit.mechanism import Laplace

    scale = Fraction(1) if name == "honest" else Fraction(1, 2)
    noise = Laplace(scale=scale, granularity=Fraction(1, 1024))
    verdict = audit(noise, 1, neighbours=(0, 1), samples=samples, confidence=SURE)
    said = f"{verdict.status}, ε ≥ {down(verdict.epsilon, 3)}"
    row = ("", said, "") if name == "honest" else (said, "", "")
    return replace(of_verdict(verdict, AUDITS[name]), row=row)
