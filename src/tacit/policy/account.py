"""Whose budget a program is charged to, in whole numbers: the words that policy and ledger share."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import floor

from tacit.base import Denied, InputError, Relation
from tacit.loss import ZCDP, Approx, Cost, Loss, Pure

__all__ = ["DATASET", "Account", "Amount", "Currency", "Limit", "Terms", "analyst_holder", "group_holder"]

DATASET = "dataset"  # the holder that everybody's spending counts for


class Currency(StrEnum):
    """What a dataset's people pay in; chosen once, when the account is opened."""

    EPSILON = "epsilon"
    RHO = "rho"
    MU_SQUARED = "mu_squared"

    @property
    def decimals(self) -> int:
        return Cost.DECIMALS[self.value]

    @property
    def concentrated(self) -> bool:
        """Whether an amount is the square of a noise: of its error too, and an (ε, δ) only at a δ above 0."""
        return self is not Currency.EPSILON

    def loss(self, spend: Fraction, delta: Fraction, *, relation: Relation, unit: str) -> Loss:
        """What so much means for one unit, `delta` being the programs' own."""
        if self is Currency.RHO:
            return ZCDP(spend, delta=delta, relation=relation, unit=unit)
        if self is Currency.MU_SQUARED:
            return ZCDP(spend / 2, delta=delta, mu_squared=spend, relation=relation, unit=unit)
        if delta:
            return Approx(spend, delta, relation=relation, unit=unit)
        return Pure(spend, relation=relation, unit=unit)


@dataclass(frozen=True, order=False)
class Amount:
    """A sum of privacy in whole numbers: `spend` in 10^−12 of ε or 10^−18 of ρ or μ², `delta` in 10^−30."""

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
        value = getattr(cost, currency.value)
        if value is None:
            known = " and ".join(other for other in Currency if getattr(cost, other.value) is not None)
            raise Denied(
                f"this dataset is paid for in {currency}, and the program has only {known}: choose another mechanism "
                "(Laplace noise has all three, Gaussian noise has a rho and a mu_squared; sampled and adaptive steps "
                "have no mu_squared), or give the program a delta, to be priced as a whole"
            )
        return cls(_whole(value, currency.decimals), _whole(cost.delta, Cost.DECIMALS["delta"]))

    @classmethod
    def at_most(cls, spend: Fraction, delta: Fraction, currency: Currency) -> "Amount":
        """A limit on the ledger's grid, rounded down: whoever states one never gives more than they said."""
        return cls(floor(spend * 10**currency.decimals), floor(delta * 10 ** Cost.DECIMALS["delta"]))

    def cost(self, currency: Currency, *, relation: Relation, unit: str) -> Cost:
        """The same as a cost that names this currency alone."""
        value, delta = Fraction(self.spend, 10**currency.decimals), Fraction(self.delta, 10 ** Cost.DECIMALS["delta"])
        amounts: dict[str, Fraction] = {currency.value: value, "delta": delta}
        return Cost(**amounts, relation=relation, unit=unit)

    def json(self, currency: Currency) -> dict[str, str]:
        """Exact decimals as text."""
        return {
            currency.value: _decimal(self.spend, currency.decimals),
            "delta": _decimal(self.delta, Cost.DECIMALS["delta"]),
        }

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.spend + other.spend, self.delta + other.delta)

    def fits(self, limit: "Amount") -> bool:
        return self.spend <= limit.spend and self.delta <= limit.delta

    def left(self, limit: "Amount") -> "Amount":
        """What the limit still allows after this, at least nothing."""
        return Amount(max(0, limit.spend - self.spend), max(0, limit.delta - self.delta))


def _decimal(value: int, digits: int) -> str:
    text = str(value).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


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
