"""`tacit account compare`: one program under each method of accounting, from the sum to the whole distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

from rich.table import Column
from rich.text import Text

from tacit.base import LossError, Relation
from tacit.base.bar import progress_bar
from tacit.cli import program as p
from tacit.cli.account import between
from tacit.cli.options import Json, Picture
from tacit.cli.program import AccountedProgram
from tacit.cli.screen import bounds, check_outputs, output, table, up, write_out
from tacit.loss import PLD, RDP, ZCDP, Interval
from tacit.loss.classic import advanced, basic, clt_epsilon, clt_sampled_gaussian_epsilon, optimal_epsilon

__all__ = ["compare"]

ACCURACY = 1e-5
NEEDS_DELTA = "needs a δ above 0"


@dataclass(frozen=True)
class ComparedMethod:
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

    def json(self) -> dict[str, object]:
        found = None if self.found is None else bounds(self.found)
        return {"method": self.name, "epsilon": found, "note": self.note}


def compare(
    name: p.MechanismName, noise: p.NoiseOptions, sample: p.SampleOptions, plot: Picture = None, as_json: Json = False
) -> None:
    """The same program under every method of accounting: what each would say ε is.

    Example: tacit account compare gaussian --sigma 1 --rate 0.01 --steps 10000 --delta 1e-5
    """
    program = AccountedProgram.parse(name, noise, sample)
    check_outputs(plot=plot)
    with progress_bar("asking every method"):
        found = methods(program)
    delta = float(program.delta)
    rows = [
        (method.name, _epsilon(method), between(method.found) if method.found and method.exactly else method.note)
        for method in found
    ]
    shown = table(
        Column("Method", no_wrap=True),
        Column("ε", justify="right", no_wrap=True),
        Column("How", style="dim"),
        rows=rows,
    )
    shown.rows[-1].style = "bold"
    output(
        as_json,
        {"program": program.json(), "delta": delta, "methods": [method.json() for method in found]},
        Text(f"{program.sentence()}\nε at δ = {delta:g} for {program.whom()}\n"),
        shown,
    )
    write_out("picture", plot, lambda path: _draw(program, found, path), quiet=as_json)


def _epsilon(method: ComparedMethod, digits: int = 6) -> Text:
    if method.found is None:
        return Text("–", style="dim")
    if not method.proven:
        return Text(f"≈ {up(method.found.upper, digits)}", style="yellow")
    return Text(f"{'' if method.exactly else '≤ '}{up(method.found.upper, digits)}", style="cyan")


def _draw(program: AccountedProgram, found: list[ComparedMethod], path: Path) -> None:
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
    panel = compare(claims, axis=f"ε at δ = {float(program.delta):g}")
    how = f"{program.sentence()}; {program.whom()}"
    write(page([[panel]], title="One program, every accountant", subtitle=how), path)


# --- the methods

Answer = tuple[Interval, str]


def methods(program: AccountedProgram) -> list[ComparedMethod]:
    """Every method, the crudest first. All but the sum and the last need a δ."""
    loss, delta = program.loss(), program.delta
    assert isinstance(loss, PLD)
    rows: dict[str, Callable[[], Answer]] = {
        "advanced": lambda: _advanced(program),
        "optimal": lambda: _optimal(program),
        "zCDP": lambda: _concentrated(loss, delta),
        "Rényi": lambda: (RDP.implied_by(loss).epsilon(delta), "sum of Rényi divergences, best order"),
        "CLT": lambda: _limit(program),
    }
    found = [_attempt("sum", lambda: _sum(program))]
    found += [_attempt(name, work) if delta else ComparedMethod(name, NEEDS_DELTA) for name, work in rows.items()]
    whole = loss.epsilon(delta, accuracy=ACCURACY)
    return [*found, ComparedMethod("tacit", "the whole distribution of the loss", whole)]


def _attempt(name: str, work: Callable[[], Answer]) -> ComparedMethod:
    try:
        value, note = work()
    except LossError as refusal:
        return ComparedMethod(name, str(refusal).partition(":")[0].partition(", so ")[0])
    if value.upper == inf:
        return ComparedMethod(name, "gives no finite ε here")
    # a bound by one of these methods is one-sided: what it attains is not said of the program
    return ComparedMethod(name, note, Interval(0.0, value.upper) if value.rigorous else value)


def _each(program: AccountedProgram, *, halves: int) -> tuple[float | Fraction, Fraction, str]:
    """The (ε, δ) of one run that a composition theorem starts from: pure, or with its share of δ."""
    if program.kind.pure:
        return program.step().bound, Fraction(0), "each run at its pure ε"
    share = program.delta / (halves * program.steps)
    return program.step().epsilon(share, accuracy=ACCURACY).upper, share, f"each run at δ/{halves * program.steps:,}"


def _sum(program: AccountedProgram) -> Answer:
    each, share, how = _each(program, halves=1)
    value, _ = basic(each, share, count=program.steps)
    return Interval(0.0, value * (1 + 1e-15)), f"basic composition, {how}"


def _advanced(program: AccountedProgram) -> Answer:
    each, share, how = _each(program, halves=2)
    value, _ = advanced(each, share, count=program.steps, spare=program.delta - share * program.steps)
    return Interval(0.0, value), f"Dwork, Rothblum, Vadhan 2010, {how}"


def _optimal(program: AccountedProgram) -> Answer:
    each, share, how = _each(program, halves=2)
    found = optimal_epsilon(each, share, count=program.steps, target=program.delta)
    return found, f"Kairouz, Oh, Viswanath 2015, {how}"


def _concentrated(loss: PLD, delta: Fraction) -> Answer:
    if any(part.rho is None for part, _ in loss.parts):
        raise LossError("no ρ is known for a sample of Gaussian noise")
    return ZCDP.implied_by(loss).epsilon(delta), "sum of ρ"


def _limit(program: AccountedProgram) -> Answer:
    note, delta = "central limit: an approximation, not a bound", program.delta
    if program.kind.pure:
        return clt_epsilon(program.step().bound, count=program.steps, target=delta), note
    if program.rate == 1:
        raise LossError("unsampled Gaussian noise adds up without it")
    if program.relation is Relation.REPLACE:
        raise LossError("stated for Poisson samples under add_remove only")
    assert program.sensitivity is not None  # Gaussian noise has one
    sigma = program.value / program.sensitivity
    return clt_sampled_gaussian_epsilon(sigma, rate=program.rate, steps=program.steps, target=delta), note
