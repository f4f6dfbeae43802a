"""One small account in PostgreSQL, and what tests of it ask: what was spent, whether the chain holds, who waits."""

import time
from collections.abc import Callable
from fractions import Fraction

import psycopg
from sqlalchemy.engine import make_url

from tacit.base import Relation, Sensitivity
from tacit.ledger import REGISTRY, Ledger
from tacit.ledger.chain import digest, genesis
from tacit.loss import Cost
from tacit.mechanism import DiscreteLaplace
from tacit.policy.account import Account, Amount, Currency, Limit, Terms, analyst_holder
from tacit.program import Program, Step

__all__ = [
    "COUNT",
    "ONE",
    "PROGRAM",
    "UNIT",
    "account",
    "blocked",
    "charges",
    "connect",
    "limits",
    "spent",
    "terms",
    "until",
    "verify",
]

UNIT = 10**12
COUNT = Step(name="count", mechanism=DiscreteLaplace(scale=Fraction(2)), sensitivity=Sensitivity.scalar(1))
PROGRAM = Program(steps=(COUNT,), tables=("visits",), query={"größe": 'a "b" \\ c'})
ONE = Cost(epsilon=Fraction(1))


def limits(analyst: str = "ann", total: int = 100, own: int = 100) -> tuple[Limit, ...]:
    return (
        Limit(holder="dataset", total=Amount(total * UNIT)),
        Limit(holder=analyst_holder(analyst), total=Amount(own * UNIT)),
    )


def terms(total: int = 100, **more: object) -> Terms:
    fixed = {"people": "visitors", "currency": Currency.EPSILON, "relation": Relation.ADD_REMOVE, "unit": "row"}
    return Terms(**{**fixed, "delta": Fraction(0), "limits": limits(total=total), **more})  # type: ignore[arg-type]  # by name


def account(analyst: str = "ann", total: int = 100, own: int = 100) -> Account:
    return Account(people="visitors", analyst=analyst, limits=limits(analyst, total, own))


def connect(url: str) -> "psycopg.Connection[tuple[object, ...]]":
    place = make_url(url)
    return psycopg.connect(host=str(place.query["host"]), user="postgres", dbname=place.database, autocommit=True)


def verify(ledger: Ledger) -> None:
    """Every chain by the rule of `entry.py`, and every balance by its charges."""
    for people in [REGISTRY, *ledger.people()]:
        before, last = genesis(ledger.store.ledger, people), 0
        for number, entry in enumerate(ledger.log(people), 1):
            before = digest(before, entry.seq, entry.time, entry.body.encode())
            assert (entry.seq, entry.digest) == (number, before)
            assert entry.time >= last
            last = entry.time


def spent(ledger: Ledger) -> int:
    balance = ledger.standing("visitors").balance("dataset")
    assert balance is not None
    assert balance.spent.spend % UNIT == 0
    return balance.spent.spend // UNIT


def charges(ledger: Ledger) -> int:
    return sum(entry.kind == "charge" for entry in ledger.log("visitors"))


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def blocked(database: str) -> int:
    with connect(database) as direct:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        (found,) = direct.execute(query).fetchone() or (0,)
    assert isinstance(found, int)
    return found
