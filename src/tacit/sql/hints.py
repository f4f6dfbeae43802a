"""What a quote tells for free beside its price: slips that declarations show, and answers that would be noise.

Everything follows from what was declared and asked. A hint is data with a kind; its words are written last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from tacit.desk.quote import Hint
from tacit.desk.show import digits
from tacit.mechanism import KeySelection
from tacit.plan.bounded import Bounded, Clip
from tacit.plan.describe import show_expression, show_value
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.node import Filter, Group, Join, Node, Project, scans_of
from tacit.plan.price import RELATIVE, Priced
from tacit.policy import Currency, Policy
from tacit.program import Step
from tacit.sql.noise import Released
from tacit.sql.offer import Purchase

__all__ = ["facts_of", "hints_of", "notes_of", "raised"]

COMPARED = {"eq", "ne", "in", "is_distinct", "is_not_distinct"}
USEFUL = 10  # an answer is worth something when its error is this part of what could be answered
SHOWN = 6  # values of a list that are named


def hints_of(purchase: Purchase, policy: Policy, confidence: float) -> tuple[Hint, ...]:
    """All of them, the most urgent first."""
    priced = purchase.priced
    return (*raised(purchase, policy), *_constants(priced), *_noise(priced, policy, confidence))


# --- the least price


def raised(purchase: Purchase, policy: Policy) -> Iterator[Hint]:
    """That a question costs more than was offered."""
    if purchase.raised_from is not None:
        currency = policy.privacy.currency.value
        yield _hint(
            "raised", {"currency": currency, "offered": str(purchase.raised_from), "least": str(purchase.least)}
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
        return _hint("key", data)
    if not facts.bounded or facts.low <= constant <= facts.high:  # type: ignore[operator]  # of one type
        return None
    ends = {"low": show_value(facts.low), "high": show_value(facts.high)}
    return _hint("range", {"column": column, "value": shown, **ends})


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
    for task, step in priced.steps:
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
    size = step.mechanism.half_width(confidence)
    return size if clip.bound is None else size / float(clip.bound)


def _noise_hint(column: str, ratio: float, priced: Priced, policy: Policy, population: int) -> Hint:
    currency = policy.privacy.currency
    cost = priced.program.cost
    paid = cost.rho if currency is Currency.RHO else cost.epsilon
    assert paid is not None  # as the policy's currency is the program's
    needed = paid * Fraction(ratio * USEFUL) ** (2 if currency is Currency.RHO else 1)
    return _hint(
        "noise",
        {
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


def _hint(kind: str, data: Mapping[str, Any]) -> Hint:
    return Hint(kind=kind, data=data, words=WORDS[kind](data))


def notes_of(priced: Priced, policy: Policy, released: Sequence[Released] = ()) -> tuple[str, ...]:
    """Biases that no interval covers, in words."""
    unit, found = policy.privacy.unit, []
    clips = [clip for part in priced.planned.parts for clip in part.clips if not clip.exempt]
    if any(clip.bound is None for clip in clips):
        found.append(f"how much one {unit} may count is chosen privately, for a part of the price")
    if clips:
        found.append(f"what one {unit} adds beyond its clip is scaled down: sums and counts may be a little too small")
        relative = {recipe.function for recipe in priced.planned.recipes} & RELATIVE
        if relative:
            found.append(f"a {unit} with more rows than that weighs less in averages, variances and quantiles")
    for task, step in priced.steps:
        if task.kind == "select" and isinstance(step.mechanism, KeySelection):
            needed = step.mechanism.needed()
            found.append(
                f"groups are shown only if enough {unit}s are in them: one of {needed:,} who are in no other group is "
                "shown with 95 % probability, smaller ones are likely missing"
            )
    found += _missing(priced)
    texts = {recipe.asked for recipe in priced.planned.recipes if recipe.function == "quantile"}
    extremes = [text for text in texts if text.upper().startswith(("MIN", "MAX"))]
    if extremes:
        found.append(
            f"{', '.join(sorted(extremes))}: the 0.5 % or 99.5 % quantile, since a true extreme is one {unit}'s"
        )
    if released and not len(released[0].groups) and priced.question.keys:
        found.append("no group had enough units to be shown")
    return tuple(found)


def _missing(priced: Priced) -> list[str]:
    """Why there is a group that nobody declared: NULL."""
    keys = [key for key in priced.planned.parts[0].keys if key.values is not None and None in key.values]
    named = sorted({_called(priced, key.name) for key in keys})
    if not named:
        return []
    return [
        f"rows whose {' or '.join(named)} is missing, or not among the declared keys, are the group NULL (–); "
        "a policy leaves them out by nullable = false"
    ]


def facts_of(priced: Priced, bounds: Mapping[int, Bounded]) -> dict[str, Any]:
    """How far each unit counts, with the bounds that were chosen, and where the groups come from."""
    clips = []
    for number, part in enumerate(priced.planned.parts):
        for place, clip in enumerate(part.clips):
            bound = bounds[number].clips[place].bound
            origin = "none needed" if clip.exempt else "chosen privately" if clip.bound is None else "declared"
            rows = float(bound / clip.row) if clip.by_rows and bound is not None else None
            clips.append(
                {"measures": list(clip.names), "norm": clip.norm, "bound": str(bound), "rows": rows, "origin": origin}
            )
    keys = priced.planned.parts[0].keys  # those with bounds are listed there too
    known = {_called(priced, key.name): "declared" if key.values is not None else "selected" for key in keys}
    return {"clips": clips, "keys": known}


def _called(priced: Priced, key: str) -> str:
    """A key by the name it has in the answer, if it is there."""
    return next((name for name, made in priced.question.output if isinstance(made, Column) and made.name == key), key)
