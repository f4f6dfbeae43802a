"""What a quote tells for free beside its price: slips that declarations show, and answers that would be noise.

Everything follows from what was declared and asked. A hint is data with a kind; its words are written last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from math import ceil
from typing import Any

from tacit.base import TacitError
from tacit.desk.coverage import Coverage
from tacit.desk.quote import Expected, Hint
from tacit.desk.show import digits
from tacit.mechanism import KeyedCounts, KeySelection
from tacit.plan.bounded import Bounded
from tacit.plan.combined import Levels, assumed_in
from tacit.plan.describe import show_expression, show_value
from tacit.plan.expression import Call, Column, Constant, Expression
from tacit.plan.facts import Facts, Type, Value
from tacit.plan.node import Join, scans_of
from tacit.plan.price import RELATIVE, Budget, PricedPlan, price
from tacit.policy import Policy
from tacit.program import Task
from tacit.sql.estimate import expected
from tacit.sql.offer import Purchase, contribution_of
from tacit.sql.stored import NoisyPart

__all__ = ["coverage_notes", "facts_of", "hints_of", "notes_of", "profile_hint", "raised"]

COMPARED = {"eq", "ne", "in", "is_distinct", "is_not_distinct"}
USEFUL = 10  # an answer is worth something when its error is this part of what could be answered
FINE = 2**12  # steps of a bound that is not chosen yet
SHOWN = 6  # values of a list that are named
FEW = 16  # questions of a price in a budget up to which epsilon is tried


def hints_of(purchase: Purchase, policy: Policy, confidence: float) -> tuple[Hint, ...]:
    """All of them, the most urgent first."""
    priced = purchase.priced
    return (
        *raised(purchase, policy),
        *_constants(priced),
        *_noise(priced, policy, confidence),
        *_cheaper(priced, policy, confidence),
        *profile_hint(priced, policy),
    )


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


def _constants(priced: PricedPlan) -> Iterator[Hint]:
    source = priced.question.source
    names = {column.name: column.column for scan in scans_of(source) for column in scan.columns}
    told: set[tuple[str, str]] = set()
    for value, constant in _compared(_expressions(priced)):
        hint = _never(show_expression(value, names), value.facts, constant)
        if hint is not None and (hint.data["column"], hint.data["value"]) not in told:
            told.add((hint.data["column"], hint.data["value"]))
            yield hint


def _expressions(priced: PricedPlan) -> Iterator[Expression]:
    question = priced.question
    yield from (each for node in question.source.walk() if not isinstance(node, Join) for each in node.expressions)
    yield from (key.expression for key in question.keys)
    yield from (argument for aggregate in question.aggregates for argument in aggregate.arguments)


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


def _noise(priced: PricedPlan, policy: Policy, confidence: float) -> Iterator[Hint]:
    """Columns whose error is wider than all that the declared number of units can make of them."""
    population = policy.privacy.population
    if population is None:
        return
    called = {expression.name: name for name, expression in priced.question.output if isinstance(expression, Column)}
    for recipe in priced.recipes:
        step, clip = priced.noise_in(recipe)
        most = 1.0 if clip.bound is None else float(clip.bound)  # that one unit counts
        ratio = step.mechanism.half_width(confidence) / most / population
        if ratio > 1:
            yield _noise_hint(called.get(recipe.name, recipe.asked), ratio, priced, policy, population)


def _noise_hint(column: str, ratio: float, priced: PricedPlan, policy: Policy, population: int) -> Hint:
    currency = policy.privacy.currency
    cost = priced.program.cost
    paid = getattr(cost, currency.value)  # which is there, as the policy's currency is the program's
    needed = paid * Fraction(ratio * USEFUL) ** (2 if currency.concentrated else 1)
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


# --- a bound that a profile would give


def profile_hint(priced: PricedPlan, policy: Policy) -> Iterator[Hint]:
    """That a bound is chosen for a part of the price, which a profile of the table would spare; not of an average from
    a centre of its own."""
    chosen = [
        all(centre.clip != place for centre in part.centres)
        for part in priced.parts
        for place, clip in enumerate(part.clips)
        if clip.bound is None and not clip.exempt
    ]
    if not chosen:
        return
    private = [policy.tables[name] for name in priced.program.tables if policy.tables[name].private]
    alone = private[0] if len(private) == 1 and any(chosen) and private[0].name not in priced.profiles else None
    yield _hint(
        "profile",
        {
            "unit": policy.privacy.unit,
            "table": None if alone is None else alone.name,
            "declared": alone is not None and alone.profile is not None,
        },
    )


def _profile_words(data: Mapping[str, Any]) -> str:
    told = f"how much one {data['unit']} may count is chosen privately, for a part of the price"
    if data["table"] is None:
        return told
    how = f"`tacit profile {data['table']}`" if data["declared"] else "profile = … in its policy and `tacit profile`"
    return f"{told}; a profile of {data['table']}, made once by its curator ({how}), would spare that"


# --- the other currency


def _cheaper(priced: PricedPlan, policy: Policy, confidence: float) -> Iterator[Hint]:
    """That the budget holds so few questions of this price that epsilon would buy smaller errors for the same promise.

    ε adds up, and its noise grows with the number of questions; that of ρ and μ² grows with the root of it, but the
    promise pays once for a δ. So epsilon wins below about log(1/δ) numbers, and is tried where few questions fit.
    """
    privacy = policy.privacy
    share = getattr(priced.program.cost, privacy.currency) / privacy.budget
    if not privacy.currency.concentrated or share * FEW < 1:
        return
    whole = privacy.promise.epsilon(privacy.delta).upper
    try:
        other = price(
            priced.question,
            Budget(currency="epsilon", amount=Fraction(whole) * share, delta=privacy.own_delta * min(share, 1)),
            relation=privacy.relation,
            unit=privacy.unit,
            contribution=contribution_of(policy, priced.question, {}),
        )
        pairs = [(each.error, new.error) for each, new in _both(priced, other, confidence)]
    except (TacitError, ArithmeticError, ValueError):
        return  # numbers of these sizes have no price there: no reason for this quote to fail
    ratios = [new / each for each, new in pairs if each and new is not None]
    if ratios and len(ratios) == len(pairs) and max(ratios) < 1:
        data = {"currency": privacy.currency.value, "questions": int(1 / share), "ratio": f"{max(ratios):.2f}"}
        yield _hint("cheaper", data)


def _both(one: PricedPlan, other: PricedPlan, confidence: float) -> Iterator[tuple[Expected, Expected]]:
    return zip(expected(one, confidence), expected(other, confidence), strict=True)


def _cheaper_words(data: Mapping[str, Any]) -> str:
    count = data["questions"]
    return (
        f"this budget holds {count} such question{'' if count == 1 else 's'}: for so few of them a dataset paid for in "
        f"epsilon, within the same promise, would have {data['ratio']} times this error. {data['currency']} is for "
        "more of them; a dataset's currency is chosen before its first question"
    )


WORDS = {
    "raised": _raised_words,
    "key": _key_words,
    "range": _range_words,
    "noise": _noise_words,
    "profile": _profile_words,
    "cheaper": _cheaper_words,
}


def _hint(kind: str, data: Mapping[str, Any]) -> Hint:
    return Hint(kind=kind, data=data, words=WORDS[kind](data))


def coverage_notes(coverage: Mapping[str, Coverage], policy: Policy) -> Iterator[str]:
    """What intervals cover, in words: for each column of which a profile tells, and once for all others."""
    unit = policy.privacy.unit
    yield from (words for column, covers in coverage.items() if (words := covers.words(column, unit)) is not None)
    plain = {covers.of: column for column, covers in coverage.items() if covers.missing is None}
    if "noise" in plain or "least" in plain:
        least = "; the truth of counts, and of sums of what is not negative, is at least the lower end"
        yield (
            f"± … noise: the interval covers the noise alone. What a {unit} adds beyond its clip is scaled down and "
            f"comes on top{least if 'least' in plain else ''}"
        )


def notes_of(priced: PricedPlan, policy: Policy, released: Sequence[NoisyPart] = ()) -> tuple[str, ...]:
    """Biases that no interval covers, in words."""
    unit, found = policy.privacy.unit, []
    clips = [clip for part in priced.parts for clip in part.clips if not clip.exempt]
    if clips and not released:
        found.append(f"what one {unit} adds beyond its clip is scaled down: sums and counts may be a little too small")
    if clips:
        relative = {recipe.function for recipe in priced.recipes} & RELATIVE
        if relative:
            found.append(f"a {unit} with more rows than that weighs less in averages, variances and quantiles")
    for task, step in priced.steps:
        if task.kind == "select" and isinstance(step.mechanism, KeySelection):
            needed = step.mechanism.needed()
            found.append(
                f"groups are shown only if enough {unit}s are in them: one of {needed:,} who are in no other group is "
                "shown with 95 % probability, smaller ones are likely missing"
            )
        if isinstance(step.mechanism, KeyedCounts):
            many = _needed(priced, task, step.mechanism, released)
            found.append(
                f"groups are shown only if their noisy count passes a threshold: one of {many} is shown with 95 % "
                "probability, smaller ones are likely missing, and where one is seen its noise was high"
            )
    found += _missing(priced)
    found += _assumed(priced, unit)
    texts = {recipe.asked for recipe in priced.recipes if recipe.function == "quantile"}
    extremes = [text for text in texts if text.upper().startswith(("MIN", "MAX"))]
    if extremes:
        found.append(
            f"{', '.join(sorted(extremes))}: the 0.5 % or 99.5 % quantile, since a true extreme is one {unit}'s"
        )
    if released and not len(released[0].groups) and priced.question.keys:
        found.append("no group had enough units to be shown")
    return tuple(found)


def _needed(priced: PricedPlan, task: Task, mechanism: KeyedCounts, released: Sequence[NoisyPart]) -> str:
    """The count that a group needs, in rows or units; in what one unit may count until that is chosen."""
    part, unit = priced.parts[task.part], priced.program.unit
    (measure,) = [measure for measure in part.measures if measure.name == part.counted]
    things = "rows" if measure.kind == "sum" else f"{unit}s"
    if not task.scaled:
        return f"{ceil(mechanism.needed() / measure.high):,} {things}"
    if released:
        size = float(released[task.part].measures[measure.name].size) / float(mechanism.magnitude)
        return f"{ceil(mechanism.scaled(round(size)).needed() / measure.high):,} {things}"
    times = mechanism.scaled(FINE).needed() / FINE
    return f"about {times:,.3g} times what one {unit} may count"


def _missing(priced: PricedPlan) -> list[str]:
    """Why there is a group that nobody declared: NULL."""
    source = priced.question.source
    masked = (
        {}
        if not isinstance(source, Levels)
        else {
            key.name: value.facts.nullable
            for key, (_, value) in zip(priced.question.keys[1:], source.keys, strict=True)
        }
    )
    keys = [key for key in priced.parts[0].keys if key.values is not None and None in key.values]
    keys = [key for key in keys if masked.get(key.name, True)]
    named = sorted({_called(priced, key.name) for key in keys})
    if not named:
        return []
    return [
        f"rows whose {' or '.join(named)} is missing, or not among the declared keys, are the group NULL (–); "
        "a policy leaves them out by nullable = false"
    ]


def _assumed(priced: PricedPlan, unit: str) -> list[str]:
    """What is computed for each unit and cut at what the policy says of one, since the question does not say where."""
    found = {}
    for question in priced.question.measured:
        names = {column.name: column.column for scan in scans_of(question.source) for column in scan.columns}
        for made, argument in assumed_in(question.source):
            of = "*" if argument is None else show_expression(argument, names)
            low, high = (show_value(end) for end in (made.facts.low, made.facts.high))
            told = f"{made.function.upper()}({of}) of one {unit} is cut at {low} and {high}, by the policy's clip"
            found[told] = f"{told}: CLAMP sets another range"
    return list(found.values())


def facts_of(priced: PricedPlan, filled: Sequence[Bounded]) -> dict[str, Any]:
    """How far each unit counts, with the bounds that were chosen, and where the groups come from."""
    clips = []
    for part, chosen in zip(priced.parts, filled, strict=True):
        for clip, bound in zip(part.clips, (clip.bound for clip in chosen.clips), strict=True):
            origin = "none needed" if clip.exempt else "chosen privately" if clip.bound is None else "declared"
            rows = float(bound / clip.row) if clip.by_rows and bound is not None else None
            clips.append(
                {"measures": list(clip.names), "norm": clip.norm, "bound": str(bound), "rows": rows, "origin": origin}
            )
        for centre in chosen.centres:
            clips[centre.clip - len(chosen.clips)]["centre"] = str(centre.middle)
    keys = priced.parts[0].keys  # those with bounds are listed there too
    known = {_called(priced, key.name): "declared" if key.values is not None else "selected" for key in keys}
    return {"clips": clips, "keys": known}


def _called(priced: PricedPlan, key: str) -> str:
    """A key by the name it has in the answer, if it is there."""
    return next((name for name, made in priced.question.output if isinstance(made, Column) and made.name == key), key)
