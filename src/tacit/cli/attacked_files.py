"""Attacks on files of the user's: how anonymous a table is, how risky, and who in it has a name elsewhere."""

from math import inf, isinf
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError, whole
from tacit.cli.bar import bar
from tacit.cli.demo import bullets
from tacit.cli.options import Json, Seed
from tacit.cli.screen import facts, print_json
from tacit.cli.shares import columns, percent

__all__ = ["anonymity", "link", "risk"]

Columns = Annotated[str, typer.Option("--quasi", metavar="A,B,…", help="Columns that an outsider may know.")]
Sensitive = Annotated[
    str | None, typer.Option("--sensitive", metavar="COLUMN", help="The secret; without it only k is measured.")
]
Ordered = Annotated[bool, typer.Option("--ordered", help="The secret's values lie on a line: t by distance on it.")]
Shown = Annotated[Path, typer.Argument(metavar="FILE", help="A released table: CSV or Parquet.", show_default=False)]
Released = Annotated[Path, typer.Argument(metavar="RELEASED", help="The released table.", show_default=False)]
Original = Annotated[
    Path, typer.Argument(metavar="ORIGINAL", help="The people it was made from: CSV or Parquet.", show_default=False)
]
Control = Annotated[
    Path, typer.Option("--control", metavar="FILE", help="As many people of the same kind it was not made from.")
]
Secrets = Annotated[
    str | None, typer.Option("--secrets", metavar="A,B,…", help="Columns to infer from the rest. Default: all.")
]
Attempts = Annotated[str, typer.Option("--attempts", metavar="COUNT", help="People attacked in either table.")]
Register = Annotated[
    Path, typer.Argument(metavar="REGISTER", help="A table that has names, such as a voter list.", show_default=False)
]
On = Annotated[str, typer.Option("--on", metavar="A,B,…", help="Columns that both tables have.")]


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
    with bar("attacking") as told:
        found = risk_report(
            _read(released, "RELEASED"),
            _read(original, "ORIGINAL"),
            _read(control, "--control"),
            secrets=wanted,
            attempts=tries,
            seed=number,
            progress=lambda share: told(share, None),
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
