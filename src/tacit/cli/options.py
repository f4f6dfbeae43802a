"""The options that the accounting commands share. Numbers are read as typed, so 0.1 is a tenth and 256/60000 works."""

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.program import KINDS

__all__ = [
    "Accuracy",
    "Clip",
    "Delta",
    "EpsilonEach",
    "Html",
    "Json",
    "Mechanism",
    "MechanismOrNone",
    "Picture",
    "Rate",
    "RelationName",
    "Sampling",
    "Scale",
    "Seed",
    "SensitivityOf",
    "Sigma",
    "Steps",
    "Unit",
]

NUMBER = "NUMBER"

Mechanism = Annotated[str, typer.Argument(metavar="MECHANISM", help=f"One of {', '.join(KINDS)}.", show_default=False)]
MechanismOrNone = Annotated[
    str | None, typer.Argument(metavar="MECHANISM", help=f"None, or one of {', '.join(KINDS)}.", show_default=False)
]
Sigma = Annotated[
    str | None,
    typer.Option("--sigma", metavar=NUMBER, help="Noise of gaussian, and of discrete-gaussian on one number."),
]
Scale = Annotated[str | None, typer.Option("--scale", metavar=NUMBER, help="Noise of laplace and discrete-laplace.")]
EpsilonEach = Annotated[
    str | None, typer.Option("--epsilon", metavar=NUMBER, help="The ε of each run of a pure mechanism.")
]
SensitivityOf = Annotated[
    str | None,
    typer.Option(
        "--sensitivity",
        metavar=NUMBER,
        help="How far one unit moves the value: in l2 for gaussian, in l1 for laplace and discrete-laplace. Default: 1 "
        "under add_remove, 2 under replace.",
    ),
]
Clip = Annotated[
    str | None,
    typer.Option(
        "--clip",
        metavar=NUMBER,
        help="The length that each unit's own vector is clipped to: a sensitivity of as much under add_remove, of "
        "twice as much under replace. A Poisson sample under replace needs it.",
    ),
]
Rate = Annotated[
    str, typer.Option("--rate", metavar=NUMBER, help="The share of the data that a run sees, such as 256/60000.")
]
Sampling = Annotated[
    str,
    typer.Option(
        "--sampling",
        metavar="HOW",
        help="poisson: each unit takes part by its own coin; fixed: a fixed number is drawn (for replace).",
    ),
]
Steps = Annotated[str, typer.Option("--steps", metavar="COUNT", help="How many times it runs.")]
Delta = Annotated[
    str | None, typer.Option("--delta", metavar=NUMBER, help="The δ to state ε at. A pure mechanism needs none.")
]
RelationName = Annotated[
    str,
    typer.Option("--relation", metavar="NAME", help="Who is hidden: add_remove (one unit is there or not) or replace."),
]
Unit = Annotated[str, typer.Option("--unit", metavar="NOUN", help="What one unit is called.")]
Accuracy = Annotated[float, typer.Option("--accuracy", metavar=NUMBER, help="Relative width of the answer.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Picture = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also write a picture: FILE.svg or FILE.png.")
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write a report: one HTML page with the picture.")
]
Seed = Annotated[str, typer.Option("--seed", metavar="NUMBER", help="Other made-up data. Tacit's noise has no seed.")]
