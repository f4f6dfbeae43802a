"""What a market is told before it opens: a closed list of declared keys, and the plan that they mean."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.base import InputError, Problem
from tacit.desk.kind import JobSettings, job_setting
from tacit.market.choice import Choosing
from tacit.market.matching import COIN, Matching
from tacit.market.pricing import Pricing, cents
from tacit.market.routing import Routing
from tacit.market.sale import MarketPlan
from tacit.policy.declaration import declared
from tacit.policy.kind import choice, names, number, text, whole

__all__ = ["MarketRules", "Rule"]


class Rule(StrEnum):
    """How the outcome follows from the reports."""

    PRICE = "price"
    CHOOSE = "choose"
    MATCH = "match"
    GAME = "game"


def _only(*rules: Rule) -> dict[str, tuple[str, ...]]:
    return {"rule": tuple(each.value for each in rules)}


@declared
class MarketRules(JobSettings):
    """One market."""

    rule: Rule = job_setting(
        "What is decided: one price, one of several options, who gets which good, or who takes which route.",
        choice(Rule), example='"match"',
    )  # fmt: skip
    table: str = job_setting(
        "The table of the policy that lists who may take part.", text, example='"people"', suggests="tables"
    )
    epsilon: Fraction | None = job_setting(
        "What the outcome may tell of one report, as ε.", number(above=0), example="1", default=None,
        only=_only(Rule.PRICE, Rule.CHOOSE), shown=True,
    )  # fmt: skip
    rho: Fraction | None = job_setting(
        "What everything public may tell of one report, as ρ.", number(above=0), example='"0.02"', default=None,
        only=_only(Rule.MATCH, Rule.GAME), shown=True,
    )  # fmt: skip
    low: int = job_setting("The lowest price, in cents.", whole, example="1", default=1, only=_only(Rule.PRICE))
    high: int = job_setting("The highest price, in cents.", whole, example="100", default=100, only=_only(Rule.PRICE))
    options: tuple[str, ...] = job_setting(
        "The options to choose from; a report says what each would cost.", names,
        example='["library", "park", "pool"]', default=(), only=_only(Rule.CHOOSE), shown=True,
    )  # fmt: skip
    count: int = job_setting(
        "How many options are chosen, of which each uses the best.", whole, example="2", default=1,
        only=_only(Rule.CHOOSE),
    )  # fmt: skip
    goods: tuple[str, ...] = job_setting(
        "Each good with how many copies there are; a report says what each is worth.", names,
        example='["morning = 40", "evening = 25"]', default=(), only=_only(Rule.MATCH), shown=True,
    )  # fmt: skip
    links: tuple[str, ...] = job_setting(
        "Each link with what it costs: when it is free, and how much more when everybody is on it.", names,
        example='["bridge = 0.1 + 0.9", "tunnel = 0.5 + 0.1"]', default=(), only=_only(Rule.GAME), shown=True,
    )  # fmt: skip
    routes: tuple[str, ...] = job_setting(
        "Each route as links; a report says what each costs beside the traffic.", names,
        example='["bridge", "tunnel"]', default=(), only=_only(Rule.GAME), shown=True,
    )  # fmt: skip
    largest: Fraction = job_setting(
        "The most that a report can say; more counts as that.", number(above=0), example="1", default=Fraction(1),
        only=_only(Rule.CHOOSE, Rule.MATCH, Rule.GAME),
    )  # fmt: skip
    overflow: Fraction = job_setting(
        "The chance, at most, that somebody is turned away: a δ.", number(above=0, below=1), example='"1e-6"',
        default=Fraction(1, 10**6), only=_only(Rule.MATCH),
    )  # fmt: skip

    @property
    def title(self) -> str:
        return f"{self.rule.value} for {self.table}"

    def contradictions(self) -> Iterator[Problem]:
        yield from super().contradictions()
        needed = {Rule.PRICE: ("epsilon",), Rule.CHOOSE: ("epsilon", "options"), Rule.MATCH: ("rho", "goods")}
        for name in needed.get(self.rule, ("rho", "links", "routes")):
            if not getattr(self, name):
                yield Problem((name,), f'rule "{self.rule.value}" needs {name}', short="is needed")

    @property
    def things(self) -> tuple[str, ...]:
        """What a report is about, in its order: options, goods or routes. Of a price nothing: a bid is one number."""
        lists = {Rule.CHOOSE: self.options, Rule.MATCH: self.goods, Rule.GAME: self.routes}
        return tuple(each.partition("=")[0].strip() for each in lists.get(self.rule, ()))

    @lru_cache(maxsize=256)  # noqa: B019 - of all rules together; each request asks for its market's
    def plan(self, agents: int, unit: str) -> MarketPlan:
        """The mechanism for so many agents; an `InputError` if it cannot be."""
        if len(set(self.things)) != len(self.things):
            raise InputError("two options, goods or routes have the same name: give each one of its own")
        if self.rule is Rule.PRICE:
            return Pricing(grid=cents(self.low, self.high), epsilon=self.epsilon or 1, unit=unit)
        if self.rule is Rule.CHOOSE:
            return Choosing(
                options=len(self.options), largest=self.largest, epsilon=self.epsilon or 1, count=self.count, unit=unit
            )
        if self.rule is Rule.MATCH:
            supply = tuple(_copies(each) for each in self.goods)
            return Matching(
                supply=supply, agents=agents, rho=self.rho or 1, overflow=self.overflow, largest=self.largest, unit=unit
            )
        links = dict(map(_link, self.links))
        routes = tuple(tuple(_place(links, link) for link in each.split("+")) for each in self.routes)
        free, crowded = zip(*links.values(), strict=True)
        return Routing(
            routes=routes, free=free, crowded=crowded, agents=agents, rho=self.rho or 1, largest=self.largest, unit=unit
        )

    def labelled(self, advice: Mapping[str, Any]) -> dict[str, Any]:
        """Advice with the name of what it is about, beside its number."""
        number_ = next((advice[key] for key in ("option", "good", "route") if key in advice), None)
        return {**advice, "name": None if number_ is None else self.things[number_]} if self.things else dict(advice)

    def shown(self, plan: Any, outcome: Mapping[str, Any]) -> dict[str, Any]:
        """The public outcome for reading: prices and chances as numbers, what is drawn for coins left out."""
        if self.rule is Rule.MATCH:
            priced = [
                {"prices": list(map(plan.priced, each["prices"])), "demand": each["demand"]}
                for each in (*outcome["rounds"], outcome)
            ]
            chances = [each / COIN for each in outcome["chances"]]
            about = {"copies": list(plan.supply), "chances": chances, "reserve": outcome["reserve"]}
            return priced[-1] | about | {"turned_away": len(outcome["turned_away"]), "rounds": priced[:-1]}
        return {key: value for key, value in outcome.items() if key not in ("ends", "seed")}

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of a report."""
        one = {"type": "number", "minimum": 0}
        if not self.things:
            return {**one, "description": "What the good is worth to you."}
        worth = "worth to you" if self.rule is Rule.MATCH else "cost you"
        words = f"What each of these is {worth}" if self.rule is Rule.MATCH else f"What each of these would {worth}"
        told = f"{words}, from 0 to {float(self.largest):g}, in this order: {', '.join(self.things)}."
        size = len(self.things)
        return {"type": "array", "items": one, "minItems": size, "maxItems": size, "description": told}


def _copies(text_: str) -> int:
    name, _, count = text_.partition("=")
    if not count.strip().isdecimal() or len(count.strip()) > 12:
        raise InputError(f'good "{name.strip()}" does not say how many copies there are: write "{name.strip()} = 40"')
    return int(count)


def _link(text_: str) -> tuple[str, tuple[Fraction, Fraction]]:
    name, _, costs = (each.strip() for each in text_.partition("="))
    free, _, crowded = costs.partition("+")
    read = number(least=0).read
    try:
        return name, (read(free.strip()), read(crowded.strip() or 0))
    except InputError:
        told = f'link "{name}" does not say what it costs: write "{name} = 0.1 + 0.9", free and when all are on it'
    raise InputError(told)


def _place(links: Mapping[str, Any], link: str) -> int:
    if link.strip() not in links:
        raise InputError(f'there is no link "{link.strip()}": links are {", ".join(links)}')
    return list(links).index(link.strip())
