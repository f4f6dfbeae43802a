"""Choosing among values: the facts of the outcomes together are the facts of the choice."""

from collections.abc import Sequence
from typing import Any

from tacit.base import InputError
from tacit.plan.expression import Constant
from tacit.plan.facts import Facts, Type, Value, domain_of
from tacit.plan.operation_kind import Arguments, Fit, Held, Operation, Part, alike, takes
from tacit.plan.operation_logic import ANY, BOOLEAN
from tacit.plan.operation_range import common_step, step_of, why_of

__all__ = ["OPERATIONS", "together"]

MOST_OUTCOMES = 1000  # that are listed
ORDERED = Part(what="a number, a date or a timestamp", types=frozenset(Type) - {Type.BOOLEAN, Type.TEXT})
SORTED = Part(what="a value that has an order", types=frozenset(Type) - {Type.BOOLEAN})


def together(outcomes: Arguments, *, nullable: bool) -> Facts:
    """What holds of every outcome. A NULL constant adds nothing but NULL."""
    facts = [outcome.facts for outcome in outcomes if not _null(outcome)]
    if not facts:
        return outcomes[0].facts.but(nullable=True)
    types = {fact.type for fact in facts}
    kind = next(iter(types)) if len(types) == 1 else Type.NUMBER
    domain = _union(facts)
    low, high = _lowest([fact.low for fact in facts]), _highest([fact.high for fact in facts])
    step = common_step(step_of(fact) for fact in facts) if kind.numeric else None
    why = "" if low is not None and high is not None else why_of(outcomes)
    return Facts(type=kind, low=low, high=high, step=step, domain=domain, nullable=nullable, why=why)


def _null(outcome: object) -> bool:
    return isinstance(outcome, Constant) and outcome.value is None


def _union(facts: Sequence[Facts]) -> tuple[Value, ...] | None:
    values: dict[Value, None] = {}
    for fact in facts:
        listed = domain_of(fact, MOST_OUTCOMES)
        if listed is None:
            return None
        values.update(dict.fromkeys(listed))
    return tuple(values)


def _lowest(values: Sequence[Value]) -> Value:
    return None if None in values else min(values)  # type: ignore[type-var]  # all of one type by now


def _highest(values: Sequence[Value]) -> Value:
    return None if None in values else max(values)  # type: ignore[type-var]  # all of one type by now


def _case_fit(arguments: Arguments) -> Arguments:
    if len(arguments) < 3 or len(arguments) % 2 == 0:
        raise InputError("case takes pairs of a condition and a value, and a value for the rest")
    conditions = takes("case", more=BOOLEAN)(arguments[0:-1:2])
    outcomes = alike("case", (*arguments[1::2], arguments[-1]))
    pairs = (part for pair in zip(conditions, outcomes, strict=False) for part in pair)
    return (*pairs, outcomes[-1])


def _case_facts(arguments: Arguments) -> Facts:
    outcomes = (*arguments[1::2], arguments[-1])
    return together(outcomes, nullable=any(outcome.facts.nullable for outcome in outcomes))


def _case(*values: Held) -> Held:
    pairs = zip(values[0:-1:2], values[1::2], strict=True)
    return next((value for condition, value in pairs if condition is True), values[-1])


def _switch_fit(arguments: Arguments) -> Arguments:
    if len(arguments) < 4 or len(arguments) % 2:
        raise InputError(
            "switch takes a value, pairs of a value it may equal and an outcome, and an outcome for the rest"
        )
    compared = alike("switch", takes("switch", ANY, more=ANY)((arguments[0], *arguments[1:-1:2])))
    outcomes = alike("switch", takes("switch", more=ANY)((*arguments[2::2], arguments[-1])))
    pairs = (part for pair in zip(compared[1:], outcomes, strict=False) for part in pair)
    return (compared[0], *pairs, outcomes[-1])


def _switch_facts(arguments: Arguments) -> Facts:
    outcomes = (*arguments[2::2], arguments[-1])
    return together(outcomes, nullable=any(outcome.facts.nullable for outcome in outcomes))


def _switch(value: Held, *values: Held) -> Held:
    pairs = zip(values[0:-1:2], values[1::2], strict=True)
    return next((outcome for other, outcome in pairs if value is not None and value == other), values[-1])


def _if_fit(arguments: Arguments) -> Arguments:
    condition, *outcomes = takes("if", BOOLEAN, ANY, ANY)(arguments)
    return (condition, *alike("if", tuple(outcomes)))


