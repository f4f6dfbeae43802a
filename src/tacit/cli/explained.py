"""`tacit explain`: a guarantee in odds, beliefs and tests, with a picture of the trade-off it leaves to an attacker."""

import warnings
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tacit.base import InputError, PrivacyWarning, Relation, exact, positive, whole
from tacit.cli.demo import bullets
from tacit.cli.program import plain
from tacit.cli.screen import drawn, patiently, picture, print_json
from tacit.loss import Approx, Loss, Meaning, Pure
from tacit.loss.pld import probability

__all__ = ["show_meaning", "stated"]

MARKED = (0.01, 0.1)
POINTS = 501


def stated(
    epsilon: str | None, delta: str | None, *, relation: str = "add_remove", unit: str = "row"
) -> tuple[str, Loss, Fraction]:
    """A guarantee as someone states it: its name, the loss, and the δ."""
    if epsilon is None:
        raise InputError("nothing to explain: pass --epsilon NUMBER, or a mechanism as for tacit epsilon")
    bound, slack = positive(epsilon, "--epsilon"), probability(exact(delta or 0, "--delta"))
    neighbours = Relation(relation.replace("-", "_"))
    name = f"({plain(bound)}, {float(slack):g})" if slack else plain(bound)
    if slack:
        return f"{name}-differential privacy", Approx(bound, slack, relation=neighbours, unit=unit), slack
    return f"{name}-differential privacy", Pure(bound, relation=neighbours, unit=unit), slack


def show_meaning(
    console: Console,
    name: str,
    loss: Loss,
    delta: Fraction,
    *,
    prior: str,
    population: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Say what `loss`, called `name`, means at δ."""
    picture(plot)
    belief = exact(prior, "--prior")
    people = None if population is None else whole(population, "--population", least=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PrivacyWarning)
        found = patiently("thinking", lambda: loss.meaning(belief, delta=delta, population=people))
    cautions = [str(warning.message) for warning in caught]
    if as_json:
        print_json(console, {"guarantee": name, **found.json(), "warnings": cautions})
    else:
        console.print(Text(f"{name}, for {_whom(found)}", style="bold"))
        console.print(bullets(str(found).splitlines()))
        for caution in cautions:
            console.print(Text(f"! {caution}", style="yellow"))
    if plot:
        _draw(name, loss, plot)
        drawn(console, plot, quiet=as_json)


def _whom(meaning: Meaning) -> str:
    verb = "adding or removing" if meaning.relation is Relation.ADD_REMOVE else "replacing"
    return f"{verb} one {meaning.unit}"


def _draw(name: str, loss: Loss, path: Path) -> None:
    from tacit.plot import page, tradeoff, write

    curve = patiently("drawing", loss.tradeoff)
    alpha, lower, _ = curve.curve(POINTS)
    marks = [(share, curve(share)) for share in MARKED]
    panel = tradeoff(alpha.tolist(), lower.tolist(), marks=marks)
    title = f"What a test about one {loss.unit} can do"
    write(page([[panel]], title=title, subtitle=name), path)
