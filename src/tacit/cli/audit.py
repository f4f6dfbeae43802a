"""`tacit audit`: what something that claims to be private can be shown to lose.

It is a mechanism of the product by its name, or something in a module of the user's.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import update_wrapper
from importlib import import_module
from inspect import Parameter, isclass, signature
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.base import InputError, TacitError, non_negative, positive, whole
from tacit.base.bar import progress_bar
from tacit.base.number import show
from tacit.cli.options import Html, Json, Picture, argument, option
from tacit.cli.screen import check_outputs, line, output, remark, verdict_section, write_out, write_page
from tacit.loss import Approx, Loss, Pure
from tacit.mechanism import MECHANISMS, Example, Mechanism

__all__ = ["Subject", "UserFunction", "audit", "kebab", "read_subject"]

# Fields of a mechanism that say what is released and for whom, not how much noise there is.
SHAPE = {"granularity", "lower", "upper", "categories", "one", "relation", "noise", "share", "top"}

DELTA = Fraction(1, 100)  # where a claim without an ε at δ = 0 is compared
ROUNDING = 1e-9
EXITS = {"pass": 0, "violated": 1, "inconclusive": 3}
STYLES = {"pass": "green", "violated": "bold red", "inconclusive": "yellow"}


def kebab(mechanism: type[Mechanism]) -> str:
    """SparseVector as people type it: sparse-vector."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", mechanism.__name__).lower()


NEIGHBOURS = "A pair (data, data with one unit changed), a list of pairs, or a function that gives either."
HELP = "\n\n".join(
    (
        "Show how much something that claims to be private gives away.",
        "An event is sought that one of two neighbouring data makes likelier than the claim allows, and certified on "
        "fresh outputs. Exit code: 0 pass, 1 violated, 3 inconclusive (too few samples), 2 a mistake in the command.",
        f"TARGET is a mechanism of tacit ({', '.join(kebab(kind) for kind in MECHANISMS)}), or module:function of "
        "yours, where f(data) gives one output, or f(data, size) that many.",
        "Example: tacit audit laplace --epsilon 1",
        "Example: tacit audit mymodule:count --epsilon 0.5 --neighbours mymodule:pair",
    )
)


def audit(
    target: Annotated[str, argument("TARGET", "A mechanism, or module:function.")],
    epsilon: Annotated[
        str | None, option("NUMBER", "The ε that is claimed. A mechanism without it brings an example of its own.")
    ] = None,
    delta: Annotated[str | None, option("NUMBER", "The δ that is claimed. Default: 0.")] = None,
    samples: Annotated[str, option("COUNT", "Outputs drawn for either neighbour, in all.")] = "100000",
    confidence: Annotated[str, option("NUMBER", "1 − confidence bounds the probability of a false alarm.")] = "0.95",
    neighbours: Annotated[str | None, option("MODULE:NAME", NEIGHBOURS)] = None,
    workers: Annotated[str, option("COUNT", "Processes that draw outputs.")] = "1",
    html: Html = None,
    plot: Picture = None,
    as_json: Json = False,
) -> None:
    from tacit.auditor import audit as run_audit

    check_outputs(plot=plot, html=html)
    count, processes = whole(samples, "--samples", least=10), whole(workers, "--workers", least=1)
    subject = read_subject(target, epsilon=epsilon, delta=delta, neighbours=neighbours)
    with progress_bar("auditing") as tell:
        verdict = run_audit(
            subject.target,
            subject.claim,
            delta=subject.delta,
            neighbours=subject.neighbours,
            samples=count,
            confidence=confidence,
            workers=processes,
            progress=tell,
        )
    first, *rest = str(verdict).splitlines()
    told = {**verdict.json(), "notes": list(subject.said)}
    output(as_json, told, line(first, STYLES[verdict.status]), *map(remark, (*rest, *subject.said)))

    def page(path: Path) -> None:
        title = f"Audit of {verdict.target}: {verdict.status}"
        write_page(path, title, [verdict_section(verdict, "What was found")], lead=subject.said)

    write_out("picture", plot, verdict.plot, quiet=as_json)
    write_out("report", html, page, quiet=as_json)
    raise typer.Exit(EXITS[verdict.status])


audit.__doc__ = HELP


