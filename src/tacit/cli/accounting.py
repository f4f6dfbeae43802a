"""`tacit epsilon`, `calibrate`, `explain` and `compare`: their options, and what each hands on."""

from typing import Annotated

import typer
from rich.console import Console

from tacit.base import InputError
from tacit.cli import options as o
from tacit.cli.compared import show_comparison
from tacit.cli.explained import show_meaning, stated
from tacit.cli.priced import show_price, show_setting
from tacit.cli.program import Program, mechanism

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the accounting commands."""
    for command in (epsilon, calibrate, explain, compare):
        app.command(no_args_is_help=True)(command)


def epsilon(
    name: o.Mechanism,
    sigma: o.Sigma = None,
    scale: o.Scale = None,
    epsilon: o.EpsilonEach = None,
    sensitivity: o.SensitivityOf = None,
    clip: o.Clip = None,
    rate: o.Rate = "1",
    sampling: o.Sampling = "poisson",
    steps: o.Steps = "1",
    delta: o.Delta = None,
    relation: o.RelationName = "add_remove",
    unit: o.Unit = "row",
    accuracy: o.Accuracy = 1e-5,
    as_json: o.Json = False,
) -> None:
    """What ε is this? Bounds on both sides, each proven.

    Example: tacit epsilon gaussian --sigma 1 --rate 0.01 --steps 10000 --delta 1e-5
    """
    values = {"sigma": sigma, "scale": scale, "epsilon": epsilon}
    program = Program.parse(
        name,
        values,
        sensitivity=sensitivity,
        clip=clip,
        rate=rate,
        sampling=sampling,
        steps=steps,
        relation=relation,
        unit=unit,
    )
    show_price(Console(), program, program.delta(delta), accuracy=accuracy, as_json=as_json)


def calibrate(
    name: o.Mechanism,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "--target-epsilon", metavar="NUMBER", help="The ε to reach.")
    ] = None,
    sensitivity: o.SensitivityOf = None,
    clip: o.Clip = None,
    rate: o.Rate = "1",
    sampling: o.Sampling = "poisson",
    steps: o.Steps = "1",
    delta: o.Delta = None,
    relation: o.RelationName = "add_remove",
    unit: o.Unit = "row",
    accuracy: o.Accuracy = 1e-4,
    as_json: o.Json = False,
) -> None:
    """How much noise does this ε need? For pure: how much ε may each run spend?

    Example: tacit calibrate gaussian --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10000
    """
    if epsilon is None:
        raise InputError("calibrate needs --epsilon: the ε that the whole program may cost")
    values: dict[str, str | None] = {mechanism(name).option: "1"}  # a place for what is sought
    program = Program.parse(
        name,
        values,
        sensitivity=sensitivity,
        clip=clip,
        rate=rate,
        sampling=sampling,
        steps=steps,
        relation=relation,
        unit=unit,
    )
    show_setting(Console(), program, epsilon, program.delta(delta), accuracy=accuracy, as_json=as_json)


def explain(
    name: o.MechanismOrNone = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", metavar="NUMBER", help="The ε to explain; with pure, the ε of each run."),
    ] = None,
    delta: o.Delta = None,
    prior: Annotated[str, typer.Option("--prior", metavar="NUMBER", help="What somebody believed before.")] = "0.5",
    population: Annotated[
        str | None, typer.Option("--population", metavar="COUNT", help="How many units there are: δ must be far below.")
    ] = None,
    sigma: o.Sigma = None,
    scale: o.Scale = None,
    sensitivity: o.SensitivityOf = None,
    clip: o.Clip = None,
    rate: o.Rate = "1",
    sampling: o.Sampling = "poisson",
    steps: o.Steps = "1",
    relation: o.RelationName = "add_remove",
    unit: o.Unit = "row",
    plot: o.Picture = None,
    as_json: o.Json = False,
) -> None:
    """What does this guarantee mean? For an (ε, δ), or for a mechanism given as in `tacit epsilon`.

    Example: tacit explain --epsilon 1 --delta 1e-6 --prior 0.1 --plot explain.svg
    """
    if name is None:
        used = {"--sigma": sigma, "--scale": scale, "--sensitivity": sensitivity, "--clip": clip}
        used |= {
            "--sampling": None if sampling == "poisson" else sampling,
            "--rate": None if rate == "1" else rate,
            "--steps": None if steps == "1" else steps,
        }
        extra = [option for option, given in used.items() if given is not None]
        if extra:
            raise InputError(
                f"{extra[0]} belongs to a mechanism: name one, such as tacit explain gaussian {extra[0]} …"
            )
        subject = stated(epsilon, delta, relation=relation, unit=unit)
    else:
        values = {"sigma": sigma, "scale": scale, "epsilon": epsilon}
        program = Program.parse(
            name, values, sensitivity=sensitivity, clip=clip, rate=rate, sampling=sampling, steps=steps,
            relation=relation, unit=unit,
        )  # fmt: skip
        subject = (program.sentence(), program.loss(), program.delta(delta))
    show_meaning(Console(), *subject, prior=prior, population=population, plot=plot, as_json=as_json)


def compare(
    name: o.Mechanism,
    sigma: o.Sigma = None,
    scale: o.Scale = None,
    epsilon: o.EpsilonEach = None,
    sensitivity: o.SensitivityOf = None,
    clip: o.Clip = None,
    rate: o.Rate = "1",
    sampling: o.Sampling = "poisson",
    steps: o.Steps = "1",
    delta: o.Delta = None,
    relation: o.RelationName = "add_remove",
    unit: o.Unit = "row",
    plot: o.Picture = None,
    as_json: o.Json = False,
) -> None:
    """The same program under every method of accounting: what each would say ε is.

    Example: tacit compare gaussian --sigma 1 --rate 0.01 --steps 10000 --delta 1e-5
    """
    values = {"sigma": sigma, "scale": scale, "epsilon": epsilon}
    program = Program.parse(
        name,
        values,
        sensitivity=sensitivity,
        clip=clip,
        rate=rate,
        sampling=sampling,
        steps=steps,
        relation=relation,
        unit=unit,
    )
    show_comparison(Console(), program, program.delta(delta), plot=plot, as_json=as_json)
