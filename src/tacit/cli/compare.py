"""`tacit account compare`: one program under each method of accounting, from the sum to the whole distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.base import LossError, Relation
from tacit.cli import program as p
from tacit.cli.account import between
from tacit.cli.options import Json, Picture
from tacit.cli.program import AccountedProgram
from tacit.cli.screen import announce, bar, bounds, check_outputs, plain_table, print_json, up
from tacit.loss import PLD, RDP, ZCDP, Interval
from tacit.loss.classic import advanced, basic, clt_epsilon, clt_sampled_gaussian_epsilon, optimal_epsilon

__all__ = ["compare"]

ACCURACY = 1e-5
NEEDS_DELTA = "needs a δ above 0"


@dataclass(frozen=True)
class Method:
    """What one method says ε is at δ; `found` is None where it has nothing to say, and `note` says why."""

    name: str
    note: str
    found: Interval | None = None

    @property
    def exactly(self) -> bool:
        """Whether this is a two-sided answer, not a bound or a guess."""
        return self.found is not None and self.found.rigorous and self.found.lower > 0

    @property
    def proven(self) -> bool:
        return self.found is not None and self.found.rigorous


def compare(
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
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    """The same program under every method of accounting: what each would say ε is.

    Example: tacit account compare gaussian --sigma 1 --rate 0.01 --steps 10000 --delta 1e-5
    """
    values = {"sigma": sigma, "scale": scale, "epsilon": epsilon}
    program = AccountedProgram.parse(name, values, sensitivity, clip, rate, sampling, steps, relation, unit)
    _show(Console(), program, program.delta(delta), plot=plot, as_json=as_json)


def _show(console: Console, program: AccountedProgram, delta: Fraction, *, plot: Path | None, as_json: bool) -> None:
    """Ask every method and show the answers side by side."""
    check_outputs(plot=plot)
    with bar("asking every method"):
        found = methods(program, delta)
    if as_json:
        print_json(
            console,
            {"program": program.json(), "delta": float(delta), "methods": [_fields(method) for method in found]},
        )
    else:
        console.print(Text(f"{program.sentence()}\nε at δ = {float(delta):g} for {program.whom()}\n"))
        console.print(_table(found))
    if plot:
        _draw(program, delta, found, plot)
        announce(console, "picture", plot, quiet=as_json)


def _fields(method: Method) -> dict[str, object]:
    found = None if method.found is None else bounds(method.found)
    return {"method": method.name, "epsilon": found, "note": method.note}


def _table(found: list[Method]) -> Table:
    table = plain_table()
    table.add_column("Method", no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    table.add_column("How", style="dim")
    for method in found:
        last = method is found[-1]
        table.add_row(method.name, _epsilon(method), _how(method), style="bold" if last else None)
    return table


def _epsilon(method: Method, digits: int = 6) -> Text:
    if method.found is None:
        return Text("–", style="dim")
    if not method.proven:
        return Text(f"≈ {up(method.found.upper, digits)}", style="yellow")
    return Text(f"{'' if method.exactly else '≤ '}{up(method.found.upper, digits)}", style="cyan")


def _how(method: Method) -> str:
    if method.exactly and method.found is not None:
        return between(method.found)
    return method.note


def _draw(program: AccountedProgram, delta: Fraction, found: list[Method], path: Path) -> None:
    from tacit.plot import PlottedClaim, compare, page, write

    claims = [
        PlottedClaim(
            method.name,
            None if method.found is None else method.found.upper,
            proven=method.proven,
            note=method.note if method.found is None else _epsilon(method, digits=5).plain.removeprefix("≤ "),
            lower=method.found.lower if method.exactly and method.found is not None else None,
        )
        for method in found
    ]
    panel = compare(claims, axis=f"ε at δ = {float(delta):g}")
    write(
        page([[panel]], title="One program, every accountant", subtitle=f"{program.sentence()}; {program.whom()}"), path
    )


# --- the methods


def methods(program: AccountedProgram, delta: Fraction) -> list[Method]:
    """Every method, the crudest first."""
    step, loss = program.step(), program.loss()
    assert isinstance(loss, PLD)
    rows: list[tuple[str, Callable[[], tuple[Interval, str]]]] = [
        ("sum", lambda: _sum(program, step, delta)),
        ("advanced", lambda: _advanced(program, step, delta)),
        ("optimal", lambda: _optimal(program, step, delta)),
        ("zCDP", lambda: _concentrated(loss, delta)),
        ("Rényi", lambda: (_positive(delta, RDP.implied_by(loss).epsilon), "sum of Rényi divergences, best order")),
        ("CLT", lambda: _limit(program, step, delta)),
    ]
    found = [_attempt(name, work) for name, work in rows]
    whole = loss.epsilon(delta, accuracy=ACCURACY)
    return [*found, Method("tacit", "the whole distribution of the loss", whole)]


def _attempt(name: str, work: Callable[[], tuple[Interval, str]]) -> Method:
    try:
        value, note = work()
    except LossError as refusal:
        return Method(name, _short(str(refusal)))
    if value.upper == inf:
        return Method(name, "gives no finite ε here")
    # a bound by one of these methods is one-sided: what it attains is not said of the program
    return Method(name, note, Interval(0.0, value.upper) if value.rigorous else value)


def _short(reason: str) -> str:
    return reason.partition(":")[0].partition(", so ")[0]


def _positive(delta: Fraction, epsilon: Callable[[Fraction], Interval]) -> Interval:
    if not delta:
        raise LossError(NEEDS_DELTA)
    return epsilon(delta)


def _each(
    program: AccountedProgram, step: PLD, delta: Fraction, *, halves: int
) -> tuple[float | Fraction, Fraction, str]:
    """The (ε, δ) of one run that a composition theorem starts from: pure, or with its share of δ."""
    if program.kind.pure:
        return step.bound, Fraction(0), "each run at its pure ε"
    share = delta / (halves * program.steps)
    return step.epsilon(share, accuracy=ACCURACY).upper, share, f"each run at δ/{halves * program.steps:,}"


def _sum(program: AccountedProgram, step: PLD, delta: Fraction) -> tuple[Interval, str]:
    each, share, how = _each(program, step, delta, halves=1)
    value, _ = basic(each, share, count=program.steps)
    return Interval(0.0, value * (1 + 1e-15)), f"basic composition, {how}"


def _advanced(program: AccountedProgram, step: PLD, delta: Fraction) -> tuple[Interval, str]:
    if not delta:
        raise LossError(NEEDS_DELTA)
    each, share, how = _each(program, step, delta, halves=2)
    value, _ = advanced(each, share, count=program.steps, spare=delta - share * program.steps)
    return Interval(0.0, value), f"Dwork, Rothblum, Vadhan 2010, {how}"


def _optimal(program: AccountedProgram, step: PLD, delta: Fraction) -> tuple[Interval, str]:
    if not delta:
        raise LossError(NEEDS_DELTA)
    each, share, how = _each(program, step, delta, halves=2)
    return optimal_epsilon(each, share, count=program.steps, target=delta), f"Kairouz, Oh, Viswanath 2015, {how}"


def _concentrated(loss: PLD, delta: Fraction) -> tuple[Interval, str]:
    if any(part.rho is None for part, _ in loss.parts):
        raise LossError("no ρ is known for a sample of Gaussian noise")
    return _positive(delta, ZCDP.implied_by(loss).epsilon), "sum of ρ"


def _limit(program: AccountedProgram, step: PLD, delta: Fraction) -> tuple[Interval, str]:
    if not delta:
        raise LossError(NEEDS_DELTA)
    note = "central limit: an approximation, not a bound"
    if program.kind.pure:
        return clt_epsilon(step.bound, count=program.steps, target=delta), note
    if program.rate == 1:
        raise LossError("unsampled Gaussian noise adds up without it")
    if program.relation is Relation.REPLACE:
        raise LossError("stated for Poisson samples under add_remove only")
    assert program.sensitivity is not None  # Gaussian noise has one
    sigma = program.value / program.sensitivity
    return clt_sampled_gaussian_epsilon(sigma, rate=program.rate, steps=program.steps, target=delta), note
