"""`tacit demo`: the tour in SQL, or of the mechanisms underneath; on the terminal, as JSON, and as a picture."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tacit.base import InputError
from tacit.cli.answers import Answer, answers, epsilon
from tacit.cli.screen import drawn, picture, print_json
from tacit.cli.story import Story, Turn
from tacit.cli.surveyed import survey_demo
from tacit.cli.tour import Tour
from tacit.desk.show import number, table_of
from tacit.loss import Cost

__all__ = ["bullets", "demo", "mechanisms_demo"]

WHY = (
    "Gluble publishes: our 25 people earn 500,000 on average. One joins, and it publishes: our 26 earn 505,000. "
    "Now everybody knows what the newcomer earns: 26 × 505,000 − 25 × 500,000 = 630,000.\n"
    "Exact answers give people away. "
)
WIDTH = 24  # of a gauge


def demo(
    console: Console,
    *,
    plot: Path | None = None,
    as_json: bool = False,
    keep: Path | None = None,
) -> None:
    """Ask a made-up clinic until its budget is spent. `keep` names a folder to leave it in, `plot` a picture."""
    picture(plot)  # a bad file name is refused before anything runs
    with ExitStack() as stack:
        story = Story.told(_folder(keep, stack))
    if as_json:
        print_json(console, story.json())
    else:
        _show(console, story)
        if keep is not None:
            _say(console, "Ask it yourself:")
            command = f'tacit ask "SELECT …" --policy {keep}/tacit.toml --analyst ana --epsilon 0.1'
            console.print(Text(command), soft_wrap=True)  # one line, to be copied
    first = story.turns[0].answer
    if plot is not None and first is not None:
        first.plot(plot)
        drawn(console, plot, quiet=as_json)


def _folder(keep: Path | None, stack: ExitStack) -> Path:
    if keep is None:
        return Path(stack.enter_context(TemporaryDirectory(prefix="tacit-demo-")))
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f'--keep: the folder "{keep}" cannot be made: {error.strerror}') from None
    return keep


def _show(console: Console, story: Story) -> None:
    console.print(Text(f"\n{WHY}Here they are answered so that no single person shows.\n"))
    _say(
        console, f"A made-up clinic: {story.rows:,} visits of {story.patients:,} patients, in Parquet, read by DuckDB."
    )
    _say(
        console,
        f"Its policy lets ana spend ε = {float(story.limit.epsilon or 0):g}. A quote is free, and looks at nothing:",
    )
    console.print()
    _sql(console, story.turns[0])
    console.print(table_of(["column", "noise"], [[e.column, e.words] for e in story.quote.expected], right=()))
    console.print()
    _say(console, "Asked. The price is written into the ledger first, then DuckDB runs, then the noise is drawn:")
    for turn, words in zip(story.turns, WORDS, strict=True):
        if words:
            _say(console, words)
        _turn(console, turn, story.limit, sql=turn.sql != story.turns[0].sql or turn.answer is None)
    _say(console, "Or hold no data at all: in a survey each device tosses coins before it answers.")
    console.print()
    survey_demo(console)
    console.print()
    _say(console, "To ask it in your browser, or from psql: make serve, which is tacit serve.")


WORDS = (
    "",
    "The same question again: the same noisy numbers from the store. Nothing new is learned, so it is free.",
    "The other way round: say which error will do, and be told the price.",
    "Keys that nobody declared are shown only if enough patients are behind them.",
    "And when the budget is spent, it is spent. Nothing was looked at:",
)


def _turn(console: Console, turn: Turn, limit: Cost, *, sql: bool) -> None:
    console.print()
    if sql:
        _sql(console, turn)
    if turn.answer is None:
        console.print(Text(f"tacit: {turn.refused}", style="red"))
    else:
        _table(console, turn)
    console.print(gauge(turn.left, limit))
    console.print()


def _sql(console: Console, turn: Turn) -> None:
    offer = ", ".join(f"{name} = {value:g}" for name, value in turn.offer.items())
    console.print(Padding(Text.assemble((turn.sql, "cyan"), (f"   [{offer}]", "dim")), (0, 0, 0, 4)))


def _table(console: Console, turn: Turn) -> None:
    """The answer; beside it the truth, which only a demo may show."""
    assert turn.answer is not None
    names, cells = turn.answer.table.column_names, turn.answer.cells()
    right = set(turn.answer.intervals)
    for name, values in (turn.truth or {}).items():
        place = names.index(name) + 1
        names = [*names[:place], f"(true {name})", *names[place:]]
        cells = [[*row[:place], number(round(v, 2)), *row[place:]] for row, v in zip(cells, values, strict=True)]
        right.add(f"(true {name})")
    console.print(table_of(names, cells, right=right))


def gauge(left: Cost, limit: Cost) -> Text:
    """How much ε of a limit is left, as a bar."""
    have, whole = (float(cost.epsilon or 0) for cost in (left, limit))
    full = round(WIDTH * have / whole) if whole else 0
    return Text.assemble("budget ", ("█" * full, "green"), ("░" * (WIDTH - full), "dim"), f" ε = {have:.4g} is left")


def _say(console: Console, sentence: str) -> None:
    console.print(bullets([sentence]))


def bullets(notes: list[str]) -> Table:
    """Sentences with a dot before each and a straight left edge."""
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        grid.add_row(Text("•", style="cyan"), Text(note))
    return grid


# --- the mechanisms underneath


def mechanisms_demo(console: Console, *, plot: Path | None = None, as_json: bool = False) -> None:
    """Four textbook questions, each by one mechanism; `plot` names a picture to write as well."""
    picture(plot)
    tour = Tour.ask()
    lines = answers(tour)
    if as_json:
        print_json(console, _facts(tour, lines))
    else:
        _show_mechanisms(console, tour, lines)
    if plot:
        from tacit.cli.picture import draw

        draw(tour, plot)
        drawn(console, plot, quiet=as_json)


def _facts(tour: Tour, lines: list[Answer]) -> dict[str, object]:
    total = tour.people_loss()
    paid = {"epsilon": float(total.bound), "relation": total.relation.value, "unit": total.unit}
    return {"answers": [line.json() for line in lines], "paid_by_the_same_people": paid}


def _show_mechanisms(console: Console, tour: Tour, lines: list[Answer]) -> None:
    console.print(Text(f"\n{WHY}Here are four questions answered so that no single person shows:\n"))
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
