"""`tacit epsilon` and `tacit calibrate`: the price of a program, and the noise for a price."""

from decimal import Decimal
from fractions import Fraction
from math import inf

from rich.console import Console
from rich.text import Text

from tacit.base import InputError, Number, positive
from tacit.cli.program import Program, plain
from tacit.cli.screen import bounds, down, facts, patiently, print_json, up
from tacit.loss import PLD, Approx, Interval, calibrate

__all__ = ["price", "show_price", "show_setting"]


def price(program: Program, delta: Fraction, *, accuracy: float) -> Interval:
    """Bounds on the program's ε at δ."""
    if not 1e-9 <= accuracy <= 0.5:
        raise InputError(f"--accuracy must lie between 1e-9 and 0.5, not {accuracy}")
    loss = program.loss()
    assert isinstance(loss, PLD)  # as every step of it
    return patiently("composing", lambda: loss.epsilon(delta, accuracy=accuracy))


def show_price(console: Console, program: Program, delta: Fraction, *, accuracy: float, as_json: bool) -> None:
    """The interval, the guarantee and one sentence on what it means."""
    found = price(program, delta, accuracy=accuracy)
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


def show_setting(
    console: Console, program: Program, epsilon: Number, delta: Fraction, *, accuracy: float, as_json: bool
) -> None:
    """The least noise (for pure: the most ε a run) that reaches (ε, δ)."""
    target, option = positive(epsilon, "--epsilon"), program.kind.option
    growing = option == "epsilon"
    found = patiently(
        "calibrating",
        lambda: calibrate(
            lambda value: program.with_value(value).loss(),
            epsilon=target,
            delta=delta,
            accuracy=accuracy,
            increasing=growing,
        ),
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


def _usable(program: Program, value: float, target: Fraction, delta: Fraction) -> str:
    """A short number that is as safe as `value`. Without δ the arithmetic is exact, so that 10 need not be 10.0001."""
    near = f"{value:.6g}"
    loss = program.with_value(near).loss()
    if not delta and isinstance(loss, PLD) and loss.bound <= target:
        return near
    return (down if program.kind.option == "epsilon" else up)(value, spread=Decimal(0))
