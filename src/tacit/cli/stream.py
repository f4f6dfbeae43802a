"""`tacit stream`: a running count with noise for each line that comes in, over days and restarts."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from getpass import getuser
from html import escape
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from tacit.base import InputError, exact, positive, whole
from tacit.base.number import round_up
from tacit.cli.options import ANALYST, USUAL, Html, Json, flag, option
from tacit.cli.screen import check_outputs, output, remark
from tacit.learn.stream import Counter, Stream, Tick
from tacit.loss import calibrate
from tacit.session import Session

__all__ = ["StreamOptions", "stream"]


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """The plan of a stream."""

    steps: Annotated[str, option("COUNT", "Ticks that are paid for, all of them at the start.")]
    sigma: Annotated[str | None, option("NUMBER", "The noise, in events.")] = None
    epsilon: Annotated[str | None, option("NUMBER", "Or the ε to keep to; the noise is found.")] = None
    delta: Annotated[str | None, option("NUMBER", "With --epsilon: its δ.")] = None
    times: Annotated[str, option("COUNT", "In how many ticks one unit counts at most.")] = "1"
    separation: Annotated[str, option("COUNT", "How many ticks lie between them at least.")] = "1"
    name: Annotated[str, option("NAME", "Tells one stream from another; the same goes on where it was.")] = "stream"

    def counter(self) -> Counter:
        """The plan; by ε with the least noise, to six digits upward."""
        plan: dict[str, Any] = {
            "steps": whole(self.steps, "--steps", least=1),
            "times": whole(self.times, "--times", least=1),
            "separation": whole(self.separation, "--separation", least=1),
        }
        if (self.sigma is None) == (self.epsilon is None):
            raise InputError("say how much noise: --sigma NUMBER, or --epsilon NUMBER with --delta NUMBER")
        if self.sigma is not None:
            return Counter(**plan, sigma=positive(self.sigma, "--sigma"), name=self.name)
        if self.delta is None or self.epsilon is None:
            raise InputError("--epsilon needs --delta too: Gaussian noise has no ε without one")
        found = calibrate(
            lambda sigma: Counter(**plan, sigma=round_up(sigma, bits=20)).loss(),
            epsilon=exact(self.epsilon, "--epsilon", toward="decimal"),
            delta=exact(self.delta, "--delta", toward="decimal"),
        )
        return Counter(**plan, sigma=round_up(found.value, bits=20), name=self.name)


def stream(
    plan: StreamOptions,
    policy: Annotated[Path | None, option("FILE", "The dataset's policy. Default: tacit.toml.")] = None,
    analyst: Annotated[str | None, option("NAME", f"Who pays. Default: ${ANALYST}, or who is logged in.")] = None,
    table: Annotated[str | None, option("TABLE", "Whose units these are. Default: the only table.")] = None,
    quote: Annotated[bool, flag("--quote", "Only what it would cost; nothing is read.")] = False,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Count events as they come: each line of standard input is a tick, and names the units that have an event.

    Units are separated by spaces; an empty line is a tick without any. All ticks are paid for once, at the start. When
    the input ends the stream rests; the same command goes on with the next tick, also after the machine was cut off.
    With --html the page is written again at every tick, and a browser that shows it loads it again by itself.

    Example: tail -f visits.txt | tacit stream --steps 365 --sigma 20 --times 12 --separation 7
    """
    counter, path = plan.counter(), policy or USUAL
    if not path.exists():
        raise InputError(f"there is no {path}: name a policy with --policy, or write one with `tacit init DATA`")
    check_outputs(html=html)
    with Session(path, analyst or os.environ.get(ANALYST) or getuser()) as session:
        if quote:
            found = counter.quote(session, table=table, delta=plan.delta)
            beside = remark(
                f"the last count has noise of {counter.error():,.3g}; a binary tree, {counter.tree_error:,.3g}"
            )
            output(as_json, found.json(), found, beside)
            return
        seen: list[Tick] = []

        def loop(running: Stream) -> None:
            for tick in running.ticks:
                _told(tick, as_json)
            seen.extend(running.ticks)
            for units in _lines(sys.stdin):
                if running.step == counter.steps:
                    return
                tick = running.tick(units)
                seen.append(tick)
                _told(tick, as_json)
                if html is not None:
                    _page(html, counter, seen, live=True)

        release = counter.run(session, loop, table=table, delta=plan.delta)
        if release is not None and release.cached:
            raise InputError(f"the stream {counter.name!r} is over: another --name begins a new one, and pays for it")
        if html is not None:
            _page(html, counter, seen, live=False)
        if not as_json:
            left = counter.steps - len(seen)
            said = (
                f"rests after {len(seen):,} of {counter.steps:,} ticks"
                if left
                else f"is over: all {len(seen):,} ticks are told"
            )
            output(False, None, remark(f"the stream {counter.name!r} {said}"))


def _lines(source: TextIO) -> Iterator[list[str]]:
    for line in source:
        yield line.split()


def _told(tick: Tick, as_json: bool) -> None:
    """One line, at once, for whoever waits behind a pipe."""
    shown: dict[str, Any] = {"tick": tick.step, "count": tick.count, "margin": tick.margin}
    typer.echo(json.dumps(shown) if as_json else str(tick))
    sys.stdout.flush()


def _page(path: Path, counter: Counter, ticks: list[Tick], *, live: bool) -> None:
    """The chart, replaced whole."""
    from tacit.plot import LabelledCurve, curves, page
    from tacit.plot.page import svg

    if not ticks:
        return
    counts, margins = [tick.count for tick in ticks], [tick.margin for tick in ticks]
    line = LabelledCurve(
        "noisy count, and where the truth is in 95 %",
        [tick.step for tick in ticks],
        counts,
        [c - m for c, m in zip(counts, margins, strict=True)],
        [c + m for c, m in zip(counts, margins, strict=True)],
    )
    title = (counter.name, f"noise only: a unit counts at most {counter.times} times, {counter.separation} ticks apart")
    drawn = svg(
        page([[curves([line], title=title, axes=("tick", "events so far"), domain=None)]], title="", subtitle="")
    )
    again = '<meta http-equiv="refresh" content="5">' if live else ""
    text = f'<!doctype html><meta charset="utf-8">{again}<title>{escape(counter.name)}</title>{drawn}\n'
    fresh = path.with_suffix(".part")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
