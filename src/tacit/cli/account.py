"""`tacit account`: what a program costs, the noise for a price, what a guarantee means, and the list of mechanisms."""

import warnings
from decimal import Decimal
from fractions import Fraction
from inspect import getdoc
from math import inf
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError, Number, PrivacyWarning, Relation, exact, positive, whole
from tacit.cli import program as p
from tacit.cli.options import Json, Picture, flag, option
from tacit.cli.program import AccountedProgram, plain
from tacit.cli.screen import announce, bar, bounds, bullets, check_outputs, down, facts, plain_table, print_json, up
from tacit.loss import PLD, Approx, Interval, Loss, Meaning, Pure
from tacit.loss import calibrate as least_noise
from tacit.loss.pld import probability
from tacit.mechanism import MECHANISMS, Mechanism

__all__ = ["as_markdown", "between", "calibrate", "epsilon", "explain", "mechanisms"]

MARKED = (0.01, 0.1)
POINTS = 501
HEADING = """\
# Mechanisms

Every mechanism of `tacit`, from its registry. `make docs` writes this page (`tacit account mechanisms --markdown`).

| mechanism | what it does | theory |
|---|---|---|
"""


def epsilon(
    name: p.MechanismName,
    sigma: p.Sigma = None,
    scale: p.Scale = None,
    epsilon: p.EpsilonEach = None,
    sensitivity: p.SensitivityOf = None,
    clip: p.Clip = None,
    rate: p.Rate = "1",
    sampling: p.Sampling = "poisson",
    steps: p.Steps = "1",
    delta: p.Delta = None,
    relation: p.RelationName = "add_remove",
    unit: p.Unit = "row",
    accuracy: p.Accuracy = 1e-5,
    as_json: Json = False,
) -> None:
    """What ε is this? Bounds on both sides, each proven.

    Example: tacit account epsilon gaussian --sigma 1 --rate 0.01 --steps 10000 --delta 1e-5
    """
    values = {"sigma": sigma, "scale": scale, "epsilon": epsilon}
    program = AccountedProgram.parse(name, values, sensitivity, clip, rate, sampling, steps, relation, unit)
    _show_price(Console(), program, program.delta(delta), accuracy=accuracy, as_json=as_json)


def calibrate(
    name: p.MechanismName,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "--target-epsilon", metavar="NUMBER", help="The ε to reach.")
    ] = None,
    sensitivity: p.SensitivityOf = None,
    clip: p.Clip = None,
    rate: p.Rate = "1",
    sampling: p.Sampling = "poisson",
    steps: p.Steps = "1",
    delta: p.Delta = None,
    relation: p.RelationName = "add_remove",
    unit: p.Unit = "row",
    accuracy: p.Accuracy = 1e-4,
    as_json: Json = False,
) -> None:
    """How much noise does this ε need? For pure: how much ε may each run spend?

    Example: tacit account calibrate gaussian --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10000
    """
    if epsilon is None:
        raise InputError("calibrate needs --epsilon: the ε that the whole program may cost")
    values: dict[str, str | None] = {p.mechanism(name).option: "1"}  # a place for what is sought
    program = AccountedProgram.parse(name, values, sensitivity, clip, rate, sampling, steps, relation, unit)
    _show_setting(Console(), program, epsilon, program.delta(delta), accuracy=accuracy, as_json=as_json)


