"""How a synthetic table was made and how it fits: what was joined, columns, pairs, and what each round cost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import cos, pi, sin

import altair as alt

from tacit.plot.page import BLUE, FAINT, INK, ORANGE, WIDTH, Panel, chart, coloured, headed

__all__ = ["CellBar", "JoinedPair", "RoundCost", "column_bars", "heat", "joined", "round_costs"]

Point = tuple[float, float]
PARTS = (0.5, *(0.5 + sign * step / 40 for step in range(1, 15) for sign in (1, -1)))  # of a line, where a label may be
LABEL = (0.19, 0.08)  # its size, where the circle has radius one

MEASURED, FITTED = "noisy count, with its 95 % interval", "synthetic"


@dataclass(frozen=True)
class JoinedPair:
    """Two columns that were measured together, or not (`error` is None); `error` is a share of all units."""

    first: str
    second: str
    error: float | None


@dataclass(frozen=True)
class CellBar:
    """One cell of a column: what was measured, with its interval, and what the synthetic table has."""

    column: str
    cell: str
    noisy: float
    low: float
    high: float
    fitted: float


@dataclass(frozen=True)
class RoundCost:
    """What one measurement cost."""

    number: int
    what: str
    rho: float
    chosen: bool


def joined(columns: Sequence[str], pairs: Sequence[JoinedPair], *, title: tuple[str, ...]) -> Panel:
    """Columns on a circle, and a line between those that were measured together, with its error."""
    turn = {name: 2 * pi * place / len(columns) - pi / 2 for place, name in enumerate(columns)}
    at = {name: (cos(angle), sin(angle)) for name, angle in turn.items()}
    dots = [
        {"name": name, "x": x, "y": y, "tx": 1.16 * x, "ty": 1.16 * y, "align": _side(x)} for name, (x, y) in at.items()
    ]
    lines, taken = [], [*at.values()]
    for pair in pairs:
        (x, y), (u, v) = at[pair.first], at[pair.second]
        spots = [(x + part * (u - x), y + part * (v - y)) for part in PARTS]
        taken.append(max(spots, key=lambda spot: _room(spot, taken)))
        share = 0.0 if pair.error is None else pair.error
        lines.append({"x": x, "y": y, "u": u, "v": v, "mx": taken[-1][0], "my": taken[-1][1],
                      "error": share, "text": f"{share:.1%}"})  # fmt: skip
    wide = alt.Scale(domain=[-1.75, 1.75], nice=False)
    tall = alt.Scale(domain=[-1.35, 1.35], nice=False)
    across, up = alt.X("x:Q", scale=wide, axis=None), alt.Y("y:Q", scale=tall, axis=None)
    thick = alt.StrokeWidth("error:Q", scale=alt.Scale(range=[1.5, 5]), legend=None)
    edges, nodes = chart(lines), chart(dots)
    layers = [
        edges.mark_rule(color=BLUE, opacity=0.55).encode(x=across, y=up, x2="u:Q", y2="v:Q", strokeWidth=thick),
        nodes.mark_circle(size=110, color=INK, opacity=1).encode(x=across, y=up),
        edges.mark_text(fontSize=10, color=INK, dy=-5).encode(
            x=alt.X("mx:Q", scale=wide, axis=None), y=alt.Y("my:Q", scale=tall, axis=None), text="text:N"
        ),
    ]
    layers += [
        nodes.transform_filter(f"datum.align == '{side}'")
        .mark_text(align=side, fontSize=12, color=INK)
        .encode(x=alt.X("tx:Q", scale=wide, axis=None), y=alt.Y("ty:Q", scale=tall, axis=None), text="name:N")
        for side in ("left", "center", "right")
    ]
    return alt.layer(*layers).properties(width=WIDTH + 130, height=WIDTH, title=headed(*title))


def _room(spot: Point, taken: Sequence[Point]) -> float:
    """How far a label at a spot is from the nearest that is there, in sizes of a label; one is enough."""
    x, y = spot
    wide, high = LABEL
    return min(1.0, *(max(abs(x - u) / wide, abs(y - v) / high) for u, v in taken))


def _side(x: float) -> str:
    return "center" if abs(x) < 0.2 else "left" if x > 0 else "right"


def column_bars(bars: Sequence[CellBar], *, title: tuple[str, ...], columns: int = 2) -> Panel:
    """For each column its cells: blue points with intervals were measured, orange bars are the synthetic table's."""
    base = chart([asdict(bar) | {"role": MEASURED, "other": FITTED} for bar in bars])
    order = list(dict.fromkeys(bar.cell for bar in bars))
    down = alt.Y("cell:N", title=None, sort=order, axis=alt.Axis(labelLimit=130))
    colours = {MEASURED: BLUE, FITTED: ORANGE}
    mine, theirs = coloured("role", colours, orient="top", labelLimit=400), coloured("other", colours, orient="top")
    layers = alt.layer(
        base.mark_bar(opacity=0.55, height={"band": 0.65}).encode(
            x=alt.X("fitted:Q", title="units"), y=down, color=theirs
        ),
        base.mark_rule(strokeWidth=1.6).encode(x="low:Q", x2="high:Q", y=down, color=mine),
        base.mark_point(filled=True, size=28, opacity=1).encode(x="noisy:Q", y=down, color=mine),
    ).properties(width=225, height=alt.Step(15))
    facets: Panel = (
        layers.facet(
            alt.Facet("column:N", title=None, sort=list(dict.fromkeys(b.column for b in bars))), columns=columns
        )
        .resolve_scale(x="independent", y="independent")
        .properties(title=headed(*title))
    )
    return facets


