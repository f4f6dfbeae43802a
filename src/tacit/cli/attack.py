"""`tacit attack`: what breaks releases that are not defended, on made-up data and on files of the user's."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from fractions import Fraction
from math import inf, isinf
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.text import Text

from tacit.attack import ATTACKS, Outcome, attack_named, staged
from tacit.base import InputError, whole
from tacit.cli import screen
from tacit.cli.options import Html, Json, Picture, Seed, argument, flag, option
from tacit.cli.screen import announce, bar, bullets, check_outputs, columns, down, facts, percent, print_json, reach

if TYPE_CHECKING:  # a report needs Altair, which the rest of the command line does without
    from tacit.plot.report import Section

__all__ = ["anonymity", "audit_section", "lab", "link", "list_attacks", "risk", "run", "sections"]

LAB = Path("tacit-lab.html")
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

Name = Annotated[str, argument("NAME", "One of `tacit attack list`.", show_default=False)]
Page = Annotated[Path, option("--html", "FILE", "The page to write.")]
Columns = Annotated[str, option("--quasi", "A,B,…", "Columns that an outsider may know.")]
Sensitive = Annotated[str | None, option("--sensitive", "COLUMN", "The secret; without it only k is measured.")]
Ordered = Annotated[bool, flag("--ordered", "The secret's values lie on a line: t by distance on it.")]
Shown = Annotated[Path, argument("FILE", "A released table: CSV or Parquet.", show_default=False)]
Released = Annotated[Path, argument("RELEASED", "The released table.", show_default=False)]
Original = Annotated[Path, argument("ORIGINAL", "The people it was made from: CSV or Parquet.", show_default=False)]
Control = Annotated[Path, option("--control", "FILE", "As many people of the same kind it was not made from.")]
Secrets = Annotated[str | None, option("--secrets", "A,B,…", "Columns to infer from the rest. Default: all.")]
Attempts = Annotated[str, option("--attempts", "COUNT", "People attacked in either table.")]
Register = Annotated[Path, argument("REGISTER", "A table that has names, such as a voter list.", show_default=False)]
On = Annotated[str, option("--on", "A,B,…", "Columns that both tables have.")]


def list_attacks(as_json: Json = False) -> None:
    """Every attack that `tacit attack run` knows."""
    console = Console()
    if as_json:
        rows = [{"name": each.name, "title": each.title, "page": each.page} for each in ATTACKS]
        print_json(console, {"attacks": rows})
        return
    table = columns("attack", "what it shows")
    for each in ATTACKS:
        table.add_row(Text(each.name, style="bold"), Text(each.title))
    console.print(table)


def run(name: Name, seed: Seed = "1", plot: Picture = None, html: Html = None, as_json: Json = False) -> None:
    """Stage an attack on made-up data: on what others would publish, and on tacit's release of the same.

    Example: tacit attack run linkage --html linkage.html
    """
    attack, number = attack_named(name), whole(seed, "--seed")
    check_outputs(plot=plot, html=html)
    with bar(attack.title) as tell:
        outcome = staged(name, seed=number, progress=tell)
    console = Console()
    if as_json:
        print_json(console, outcome.json())
    else:
        _show(console, outcome, attack.page)
    if plot is not None:
        outcome.plot(plot)
        announce(console, "picture", plot, quiet=as_json)
    if html is not None:
        from tacit.plot.report import report, write_report

        write_report(report(attack.title, lead=(), sections=[screen.outcome_section(outcome)]), html)
        announce(console, "report", html, quiet=as_json)


def _show(console: Console, outcome: Outcome, where: str) -> None:
    console.print(Text(outcome.headline, style="bold"))
    table = columns("against", "success", "95 % interval")
    for style, side in (("yellow", outcome.undefended), ("cyan", outcome.defended)):
        table.add_row(Text(side.against, style=style), percent(side.success), reach(side))
    table.add_row(Text("chance, without any release", style="dim"), percent(outcome.chance), "")
    console.print(table)
    console.print(bullets([f"success: {outcome.measure}", *outcome.remarks, f"more: {where}"]))


# --- the lab: all of them, and two audits, on one page


def lab(html: Page = LAB, seed: Seed = "1") -> None:
    """Run every attack on made-up data, and audits of right and of half noise, and write one page with the pictures.

    Takes about a minute.

    Example: tacit attack lab --html lab.html
    """
    check_outputs(html=html)
    number = whole(seed, "--seed")
    names = [attack.name for attack in ATTACKS]
    found: dict[str, Section] = {}
    with bar("in the laboratory") as tell:
        for name, section in sections([*names, *AUDITS], seed=number):
            found[name] = section
            tell(len(found) / (len(names) + len(AUDITS)), f"done: {section.title}")
    from tacit.plot.report import report, write_report

    ordered = [found[name] for name in (*names, *AUDITS)]
    contents = ("attack", "undefended", "tacit", "chance")
    write_report(report("The laboratory of tacit", lead=LEAD, sections=ordered, contents=contents), html)
    announce(Console(), "report", html, quiet=False)


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
    if name in AUDITS:
        return audit_section(name, **options)
    return screen.outcome_section(staged(name, seed=seed, **options), attack_named(name).title)


def audit_section(name: str, *, samples: int = 100_000) -> "Section":
    """Laplace noise for ε = 1, or half of it, against the claim that it is 1."""
    from tacit.auditor import audit
    from tacit.mechanism import Laplace

    scale = Fraction(1) if name == "honest" else Fraction(1, 2)
    noise = Laplace(scale=scale, granularity=Fraction(1, 1024))
    verdict = audit(noise, 1, neighbours=(0, 1), samples=samples, confidence=SURE)
    said = f"{verdict.status}, ε ≥ {down(verdict.epsilon, 3)}"
    row = ("", said, "") if name == "honest" else (said, "", "")
    return replace(screen.verdict_section(verdict, AUDITS[name]), row=row)


# --- files of the user's


def anonymity(
    file: Shown, quasi: Columns, sensitive: Sensitive = None, ordered: Ordered = False, as_json: Json = False
) -> None:
    """How anonymous a table claims to be: k, l and t, and how much it gives away all the same.

    Example: tacit attack anonymity released.csv --quasi zip,age,sex --sensitive diagnosis
    """
    from tacit.attack.anonymity import measure
    from tacit.attack.homogeneity import homogeneity

    if ordered and sensitive is None:
        raise InputError("--ordered speaks of the secret: name its column with --sensitive")
    with bar("measuring"):
        table, names = _read(file, "FILE"), _names(quasi, "--quasi")
        found = measure(table, names, sensitive, ordered=ordered)
        certain = None if sensitive is None else float(homogeneity(table, names, sensitive).share())
    console = Console()
    if as_json:
        print_json(console, {**_finite(vars(found)), "certain": certain})
        return
    lines: dict[str, str | Text] = {
        "rows": f"{found.rows:,} in {found.classes:,} classes that look alike; {found.unique:,} rows are alone",
        "k": f"{found.k}",
    }
    if sensitive is not None:
        least = found.recursive or 0.0
        above = "no c" if isinf(least) else f"every c above {least:.4g}"
        level = f"recursive (c, {found.order}) for {above}"
        lines["l"] = f"distinct {found.distinct}, entropy {found.entropy:.3f}, {level}"
        lines["t"] = f"{found.t:.3f}" + (" (by distance)" if ordered else " (values equal or not)")
        lines["certain"] = f"the secret of {percent(certain or 0.0)} of the rows: their class has no other"
    facts(console, lines)
    console.print(bullets(["none of these numbers is a promise against what an outsider knows: docs/attacks"]))


def risk(
    original: Original,
    released: Released,
    control: Control,
    secrets: Secrets = None,
    attempts: Attempts = "500",
    seed: Seed = "1",
    as_json: Json = False,
) -> None:
    """How risky an anonymised or synthetic table is for the people it was made from.

    Example: tacit attack risk original.csv released.csv --control others.csv
    """
    from tacit.attack.risk import Risk, risk_report

    wanted = None if secrets is None else _names(secrets, "--secrets")
    tries, number = whole(attempts, "--attempts", least=1), whole(seed, "--seed")
    with bar("attacking") as tell:
        found = risk_report(
            _read(released, "RELEASED"),
            _read(original, "ORIGINAL"),
            _read(control, "--control"),
            secrets=wanted,
            attempts=tries,
            seed=number,
            progress=tell,
        )
    risks: dict[str, Risk] = {
        "singling out": found.singling_out,
        "linking": found.linkability,
        "inferring": found.inference,
    }
    console = Console()
    if as_json:
        rows: dict[str, Any] = {name.replace(" ", "_"): vars(each) for name, each in risks.items()}
        print_json(console, rows | {"secrets": {name: vars(each) for name, each in found.secrets.items()}})
        return
    table = columns("risk of", "value", "95 % interval", "in the table", "others")
    for name, each in (*risks.items(), *((f"  inferring {name}", each) for name, each in found.secrets.items())):
        covers = f"{percent(each.low)} to {percent(each.high)}"
        table.add_row(Text(name), percent(each.value), covers, percent(each.attacked), percent(each.control))
    console.print(table)
    console.print(
        bullets(["0 % is no worse than not being in the table, 100 % is to be given away: docs/attacks/risk.md"])
    )


def link(released: Released, register: Register, on: On, as_json: Json = False) -> None:
    """How many rows of a table without names get one from a table that has them.

    Example: tacit attack link patients.csv voters.csv --on zip,birth_date,sex
    """
    from tacit.attack.linkage import link as linked
    from tacit.attack.linkage import uniqueness

    names = _names(on, "--on")
    with bar("linking"):
        shown = _read(released, "RELEASED")
        found = linked(shown, _read(register, "REGISTER"), names)
        alone = uniqueness(shown, names)
    rows, named = len(found.row), int((found.row >= 0).sum())
    console = Console()
    if as_json:
        print_json(console, {"rows": rows, "named": named, "share": found.share, "alone": alone})
        return
    lines: dict[str, str | Text] = {
        "named": f"{named:,} of {rows:,} rows ({percent(found.share)}) fit one row of the register and no other",
        "alone": f"{percent(alone)} of the released rows are alone with their {', '.join(names)}",
    }
    facts(console, lines)
    console.print(bullets(["a name is right if the person of that row is in the register: docs/attacks/linkage.md"]))


def _read(path: Path, name: str) -> Any:
    from tacit.attack.hierarchy import table_of

    return table_of(path, name)


def _names(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f'{option} "{text}" has an empty name: write {option} zip,age,sex')
    return names


def _finite(found: dict[str, Any]) -> dict[str, Any]:
    """For JSON, which has no infinity: an unlimited number is null."""
    return {name: None if value == inf else value for name, value in found.items()}
