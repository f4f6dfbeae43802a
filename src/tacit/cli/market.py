"""`tacit market`: one price, or one option, for everybody, from what each reports."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.cli.options import Json, Picture, option
from tacit.cli.screen import check_outputs, facts, output, up, write_out
from tacit.market import Choosing, Pricing, cents

__all__ = ["choose_option", "set_price"]

Reports = Annotated[Path, typer.Argument(help="A text file of numbers, a row for each person.", show_default=False)]
Epsilon = Annotated[str, option("NUMBER", "What the outcome may tell of one report.")]


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
    epsilon: Epsilon = "1",
    as_json: Json = False,
) -> None:
    """One option for everybody: each row has what a person would pay to avoid each option. The least in all is likely.

    Example: tacit market choose costs.txt --largest 10 --epsilon 1
    """
    rows = _rows(costs)
    plan = Choosing(options=rows.shape[1], largest=largest, epsilon=epsilon)
    chosen = plan.draw(rows)
    lines = {
        "option": f"{chosen + 1} of {plan.options}",
        "costs": f"at most {up(plan.shortfall(), 4)} more in all than the best option, with 95 % confidence",
        "truth": plan.truth,
        "private": f"ε = {up(float(plan.loss.bound), 4)} for one report in the place of another",
    }
    output(as_json, {"option": chosen, "shortfall": plan.shortfall(), "epsilon": float(plan.loss.bound)}, facts(lines))