def heat(columns: Sequence[str], pairs: Sequence[JoinedPair], *, title: tuple[str, ...]) -> Panel:
    """A square for each pair: the darker the more it differs; grey where nothing was measured to compare with."""
    rows = [
        {"first": a, "second": b, "error": pair.error, "text": "–" if pair.error is None else f"{pair.error:.1%}"}
        for pair in pairs
        for a, b in ((pair.first, pair.second), (pair.second, pair.first))
    ]
    most = max((pair.error for pair in pairs if pair.error is not None), default=1.0)
    for row in rows:
        row["dark"] = row["error"] is not None and float(str(row["error"])) > most * 0.6
    base = chart(rows)
    across = alt.X("first:N", title=None, sort=list(columns), axis=alt.Axis(labelAngle=-40, orient="top"))
    down = alt.Y("second:N", title=None, sort=list(columns))
    known = base.transform_filter("isValid(datum.error)")
    shade = alt.Color("error:Q", scale=alt.Scale(scheme="blues", domainMin=0), legend=None)
    ink = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
    return alt.layer(
        base.transform_filter("!isValid(datum.error)").mark_rect(color="#eeeeee").encode(x=across, y=down),
        known.mark_rect().encode(x=across, y=down, color=shade),
        base.mark_text(fontSize=10).encode(x=across, y=down, text="text:N", color=ink),
    ).properties(width=alt.Step(44), height=alt.Step(26), title=headed(*title))


def round_costs(rounds: Sequence[RoundCost], *, title: tuple[str, ...]) -> Panel:
    """What each measurement cost, in their order."""
    names = {True: "chosen", False: "every column"}
    rows = [asdict(each) | {"kind": names[each.chosen]} for each in rounds]
    base = chart(rows)
    down = alt.Y("number:O", title="measurement", axis=alt.Axis(labelOverlap=True))
    across = alt.X("rho:Q", title="ρ")
    colour = coloured("kind", {"every column": FAINT, "chosen": BLUE}, orient="top")
    return alt.layer(
        base.mark_bar(height={"band": 0.7}).encode(x=across, y=down, color=colour),
        base.mark_text(align="left", dx=4, fontSize=9, color=FAINT).encode(x=across, y=down, text="what:N"),
    ).properties(width=WIDTH, height=alt.Step(14), title=headed(*title))
