"""`tacit budget`: what was spent, what is left, and what that means."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Annotated, Any

from rich.table import Column
from rich.text import Text

from tacit.base import InputError
from tacit.cli.options import Json, LedgerOptions, People, one_of, option
from tacit.cli.screen import WIDTH, bar, bullets, days, down, facts, line, output, table, up, when
from tacit.ledger import Balance, Standing
from tacit.policy import DATASET, Amount, Currency, Policy
from tacit.policy.account import analyst_holder, group_holder

__all__ = ["budget", "differences"]

SHOWN = 20  # holders on the terminal
NEAR = Decimal("1e-9")  # of a number that is shown with four digits; JSON has all of them
ASIDE = "the same people are in every window, and pay again in each"


def budget(
    at: LedgerOptions,
    people: People = None,
    analyst: Annotated[str | None, option("NAME", "Only what binds this analyst.")] = None,
    as_json: Json = False,
) -> None:
    """What was spent and what is left: for everybody, each group and each analyst.

    Example: tacit budget --policy tacit.toml --analyst ana
    """
    with at.open() as (book, declared):
        named = people is not None or declared is not None or analyst is not None
        whose = [one_of(book, people, declared)] if named else book.people()
        found = [_Account(book.standing(name), declared, analyst) for name in whose]
    nothing = "This ledger has no accounts yet: record a policy with `tacit ledger apply`."
    parts: list[Any] = [account.parts() for account in found] or [nothing]
    output(as_json, {"accounts": [account.json() for account in found]}, *parts)


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """One holder: the limit that binds now (the smaller of the policy's and the recorded one), and what is spent."""

    balance: Balance
    limit: Amount
    each: Amount | None

    @property
    def holder(self) -> str:
        return self.balance.holder

    @property
    def left(self) -> Amount:
        return self.balance.window_spent.left(self.limit)

    @property
    def share(self) -> Fraction:
        """How full it is: of the currency or of δ, whichever is fuller."""
        spent, limit = self.balance.window_spent, self.limit
        pairs = (spent.spend, limit.spend), (spent.delta, limit.delta)
        return max((Fraction(used, most) if most else Fraction(used > 0)) for used, most in pairs)


def _gauges(standing: Standing, policy: Policy | None) -> list[Gauge]:
    """Every holder, the dataset first, then groups, then analysts, the fullest first."""
    declared = {} if policy is None else {limit.holder: limit for limit in policy.terms().limits}
    found = []
    for balance in standing.balances:
        limit, each, other = balance.limit, balance.each, declared.get(balance.holder)
        if other is not None:
            limit = _least(limit, other.total)
            each = other.each if each is None else each if other.each is None else _least(each, other.each)
        found.append(Gauge(balance=balance, limit=limit, each=each))
    return sorted(found, key=lambda g: (g.holder != DATASET, g.holder.startswith("analyst:"), -g.share, g.holder))


def _least(one: Amount, other: Amount) -> Amount:
    return Amount(min(one.spend, other.spend), min(one.delta, other.delta))


class _Account:
    """One account, ready to be shown."""

    def __init__(self, standing: Standing, policy: Policy | None, analyst: str | None) -> None:
        self.standing, self.policy, self.analyst = standing, policy, analyst
        self.all = _gauges(standing, policy)
        self.shown = self.all
        if analyst is not None:
            known = None if policy is None else policy.analysts.get(analyst)
            groups = () if known is None else known.groups
            holders = {DATASET, analyst_holder(analyst), *map(group_holder, groups)}
            self.shown = [gauge for gauge in self.all if gauge.holder in holders]
            if not any(gauge.holder == analyst_holder(analyst) for gauge in self.shown):
                names = [g.holder.removeprefix("analyst:") for g in self.all if g.holder.startswith("analyst:")]
                listed = ", ".join(sorted(names)[:10]) or "none yet"
                raise InputError(f'"{analyst}" has no line in this ledger: analysts with one are {listed}')

    def more(self, gauge: Gauge) -> int | None:
        """How many more programs like the last one fit everything that binds this holder."""
        last = gauge.balance.last
        if last is None or not (last.spend or last.delta):
            return None
        if self.standing.sealed or (gauge.each is not None and not last.fits(gauge.each)):
            return 0
        binding = [gauge.left]
        for other in self.all:
            if other.holder == DATASET or (self.analyst is not None and other in self.shown):
                binding.append(other.left)
            if other.holder == DATASET and self.standing.lifetime is not None:
                binding.append(other.balance.spent.left(self.standing.lifetime))
        pairs = [(left.spend, last.spend) for left in binding] + [(left.delta, last.delta) for left in binding]
        return min(left // price for left, price in pairs if price)

    def notes(self) -> Iterator[str]:
        standing = self.standing
        if standing.sealed:
            yield "this account is sealed: nothing can be charged to it any more"
        if standing.period is not None:
            yield f"each window has a fresh budget, but {ASIDE}: what counts for them is the total ever"
        limits = [g.limit.spend for g in self.all if g.holder.startswith("analyst:")]
        whole = next((g.limit.spend for g in self.all if g.holder == DATASET), 0)
        if sum(limits) > whole:
            together, total = _number(sum(limits), standing.currency), _number(whole, standing.currency)
            yield (
                f"the analysts' limits add up to {together}, more than the dataset's {total}: "
                "all together cannot spend more than that, so whoever comes first is served first"
            )
        if self.policy is not None and differences(standing, self.policy):
            yield (
                "the policy says something else than the ledger: the smaller limit binds, until `tacit ledger apply`"
            )

    # --- showing

    def json(self) -> dict[str, Any]:
        standing, currency = self.standing, self.standing.currency
        return {
            "people": standing.people,
            "currency": currency.value,
            "relation": standing.relation.value,
            "unit": standing.unit,
            "delta": float(standing.delta),
            "sealed": standing.sealed,
            "window": standing.window,
            "window_end": None if standing.window_end is None else when(standing.window_end),
            "lifetime_limit": None if standing.lifetime is None else standing.lifetime.json(currency),
            "holders": [self._json(gauge) for gauge in self.shown],
            "notes": list(self.notes()),
        }

    def _json(self, gauge: Gauge) -> dict[str, Any]:
        currency, balance, read = self.standing.currency, gauge.balance, self.standing.reading(gauge.balance.spent)
        return {
            "holder": gauge.holder,
            "limit": gauge.limit.json(currency),
            "recorded_limit": balance.limit.json(currency),
            "each": None if gauge.each is None else gauge.each.json(currency),
            "spent": balance.window_spent.json(currency),
            "left": gauge.left.json(currency),
            "spent_ever": balance.spent.json(currency),
            "limit_epsilon": self.standing.promise(gauge.limit),
            "spent_ever_epsilon": None if read is None else {"epsilon": read[0], "delta": read[1]},
            "last": None if balance.last is None else balance.last.json(currency),
            "more_like_the_last": self.more(gauge),
        }

    def parts(self) -> Iterator[Any]:
        currency = self.standing.currency
        yield line(self.standing.people, "bold")
        styles = {"Spent": "", "Left": "bold", "Ever": "dim"}
        heads = [Column(name, justify="right", style=style, no_wrap=True) for name, style in styles.items()]
        rows = [
            (
                gauge.holder,
                _gauge(gauge.share),
                _number(gauge.balance.window_spent.spend, currency),
                down(gauge.left.spend / 10**currency.decimals, 4, spread=NEAR),
                _number(gauge.balance.spent.spend, currency),
            )
            for gauge in self.shown[:SHOWN]
        ]
        yield table(Column(), Column(), *heads, rows=rows)
        if len(self.shown) > SHOWN:
            yield Text(f"… and {len(self.shown) - SHOWN} more, whose gauges are emptier: --json has all", "dim")
        yield from (facts(self._lines()), bullets(self.notes()), "")

    def _lines(self) -> dict[str, str | Text]:
        standing, currency = self.standing, self.standing.currency
        own = self.shown[-1] if self.analyst is not None else self.shown[0]
        whole = self.shown[0]
        delta = f"{float(standing.delta):g}"
        lines: dict[str, str | Text] = {"counted in": f"{currency.value}, for one {standing.unit}"}
        if whole.limit.delta:
            used, most = whole.balance.window_spent.delta / 1e30, whole.limit.delta / 1e30
            lines["own δ"] = f"{used:.3g} of {most:.3g} spent by mechanisms that have one"
        promise = standing.promise(whole.limit)
        if promise is not None:
            at = delta if currency is Currency.RHO else f"{whole.limit.delta / 1e30:.3g}"
            span = "a window" if standing.period is not None else "all of it"
            lines["the limit means"] = f"ε = {up(promise, 4)} with δ = {at}, once {span} is spent"
        read = standing.reading(whole.balance.spent)
        if read is not None:
            over = promise is not None and standing.period is None and read[0] >= promise
            text = "no more than that yet" if over else f"ε = {up(read[0], 4)} with δ = {read[1]:.3g}"
            uniform = ", valid at whatever moment it is read" if currency is Currency.RHO and not over else ""
            lines["spent ever means"] = text + uniform
        if standing.window_end is not None:
            lines["window"] = f"number {standing.window}, ends {when(standing.window_end)}"
        if standing.lifetime is not None:
            lines["lifetime limit"] = (
                f"{down(standing.lifetime.spend / 10**currency.decimals, 6)}, which no reset refills"
            )
        more = self.more(own)
        if more is not None:
            who = "your last one" if self.analyst is not None else "the last one"
            lines["room for"] = f"about {more:,} more quer{'y' if more == 1 else 'ies'} like {who}"
        return lines


def differences(standing: Standing, policy: Policy) -> list[str]:
    """What a policy would change, in words."""
    terms, currency = policy.terms(), standing.currency
    found = []
    for limit in terms.limits:
        old = standing.balance(limit.holder)
        if old is None:
            found.append(f"{limit.holder}: {_amount(limit.total, limit.each, currency)}, new")
        elif (old.limit, old.each) != (limit.total, limit.each):
            before, after = _amount(old.limit, old.each, currency), _amount(limit.total, limit.each, currency)
            found.append(f"{limit.holder}: {before} → {after}")
    if standing.period != terms.period:
        found.append(f"reset window: {days(standing.period)} → {days(terms.period)}")
    if standing.lifetime != terms.lifetime:
        before, after = (_amount(x, None, currency) if x else "none" for x in (standing.lifetime, terms.lifetime))
        found.append(f"lifetime limit: {before} → {after}")
    return found


def _amount(total: Amount, each: Amount | None, currency: Currency) -> str:
    parts = total.json(currency)
    own = f" (δ {float(total.delta) / 1e30:.3g})" if total.delta else ""
    cap = "" if each is None else f", at most {each.json(currency)[currency.value]} each"
    return f"{parts[currency.value]} {currency.value}{own}{cap}"


def _number(spend: int, currency: Currency) -> str:
    return up(spend / 10**currency.decimals, 4, spread=NEAR)


def _gauge(share: Fraction) -> Text:
    """A gauge, never shown emptier than it is."""
    full = min(WIDTH, ceil(share * WIDTH))
    colour = "red" if share >= Fraction(9, 10) else "yellow" if share >= Fraction(2, 3) else "green"
    return bar(full, colour).append(f" {min(999, ceil(share * 100)):>3} %")
