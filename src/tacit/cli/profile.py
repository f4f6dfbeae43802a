"""`tacit profile`: how many people have how many rows, once, so that clips and intervals follow from it."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from tacit.base import InputError
from tacit.cli.options import USUAL, Json, argument, flag, option
from tacit.cli.screen import output, remark
from tacit.desk import TableRelease
from tacit.desk.show import margin, number, spelled, table_of
from tacit.plan.profile import ROWS
from tacit.policy.decide import CURATOR
from tacit.session import Session
from tacit.sql.profile import profile_of

__all__ = ["profile"]

WIDTH = 40  # of the longest bar


def profile(
    table: Annotated[str | None, argument("TABLE", "Of which table. Default: all that declare `profile`.")] = None,
    policy: Annotated[Path | None, option("FILE", "The dataset's policy. Default: tacit.toml.")] = None,
    quote: Annotated[bool, flag("--quote", "Only what it would cost; nothing is looked at.")] = False,
    as_json: Json = False,
) -> None:
    """Release the profile of a table: how many people have how many rows, and sums how large, with noise.

    It costs what the table declares as `profile`, from the dataset's budget, once for the same data. Questions about
    the table then choose their clips by it for nothing, and say what clipping takes.

    Example: tacit profile visits
    """
    path = policy or USUAL
    if not path.exists():
        raise InputError(f"there is no {path}: name a policy with --policy, or write one with `tacit init DATA`")
    with Session(path, CURATOR, progress=True) as session:
        tables = [table] if table is not None else [n for n, t in session.policy.tables.items() if t.profile]
        if not tables:
            raise InputError(f'no table of {path.name} declares a profile: add profile = 0.05 to its [tables."…"]')
        if quote:
            quotes = {name: session.quote(session.profile_job(name)) for name in tables}
            shown = (part for name, each in quotes.items() for part in (Text(name, style="bold"), each))
            output(as_json, {name: each.json() for name, each in quotes.items()}, shown)
            return
        made = {name: session.profile(name) for name in tables}
        left = session.left_for_curator()
    free = all(each.cached for each in made.values())
    told = remark(f"{'made before: free' if free else 'paid'}; {spelled(left)} of the dataset is left")
    bars = (part for name, each in made.items() for part in _bars(name, each))
    output(as_json, {name: {**each.json(), "cached": each.cached} for name, each in made.items()}, bars, told)


def _bars(table: str, release: TableRelease) -> Iterator[Any]:
    """A bar for each bin, as far as units are told from noise."""
    noise = max(((high or 0) - (low or 0)) / 2 for low, high in zip(*release.intervals["units"], strict=True))
    for name, found in profile_of(release).histograms.items():
        what = f"{table}: {'rows of one' if name == ROWS else f'sum of {name}'}"
        units = f"units ± {margin(noise)}"
        ends = [0.0, *map(float, found.edges[: found.resolved + 1])]
        most = max(1, *found.counts)
        lines = [
            [f"{number(low)} – {number(high)}", f"{count:,}", "█" * round(WIDTH * max(count, 0) / most)]
            for (low, high), count in zip(pairwise(ends), found.counts, strict=False)
        ]
        yield table_of([what, units, ""], lines, right={units})
        yield f"Above {number(ends[-1])}, what there is cannot be told from noise.\n"
