"""What an analyst offers for a question: an amount, or an error to reach, whose price is then found."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, TypedDict, Unpack

from tacit.base import InputError, Number, OverBudget, RefusalKind, Refused, Unpriced, between, positive
from tacit.plan.contribution import PRIVATE, Contribution, counted_tables
from tacit.plan.mu_squared import mu_squared_of
from tacit.plan.node import scans_of
from tacit.plan.price import CONFIDENCE as OF_QUANTILES
from tacit.plan.price import Budget, PricedPlan, price, rho_of
from tacit.plan.profile import TableProfile
from tacit.plan.question import LoweredQuestion
from tacit.policy import Currency, Policy
from tacit.sql.estimate import expected

__all__ = ["CONFIDENCE", "Offer", "OfferTerms", "Purchase", "contribution_of"]


def contribution_of(policy: Policy, question: LoweredQuestion, profiles: Mapping[str, TableProfile]) -> Contribution:
    """Of the private tables; where several are joined, the least that any of them says, but for those whose units have
    one row each: these make no more rows of the others. A table that is to have a
    profile needs no clip of its own: until it has one, clips are chosen privately."""
    sources = [question.source, *(each.source for each in question.beside)]
    tables = [policy.tables[name] for name in sorted({scan.table for each in sources for scan in scans_of(each)})]
    private = [table for table in tables if table.private]
    counted = [table for table in private if any(table.name in counted_tables(each) for each in sources)]
    columns: dict[str, Any] = {}
    per_group: dict[str, tuple[Fraction, Fraction]] = {}
    values: dict[str, int] = {}
    for table in private:
        for name, column in table.columns.items():
            if column.clip is not None:
                columns[name] = column.clip
            if column.max_values_per_unit is not None:
                values[name] = column.max_values_per_unit
            if column.per_group is not None:
                low, high = column.per_group
                per_group[name] = (Fraction(low), Fraction(high))
    said = [(table.clip_rows, table.profile) for table in counted]
    rows = [clip or PRIVATE for clip, profile in said if clip is not None or profile is not None]
    said_rows = [Fraction(clip) for clip in rows if clip != PRIVATE]
    numbers = [number for number in said_rows if number > 1] or ([] if PRIVATE in rows else said_rows)
    asked = None if question.options.max_rows is None else Fraction(question.options.max_rows)
    named = " and ".join(f'"{table.name}"' for table in counted)
    return Contribution(
        rows=asked if asked is not None else min(numbers) if numbers else PRIVATE if rows else None,
        columns=columns,
        max_groups=min((table.max_groups for table in private if table.max_groups is not None), default=None),
        rows_per_group=min((t.rows_per_group for t in counted if t.rows_per_group is not None), default=None),
        per_group=per_group,
        profiles=profiles,
        values=values,
        missing=f"table {named} does not say how much one {policy.privacy.unit} may count: declare clip_rows = …, the "
        'most rows of one unit that count, or clip_rows = "private" to find it for a small share of each price',
    )


CONFIDENCE = 0.95
NOTHING = Fraction(0)
SURE = Fraction(1, 10**9)  # how near to 0 and to 1 a confidence may be
MOST = 10**6  # of any currency, as of a budget
CLOSE = 1.001  # how near to the least price a found one is
ROUNDS = 60


class OfferTerms(TypedDict, total=False):
    """What may be said beside a question: one of an amount of `epsilon`, `rho` or `mu_squared`, or an `error` to reach
    at most; and the `confidence` of intervals and errors (0.95 if left out)."""

    epsilon: Number | None
    rho: Number | None
    mu_squared: Number | None
    error: Number | None
    confidence: Number


@dataclass(frozen=True, kw_only=True)
class Purchase:
    """The program, the least that a question costs, and the amount that was offered where that is less."""

    priced: PricedPlan
    least: Fraction = Fraction(0)
    raised_from: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """`epsilon`, `rho` or `mu_squared` to spend, or the `error` to reach; intervals are for `confidence`. Checked when
    made."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None
    error: Fraction | None = None
    confidence: float = CONFIDENCE

    @classmethod
    def of(cls, **terms: Unpack[OfferTerms]) -> "Offer":
        """From what was typed."""
        given = {name: terms.get(name) for name in (*Currency, "error")}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise InputError(f"say one of epsilon, rho, mu_squared and error, not {' and '.join(named)}")
        numbers = {name: positive(given[name], name, toward="decimal") for name in named}
        for name in set(Currency) & numbers.keys():
            if numbers[name] > MOST:
                raise InputError(f"{name} must be at most {MOST:,}: a larger one protects nobody")
        level = between(terms.get("confidence", CONFIDENCE), "confidence", 0, 1)
        if not SURE <= level <= 1 - SURE:
            raise InputError(f"confidence must lie between {float(SURE):g} and 1 - {float(SURE):g}")
        return cls(**numbers, confidence=float(level))

    def price(
        self,
        question: LoweredQuestion,
        policy: Policy,
        *,
        least: Fraction = NOTHING,
        profiles: Mapping[str, TableProfile] | None = None,
    ) -> Purchase:
        """The program that this buys; where it would cost less than `least`, the one that costs that."""
        how: dict[str, Any] = {
            "relation": policy.privacy.relation,
            "unit": policy.privacy.unit,
            "contribution": contribution_of(policy, question, profiles or {}),
        }
        if self.error is None:
            spend = self._spend(question, policy)
            priced = price(question, _spending(question, policy, max(spend, least)), **how)
        else:
            spend, priced = _for_error(question, policy, float(self.error), self.confidence, how)
            if spend < least:
                priced = price(question, _spending(question, policy, least), **how)
        medians = [recipe.asked for recipe in priced.recipes if recipe.function == "quantile"]
        if medians and self.confidence > OF_QUANTILES:
            raise Refused(
                f"{medians[0]}: the interval of a quantile is drawn for {float(OF_QUANTILES):.0%}: ask with "
                f"confidence={float(OF_QUANTILES):g} or less",
                kind=RefusalKind.OFFER,
            )
        return Purchase(priced=priced, least=least, raised_from=spend if spend < least else None)

    def _spend(self, question: LoweredQuestion, policy: Policy) -> Fraction:
        """In the dataset's currency; the query's own options where nothing else was said."""
        options, currency = question.options, policy.privacy.currency
        offered = {name: value for name in Currency if (value := getattr(self, name)) is not None}
        if not offered:
            offered = {name: value for name in Currency if (value := getattr(options, name)) is not None}
        if len(offered) != 1:
            raise Unpriced(
                f"say how much to spend: an epsilon or a {'rho' if currency is Currency.EPSILON else currency} (this "
                f"dataset is paid for in {currency}), or an error, to be told what that accuracy costs"
            )
        ((name, spend),) = offered.items()
        if name is currency:
            return Fraction(spend)
        if name is not Currency.EPSILON:
            more = " or an epsilon" if currency.concentrated else ""
            article = "an" if currency is Currency.EPSILON else "a"
            raise Refused(
                f"this dataset is paid for in {currency}: offer {article} {currency}{more}", kind=RefusalKind.OFFER
            )
        delta = options.delta if options.delta is not None else policy.privacy.delta
        if not delta:
            raise Refused(
                f"epsilon becomes {currency} at a delta, and this dataset has none: offer a {currency}",
                kind=RefusalKind.OFFER,
            )
        return Fraction(rho_of(spend, delta) if currency is Currency.RHO else mu_squared_of(spend, delta))


