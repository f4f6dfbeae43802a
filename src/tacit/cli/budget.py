"""`tacit budget`: what was spent, what is left, and what that means."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, inf
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.cli.options import Json, LedgerAt, People, PolicyFile, ledger_place, one_of, option
from tacit.cli.screen import bullets, days, down, exactly, facts, plain_table, print_json, up, when
from tacit.ledger import Balance, Ledger, Standing
from tacit.loss import ZCDP, Odometer
from tacit.policy import DATASET, Amount, Currency, Policy
from tacit.policy.account import analyst_holder, group_holder

__all__ = ["Gauge", "budget", "differences", "gauges"]

WIDTH = 24  # of a gauge
SHOWN = 20  # holders on the terminal
NEAR = Decimal("1e-9")  # of a number that is shown with four digits; JSON has all of them
ASIDE = "the same people are in every window, and pay again in each"


def budget(
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    people: People = None,
    analyst: Annotated[str | None, option("--analyst", "NAME", "Only what binds this analyst.")] = None,
    as_json: Json = False,
) -> None:
    """What was spent and what is left: for everybody, each group and each analyst.

    Example: tacit budget --policy tacit.toml --analyst ana
    """
    where, declared = ledger_place(policy, ledger)
    console = Console()
    with Ledger.open(where, create=False) as book:
        named = people is not None or declared is not None or analyst is not None
        whose = [one_of(book, people, declared)] if named else book.people()
        found = [_Account(book.standing(name), declared, analyst) for name in whose]
    if as_json:
        print_json(console, {"accounts": [account.json() for account in found]})
        return
    if not found:
        console.print("This ledger has no accounts yet: record a policy with `tacit ledger apply`.")
    for account in found:
        account.show(console)


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
        pairs = [
            (self.balance.window_spent.spend, self.limit.spend),
            (self.balance.window_spent.delta, self.limit.delta),
        ]
        return max((Fraction(spent, most) if most else Fraction(spent > 0)) for spent, most in pairs)


def gauges(standing: Standing, policy: Policy | None) -> list[Gauge]:
    """Every holder, the dataset first, then groups, then analysts, the fullest first."""
    declared = {} if policy is None else {limit.holder: limit for limit in policy.terms().limits}
    found = []
    for balance in standing.balances:
        limit, each, other = balance.limit, balance.each, declared.get(balance.holder)
        if other is not None:
            limit = _least(limit, other.total)
            each = other.each if each is None else each if other.each is None else _least(each, other.each)
        found.append(Gauge(balance=balance, limit=limit, each=each))
    order = {DATASET: 0}
    return sorted(
        found,
        key=lambda gauge: (
            order.get(gauge.holder, 1 + gauge.holder.startswith("analyst:")),
            -gauge.share,
            gauge.holder,
        ),
    )


def _least(one: Amount, other: Amount) -> Amount:
    return Amount(min(one.spend, other.spend), min(one.delta, other.delta))


def _times(left: Amount, cost: Amount) -> int:
    counts = [rest // price for rest, price in ((left.spend, cost.spend), (left.delta, cost.delta)) if price]
    return min(counts)


class _Account:
    """One account, ready to be shown."""

    def __init__(self, standing: Standing, policy: Policy | None, analyst: str | None) -> None:
        self.standing, self.policy, self.analyst = standing, policy, analyst
        self.all = gauges(standing, policy)
        self.shown = self.all
        if analyst is not None:
            holders = {DATASET, analyst_holder(analyst), *(group_holder(name) for name in self._groups(analyst))}
            self.shown = [gauge for gauge in self.all if gauge.holder in holders]
            if not any(gauge.holder == analyst_holder(analyst) for gauge in self.shown):
                names = [g.holder.removeprefix("analyst:") for g in self.all if g.holder.startswith("analyst:")]
                listed = ", ".join(sorted(names)[:10]) or "none yet"
                raise InputError(f'"{analyst}" has no line in this ledger: analysts with one are {listed}')

    def _groups(self, analyst: str) -> tuple[str, ...]:
        known = None if self.policy is None else self.policy.analysts.get(analyst)
        return () if known is None else known.groups

    # --- what the numbers mean

    def promise(self, limit: Amount) -> float | None:
        """The ε, at the account's δ, that a limit stands for: it was set in advance, so it converts as it is."""
        standing = self.standing
        if standing.currency is Currency.EPSILON:
            return float(Fraction(limit.spend, 10**standing.currency.decimals))
        loss = ZCDP(Fraction(limit.spend, 10**18), delta=Fraction(limit.delta, 10**30))
        found = loss.epsilon(standing.delta).upper
        return None if found == inf else found

    def reading(self, spent: Amount) -> tuple[float, float] | None:
        """(ε, δ) spent so far. Somebody chose this moment after seeing answers, so ρ is read uniformly in time."""
        standing = self.standing
        meter = Odometer(
            delta=standing.delta if standing.currency is Currency.RHO and standing.delta else None,
            relation=standing.relation,
            unit=standing.unit,
        )
        if standing.currency is Currency.RHO and meter.delta is None:
            return None
        meter.spend(spent.cost(standing.currency, relation=standing.relation, unit=standing.unit))
        found = meter.reading
        return found.epsilon, float(found.delta)

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
        return min(_times(left, last) for left in binding)

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
            "lifetime_limit": None if standing.lifetime is None else exactly(standing.lifetime, currency),
            "holders": [self._json(gauge) for gauge in self.shown],
            "notes": list(self.notes()),
        }

    def _json(self, gauge: Gauge) -> dict[str, Any]:
        currency, balance, read = self.standing.currency, gauge.balance, self.reading(gauge.balance.spent)
        return {
            "holder": gauge.holder,
            "limit": exactly(gauge.limit, currency),
            "recorded_limit": exactly(balance.limit, currency),
            "each": None if gauge.each is None else exactly(gauge.each, currency),
            "spent": exactly(balance.window_spent, currency),
            "left": exactly(gauge.left, currency),
            "spent_ever": exactly(balance.spent, currency),
            "limit_epsilon": self.promise(gauge.limit),
            "spent_ever_epsilon": None if read is None else {"epsilon": read[0], "delta": read[1]},
            "last": None if balance.last is None else exactly(balance.last, currency),
            "more_like_the_last": self.more(gauge),
        }

    def show(self, console: Console) -> None:
        standing, currency = self.standing, self.standing.currency
        console.print(Text(standing.people, style="bold"), soft_wrap=True)
        table = plain_table()
        table.add_column("")
        table.add_column("")
        table.add_column("Spent", justify="right", no_wrap=True)
        table.add_column("Left", justify="right", style="bold", no_wrap=True)
        table.add_column("Ever", justify="right", style="dim", no_wrap=True)
        for gauge in self.shown[:SHOWN]:
            spent, ever = gauge.balance.window_spent, gauge.balance.spent
            left = down(gauge.left.spend / 10**currency.decimals, 4, spread=NEAR)
            table.add_row(
                gauge.holder, _gauge(gauge.share), _number(spent.spend, currency), left, _number(ever.spend, currency)
            )
        console.print(table)
        if len(self.shown) > SHOWN:
            console.print(
                Text(f"… and {len(self.shown) - SHOWN} more, whose gauges are emptier: --json has all", "dim")
            )
        facts(console, self._lines())
        remarks = list(self.notes())
        if remarks:
            console.print(bullets(remarks))
        console.print()

    def _lines(self) -> dict[str, str | Text]:
        standing, currency = self.standing, self.standing.currency
        own = self.shown[-1] if self.analyst is not None else self.shown[0]
        whole = self.shown[0]
        delta = f"{float(standing.delta):g}"
        lines: dict[str, str | Text] = {"counted in": f"{currency.value}, for one {standing.unit}"}
        if whole.limit.delta:
            used, most = whole.balance.window_spent.delta / 1e30, whole.limit.delta / 1e30
            lines["own δ"] = f"{used:.3g} of {most:.3g} spent by mechanisms that have one"
        promise = self.promise(whole.limit)
        if promise is not None:
            at = delta if currency is Currency.RHO else f"{whole.limit.delta / 1e30:.3g}"
            span = "a window" if standing.period is not None else "all of it"
            lines["the limit means"] = f"ε = {up(promise, 4)} with δ = {at}, once {span} is spent"
        read = self.reading(whole.balance.spent)
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
    parts = exactly(total, currency)
    own = f" (δ {float(total.delta) / 1e30:.3g})" if total.delta else ""
    cap = "" if each is None else f", at most {exactly(each, currency)[currency.value]} each"
    return f"{parts[currency.value]} {currency.value}{own}{cap}"


def _number(spend: int, currency: Currency) -> str:
    return up(spend / 10**currency.decimals, 4, spread=NEAR)


def _gauge(share: Fraction) -> Text:
    """A gauge, never shown emptier than it is."""
    full = min(WIDTH, ceil(share * WIDTH))
    colour = "red" if share >= Fraction(9, 10) else "yellow" if share >= Fraction(2, 3) else "green"
    return Text.assemble(("█" * full, colour), ("░" * (WIDTH - full), "dim"), f" {min(999, ceil(share * 100)):>3} %")
