"""`tacit verify`: is a certificate true? Offline; each check is a line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.cli.options import Json, argument, option
from tacit.cli.screen import line, output
from tacit.desk.certificate.certificate import Certificate, read_json
from tacit.desk.certificate.check import Check, check
from tacit.desk.show import printable
from tacit.ledger.checkpoint import public_key as read_key
from tacit.survey.certificate import SurveyCertificate, check_survey

__all__ = ["verify"]

SIGNS = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("–", "yellow")}


def verify(
    certificate: Annotated[Path, argument("CERTIFICATE", "The JSON file, or a model's .safetensors that holds one.")],
    public_key: Annotated[
        Path | None, option("FILE", "The issuer's public key, from somewhere else than the certificate.")
    ] = None,
    ledger: Annotated[str | None, option("PLACE", "The ledger or an export of it, which must have the entry.")] = None,
    answer: Annotated[
        Path | None,
        option("FILE", "The answer that it is about: .csv, .parquet or .arrow; of a survey, its results as .csv."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Is this certificate true, of an answer, of a trained model or of a survey's results?

    Exit code 0 if nothing is wrong with it, 1 if something is, 2 if it cannot be read.

    Example: tacit verify certificate.json --public-key issuer.pub --answer answer.csv
    """
    held = None if public_key is None else read_key(public_key)
    if certificate.suffix == ".safetensors":
        _verify_model(certificate, held, ledger, answer, as_json)
        return
    data = read_json(certificate)
    if SurveyCertificate.is_one(data):
        if ledger is not None:
            raise InputError("leave --ledger out: this is the certificate of a survey, which has no ledger")
        survey = SurveyCertificate.of(data)
        with progress_bar("checking"):
            checks, sentence = check_survey(survey, public_key=held, answer=answer), survey.sentence
    else:
        found = Certificate.of(data)
        with progress_bar("checking"):
            checks = check(found, public_key=held, ledger=ledger, answer=answer)
        sentence = str(found.content["meaning"]["sentence"])
    _tell(as_json, checks, sentence)


def _verify_model(path: Path, held: str | None, ledger: str | None, answer: Path | None, as_json: bool) -> None:
    """The certificate in a model's file, about the rest of that file."""
    from tacit.learn.model import ModelFile

    if answer is not None:
        raise InputError("leave --answer out: a model's file is itself what its certificate is about")
    file = ModelFile.read(path)
    if file.certificate is None:
        raise InputError(f"{path.name} has no certificate in it: save it with one, or verify the .json with --answer")
    with progress_bar("checking"):
        checks = check(file.certificate, public_key=held, ledger=ledger, answer=file.content)
    content: Any = file.certificate.content
    _tell(as_json, [*checks, *file.checks()], f"It was {file.sentence}. {content['meaning']['sentence']}")


def _tell(as_json: bool, checks: list[Check], sentence: str) -> None:
    wrong = any(one.ok is False for one in checks)
    output(as_json, {"ok": not wrong, "checks": [one.json() for one in checks]}, _parts(sentence, checks))
    if wrong:
        raise typer.Exit(1)


def _parts(sentence: str, checks: list[Check]) -> Iterator[Any]:
    grid = Table.grid(Column(no_wrap=True), Column(style="dim", no_wrap=True), Column(), padding=(0, 2))
    for one in checks:
        sign, style = SIGNS[one.ok]
        grid.add_row(Text(sign, style=style), Text(one.name), Text(printable(one.words)))
    yield grid
    if any(one.ok is False for one in checks):
        yield line("Do not rely on it: something in it is not true.", "bold red")
        return
    yield printable(sentence)
    if not next(one for one in checks if one.name == "signature").ok:
        yield line("It agrees with itself; who issued it was not shown.", "yellow")
