"""`tacit market`: one price, one option, who gets what, or routes, from what each reports."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column
from rich.text import Text

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.base.private_file import write_private
from tacit.cli.options import Json, Picture, option
from tacit.cli.screen import check_outputs, facts, output, table, up, write_out
from tacit.market import Choosing, Matching, Pricing, Routing, cents
from tacit.market.rules import MarketRules
from tacit.market.sale import promise

__all__ = ["advise_routes", "choose_option", "match_goods", "set_price"]

Reports = Annotated[Path, typer.Argument(help="A text file of numbers, a row for each person.", show_default=False)]
Rho = Annotated[str, option("NUMBER", "What everything public may tell of one report, as ρ.")]
Advice = Annotated[
    Path | None,
    typer.Option("--advice", help="A new file for what each person is told, a row each. For nobody else's eyes."),
]
Epsilon = Annotated[str, option("NUMBER", "What the outcome may tell of one report.")]

DRAWN = 3


def _rows(path: Path) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    try:
        lines = path.read_text(encoding="utf-8").replace(",", " ").split("\n")
        rows = [[float(number) for number in line.split()] for line in lines if line.strip()]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path} must hold numbers alone, a row for each person") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise InputError(f"{path} must have as many numbers in each row, and one row or more")
    return np.array(rows)


def set_price(
    bids: Reports,
    low: Annotated[int, typer.Option("--low", min=1, help="The lowest price, in cents.")] = 1,
    high: Annotated[int, typer.Option("--high", min=1, help="The highest price, in cents.")] = 100,
    epsilon: Epsilon = "1",
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """One price for a good that costs nothing to copy, from one sealed bid in each row. Nobody gains much by a lie.

    The picture shows what each price would earn, and its chance: it follows from the bids, so it is for your eyes
    alone.

    Example: tacit market price bids.txt --high 500 --epsilon 0.5
    """
    check_outputs(plot=plot)
    rows = _rows(bids)
    if rows.shape[1] != 1:
        raise InputError(f"{bids} must have one bid in each row, not {rows.shape[1]}")
    plan = Pricing(grid=cents(low, high), epsilon=epsilon)
    chosen = plan.draw(rows[:, 0])
    lines = {
        "price": f"{float(chosen):.2f}",
        "earns": f"at most {up(plan.shortfall(), 4)} less than the best price, with 95 % confidence",
        "truth": plan.truth,
        "private": f"ε = {up(float(plan.loss.bound), 4)} for one bid in the place of another",
    }
    data = {"price": str(chosen), "shortfall": plan.shortfall(), "gain": plan.gain, "epsilon": float(plan.loss.bound)}
    output(as_json, data, facts(lines))
    write_out("picture", plot, lambda path: _draw(plan, rows[:, 0], path), quiet=as_json)


def _draw(plan: Pricing, bids: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", path: Path) -> None:
    from tacit.plot import LabelledCurve, curves, page, write

    prices = [float(each) for each in plan.grid]
    with progress_bar("drawing"):
        law, earned = list(plan.law(bids).values()), [float(each) for each in plan.revenues(bids)]
    panels = [
        curves([LabelledCurve(name, prices, values)], title=(title,), axes=("price", axis), domain=None, width=520)
        for name, values, title, axis in (
            ("revenue", earned, "what each price earns", "revenue"),
            ("chance", law, "how likely each price is", "chance"),
        )
    ]
    write(page([[panel] for panel in panels], title="One price for all", subtitle="for the seller's eyes alone"), path)


def choose_option(
    costs: Reports,
    largest: Annotated[str, option("NUMBER", "The most that one person may report; more counts as that.")] = "1",
    count: Annotated[int, typer.Option("--count", min=1, help="Choose so many; each person uses the best.")] = 1,
    epsilon: Epsilon = "1",
    as_json: Json = False,
) -> None:
    """One option for everybody: each row has what a person would pay to avoid each option. The least in all is likely.

    Example: tacit market choose costs.txt --largest 10 --epsilon 1
    """
    rows = _rows(costs)
    plan = Choosing(options=rows.shape[1], largest=largest, epsilon=epsilon, count=count)
    chosen = plan.sets[plan.draw(rows)]
    lines = {
        "option": f"{' and '.join(str(each + 1) for each in chosen)} of {plan.options}",
        "costs": f"at most {up(plan.shortfall(), 4)} more in all than the best option, with 95 % confidence",
        "truth": plan.truth,
        "private": f"ε = {up(float(plan.loss.bound), 4)} for one report in the place of another",
    }
    data = {"option": chosen[0]} if count == 1 else {"options": list(chosen)}
    output(as_json, {**data, "shortfall": plan.shortfall(), "epsilon": float(plan.loss.bound)}, facts(lines))


def match_goods(
    values: Reports,
    goods: Annotated[
        list[str], typer.Option("--good", help='A good and its copies, "window = 40"; once for each column.')
    ],
    rho: Rho = "0.02",
    largest: Annotated[str, option("NUMBER", "The most that a value may be; more counts as that.")] = "1",
    advice: Advice = None,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """At most one good for each person, at prices found in noisy rounds; nothing is oversold.

    Each row has what each good is worth to one person. The picture shows prices and noisy demand in each round: it is
    public, as is everything that is printed.

    Example: tacit market match values.txt --good "window = 40" --good "aisle = 60" --plot rounds.svg
    """
    rules = {"rule": "match", "goods": goods, "rho": rho, "largest": largest}
    plan, names, outcome = _played(rules, values, advice, plot)
    assert isinstance(plan, Matching)
    shown = MarketRules.read({**rules, "table": "reports"}).shown(plan, outcome)
    rows = [
        (name, up(price, 4), f"{copies:,}", f"{asked:,}", f"{chance:.0%}")
        for name, price, copies, asked, chance in zip(
            names, shown["prices"], shown["copies"], shown["demand"], shown["chances"], strict=True
        )
    ]
    heads = (Column("good"), "price", "copies", "asked for, with noise", "chance to get it")
    lines = {"truth": plan.truth, "private": promise(plan.loss)}
    output(as_json, {"goods": names, **shown}, table(*heads, rows=rows), Text(), facts(lines))
    asked_, prices = (
        [[each[what][i] for each in shown["rounds"]] for i in range(len(names))] for what in ("demand", "prices")
    )
    limits = {name: copies - shown["reserve"] for name, copies in zip(names, shown["copies"], strict=True)}
    charts: Any = (("prices", "price", prices, {}), ("asked for, with noise", "agents", asked_, limits))
    write_out("picture", plot, lambda path: _draw_rounds("Prices and demand", names, charts, path), quiet=as_json)


def advise_routes(
    costs: Reports,
    links: Annotated[
        list[str],
        typer.Option("--link", help='A link and its costs, free and when all are on it: "bridge = 0.1 + 0.9".'),
    ],
    routes: Annotated[
        list[str], typer.Option("--route", help='A route as links, "bridge + road"; once for each column.')
    ],
    rho: Rho = "0.02",
    largest: Annotated[str, option("NUMBER", "The most that a person may report; more counts as that.")] = "1",
    advice: Advice = None,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """A route for each person in traffic that all make together: hardly anybody would gain by another one.

    Each row has what each route costs one person beside the traffic. How much they would gain follows from all reports,
    so it is for your eyes alone.

    Example: tacit market game costs.txt --link "bridge = 0 + 1" --link "tunnel = 0.5" --route bridge --route tunnel
    """
    rules = {"rule": "game", "links": links, "routes": routes, "rho": rho, "largest": largest}
    plan, names, outcome = _played(rules, costs, advice, plot)
    assert isinstance(plan, Routing)
    rows = [(name, f"{share:.1%}") for name, share in zip(names, outcome["shares"], strict=True)]
    lines = {"truth": plan.truth, "private": promise(plan.loss)}
    data = {"routes": names, "shares": outcome["shares"], "rounds": outcome["rounds"]}
    output(as_json, data, table(Column("route"), "share of the traffic, about", rows=rows), Text(), facts(lines))
    shares = [[each["shares"][i] for each in outcome["rounds"]] for i in range(len(names))]
    charts: Any = (("share of the traffic", "share", shares, {}),)
    write_out("picture", plot, lambda path: _draw_rounds("Traffic", names, charts, path), quiet=as_json)


def _played(
    given: dict[str, Any], reports: Path, advice: Path | None, plot: Path | None
) -> tuple[Any, list[str], dict[str, Any]]:
    """The plan of these rules, the names of goods or routes, and the outcome; each one's advice in a file."""
    check_outputs(plot=plot)
    rules, rows = MarketRules.read({**given, "table": "reports"}), _rows(reports)
    if advice is not None and advice.exists():
        raise InputError(f"{advice} is there already: name a new file")
    if rows.shape[1] != len(rules.things):
        raise InputError(
            f"{reports} has {rows.shape[1]} numbers in each row, one is needed for each of: {', '.join(rules.things)}"
        )
    plan: Any = rules.plan(len(rows), "agent")
    read = plan.read(rows)
    with progress_bar("asking"):
        outcome = plan.play(read, lambda _: None)
    if advice is not None:
        taken = [rules.things[each] if each >= 0 else "" for each in plan.allocation(outcome, read)]
        write_private(advice, "\n".join(taken) + "\n")
    return plan, list(rules.things), outcome


def _draw_rounds(title: str, names: list[str], charts: Any, path: Path) -> None:
    """The first goods or routes, as many as have a colour of their own."""
    from tacit.plot import LabelledCurve, curves, page, write

    told = "public" if len(names) <= DRAWN else f"the first {DRAWN} of {len(names)}; public"
    panels, names = [], names[:DRAWN]
    for heading, axis, series, limits in charts:
        rounds = [float(each + 1) for each in range(len(series[0]))]
        lines = [LabelledCurve(name, rounds, values) for name, values in zip(names, series, strict=False)]
        lines += [
            LabelledCurve(f"{name}: copies less the reserve", [rounds[0], rounds[-1]], [limit, limit])
            for name, limit in limits.items()
            if name in names
        ]
        panels.append(curves(lines, title=(heading,), axes=("round", axis), domain=None, width=520))
    write(page([[panel] for panel in panels], title=title, subtitle=told), path)
