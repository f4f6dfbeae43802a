"""Small accounts, programs and open ledgers for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.base import Relation, Sensitivity
from tacit.ledger import Ledger
from tacit.loss import Cost
from tacit.mechanism import Laplace
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms, analyst_holder, group_holder
from tacit.program import Program, Step

__all__ = ["UNIT", "account", "amount", "cost", "limit", "opened", "program", "terms"]

UNIT = 10**12  # 1 ε in the smallest units


def amount(epsilon: int | str | Fraction, delta: int = 0) -> Amount:
    """So much ε, exactly."""
    scaled = Fraction(epsilon) * UNIT
    assert scaled.denominator == 1
    return Amount(scaled.numerator, delta)


def limit(holder: str, epsilon: int | str, *, each: int | str | None = None, delta: int = 0) -> Limit:
    cap = None if each is None else amount(each)
    return Limit(holder=holder, total=amount(epsilon, delta), each=cap)


def terms(people: str = "patients", total: int | str = 100, **changes: Any) -> Terms:
    """An account in ε with one analyst, alice, who may spend all of it; `limits` are added to the dataset's."""
    limits = changes.pop("limits", (limit(analyst_holder("alice"), total),))
    values: dict[str, Any] = {
        "people": people,
        "currency": Currency.EPSILON,
        "relation": Relation.ADD_REMOVE,
        "unit": "row",
        "delta": Fraction(1, 10**6),
        "limits": (limit(DATASET, total), *limits),
        "policy": "0" * 64,
    }
    return Terms(**{**values, **changes})


def account(
    analyst: str = "alice", people: str = "patients", total: int | str = 100, groups: tuple[str, ...] = (), **own: Any
) -> Account:
    """Who pays: the dataset, the analyst's groups and the analyst, with the same total unless `own` says otherwise."""
    limits = [limit(DATASET, own.pop("dataset", total))]
    limits += [limit(group_holder(name), total) for name in groups]
    limits.append(limit(analyst_holder(analyst), own.pop("limit", total), **own))
    return Account(people=people, analyst=analyst, limits=tuple(limits), policy="0" * 64)


def program(query: object = "count", scale: int = 1) -> Program:
    """One count with Laplace noise: ε = 1/scale."""
    step = Step(name="count", mechanism=Laplace(scale=Fraction(scale)), sensitivity=Sensitivity(l1=Fraction(1)))
    return Program(steps=(step,), tables=("visits",), query=query)


def cost(epsilon: int | str | Fraction = 1, delta: Fraction = Fraction(0)) -> Cost:
    return Cost(epsilon=Fraction(epsilon), delta=delta)


@contextmanager
def opened(where: str | Path, *declared: Terms) -> Iterator[Ledger]:
    """A ledger with these accounts, closed at the end."""
    with Ledger.open(where) as ledger:
        for one in declared:
            ledger.apply(one)
        yield ledger
