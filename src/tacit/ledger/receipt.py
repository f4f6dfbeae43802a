"""What a ledger hands out: receipts of charges, stored answers, and where an account stands."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from tacit.base import Relation
from tacit.base.number import short
from tacit.loss import Cost, Odometer
from tacit.policy.account import Amount, Currency
from tacit.policy.source import Claim

__all__ = ["Balance", "Receipt", "Standing", "StoredRelease", "money", "spelled"]


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """Proof that one program was charged, durably, to `people`: the entry `seq` of their chain.

    `replayed` says that the charge was there before, under the same key: somebody may have run the program already.
    """

    people: str
    analyst: str
    key: str
    seq: int
    time: int
    amount: Amount
    program: str  # hash
    digest: bytes
    ledger: str
    replayed: bool


@dataclass(frozen=True, kw_only=True)
class StoredRelease:
    """The release that is stored for a charge, the same whoever asks; `kind` is "answer" or "failure"."""

    people: str
    seq: int
    program: str
    version: str
    kind: str
    release: bytes


@dataclass(frozen=True, kw_only=True)
class Balance:
    """What one holder may spend, and has: ever, and in the window that is open now.

    `last` is the newest charge this holder took part in, if it is among the account's recent entries.
    """

    holder: str
    limit: Amount
    each: Amount | None
    spent: Amount
    window_spent: Amount
    last: Amount | None = None

    @property
    def left(self) -> Amount:
        """What the limit still allows in this window."""
        return self.window_spent.left(self.limit)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """An account as it stands: what was fixed when it was opened, its window, its chain, and all balances."""

    people: str
    currency: Currency
    relation: Relation
    unit: str
    delta: Fraction
    period: int | None
    lifetime: Amount | None
    window: int
    window_end: int | None
    sealed: bool
    seq: int
    time: int
    head: bytes
    balances: tuple[Balance, ...]
    claims: tuple[Claim, ...]

    def balance(self, holder: str) -> Balance | None:
        return next((balance for balance in self.balances if balance.holder == holder), None)

    def promise(self, limit: Amount) -> float | None:
        """The ε, at the account's δ, that a limit stands for: it was set in advance, so it converts as it is. None if
        there is none."""
        spend = Fraction(limit.spend, 10**self.currency.decimals)
        if self.currency is Currency.EPSILON:
            return float(spend)
        loss = self.currency.loss(spend, Fraction(limit.delta, 10**30), relation=self.relation, unit=self.unit)
        found = loss.epsilon(self.delta).upper
        return None if found == inf else found

    def reading(self, spent: Amount) -> tuple[float, float] | None:
        """(ε, δ) spent so far. Somebody chose this moment after seeing answers, so ρ is read uniformly in time,
        and μ² as the ρ that it implies."""
        if self.currency.concentrated and not self.delta:
            return None
        near: dict[str, Any] = {"relation": self.relation, "unit": self.unit}
        meter = Odometer(delta=self.delta if self.currency.concentrated else None, **near)
        meter.spend(spent.cost(self.currency, **near))
        return meter.reading.epsilon, float(meter.reading.delta)


def spelled(amount: Amount, currency: Currency, *, up: bool = False) -> str:
    """An amount for people to read: `0.25 epsilon`, with its δ if it has one. Long numbers are rounded."""
    text = f"{short(Fraction(amount.spend, 10**currency.decimals), up=up)} {currency}"
    delta = Fraction(amount.delta, 10 ** Cost.DECIMALS["delta"])
    return text if not delta else f"{text} and {short(delta, up=up)} delta"


def money(amount: Amount | None) -> dict[str, str] | None:
    """An amount as it stands in entries and files."""
    return None if amount is None else {"spend": str(amount.spend), "delta": str(amount.delta)}
