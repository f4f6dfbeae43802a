"""`tacit pufferfish`: the noise that one entry needs among entries that depend on it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column
from rich.text import Text

from tacit.base import between
from tacit.base.bar import progress_bar
from tacit.cli.options import Json, Picture, option
from tacit.cli.screen import check_outputs, facts, output, table, up, write_out
from tacit.pufferfish import Chain, compare, quilt, wasserstein
from tacit.pufferfish.wasserstein import entry_pairs

__all__ = ["compare_noise", "quilt_noise", "wasserstein_noise"]

Transition = Annotated[
    str,
    typer.Argument(
        help='A square of chances, "0.9 0.1; 0.1 0.9", or one: the chance to stay, of two states.',
        show_default=False,
    ),
]
Length = Annotated[int, typer.Option("--length", min=2, max=1_000_000, help="How many entries.", show_default=False)]
Epsilon = Annotated[str, option("NUMBER", "What a release may tell of one entry.")]
State = Annotated[int, typer.Option("--state", min=0, help="The state whose entries are counted, from 0.")]
ADDS = {True: "yes", False: "no"}
ENTRIES = "an ordinary account whose unit is one entry; that is what adds up"


def _chain(text: str, length: int) -> Chain:
    rows = [row.replace(",", " ").split() for row in text.split(";") if row.strip()]
    if len(rows) == 1 and len(rows[0]) == 1:
        stay = between(rows[0][0], "the chance to stay", 0, 1)
        return Chain([[stay, 1 - stay], [1 - stay, stay]], length)
    return Chain(rows, length)


def quilt_noise(
    transition: Transition,
    length: Length,
    epsilon: Epsilon = "1",
    group: Annotated[int, typer.Option("--group", min=1, help="So many entries in a row are one secret.")] = 1,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="From how fast the chain forgets alone: for every first state.")
    ] = False,
    as_json: Json = False,
) -> None:
    """The Laplace noise for a count, so that it tells little of one entry whatever the others tell of it.

    Example: tacit pufferfish quilt 0.9 --length 100 --epsilon 1
    """
    found = quilt(_chain(transition, length), epsilon=epsilon, approximate=approximate, group=group)
    secret = "one of" if group == 1 else f"{group:,} in a row of"
    lines = {
        "scale": f"{up(found.scale)} of Laplace noise",
        "promise": f"ε = {up(float(found.stated), 4)} about any {secret} {length:,} entries",
        "costs": f"ε = {up(float(found.cost), 4)} of {ENTRIES}",
        "twice": f"two such releases tell at most ε = {up(found.epsilon(2 * found.cost), 4)} of them",
    }
    output(as_json, found.json(), facts(lines))


def wasserstein_noise(
    transition: Transition, length: Length, epsilon: Epsilon = "1", state: State = 1, as_json: Json = False
) -> None:
    """The Laplace noise for one count by the Wasserstein mechanism. A second one about the same people is not covered.

    Example: tacit pufferfish wasserstein 0.9 --length 100
    """
    chain = _chain(transition, length)
    found = wasserstein(entry_pairs(chain, state), epsilon=epsilon)
    lines = {
        "scale": f"{up(float(found.scale))} of Laplace noise",
        "moved": f"the law of the count moves by at most {found.moved} with one entry",
        "adds": "no: what it says holds for one release alone",
        "costs": f"ε = {up(float(found.cost()), 4)} of {ENTRIES}" if found.scale else "no account takes it: no noise",
    }
    output(as_json, found.json(), facts(lines))


def compare_noise(
    transition: Transition,
    length: Length,
    epsilon: Epsilon = "1",
    state: State = 1,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """The noise for one count under each way of seeing dependence, and what it really keeps of one entry.

    The picture shows it for two states over the chance to stay in one.

    Example: tacit pufferfish compare 0.9 --length 100 --plot noise.svg
    """
    check_outputs(plot=plot)
    with progress_bar("working out laws"):
        ways = compare(_chain(transition, length), epsilon=epsilon, state=state)
    shown = [{"name": way.name, "scale": float(way.scale), "real_epsilon": way.real, "adds": way.adds} for way in ways]
    rows = [
        (way.words, up(float(way.scale), 4), "–" if way.real is None else up(way.real, 3), ADDS[way.adds])
        for way in ways
    ]
    heads = (Column("noise"), "scale", "ε it really keeps", Column("adds up"))
    asked = Text(f"\nasked for: ε = {epsilon} about any one of {length:,} entries", style="dim")
    if ways[0].real is None:
        asked.append("\n–: not worked out, since there are too many entries, or counts of too small a chance")
    output(as_json, {"ways": shown}, table(*heads, rows=rows), asked)
    write_out("picture", plot, lambda path: _draw(length, epsilon, path), quiet=as_json)


STAYS = ("0.5", "0.6", "0.7", "0.8", "0.85", "0.9", "0.93", "0.95", "0.97")


def _draw(length: int, epsilon: str, path: Path) -> None:
    from tacit.plot import LabelledCurve, curves, page, write

    with progress_bar("drawing"):
        found = [compare(_chain(stay, min(length, 200)), epsilon=epsilon) for stay in STAYS]
    lines = [
        LabelledCurve(ways[0].words, [float(stay) for stay in STAYS], [float(way.scale) for way in ways])
        for ways in zip(*found, strict=True)
    ]
    kept = [
        LabelledCurve(ways[0].words, [float(stay) for stay in STAYS], [float(way.real or 0) for way in ways])
        for ways in zip(*found, strict=True)
        if all(way.real is not None for way in ways)
    ]
    size = f"one count over {min(length, 200)} entries, ε = {epsilon}"
    panels = [
        curves(drawn, title=(title, size), axes=("chance to stay in a state", axis), domain=None, width=520)
        for drawn, title, axis in (
            (lines, "the noise it takes", "scale of the noise"),
            (kept, "what that noise really tells of one entry", "ε"),
        )
    ]
    pictures = page(
        [[panel] for panel in panels], title="Noise against dependence", subtitle="two states; 0.5 is independence"
    )
    write(pictures, path)
