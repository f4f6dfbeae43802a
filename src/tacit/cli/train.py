"""`tacit train`: a model by a file of settings, priced before a row is read."""

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
from tacit.session.kinds import job_kind

__all__ = ["new", "quote", "run"]

USUAL_SETTINGS = Path("train.toml")


def new(file: Annotated[Path, argument("FILE", "Where to write it.")] = USUAL_SETTINGS) -> None:
    """Write a first file of settings, with every key explained.

    Example: tacit train new train.toml
    """
    write_template(job_kind("train"), file)


def quote(file: SettingsFile, asker: AskerOptions, as_json: Json = False) -> None:
    """What a training would cost, how much noise it has, and what would be left. Free: nothing is looked at.

    Example: tacit train quote train.toml
    """
    quote_settings(job_kind("train"), file, asker, as_json=as_json)


def run(file: SettingsFile, asker: AskerOptions, outputs: OutputOptions, as_json: Json = False) -> None:
    """Train a model: paid for once, then run, and written with its plan, its receipt and its certificate.

    Stopped with Ctrl-C, or killed, the same command goes on from what was saved, and pays nothing.

    Example: tacit train run train.toml --out model.safetensors
    """
    run_settings(job_kind("train"), file, asker, outputs, as_json=as_json)