# --- what is audited


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The first arguments of `audit`, and what the user should be told about where they come from."""

    target: Any
    claim: Loss | Fraction | None
    delta: Fraction | None
    neighbours: Any
    said: tuple[str, ...] = ()


def _spelled(mechanism: Mechanism) -> str:
    """A mechanism and its parameters, numbers as people write them."""
    values = {name: getattr(mechanism, name) for name in _fields(mechanism)}
    words = [f"{name} = {_value(value)}" for name, value in values.items() if value is not None]
    return f"{type(mechanism).__name__}({', '.join(words)})"


def _value(value: Any) -> str:
    if isinstance(value, Mechanism):
        return _spelled(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return show(value) if isinstance(value, Fraction) else str(value)


def _fields(mechanism: Any) -> list[str]:
    return [field.name for field in fields(mechanism)] if is_dataclass(mechanism) else []


def read_subject(name: str, *, epsilon: str | None, delta: str | None, neighbours: str | None) -> Subject:
    """What to audit, from the words of the command line."""
    claimed = None if epsilon is None else non_negative(epsilon, "--epsilon", toward="decimal")
    slack = None if delta is None else non_negative(delta, "--delta", toward="decimal")
    if slack is not None and slack >= 1:
        raise InputError("--delta must be below 1: at 1 nothing is promised")
    pairs = None if neighbours is None else _pairs(neighbours)
    if ":" in name:
        return _module_subject(name, claimed, slack, pairs)
    known = {kebab(mechanism): mechanism for mechanism in MECHANISMS}
    found = known.get(name.lower()) or {kind.__name__: kind for kind in MECHANISMS}.get(name)
    if found is None:
        near = get_close_matches(name.lower(), known, n=1)
        meant = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(known)}."
        raise InputError(f'there is no mechanism "{name}": {meant} A function of yours is written module:function')
    if claimed is not None:
        positive(claimed, "--epsilon")
    return _mechanism_subject(found, claimed, slack, pairs)


def _mechanism_subject(kind: type[Mechanism], epsilon: Fraction | None, delta: Fraction | None, pairs: Any) -> Subject:
    """The mechanism for that ε (and δ), with the neighbours of its own examples; else an example as it is."""
    examples = sorted(kind.examples(), key=lambda each: not each.tight)  # stable: the first tight one
    if not examples:
        raise InputError(f"{kebab(kind)} has no examples: audit an instance of it, as module:name, with --neighbours")
    first = next(filter(_of_one_unit, examples), examples[0])
    if epsilon is not None and (built := _build(kind, first, epsilon, delta)) is not None:
        if pairs is None:
            pairs = [(each.left, each.right) for each in examples if _alike(each, first) and _of_one_unit(each)]
        moved = " and a sensitivity of 1" if _unit(kind) else ""
        said = f"built for this claim{moved}: {_spelled(built)}"
        return Subject(target=built, claim=epsilon, delta=delta, neighbours=pairs, said=(said,))
    why = "" if epsilon is None else f"{kebab(kind)} cannot be built for an ε; "
    said = f"{why}audited with the parameters and the claim of its example: {_spelled(first.mechanism)}"
    return Subject(target=first, claim=None, delta=delta, neighbours=pairs, said=(said,))


def _unit(kind: type[Mechanism]) -> dict[str, int]:
    """The sensitivity of one unit, for mechanisms that ask for it."""
    constructor = getattr(kind, "from_loss", None) or kind.loss
    return {"sensitivity": 1} if "sensitivity" in signature(constructor).parameters else {}


def _loss(mechanism: Mechanism, like: Loss) -> Loss:
    return mechanism.loss(**_unit(type(mechanism)), relation=like.relation, unit=like.unit)


def _of_one_unit(example: Example) -> bool:
    """Whether the neighbours differ by no more than one unit: the claim between them is no weaker than its loss."""
    claim = example.claim
    at = next((delta for delta in (Fraction(0), DELTA) if isfinite(float(claim.epsilon(delta)))), None)
    if at is None:
        return False
    try:
        loss = _loss(example.mechanism, claim)
    except TacitError:  # the mechanism knows its sensitivity itself, or has none that is a number
        return False
    return float(claim.epsilon(at)) <= float(loss.epsilon(at)) * (1 + ROUNDING)


def _alike(each: Example, first: Example) -> bool:
    """Whether the neighbours of an example are neighbours for another one's purposes too."""
    same = (each.claim.relation, each.claim.unit) == (first.claim.relation, first.claim.unit)
    return same and each.mechanism == first.mechanism


