"""How the ledger in this folder was made: by a release whose ledgers have version 2 and whose programs have version 1.

Kept to be read, not to be run: a newer release writes newer programs. It was run as `python make.py` in this folder,
with that release and `tests` on the path.
"""

import socket
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from support.books import terms
from tacit.base import Relation, Sensitivity
from tacit.ledger import Ledger
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Exponential, KeySelection, Laplace, Mechanism
from tacit.plan import Program, Step
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms, analyst_holder
from tacit.policy.source import Claim

HUGE = Amount(10**20, 10**29)
SHOPPERS = (Limit(holder=DATASET, total=HUGE), Limit(holder=analyst_holder("alice"), total=HUGE, each=HUGE))
ASKED = {"select": ["city", {"count": "*"}], "from": "visits", "größe": 'a "b" \\ c', "limits": [1, None, True]}


def step(name: str, mechanism: Mechanism, sensitivity: Sensitivity | None, **more: Any) -> Step:
    return Step(name=name, mechanism=mechanism, sensitivity=sensitivity, **more)


ONE = Sensitivity(l1=Fraction(1))
COUNT = Program(steps=(step("count", Laplace(scale=Fraction(2)), ONE),), tables=("visits",), query=ASKED)
SEVERAL = Program(
    steps=(
        step("sum of cost", DiscreteLaplace(scale=Fraction(300)), Sensitivity.scalar(50)),
        step("city", KeySelection(norm="l1", scale=Fraction(128), delta=Fraction("1e-9")), None),
    ),
    tables=("visits", "cities"),
    query={"sum": "cost"},
)
WHOLE = Program(  # paid for as one finished (ε, δ)-DP mechanism
    steps=(step("count", DiscreteGaussian(sigma=Fraction(10)), Sensitivity.scalar(1)),),
    tables=("visits",),
    delta=Fraction("1e-9"),
)
SHOP: dict[str, Any] = {"relation": Relation.REPLACE, "unit": "shopper", "tables": ("baskets",)}
GAUSSIAN = Program(steps=(step("count", DiscreteGaussian(sigma=Fraction(20)), Sensitivity(l2=Fraction(3))),), **SHOP)
CHOICE = Program(
    steps=(
        step("best", Exponential(scale=Fraction(10)), Sensitivity(linf=Fraction(1)), concentrated=True),
        step("count", DiscreteGaussian(sigma=Fraction(40)), Sensitivity.scalar(1)),
    ),
    **SHOP,
)


def fill(where: Path) -> None:
    with Ledger.open(where) as ledger:
        mine = Limit(holder=analyst_holder("alice"), total=Amount(50 * 10**12, 10**24), each=Amount(5 * 10**12, 10**22))
        dataset = Limit(holder=DATASET, total=Amount(100 * 10**12, 10**24))
        his = Limit(holder=analyst_holder("bob"), total=Amount(50 * 10**12, 0))
        told = replace(terms("patients"), limits=(dataset, mine, his))
        ledger.apply(told, [Claim("file:/srv/clinic/visits.parquet", unit='column "pid"')])
        alice = Account(people="patients", analyst="alice", limits=(dataset, mine), policy="0" * 64)
        bob = Account(people="patients", analyst="bob", limits=(dataset, his), policy="0" * 64)
        ledger.keep(ledger.charge(alice, COUNT.cost, COUNT, "k1"), b"forty-two", version="v1")
        shared = ledger.charge(alice, SEVERAL.cost, SEVERAL, "k2")
        ledger.keep(shared, b"shared by all", version="v1", shared=True)
        ledger.charge(alice, WHOLE.cost, WHOLE, "whole")
        ledger.charge(bob, COUNT.cost, COUNT, "k3")
        ledger.void(ledger.charge(bob, COUNT.cost, COUNT, "k4"))
        shops = {"people": "shoppers", "currency": Currency.RHO, "relation": Relation.REPLACE, "unit": "shopper"}
        ledger.apply(Terms(**shops, delta=Fraction(1, 10**6), limits=SHOPPERS))  # type: ignore[arg-type]  # by name
        ledger.claim("shoppers", [Claim("postgresql://db.example:5432/shop", "public.baskets", 'column "id"')])
        payer = Account(people="shoppers", analyst="alice", limits=SHOPPERS)
        ledger.keep(ledger.charge(payer, GAUSSIAN.cost, GAUSSIAN, "k1"), b"failed", version="v1", kind="failure")
        ledger.charge(payer, GAUSSIAN.cost, GAUSSIAN, "k2")
        ledger.charge(payer, CHOICE.cost, CHOICE, "k3")


def main() -> None:
    socket.gethostname = lambda: "clinic"  # charges name the machine they were made on
    here = Path(__file__).parent
    fill(here / "tacit.ledger")
    (here / "tacit.ledger.lock").unlink()


if __name__ == "__main__":
    main()