def explain(
    name: p.MechanismNameOrNone = None,
    epsilon: Annotated[
        str | None, option("--epsilon", "NUMBER", "The ε to explain; with pure, the ε of each run.")
    ] = None,
    delta: p.Delta = None,
    prior: Annotated[str, option("--prior", "NUMBER", "What somebody believed before.")] = "0.5",
    population: Annotated[
        str | None, option("--population", "COUNT", "How many units there are: δ must be far below.")
    ] = None,
    sigma: p.Sigma = None,
    scale: p.Scale = None,
    sensitivity: p.SensitivityOf = None,
    clip: p.Clip = None,
    rate: p.Rate = "1",
    sampling: p.Sampling = "poisson",
    steps: p.Steps = "1",
    relation: p.RelationName = "add_remove",
    unit: p.Unit = "row",
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """What does this guarantee mean? For an (ε, δ), or for a mechanism given as in `tacit account epsilon`.

    Example: tacit account explain --epsilon 1 --delta 1e-6 --prior 0.1 --plot explain.svg
    """
    if name is None:
        used = {"--sigma": sigma, "--scale": scale, "--sensitivity": sensitivity, "--clip": clip}
        used |= {
            "--sampling": None if sampling == "poisson" else sampling,
            "--rate": None if rate == "1" else rate,
            "--steps": None if steps == "1" else steps,
        }
        extra = [option for option, given in used.items() if given is not None]
        if extra:
            raise InputError(
                f"{extra[0]} belongs to a mechanism: name one, such as tacit account explain gaussian {extra[0]} …"
            )
        subject = _guarantee(epsilon, delta, relation=relation, unit=unit)
    else:
        values = {"sigma": sigma, "scale": scale, "epsilon": epsilon}
        program = AccountedProgram.parse(name, values, sensitivity, clip, rate, sampling, steps, relation, unit)
        subject = (program.sentence(), program.loss(), program.delta(delta))
    _show_meaning(Console(), *subject, prior=prior, population=population, plot=plot, as_json=as_json)


def mechanisms(
    as_json: Json = False,
    markdown: Annotated[bool, flag("--markdown", "Print the page docs/reference/mechanisms.md.")] = False,
) -> None:
    """Every mechanism there is: what it does and where its theory is written down."""
    if as_json:
        rows = [
            {"name": m.__name__, "summary": _summary(m), "theory": f"docs/theory/{m.theory}.md"} for m in MECHANISMS
        ]
        print_json(Console(), rows)
    elif markdown:
        typer.echo(as_markdown(), nl=False)
    else:
        table = plain_table()
        table.add_column("Mechanism", style="bold", no_wrap=True)
        table.add_column("What it does")
        table.add_column("docs/theory/…", style="dim", no_wrap=True)
        for each in MECHANISMS:
            table.add_row(each.__name__, Text(_summary(each)), f"{each.theory}.md")
        Console().print(table)


def as_markdown() -> str:
    """The page docs/reference/mechanisms.md."""
    rows = []
    for m in MECHANISMS:
        text = _summary(m).replace("|", "\\|")
        rows.append(f"| `{m.__name__}` | {text} | [{m.theory}](../theory/{m.theory}.md) |")
    return HEADING + "\n".join(rows) + "\n"


def _summary(mechanism: type[Mechanism]) -> str:
    """The first sentence of the mechanism's own description, on one line."""
    paragraph = (getdoc(mechanism) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


# --- what a program costs, and the noise for a price


def _price(program: AccountedProgram, delta: Fraction, *, accuracy: float) -> Interval:
    """Bounds on the program's ε at δ."""
    if not 1e-9 <= accuracy <= 0.5:
        raise InputError(f"--accuracy must lie between 1e-9 and 0.5, not {accuracy}")
    loss = program.loss()
    assert isinstance(loss, PLD)  # as every step of it
    with bar("composing"):
        return loss.epsilon(delta, accuracy=accuracy)


def _show_price(
    console: Console, program: AccountedProgram, delta: Fraction, *, accuracy: float, as_json: bool
) -> None:
    """The interval, the guarantee and one sentence on what it means."""
    found = _price(program, delta, accuracy=accuracy)
    guarantee = Approx(found.upper, delta, relation=program.relation, unit=program.unit) if found.upper < inf else None
    meaning = None if guarantee is None else guarantee.meaning(delta=delta).sentence
    if as_json:
        fields = {"program": program.json(), "delta": float(delta), "epsilon": bounds(found), "meaning": meaning}
        print_json(console, fields | {"loss": program.loss().json()})
        return
    if meaning is None:
        raise InputError(f"there is no finite epsilon at delta = {float(delta):g}: pass a larger --delta")
    facts(
        console,
        {
            "program": program.sentence(),
            "ε": Text.assemble((up(found.upper), "bold cyan"), f"   {between(found)}"),
            "guarantee": f"({up(found.upper)}, {float(delta):g})-differential privacy for {program.whom()}",
            "meaning": meaning,
        },
    )


def between(found: Interval) -> str:
    """How well a number is known."""
    if not found.rigorous:
        return "an approximation, not a bound"
    if found.lower == 0 < found.upper:
        return "an upper bound; nothing is known from below"
    low, high = down(found.lower, 8), up(found.upper, 8)
    return "exactly" if low == high else f"proven to lie between {low} and {high}"


def _show_setting(
    console: Console, program: AccountedProgram, epsilon: Number, delta: Fraction, *, accuracy: float, as_json: bool
) -> None:
    """The least noise (for pure: the most ε a run) that reaches (ε, δ)."""
    target, option = positive(epsilon, "--epsilon"), program.kind.option
    growing = option == "epsilon"
    with bar("calibrating"):
        found = least_noise(
            lambda value: program.with_value(value).loss(),
            epsilon=target,
            delta=delta,
            accuracy=accuracy,
            increasing=growing,
        )
    if as_json:
        sought = {name: fact for name, fact in program.json().items() if name != option}
        goal = {"epsilon": float(target), "delta": float(delta)}
        print_json(console, {"program": sought, "target": goal, option: bounds(found) | {"value": found.value}})
        return
    use, word = _usable(program, found.value, target, delta), "more" if growing else "less"
    limit = up(found.upper) if growing else down(found.lower)
    known = found.lower > 0 and found.upper < inf
    facts(
        console,
        {
            "program": program.sentence(noise=False),
            "target": f"({plain(target)}, {float(delta):g})-differential privacy for {program.whom()}",
            f"{option}": Text.assemble((use, "bold cyan"), f"   {_word(found)} to be enough"),
            "": f"{limit} or {word} is {_word(found)} not to be" if known else "no bound is known on the other side",
        },
    )


def _word(found: Interval) -> str:
    return "proven" if found.rigorous else "estimated"


def _usable(program: AccountedProgram, value: float, target: Fraction, delta: Fraction) -> str:
    """A short number that is as safe as `value`. Without δ the arithmetic is exact, so that 10 need not be 10.0001."""
    near = f"{value:.6g}"
    loss = program.with_value(near).loss()
    if not delta and isinstance(loss, PLD) and loss.bound <= target:
        return near
    return (down if program.kind.option == "epsilon" else up)(value, spread=Decimal(0))


# --- what a guarantee means


def _guarantee(
    epsilon: str | None, delta: str | None, *, relation: str = "add_remove", unit: str = "row"
) -> tuple[str, Loss, Fraction]:
    """A guarantee as someone states it: its name, the loss, and the δ."""
    if epsilon is None:
        raise InputError("nothing to explain: pass --epsilon NUMBER, or a mechanism as for tacit account epsilon")
    bound, slack = positive(epsilon, "--epsilon"), probability(exact(delta or 0, "--delta"))
    neighbours = Relation(relation.replace("-", "_"))
    name = f"({plain(bound)}, {float(slack):g})" if slack else plain(bound)
    if slack:
        return f"{name}-differential privacy", Approx(bound, slack, relation=neighbours, unit=unit), slack
    return f"{name}-differential privacy", Pure(bound, relation=neighbours, unit=unit), slack


def _show_meaning(
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
    check_outputs(plot=plot)
    belief = exact(prior, "--prior")
    people = None if population is None else whole(population, "--population", least=1)
    with warnings.catch_warnings(record=True) as caught, bar("thinking"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PrivacyWarning)
        found = loss.meaning(belief, delta=delta, population=people)
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
        announce(console, "picture", plot, quiet=as_json)


def _whom(meaning: Meaning) -> str:
    verb = "adding or removing" if meaning.relation is Relation.ADD_REMOVE else "replacing"
    return f"{verb} one {meaning.unit}"


def _draw(name: str, loss: Loss, path: Path) -> None:
    from tacit.plot import page, tradeoff, write

    with bar("drawing"):
        curve = loss.tradeoff()
        alpha, lower, _ = curve.curve(POINTS)
    marks = [(share, curve(share)) for share in MARKED]
    panel = tradeoff(alpha.tolist(), lower.tolist(), marks=marks)
    title = f"What a test about one {loss.unit} can do"
    write(page([[panel]], title=title, subtitle=name), path)