def _coalesce_facts(arguments: Arguments) -> Facts:
    """Nothing after the first that is never NULL is reached."""
    reached = next((i for i, argument in enumerate(arguments, 1) if not argument.facts.nullable), len(arguments))
    return together(arguments[:reached], nullable=all(argument.facts.nullable for argument in arguments))


def _coalesce(*values: Held) -> Held:
    return next((value for value in values if value is not None), None)


def _alike(name: str, part: Part) -> Fit:
    parts = takes(name, part, more=part)
    return lambda arguments: alike(name, parts(arguments))


def _nullif_fit(arguments: Arguments) -> Arguments:
    return alike("nullif", takes("nullif", ANY, ANY)(arguments))


def _nullif_facts(arguments: Arguments) -> Facts:
    return arguments[0].facts.but(nullable=True)


def _extreme_facts(arguments: Arguments, *, greatest: bool) -> Facts:
    """Arguments that are NULL do not count, so only those that never are hold the result."""
    facts = together(arguments, nullable=all(argument.facts.nullable for argument in arguments))
    sure = [argument.facts for argument in arguments if not argument.facts.nullable]
    found = [fact.low if greatest else fact.high for fact in sure]
    known = [value for value in found if value is not None]
    if known and facts.type is not Type.TEXT:
        changed = {"low": _highest(known)} if greatest else {"high": _lowest(known)}
        facts = facts.but(**changed, domain=None)
    return facts.but(domain=None) if not facts.type.numeric else facts


def _clamp_fit(arguments: Arguments) -> Arguments:
    return alike("clamp", takes("clamp", ORDERED, ORDERED, ORDERED)(arguments))


def _clamp_facts(arguments: Arguments) -> Facts:
    """Low wins over high where they cross; a bound that is NULL does not count."""
    x, low, high = (argument.facts for argument in arguments)
    facts = together(arguments, nullable=x.nullable).but(domain=None)
    bottoms = [_lowest([x.low, high.low]), None if low.nullable else _lowest([low.low, high.low])]
    tops = [_highest([x.high, low.high]), None if high.nullable else _highest([high.high, low.high])]
    bottom = [value for value in bottoms if value is not None]
    top = [value for value in tops if value is not None]
    bounds = {"low": _highest(bottom) if bottom else None, "high": _lowest(top) if top else None}
    return facts.but(**bounds, why="" if bottom and top else facts.why)


def _clamp(x: Any, low: Any, high: Any) -> Any:
    if x is None:
        return None
    if low is not None and x < low:
        return low
    return high if high is not None and x > high else x


def _known(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


OPERATIONS = (
    Operation(
        name="case",
        about="the value beside the first condition that is true, else the last",
        fit=_case_fit,
        facts=_case_facts,
        value=_case,
        strict=False,
    ),
    Operation(
        name="switch",
        about="the value beside the first that equals x, else the last",
        fit=_switch_fit,
        facts=_switch_facts,
        value=_switch,
        strict=False,
    ),
    Operation(
        name="if",
        about="y where x is true, else z",
        fit=_if_fit,
        facts=lambda arguments: together(arguments[1:], nullable=any(a.facts.nullable for a in arguments[1:])),
        value=lambda x, y, z: y if x is True else z,
        strict=False,
    ),
    Operation(
        name="coalesce",
        about="the first that is not NULL",
        fit=_alike("coalesce", ANY),
        facts=_coalesce_facts,
        value=_coalesce,
        strict=False,
    ),
    Operation(
        name="nullif",
        about="x, or NULL where it equals y",
        fit=_nullif_fit,
        facts=_nullif_facts,
        value=lambda x, y: None if x == y else x,
        strict=False,
    ),
    Operation(
        name="least",
        about="the smallest that is not NULL",
        fit=_alike("least", SORTED),
        facts=lambda arguments: _extreme_facts(arguments, greatest=False),
        value=lambda *values: min(_known(values), default=None),
        strict=False,
    ),
    Operation(
        name="greatest",
        about="the largest that is not NULL",
        fit=_alike("greatest", SORTED),
        facts=lambda arguments: _extreme_facts(arguments, greatest=True),
        value=lambda *values: max(_known(values), default=None),
        strict=False,
    ),
    Operation(
        name="clamp",
        about="x, or the bound that it passes",
        fit=_clamp_fit,
        facts=_clamp_facts,
        value=_clamp,
        strict=False,
    ),
)
