"""`tacit audit`: what something that claims to be private can be shown to lose."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import whole
from tacit.cli.bar import bar
from tacit.cli.options import Html, Json, Picture
from tacit.cli.screen import drawn, page, picture, print_json, reported
from tacit.cli.targets import kebab, read_subject
from tacit.mechanism import MECHANISMS

__all__ = ["EXITS", "register"]

NUMBER = "NUMBER"
EXITS = {"pass": 0, "violated": 1, "inconclusive": 3}
STYLES = {"pass": "green", "violated": "bold red", "inconclusive": "yellow"}
HELP = "\n\n".join(
    (
        "Show how much something that claims to be private gives away.",
        "An event is sought that one of two neighbouring data makes likelier than the claim allows, and certified on "
        "fresh outputs. Exit code: 0 pass, 1 violated, 3 inconclusive (too few samples), 2 a mistake in the command.",
        f"TARGET is a mechanism of tacit ({', '.join(kebab(kind) for kind in MECHANISMS)}), or module:function of "
        "yours, where f(data) gives one output, or f(data, size) that many.",
        "Example: tacit audit laplace --epsilon 1",
        "Example: tacit audit mymodule:count --epsilon 0.5 --neighbours mymodule:pair",
    )
)

Target = Annotated[str, typer.Argument(metavar="TARGET", help="A mechanism, or module:function.", show_default=False)]
Epsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon", metavar=NUMBER, help="The ε that is claimed. A mechanism without it brings an example of its own."
    ),
]
Delta = Annotated[str | None, typer.Option("--delta", metavar=NUMBER, help="The δ that is claimed. Default: 0.")]
Samples = Annotated[str, typer.Option("--samples", metavar="COUNT", help="Outputs drawn for either neighbour, in all.")]
Confidence = Annotated[
    str, typer.Option("--confidence", metavar=NUMBER, help="At most the rest of it is the chance of a false alarm.")
]
Neighbours = Annotated[
    str | None,
    typer.Option(
        "--neighbours",
        metavar="MODULE:NAME",
        help="A pair (data, data with one unit changed), a list of pairs, or a function that gives either.",
    ),
]
Workers = Annotated[str, typer.Option("--workers", metavar="COUNT", help="Processes that draw outputs.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(no_args_is_help=True, help=HELP)(audit)


def audit(
    target: Target,
    epsilon: Epsilon = None,
    delta: Delta = None,
    samples: Samples = "100000",
    confidence: Confidence = "0.95",
    neighbours: Neighbours = None,
    workers: Workers = "1",
    html: Html = None,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """The command; its help is HELP."""
    from tacit.auditor import audit as audited

    picture(plot)
    page(html)
    count, processes = whole(samples, "--samples", least=10), whole(workers, "--workers", least=1)
    subject = read_subject(target, epsilon=epsilon, delta=delta, neighbours=neighbours)
    with bar("auditing") as told:
        verdict = audited(
            subject.target,
            subject.claim,
            delta=subject.delta,
            neighbours=subject.neighbours,
            samples=count,
            confidence=confidence,
            workers=processes,
            progress=told,
        )
    console = Console()
    if as_json:
        print_json(console, {**verdict.json(), "notes": list(subject.said)})
    else:
        first, *rest = str(verdict).splitlines()
        console.print(Text(first, style=STYLES[verdict.status]), soft_wrap=True)
        for line in (*rest, *subject.said):
            console.print(Text.assemble(("• ", "cyan"), line), soft_wrap=True)
    if plot is not None:
        verdict.plot(plot)
        drawn(console, plot, quiet=as_json)
    if html is not None:
        from tacit.cli.sections import of_verdict
        from tacit.plot.report import report, write_report

        title = f"Audit of {verdict.target}: {verdict.status}"
        write_report(report(title, lead=subject.said, sections=[of_verdict(verdict, "What was found")]), html)
        reported(console, html, quiet=as_json)
    raise typer.Exit(EXITS[verdict.status])
