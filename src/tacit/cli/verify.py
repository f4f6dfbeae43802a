"""`tacit verify`: is a certificate true? Offline; each check is a line."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.base import InputError
from tacit.cli.options import Json, argument, option
from tacit.cli.screen import bar, print_json
from tacit.desk.certificate.certificate import Certificate, read_json
from tacit.desk.certificate.check import Check, check
from tacit.desk.show import printable
from tacit.ledger.checkpoint import public_key
from tacit.survey.certificate import SurveyCertificate, check_survey

__all__ = ["verify"]

SIGNS = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "yellow")}


def verify(
    certificate: Annotated[Path, argument("CERTIFICATE", "The JSON file.", show_default=False)],
    key: Annotated[
        Path | None, option("--key", "FILE", "The issuer's public key, from somewhere else than the certificate.")
    ] = None,
    ledger: Annotated[
        str | None, option("--ledger", "PLACE", "The ledger or an export of it, which must have the entry.")
    ] = None,
    answer: Annotated[
        Path | None,
        option(
            "--answer",
            "FILE",
            "The answer that it is about: .csv, .parquet or .arrow; of a survey, its results as .csv.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Is this certificate true, of an answer or of a survey's results?

    Exit code 0 if nothing is wrong with it, 1 if something is, 2 if it cannot be read.

    Example: tacit verify certificate.json --key issuer.pub --answer answer.csv
    """
    data, held = read_json(certificate), None if key is None else public_key(key)
    if SurveyCertificate.is_one(data):
        if ledger is not None:
            raise InputError("leave --ledger out: this is the certificate of a survey, which has no ledger")
        survey = SurveyCertificate.of(data)
        with bar("checking"):
            checks, sentence = check_survey(survey, public_key=held, answer=answer), survey.sentence
    else:
        found = Certificate.of(data)
        with bar("checking"):
            checks = check(found, public_key=held, ledger=ledger, answer=answer)
        sentence = str(found.content["meaning"]["sentence"])
    wrong = any(one.ok is False for one in checks)
    if as_json:
        print_json(Console(), {"ok": not wrong, "checks": [one.json() for one in checks]})
    else:
        _show(Console(), sentence, checks)
    if wrong:
        raise typer.Exit(1)


def _show(console: Console, sentence: str, checks: list[Check]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for one in checks:
        sign, style = SIGNS[one.ok]
        grid.add_row(Text(sign, style=style), Text(one.name), Text(printable(one.words)))
    console.print(grid)
    if any(one.ok is False for one in checks):
        console.print(Text("Do not rely on it: something in it is not true.", style="bold red"), soft_wrap=True)
        return
    console.print(Text(printable(sentence)), soft_wrap=True)
    if not next(one for one in checks if one.name == "signature").ok:
        console.print(Text("It agrees with itself; who issued it was not shown.", style="yellow"), soft_wrap=True)
