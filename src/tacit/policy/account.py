"""Whose budget a program is charged to, in whole numbers: the words that policy and ledger share."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import floor

from tacit.base import Denied, InputError, Relation
from tacit.loss import Cost

__all__ = ["DATASET", "Account", "Amount", "Currency", "Limit", "Terms", "analyst_holder", "group_holder"]

DATASET = "dataset"  # the holder that everybody's spending counts for


class Currency(StrEnum):
    """What a dataset's people pay in; chosen once, when the account is opened."""

    EPSILON = "epsilon"
    RHO = "rho"

    @property
    def decimals(self) -> int:
        return Cost.DECIMALS[self.value]


@dataclass(frozen=True, order=False)
class Amount:
    """A sum of privacy in whole numbers: `spend` in 10^−12 of ε or 10^−18 of ρ, `delta` in 10^−30."""

    spend: int
    delta: int = 0

    def __post_init__(self) -> None:
        for name in ("spend", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name} of an amount must be a whole number, zero or more, not {value!r}")

    @classmethod
    def of(cls, cost: Cost, currency: Currency) -> "Amount":
        """A cost in this currency; costs lie on the grid already, so nothing is rounded."""
        value = cost.epsilon if currency is Currency.EPSILON else cost.rho
        if value is None:
            other = "rho" if currency is Currency.EPSILON else "epsilon"
            raise Denied(
                f"this dataset is paid for in {currency}, and the program has only {other}: choose another mechanism "
                f"(Laplace noise has an epsilon, Gaussian noise has a rho), or price it as a whole with cost_at"
            )
        return cls(_whole(value, currency.decimals), _whole(cost.delta, Cost.DECIMALS["delta"]))

    @classmethod
    def at_most(cls, spend: Fraction, delta: Fraction, currency: Currency) -> "Amount":
        """A limit on the ledger's grid, rounded down: whoever states one never gives more than they said."""
        return cls(floor(spend * 10**currency.decimals), floor(delta * 10 ** Cost.DECIMALS["delta"]))

    def cost(self, currency: Currency, *, relation: Relation, unit: str) -> Cost:
        """The same as a cost that names this currency alone."""
        value, delta = Fraction(self.spend, 10**currency.decimals), Fraction(self.delta, 10 ** Cost.DECIMALS["delta"])
        if currency is Currency.EPSILON:
            return Cost(epsilon=value, delta=delta, relation=relation, unit=unit)
        return Cost(rho=value, delta=delta, relation=relation, unit=unit)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.spend + other.spend, self.delta + other.delta)

    def fits(self, limit: "Amount") -> bool:
        return self.spend <= limit.spend and self.delta <= limit.delta

    def left(self, limit: "Amount") -> "Amount":
        """What the limit still allows after this, at least nothing."""
        return Amount(max(0, limit.spend - self.spend), max(0, limit.delta - self.delta))


def _whole(value: Fraction, decimals: int) -> int:
    scaled = value * 10**decimals
    if scaled.denominator != 1:
        raise InputError("a cost off the ledger's grid: make it with Cost, which rounds up")
    return int(scaled)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The most that one holder may spend in a window, and in one program."""

    holder: str
    total: Amount
    each: Amount | None = None


def analyst_holder(name: str) -> str:
    return f"analyst:{name}"


def group_holder(name: str) -> str:
    return f"group:{name}"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a policy says of one account: the people, how they pay, and every limit. The ledger records it.

    `people` is the identity a budget belongs to. `delta` is the δ at which spending is stated as (ε, δ);
    `period` (µs) is the reset window, `lifetime` a limit that no reset touches.
    """

    people: str
    currency: Currency
    relation: Relation
    unit: str
    delta: Fraction
    limits: tuple[Limit, ...]
    period: int | None = None
    lifetime: Amount | None = None
    policy: str = ""  # hash of the policy these terms come from


@dataclass(frozen=True, kw_only=True)
class Account:
    """Who pays for one program: the people, the analyst who asks, and the limits the policy sets them now.

    A ledger holds each spender to the smaller of these limits and the ones it has recorded.
    """

    people: str
    analyst: str
    limits: tuple[Limit, ...]  # of the dataset, the analyst's groups, the analyst
    policy: str = ""

    @property
    def holders(self) -> tuple[str, ...]:
        return tuple(limit.holder for limit in self.limits)