def _spending(question: LoweredQuestion, policy: Policy, spend: Fraction) -> Budget:
    """An amount with its part of the dataset's own δ."""
    privacy, said = policy.privacy, question.options.delta
    share = min(Fraction(1), spend / privacy.budget)
    delta = privacy.own_delta * share if said is None else min(said, privacy.own_delta)
    return Budget(currency=privacy.currency.value, amount=spend, delta=delta)


def _for_error(
    question: LoweredQuestion, policy: Policy, target: float, confidence: float, how: Mapping[str, Any]
) -> tuple[Fraction, PricedPlan]:
    """The least price, to a thousandth, at which every column's error is at most what was asked for."""

    def tried(spend: Fraction) -> tuple[float, PricedPlan]:
        priced = price(question, _spending(question, policy, spend), **how)
        found = expected(priced, confidence)
        unknown = [column.column for column in found if column.error is None]
        if unknown or not found:
            raise Refused(
                f"the error of {unknown[0] if unknown else 'this answer'} is not known in advance: an error can be "
                "asked for of counts and sums whose clip is declared. Offer an amount instead, and look at the quote",
                kind=RefusalKind.OFFER,
            )
        return max(column.error for column in found if column.error is not None), priced

    power = 2 if policy.privacy.currency.concentrated else 1  # the error falls with the root of ρ and μ², and with ε
    high = policy.privacy.budget
    error, priced = tried(high)
    if error > target:
        raise OverBudget(f"an error of {target:g} would cost more than the whole budget of this dataset")
    low = high / 2**60
    for _ in range(ROUNDS):
        guess = float(high) * (error / target) ** power * (1 + 1e-6)
        spend = _short(guess) if float(low) < guess < float(high) else _short((float(low) * float(high)) ** 0.5)
        if high <= CLOSE * low or not low < spend < high:
            break
        found, other = tried(spend)
        if found <= target:
            high, error, priced = spend, found, other
            below = _short(float(spend) / CLOSE, ROUND_FLOOR)
            low = below if low < below < high and tried(below)[0] > target else low
        else:
            low = spend
    return high, priced


def _short(value: float, way: str = ROUND_CEILING) -> Fraction:
    """Four digits, so that prices are easy to read and the same error has the same price."""
    return Fraction(Context(prec=4, rounding=way).create_decimal(Decimal(value)))
