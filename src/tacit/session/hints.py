"""What a quote tells for free beside its price: slips that declarations show, and answers that would be noise.

Everything follows from what was declared and asked. A hint is data with a kind; its words are written last.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.mechanism import BinnedQuantiles
from tacit.plan.bounded import Clip
from tacit.plan.expression import Call, Constant, Expression
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.node import Filter, Group, Join, Node, Project, scans_of
from tacit.plan.price import Priced
from tacit.plan.program import Step
from tacit.plan.show import show_expression, show_value
from tacit.policy import Currency, Policy
from tacit.session.estimate import width
from tacit.session.expect import size_of
from tacit.session.offer import Purchase
from tacit.session.show import digits

__all__ = ["Hint", "hints_of", "raised"]

COMPARED = {"eq", "ne", "in", "is_distinct", "is_not_distinct"}
USEFUL = 10  # an answer is worth something when its error is this part of what could be answered
SHOWN = 6  # values of a list that are named


@dataclass(frozen=True, kw_only=True)
class Hint:
    """One thing worth knowing. `kind` is what it is about, `data` what it says of it.

    raised: the offer was below the least price. key, range: a constant that a column never is. noise: the error is
    wider than everything that the answer could be.
    """

    kind: str
    data: Mapping[str, Any]

    @property
    def words(self) -> str:
        write = WORDS.get(self.kind)  # one that only a newer service has brings its own
        return str(self.data["words"]) if write is None else write(self.data)

    def json(self) -> dict[str, Any]:
        """Plain data, with the words."""
        return {"kind": self.kind, **self.data, "words": self.words}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Hint":
        """The inverse of `json`."""
        known = str(data["kind"]) in WORDS
        return cls(
            kind=str(data["kind"]),
            data={k: v for k, v in data.items() if k != "kind" and (k, known) != ("words", True)},
        )


def hints_of(purchase: Purchase, policy: Policy, least: Fraction, confidence: float) -> tuple[Hint, ...]:
    """All of them, the most urgent first."""
    priced = purchase.priced
    return (*raised(purchase, policy, least), *_constants(priced), *_noise(priced, policy, confidence))


# --- the least price


def raised(purchase: Purchase, policy: Policy, least: Fraction) -> Iterator[Hint]:
    """That a question costs more than was offered."""
    if purchase.raised_from is not None:
        currency = policy.privacy.currency.value
        yield Hint(
            kind="raised", data={"currency": currency, "offered": str(purchase.raised_from), "least": str(least)}
        )


def _raised_words(data: Mapping[str, Any]) -> str:
    currency, least = data["currency"], digits(Fraction(data["least"]))
    return (
        f"{currency} {digits(Fraction(data['offered']))} is less than the least price of a question, {currency} {least}"
        f": this one costs {currency} {least}, and has the smaller noise of that"
    )


# --- constants that a column never is


def _constants(priced: Priced) -> Iterator[Hint]:
    source = priced.question.source
    names = {column.name: column.column for scan in scans_of(source) for column in scan.columns}
    told: set[tuple[str, str]] = set()
    for value, constant in _compared(_expressions(priced)):
        hint = _never(show_expression(value, names), value.facts, constant)
        if hint is not None and (hint.data["column"], hint.data["value"]) not in told:
            told.add((hint.data["column"], hint.data["value"]))
            yield hint


def _expressions(priced: Priced) -> Iterator[Expression]:
    question = priced.question
    yield from _of_node(question.source)
    yield from (key.expression for key in question.keys)
    yield from (argument for aggregate in question.aggregates for argument in aggregate.arguments)


def _of_node(node: Node) -> Iterator[Expression]:
    match node:
        case Filter():
            yield node.condition
        case Project():
            yield from (value for _, value in node.columns)
        case Group():
            yield from (value for _, value in node.keys)
            yield from (each.argument for each in node.aggregates if each.argument is not None)
    match node:
        case Filter() | Project() | Group():
            yield from _of_node(node.below)
        case Join():
            yield from _of_node(node.left)
            yield from _of_node(node.right)


def _compared(expressions: Iterable[Expression]) -> Iterator[tuple[Expression, Value]]:
    """Values that are compared with a constant, and the constant."""
    for expression in expressions:
        for part in expression.walk():
            if not isinstance(part, Call):
                continue
            value, *others = part.arguments
            if part.operation == "switch":
                others = list(part.arguments[1:-1:2])
            elif part.operation not in COMPARED:
                continue
            if not isinstance(value, Constant):
                yield from ((value, o.value) for o in others if isinstance(o, Constant) and o.value is not None)


def _never(column: str, facts: Facts, constant: Value) -> Hint | None:
    shown = show_value(constant)
    if facts.type is Type.BOOLEAN:
        return None
    if facts.domain is not None:
        if constant in facts.domain:
            return None
        listed = [show_value(value) for value in facts.domain]
        folded = {str(value).casefold(): text for value, text in zip(facts.domain, listed, strict=True)}
        close = get_close_matches(str(constant).casefold(), folded, n=1)
        near = folded[close[0]] if close else None
        data = {"column": column, "value": shown, "near": near, "known": listed[:SHOWN], "count": len(listed)}
        return Hint(kind="key", data=data)
    if not facts.bounded or facts.low <= constant <= facts.high:  # type: ignore[operator]  # of one type
        return None
    return Hint(
        kind="range",
        data={"column": column, "value": shown, "low": show_value(facts.low), "high": show_value(facts.high)},
    )


def _key_words(data: Mapping[str, Any]) -> str:
    more = ", …" if data["count"] > len(data["known"]) else ""
    way = f"did you mean {data['near']}?" if data["near"] else f"they are {', '.join(data['known'])}{more}"
    return f"{data['value']} is not among the declared values of {data['column']}: {way}"


def _range_words(data: Mapping[str, Any]) -> str:
    return f"{data['column']} lies between {data['low']} and {data['high']}, so it is never {data['value']}"


# --- answers that would be noise


def _noise(priced: Priced, policy: Policy, confidence: float) -> Iterator[Hint]:
    """Columns whose error is wider than all that the declared number of units can make of them."""
    population = policy.privacy.population
    if population is None:
        return
    asked = {recipe.name: recipe for recipe in priced.planned.recipes}
    called = {expression.name: name for name, expression in priced.question.output if hasattr(expression, "name")}
    told: set[str] = set()
    for task, step in zip(priced.tasks, priced.program.steps, strict=True):
        if task.clip is None or task.kind not in ("noise", "ends"):
            continue
        clip = priced.planned.parts[task.part].clips[task.clip]
        ratio = _units(step, clip, confidence) / population
        if ratio <= 1:
            continue
        for recipe in asked.values():
            if recipe.part == task.part and set(recipe.inputs) & set(clip.names) and recipe.name not in told:
                told.add(recipe.name)
                yield _noise_hint(called.get(recipe.name, recipe.asked), ratio, priced, policy, population)


def _units(step: Step, clip: Clip, confidence: float) -> float:
    """The half-width of the noise, in the most that one unit counts."""
    mechanism = step.mechanism
    if isinstance(mechanism, BinnedQuantiles):
        size = float(mechanism.margin)
    else:
        scale, kind = size_of(mechanism)
        size = float(width([np.array([scale])], kind, confidence)[0])
    return size if clip.bound is None else size / float(clip.bound)


def _noise_hint(column: str, ratio: float, priced: Priced, policy: Policy, population: int) -> Hint:
    currency = policy.privacy.currency
    cost = priced.program.cost
    paid = cost.rho if currency is Currency.RHO else cost.epsilon
    assert paid is not None  # as the policy's currency is the program's
    needed = paid * Fraction(ratio * USEFUL) ** (2 if currency is Currency.RHO else 1)
    return Hint(
        kind="noise",
        data={
            "column": column,
            "population": population,
            "unit": policy.privacy.unit,
            "times": f"{ratio:.2g}",
            "currency": currency.value,
            "needed": str(needed),
            "enough": needed <= policy.privacy.budget,
        },
    )


def _noise_words(data: Mapping[str, Any]) -> str:
    needed = f"{data['currency']} ≥ {digits(Fraction(data['needed']))}"
    way = f"ask for {needed}" if data["enough"] else f"it would take {needed}, which is more than the whole budget"
    return (
        f"{data['column']} would be noise: its error is {data['times']} times as large as all {data['population']:,} "
        f"{data['unit']}s together can make it: {way}"
    )


WORDS = {"raised": _raised_words, "key": _key_words, "range": _range_words, "noise": _noise_words}
