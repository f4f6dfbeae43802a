"""`tacit report`: one page on a dataset for whoever answers for its people's data."""

import os
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from tacit.base import InputError
from tacit.base.number import short
from tacit.cli.options import Json, LedgerOptions, option
from tacit.cli.screen import bullets, facts, line, output
from tacit.desk.dataset_page import dataset_page
from tacit.desk.dataset_report import dataset_report

__all__ = ["report"]


def report(
    at: LedgerOptions,
    html: Annotated[Path | None, option("FILE", "Write the page: FILE.html.")] = None,
    as_json: Json = False,
) -> None:
    """Say on one page what is promised to the people of a dataset, and what was spent, by whom and for what.

    It is made from the policy and the ledger alone: no data are read, and nothing is paid. The page is there to be
    signed; what nobody but you can know is left open on it.

    Example: tacit report --policy tacit.toml --html report.html
    """
    if html is not None and html.suffix not in (".html", ".htm"):
        raise InputError(f'"{html}" is no page: give it a name such as report.html')
    with at.open() as (book, policy):
        if policy is None:
            raise InputError("a report is about a policy and its ledger: name the policy with --policy")
        standing = book.standing(policy.dataset.identity)
        found = dataset_report(policy, standing, book.log(standing.people), ledger=book.store.ledger)
    if html is not None:
        _write(html, dataset_page(found))
    promise, spent = found["promise"], found["spent"]
    releases = sum(each["times"] for each in spent["uses"])
    amount = short(Fraction(spent["in all"]), up=True)
    shown = {
        "promise": promise["statement"],
        "spent": f"{amount} {spent['currency']}, for {releases:,} release{'' if releases == 1 else 's'}",
        "rests on": f"{len(found['promises of the curator'])} promises that nothing checks",
    }
    told = [f"the page is in {html}"] if html is not None else ["--html report.html writes the page, --json all of it"]
    output(
        as_json, found, line(found["dataset"], "bold"), line(promise["odds"]["sentence"]), facts(shown), bullets(told)
    )


def _write(path: Path, page: str) -> None:
    """For its owner alone: it says who asked what."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error
