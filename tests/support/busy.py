"""A ledger in which everything happened that can, and what is written past it."""

from fractions import Fraction
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from support.books import account, amount, cost, limit, opened, program, terms
from tacit.policy.account import analyst_holder
from tacit.policy.source import Claim

__all__ = ["DAY", "alter", "busy"]

DAY = 86_400_000_000


def busy(where: str | Path) -> None:
    """A ledger in which everything happened that can."""
    weird = 'quote " brace } \\ ,"program":{ 名前'
    with opened(
        where, terms(limits=(limit(analyst_holder("alice"), 50, each=2), limit(analyst_holder("bob"), 60)))
    ) as book:
        first = book.charge(account(), cost(), program(), "one")
        book.begin(first)
        book.keep(first, b"answer", version="1")
        book.void(book.charge(account("bob"), cost("1/2", Fraction(0)), program("other"), "two"))
        book.charge(account(weird, groups=("a group",)), cost("1/3"), program(weird), weird)
        again = book.charge(account("bob"), cost("1/4"), program("other"), "three")
        again = book.charge(account("bob"), cost("1/4"), program("other"), "three")
        book.begin(again)
        book.claim("patients", [Claim("file:/srv/a", unit="each row"), Claim("file:/srv/b"), Claim("file:/srv/c", "*")])
        book.claim("patients", [Claim("file:/srv/b", unit='column "pid"')])
        book.unclaim("patients", "file:/srv/c#*", "other people's now")
        book.apply(terms(total=90, limits=(limit(analyst_holder("alice"), 40),)))
        book.apply(terms("visitors", period=DAY, lifetime=amount(500)))
        book.charge(account(people="visitors"), cost(), program(), "one")
        book.apply(terms("visitors", period=2 * DAY, lifetime=None))
        book.charge(account(people="visitors"), cost(), program(), "two")
        book.apply(terms("visitors"))
        book.rename("visitors", "guests")
        book.apply(terms("guests", total=101))
        book.charge(account(people="guests"), cost(), program(), "three")
        book.claim("guests", [Claim("file:/srv/c", "*", 'column "pid"'), Claim("file:/srv/d", unit='column "pid"')])
        book.seal("guests", "the study ended")
        book.apply(terms("visitors"), [Claim("file:/srv/d", unit="each row")])


def alter(where: str, *statements: str) -> None:
    """Write past the ledger."""
    url = where if "://" in where else f"sqlite:///{where}"
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            assert connection.execute(text(statement)).rowcount > 0, statement
    engine.dispose()
