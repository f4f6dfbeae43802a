"""`tacit demo`: the tour on the terminal, as JSON, and as a picture."""

import json
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.cli.answers import Answer, answers, epsilon
from tacit.cli.screen import picture
from tacit.cli.tour import Tour
from tacit.noise import Rng

__all__ = ["demo"]

WHY = (
    "Gluble publishes: our 25 people earn 500,000 on average. One joins, and it publishes: our 26 earn 505,000. "
    "Now everybody knows what the newcomer earns: 26 × 505,000 − 25 × 500,000 = 630,000.\n"
    "Exact answers give people away. Here are four questions answered so that no single person shows:"
)


def demo(console: Console, *, plot: Path | None = None, as_json: bool = False, rng: Rng | None = None) -> None:
    """Ask the four questions and show them; `plot` names a picture to write as well."""
    picture(plot)  # a bad file name is refused before anything runs
    tour = Tour.ask(rng)
    lines = answers(tour)
    if as_json:
        console.out(json.dumps(_facts(tour, lines), indent=2, ensure_ascii=False), highlight=False)
    else:
        _show(console, tour, lines)
    if plot:
        from tacit.cli.picture import draw

        draw(tour, plot)
        if not as_json:
            console.print(Text.assemble(("• ", "cyan"), f"The picture of this run is in {plot}"), soft_wrap=True)


def _facts(tour: Tour, lines: list[Answer]) -> dict[str, object]:
    total = tour.people_loss()
    paid = {"epsilon": float(total.bound), "relation": total.relation.value, "unit": total.unit}
    return {"answers": [line.json() for line in lines], "paid_by_the_same_people": paid}


def _show(console: Console, tour: Tour, lines: list[Answer]) -> None:
    console.print(Text(f"\n{WHY}\n"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Question", min_width=31)
    table.add_column("True answer", justify="right", style="dim")
    table.add_column("Private", justify="right", style="bold")
    table.add_column("95 % error", justify="right")
    table.add_column("Cost ε", justify="right", style="cyan", no_wrap=True)
    for line in lines:
        head, _, detail = line.question.partition("\n")
        question = Text.assemble(head, "\n" if detail else "", (detail, "dim"))
        table.add_row(question, line.truth, line.private, line.error, epsilon(line.loss))
    console.print(table)
    console.print()
    console.print(bullets(_notes(tour)))


def bullets(notes: list[str]) -> Table:
    """Sentences with a dot before each and a straight left edge."""
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        grid.add_row(Text("•", style="cyan"), Text(note))
    return grid


def _notes(tour: Tour) -> list[str]:
    together = epsilon(tour.people_loss())
    return [
        "True answers, and what a price earns, are shown only because the data are made up. The noise is always new.",
        "ε bounds what an answer tells about one unit: no odds move by more than e^ε. For the averages one person's "
        "age changes; for the histogram and the prices one person joins or leaves; in the survey one answer changes.",
        f"The averages and the histogram are about the same people, so their costs add: ε = {together} "
        "for a person who changes (in the histogram that is to leave one cell and to join another: twice 0.5).",
        "Three bidders are too few to hide in: any price may come, even $3.02, which nobody pays.",
    ]
