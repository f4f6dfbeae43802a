"""`tacit account`: what a program costs, the noise for a price, what a guarantee means, and the list of mechanisms."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from inspect import getdoc
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from tacit.base import InputError, PrivacyWarning, exact, positive, whole
from tacit.base.bar import progress_bar
from tacit.cli import program as p
from tacit.cli.options import Json, Picture, flag, option
from tacit.cli.screen import bounds, bullets, check_outputs, down, facts, output, table, up, write_out
from tacit.loss import PLD, Approx, Interval, Loss, Pure
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
    noise: p.NoiseOptions,
    sample: p.SampleOptions,
    accuracy: p.Accuracy = 1e-5,
    as_json: Json = False,
) -> None:
    """What ε is this? Bounds on both sides, each proven.

    Example: tacit account epsilon gaussian --sigma 1 --rate 0.01 --steps 10000 --delta 1e-5
    """
    if not 1e-9 <= accuracy <= 0.5:
        raise InputError(f"--accuracy must lie between 1e-9 and 0.5, not {accuracy}")
    program = p.AccountedProgram.parse(name, noise, sample)
    delta, loss = program.delta, program.loss()
    assert isinstance(loss, PLD)  # as every step of it
    with progress_bar("composing"):
        found = loss.epsilon(delta, accuracy=accuracy)
    about: dict[str, Any] = {"relation": program.relation, "unit": program.unit}
    meaning = None if found.upper == inf else Approx(found.upper, delta, **about).meaning(delta=delta).sentence
    if meaning is None and not as_json:
        raise InputError(f"there is no finite epsilon at delta = {float(delta):g}: pass a larger --delta")
    fields = {"program": program.json(), "delta": float(delta), "epsilon": bounds(found), "meaning": meaning}
    lines: dict[str, str | Text] = {
        "program": program.sentence(),
        "ε": Text.assemble((up(found.upper), "bold cyan"), f"   {between(found)}"),
        "guarantee": f"({up(found.upper)}, {float(delta):g})-differential privacy for {program.whom()}",
        "meaning": meaning or "",
    }
    output(as_json, fields | {"loss": loss.json()}, facts(lines))


def between(found: Interval) -> str:
    """How well a number is known."""
    if not found.rigorous:
        return "an approximation, not a bound"
    if found.lower == 0 < found.upper:
        return "an upper bound; nothing is known from below"
    low, high = down(found.lower, 8), up(found.upper, 8)
    return "exactly" if low == high else f"proven to lie between {low} and {high}"


def calibrate(
    name: p.MechanismName,
    sample: p.SampleOptions,
    epsilon: Annotated[str | None, option("NUMBER", "The ε to reach.", "--epsilon", "--target-epsilon")] = None,
    accuracy: p.Accuracy = 1e-4,
    as_json: Json = False,
) -> None:
    """How much noise does this ε need? For pure: how much ε may each run spend?

    Example: tacit account calibrate gaussian --epsilon 1 --delta 1e-5 --rate 0.01 --steps 10000
    """
    if epsilon is None:
        raise InputError("calibrate needs --epsilon: the ε that the whole program may cost")
    sought = p.AccountedKind.named(name).option
    program = p.AccountedProgram.parse(name, p.NoiseOptions(**{sought: "1"}), sample)  # a place for what is sought
    growing = sought == "epsilon"
    target, delta = positive(epsilon, "--epsilon"), program.delta
    with progress_bar("calibrating"):
        found = least_noise(
            lambda value: program.with_value(value).loss(),
            epsilon=target,
            delta=delta,
            accuracy=accuracy,
            increasing=growing,
        )
    known = {name: fact for name, fact in program.json().items() if name != sought}
    goal = {"epsilon": float(target), "delta": float(delta)}

    def shown() -> Iterator[Table]:
        limit, word = (up(found.upper), "more") if growing else (down(found.lower), "less")
        sure = "proven" if found.rigorous else "estimated"
        two_sided = found.lower > 0 and found.upper < inf
        lines: dict[str, str | Text] = {
            "program": program.sentence(noise=False),
            "target": f"({p.plain(target)}, {float(delta):g})-differential privacy for {program.whom()}",
            sought: Text.assemble((_usable(program, found.value, target), "bold cyan"), f"   {sure} to be enough"),
            "": f"{limit} or {word} is {sure} not to be" if two_sided else "no bound is known on the other side",
        }
        yield facts(lines)

    output(as_json, {"program": known, "target": goal, sought: bounds(found) | {"value": found.value}}, shown())


def _usable(program: p.AccountedProgram, value: float, target: Fraction) -> str:
    """A short number that is as safe as `value`. Without δ the arithmetic is exact, so that 10 need not be 10.0001."""
    near = f"{value:.6g}"
    loss = program.with_value(near).loss()
    if not program.delta and isinstance(loss, PLD) and loss.bound <= target:
        return near
    return (down if program.kind.option == "epsilon" else up)(value, spread=Decimal(0))


@dataclass(frozen=True, kw_only=True)
class _ExplainedNoise(p.NoiseOptions):
    epsilon: Annotated[str | None, option("NUMBER", "The ε to explain; with pure, the ε of each run.")] = None


def explain(
    noise: _ExplainedNoise,
    sample: p.SampleOptions,
    name: p.MechanismNameOrNone = None,
    prior: Annotated[str, option("NUMBER", "What somebody believed before.")] = "0.5",
    population: Annotated[str | None, option("COUNT", "How many units there are: δ must be far below.")] = None,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """What does this guarantee mean? For an (ε, δ), or for a mechanism given as in `tacit account epsilon`.

    Example: tacit account explain --epsilon 1 --delta 1e-6 --prior 0.1 --plot explain.svg
    """
    if name is None:
        title, loss, delta = _guarantee(noise, sample)
    else:
        program = p.AccountedProgram.parse(name, noise, sample)
        title, loss, delta = program.sentence(), program.loss(), program.delta
    check_outputs(plot=plot)
    belief = exact(prior, "--prior")
    people = None if population is None else whole(population, "--population", least=1)
    with warnings.catch_warnings(record=True) as caught, progress_bar("thinking"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PrivacyWarning)
        found = loss.meaning(belief, delta=delta, population=people)
    cautions = [str(warning.message) for warning in caught]
    output(
        as_json,
        {"guarantee": title, **found.json(), "warnings": cautions},
        Text(f"{title}, for {p.whom(found.relation, found.unit)}", "bold"),
        bullets(str(found).splitlines()),
        *(Text(f"! {caution}", "yellow") for caution in cautions),
    )
    write_out("picture", plot, lambda path: _draw(title, loss, path), quiet=as_json)


def _guarantee(noise: p.NoiseOptions, sample: p.SampleOptions) -> tuple[str, Loss, Fraction]:
    """A guarantee as someone states it, without a mechanism: its name, the loss, and the δ."""
    usual = vars(p.NoiseOptions()) | vars(p.SampleOptions())
    for word, given in (vars(noise) | vars(sample)).items():
        if given != usual[word] and word not in ("epsilon", "delta", "relation", "unit"):
            raise InputError(
                f"--{word} belongs to a mechanism: name one, such as tacit account explain gaussian --{word} …"
            )
    if noise.epsilon is None:
        raise InputError("nothing to explain: pass --epsilon NUMBER, or a mechanism as for tacit account epsilon")
    bound, delta = positive(noise.epsilon, "--epsilon"), probability(exact(sample.delta or 0, "--delta"))
    name = f"({p.plain(bound)}, {float(delta):g})" if delta else p.plain(bound)
    about: dict[str, Any] = {"relation": sample.neighbours, "unit": sample.unit}
    loss = Approx(bound, delta, **about) if delta else Pure(bound, **about)
    return f"{name}-differential privacy", loss, delta


def _draw(name: str, loss: Loss, path: Path) -> None:
    from tacit.plot import page, tradeoff, write

    with progress_bar("drawing"):
        curve = loss.tradeoff()
        alpha, lower, _ = curve.curve(POINTS)
    panel = tradeoff(alpha.tolist(), lower.tolist(), marks=[(share, curve(share)) for share in MARKED])
    write(page([[panel]], title=f"What a test about one {loss.unit} can do", subtitle=name), path)


def mechanisms(
    as_json: Json = False,
    markdown: Annotated[bool, flag("--markdown", "Print the page docs/reference/mechanisms.md.")] = False,
) -> None:
    """Every mechanism there is: what it does and where its theory is written down."""
    if markdown and not as_json:
        typer.echo(as_markdown(), nl=False)
        return
    rows = [(each.__name__, _summary(each), f"{each.theory}.md") for each in MECHANISMS]
    heads = Column("Mechanism", style="bold", no_wrap=True), Column("What it does")
    output(
        as_json,
        [{"name": name, "summary": summary, "theory": f"docs/theory/{page}"} for name, summary, page in rows],
        table(*heads, Column("docs/theory/…", style="dim", no_wrap=True), rows=rows),
    )


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
