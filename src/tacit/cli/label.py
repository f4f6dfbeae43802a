"""`tacit label`: labels for public inputs, voted on by teachers, by a file of settings."""

from pathlib import Path
from typing import Annotated

from tacit.cli.options import Json, argument
from tacit.cli.settings import (
    AskerOptions,
    OutputOptions,
    SettingsFile,
    quote_settings,
    run_settings,
    write_template,
)
from tacit.learn.config.label import LABEL

__all__ = ["new", "quote", "run"]

USUAL_SETTINGS = Path("label.toml")


def new(file: Annotated[Path, argument("FILE", "Where to write it.")] = USUAL_SETTINGS) -> None:
    """Write a first file of settings, with every key explained.

    Example: tacit label new label.toml
    """
    write_template(LABEL, file)


def quote(file: SettingsFile, asker: AskerOptions, as_json: Json = False) -> None:
    """What the labels would cost, and what would be left. Free: no private row is looked at.

    Example: tacit label quote label.toml
    """
    quote_settings(LABEL, file, asker, as_json=as_json)


def run(file: SettingsFile, asker: AskerOptions, outputs: OutputOptions, as_json: Json = False) -> None:
    """Fit teachers to disjoint parts of a private table, and let them vote on public inputs: paid for once.

    What comes out is a table: for each input, in its order, a label, or none where too few teachers agreed.

    Example: tacit label run label.toml --out labels.csv
    """
    run_settings(LABEL, file, asker, outputs, as_json=as_json)
