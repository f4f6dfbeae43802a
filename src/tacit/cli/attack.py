"""`tacit attack`: what breaks releases that are not defended, on made-up data and on files of the user's."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, isinf
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Column
from rich.text import Text

from tacit.attack import ATTACKS, attack_named, staged
from tacit.attack.population import table_of
from tacit.base import InputError, whole
from tacit.base.bar import progress_bar
from tacit.cli import screen as s
from tacit.cli.options import Html, Json, Picture, Seed, argument, flag, option

if TYPE_CHECKING:  # a report needs Altair, which the rest of the command line does without
    from tacit.plot.report import Section

__all__ = ["anonymity", "audit_section", "lab", "link", "list_attacks", "risk", "run", "sections"]

LAB = Path("tacit-lab.html")
PROCESSES = 2
SURE = "0.99999"  # one page in a hundred thousand accuses the right noise
AUDITS = {"honest": "The right noise passes an audit", "half": "Half the noise is caught by an audit"}
SLOWEST = (
    "canary-exposure",
    "membership-in-models",
    "gradient-leakage",
    "reconstruction",
    "frequencies",
    "microdata",
    "tracing",
)  # begun first, so that none is left to last
LEAD = (
    "Each attack ran twice on data made up for this page: on what is commonly published, and on tacit's release of the "
    "same thing. What counts is how far the second stays from the first, and how near it is to chance.",
    "Private is not the same as silent: differential privacy limits how much better than chance anybody can do about "
    "one unit, and what is measured here stays within that limit. What a release says about everybody it says of each "
    "of us, whether we took part or not: one section shows that, and there nothing is stopped.",
)

Name = Annotated[str, argument("NAME", "One of `tacit attack list`.")]
Page = Annotated[Path, option("FILE", "The page to write.")]
Columns = Annotated[str, option("A,B,…", "Columns that an outsider may know.")]
Sensitive = Annotated[str | None, option("COLUMN", "The secret; without it only k is measured.")]
Ordered = Annotated[bool, flag("--ordered", "The secret's values lie on a line: t by distance on it.")]
Shown = Annotated[Path, argument("FILE", "A released table: CSV or Parquet.")]
Released = Annotated[Path, argument("RELEASED", "The released table.")]
Register = Annotated[Path, argument("REGISTER", "A table that has names, such as a voter list.")]
On = Annotated[str, option("A,B,…", "Columns that both tables have.")]


def list_attacks(as_json: Json = False) -> None:
    """Every attack that `tacit attack run` knows."""
    s.output(
        as_json,
        {"attacks": [{"name": each.name, "title": each.title, "page": each.page} for each in ATTACKS]},
        s.table(
            Column("attack", style="bold"), Column("what it shows"), rows=[(each.name, each.title) for each in ATTACKS]
        ),
    )


def run(name: Name, seed: Seed = "1", plot: Picture = None, html: Html = None, as_json: Json = False) -> None:
    """Stage an attack on made-up data: on what others would publish, and on tacit's release of the same.

    Example: tacit attack run linkage --html linkage.html
    """
    attack, number = attack_named(name), whole(seed, "--seed")
    s.check_outputs(plot=plot, html=html)
    with progress_bar(attack.title) as tell:
        outcome = staged(name, seed=number, progress=tell)
    styles = ("yellow", "cyan", "dim")
    told = zip(styles, s.attempts(outcome), strict=True)
    rows = [(Text(name, style=style), success, covered) for style, (name, success, covered) in told]
    s.output(
        as_json,
        outcome.json(),
        Text(outcome.headline, style="bold"),
        s.table(Column("against"), *s.ATTEMPTS[1:], rows=rows),
        s.bullets([f"success: {outcome.measure}", *outcome.remarks, f"more: {attack.page}"]),
    )
    s.write_out("picture", plot, outcome.plot, quiet=as_json)
    s.write_out(
        "report", html, lambda path: s.write_page(path, attack.title, [s.outcome_section(outcome)]), quiet=as_json
    )


# --- the lab: all of them, and two audits, on one page


def lab(html: Page = LAB, seed: Seed = "1") -> None:
    """Run every attack on made-up data, and audits of right and of half noise, and write one page with the pictures.

    Takes some minutes, most of them to train models.

    Example: tacit attack lab --html lab.html
    """
    s.check_outputs(html=html)
    number = whole(seed, "--seed")
    names = [attack.name for attack in ATTACKS if attack.missing is None]
    left_out = [attack for attack in ATTACKS if attack.missing is not None]
    if left_out:
        called = ", ".join(attack.name for attack in left_out)
        s.output(False, None, s.bullets([f"left out, since {left_out[0].missing} is not installed: {called}"]))
    found: dict[str, Section] = {}
    with progress_bar("in the laboratory") as tell:
        for name, section in sections([*names, *AUDITS], seed=number):
            found[name] = section
            tell(len(found) / (len(names) + len(AUDITS)), f"done: {section.title}")
    ordered = [found[name] for name in (*names, *AUDITS)]
    contents = ("attack", "undefended", "tacit", "chance")
    page = partial(s.write_page, title="The laboratory of tacit", sections=ordered, lead=LEAD, contents=contents)
    s.write_out("report", html, page, quiet=False)


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
    return s.outcome_section(staged(name, seed=seed, **options), attack_named(name).title)


def audit_section(name: str, *, samples: int = 100_000) -> "Section":
    """Laplace noise for ε = 1, or half of it, against the claim that it is 1."""
    from tacit.auditor import audit
    from tacit.mechanism import Laplace

    scale = Fraction(1) if name == "honest" else Fraction(1, 2)
    noise = Laplace(scale=scale, granularity=Fraction(1, 1024))
    verdict = audit(noise, 1, neighbours=(0, 1), samples=samples, confidence=SURE)
    said = f"{verdict.status}, ε ≥ {s.down(verdict.epsilon, 3)}"
    row = ("", said, "") if name == "honest" else (said, "", "")
    return replace(s.verdict_section(verdict, AUDITS[name]), row=row)


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
    with progress_bar("measuring"):
        table, names = table_of(file, "FILE"), _names(quasi, "--quasi")
        found = measure(table, names, sensitive, ordered=ordered)
        certain = None if sensitive is None else float(homogeneity(table, names, sensitive).share())
    finite = {name: None if value == inf else value for name, value in vars(found).items()}  # JSON has no infinity
    lines = {
        "rows": f"{found.rows:,} in {found.classes:,} classes that look alike; {found.unique:,} rows are alone",
        "k": f"{found.k}",
    }
    if sensitive is not None:
        least = found.recursive or 0.0
        above = "no c" if isinf(least) else f"every c above {least:.4g}"
        level = f"recursive (c, {found.order}) for {above}"
        lines["l"] = f"distinct {found.distinct}, entropy {found.entropy:.3f}, {level}"
        lines["t"] = f"{found.t:.3f}" + (" (by distance)" if ordered else " (values equal or not)")
        lines["certain"] = f"the secret of {s.percent(certain or 0.0)} of the rows: their class has no other"
    note = "none of these numbers is a promise against what an outsider knows: docs/attacks"
    s.output(as_json, {**finite, "certain": certain}, s.facts(lines), s.bullets([note]))


def risk(
    original: Annotated[Path, argument("ORIGINAL", "The people it was made from: CSV or Parquet.")],
    released: Released,
    control: Annotated[Path, option("FILE", "As many people of the same kind it was not made from.")],
    secrets: Annotated[str | None, option("A,B,…", "Columns to infer from the rest. Default: all.")] = None,
    attempts: Annotated[str, option("COUNT", "People attacked in either table.")] = "500",
    seed: Seed = "1",
    as_json: Json = False,
) -> None:
    """How risky an anonymised or synthetic table is for the people it was made from.

    Example: tacit attack risk original.csv released.csv --control others.csv
    """
    from tacit.attack.risk import risk_report

    wanted = None if secrets is None else _names(secrets, "--secrets")
    tries, number = whole(attempts, "--attempts", least=1), whole(seed, "--seed")
    with progress_bar("attacking") as tell:
        found = risk_report(
            table_of(released, "RELEASED"),
            table_of(original, "ORIGINAL"),
            table_of(control, "--control"),
            secrets=wanted,
            attempts=tries,
            seed=number,
            progress=tell,
        )
    risks = {"singling out": found.singling_out, "linking": found.linkability, "inferring": found.inference}
    data: dict[str, Any] = {name.replace(" ", "_"): vars(each) for name, each in risks.items()}
    risks |= {f"  inferring {name}": each for name, each in found.secrets.items()}
    rows = [
        (name, s.percent(each.value), s.reach(each), s.percent(each.attacked), s.percent(each.control))
        for name, each in risks.items()
    ]
    s.output(
        as_json,
        data | {"secrets": {name: vars(each) for name, each in found.secrets.items()}},
        s.table(Column("risk of"), "value", "95 % interval", "in the table", "others", rows=rows),
        s.bullets(["0 % is no worse than not being in the table, 100 % is to be given away: docs/attacks/risk.md"]),
    )


def link(released: Released, register: Register, on: On, as_json: Json = False) -> None:
    """How many rows of a table without names get one from a table that has them.

    Example: tacit attack link patients.csv voters.csv --on zip,birth_date,sex
    """
    from tacit.attack.linkage import link as linked
    from tacit.attack.linkage import uniqueness

    names = _names(on, "--on")
    with progress_bar("linking"):
        shown = table_of(released, "RELEASED")
        found = linked(shown, table_of(register, "REGISTER"), names)
        alone = uniqueness(shown, names)
    rows, named = len(found.row), int((found.row >= 0).sum())
    lines = {
        "named": f"{named:,} of {rows:,} rows ({s.percent(found.share)}) fit one row of the register and no other",
        "alone": f"{s.percent(alone)} of the released rows are alone with their {', '.join(names)}",
    }
    note = "a name is right if the person of that row is in the register: docs/attacks/linkage.md"
    data = {"rows": rows, "named": named, "share": found.share, "alone": alone}
    s.output(as_json, data, s.facts(lines), s.bullets([note]))


def _names(text: str, option: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(f'{option} "{text}" has an empty name: write {option} zip,age,sex')
    return names