def _build(kind: type[Mechanism], first: Example, epsilon: Fraction, delta: Fraction | None) -> Mechanism | None:
    """A mechanism like that of the example, with the noise that the claim needs; None if that cannot be had."""
    constructor = getattr(kind, "from_loss", None)
    kept = None if constructor is None else _keep(constructor, first.mechanism)
    if constructor is None or kept is None:
        return None
    about: dict[str, Any] = {"relation": first.claim.relation, "unit": first.claim.unit}
    try:
        built, at = _on_its_lattice(constructor, Pure(epsilon, **about), kept), Fraction(0)
    except InputError as refused:
        if not delta:
            raise InputError(
                f"{kebab(kind)} has no guarantee of ε alone: say --delta too, for example --delta 1e-6"
            ) from refused
        built, at = _on_its_lattice(constructor, Approx(epsilon, delta, **about), kept), delta
    if float(_loss(built, first.claim).epsilon(at)) > float(epsilon) * (1 + ROUNDING):
        return None  # not what it was asked for, so its own claim is the one to check
    return built


def _on_its_lattice(constructor: Callable[..., Mechanism], loss: Loss, kept: dict[str, Any]) -> Mechanism:
    """The mechanism on the lattice that it chooses for itself, if the example's neighbours lie on that too."""
    free = {name: value for name, value in kept.items() if name != "granularity"}
    usual: Any = constructor(loss, **free)
    coarse = "granularity" in kept and (kept["granularity"] / usual.granularity).denominator != 1
    return constructor(loss, **kept) if coarse else usual


def _keep(constructor: Callable[..., Any], like: Mechanism) -> dict[str, Any] | None:
    """What of a mechanism its constructor takes beside the loss; None if it needs something that is not there."""
    found: dict[str, Any] = _unit(type(like))
    for name, parameter in signature(constructor).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            owned = set(_fields(like))
            found |= {each: getattr(like, each) for each in sorted(owned & SHAPE - set(found))}
        elif name not in {"loss", "sensitivity"}:
            if hasattr(like, name):
                found[name] = getattr(like, name)
            elif parameter.default is Parameter.empty:
                return None
    return found


class UserFunction:
    """A function of the user's, whose errors are told apart from tacit's. A class, to be sent to other processes."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name
        update_wrapper(self, function)

    def __call__(self, *words: Any, **named: Any) -> Any:
        try:
            return self._function(*words, **named)
        except TacitError:
            raise
        except Exception as error:
            raise InputError(f"{self._name} failed with {type(error).__name__}: {error}") from error


def _module_subject(name: str, epsilon: Fraction | None, delta: Fraction | None, pairs: Any) -> Subject:
    """What a module of the user's holds under that name."""
    found = _load(name, "TARGET")
    own = isinstance(found, Mechanism | Example) or (isclass(found) and issubclass(found, Mechanism))
    if own:
        return Subject(target=found, claim=epsilon, delta=delta, neighbours=pairs)
    if not callable(found):
        raise InputError(f"{name} is {type(found).__name__}, not a function of the data, so it cannot be run")
    if epsilon is None:
        raise InputError(f"--epsilon is missing: say what {name} claims")
    said: tuple[str, ...] = ()
    if pairs is None:
        pairs, said = (0, 1), ("neighbours: the numbers 0 and 1, since --neighbours names no others",)
    return Subject(target=UserFunction(found, name), claim=epsilon, delta=delta, neighbours=pairs, said=said)


def _pairs(name: str) -> Any:
    """A pair, an iterable of pairs, or a function without arguments that gives either."""
    found = _load(name, "--neighbours")
    return UserFunction(found, name)() if callable(found) else found


def _load(name: str, option: str) -> Any:
    """What a module, looked for in the current folder first, holds under a name: `module:name`."""
    place, _, inside = name.partition(":")
    words = (*place.split("."), *inside.split("."))
    if not all(word.isidentifier() for word in words) or place.endswith(".py"):
        raise InputError(f'{option} "{name}" is not module:name, such as mymodule:function, without .py and folders')
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(place)
    except ModuleNotFoundError as missing:
        wanted = f"there is no module {missing.name}"
        where = ": looked for here and where Python looks" if missing.name == place else ""
        raise InputError(f"{option} {name}: {wanted}{where}") from missing
    except Exception as error:
        raise InputError(f"{option} {name}: importing it failed with {type(error).__name__}: {error}") from error
    for part in inside.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, dir(found), n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f'{option} {name}: {place} has no "{part}"{meant}')
        found = getattr(found, part)
    return found
