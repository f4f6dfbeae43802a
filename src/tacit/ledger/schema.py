"""The tables of a ledger: one schema for SQLite and PostgreSQL."""

from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from tacit.base import CorruptLedger

__all__ = [
    "VERSION",
    "SumColumn",
    "accounts",
    "answers",
    "balances",
    "book",
    "claims",
    "entries",
    "metadata",
    "whole_sum",
]

VERSION = 2

metadata = MetaData()


def whole_sum(value: Any) -> int | None:
    """A stored sum as a number."""
    try:
        return None if value is None else int(value)
    except ValueError:
        raise CorruptLedger("a sum in this ledger is not a number: restore the newest copy of it") from None


class SumColumn(TypeDecorator[int]):
    """Whole numbers of up to 60 digits. SQLite's integers end at 2^63, so there they are decimal digits as text."""

    impl = Numeric(60, 0)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else Numeric(60, 0))

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        return None if value is None else str(value) if dialect.name == "sqlite" else Decimal(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        return whole_sum(value)


book = Table(
    "tacit_book",
    metadata,
    Column("version", Integer, nullable=False),
    Column("ledger", Text, nullable=False),  # a random name, part of every first hash
    Column("created", BigInteger, nullable=False),
)

accounts = Table(
    "tacit_accounts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("people", Text, nullable=False, unique=True),
    Column("currency", Text),
    Column("relation", Text),
    Column("unit", Text),
    Column("delta", Text),
    Column("period", BigInteger),
    Column("lifetime_spend", SumColumn()),
    Column("lifetime_delta", SumColumn()),
    Column("window", Integer, nullable=False),
    Column("window_end", BigInteger),
    Column("sealed", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of the newest entry
    Column("time", BigInteger, nullable=False),
    Column("head", LargeBinary, nullable=False),
)

balances = Table(
    "tacit_balances",
    metadata,
    Column("account", ForeignKey("tacit_accounts.id"), primary_key=True),
    Column("holder", Text, primary_key=True),
    Column("limit_spend", SumColumn(), nullable=False),
    Column("limit_delta", SumColumn(), nullable=False),
    Column("each_spend", SumColumn()),
    Column("each_delta", SumColumn()),
    Column("spent_spend", SumColumn(), nullable=False),  # ever
    Column("spent_delta", SumColumn(), nullable=False),
    Column("window", Integer, nullable=False),
    Column("window_spend", SumColumn(), nullable=False),  # since the window of that number opened
    Column("window_delta", SumColumn(), nullable=False),
    sqlite_with_rowid=False,
)

entries = Table(
    "tacit_entries",
    metadata,
    Column("account", Integer, primary_key=True),  # its row is in hand: no foreign key checks again
    Column("seq", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("analyst", Text),
    Column("key", Text),
    Column("body", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    UniqueConstraint("account", "analyst", "key"),
)

answers = Table(
    "tacit_answers",
    metadata,
    Column("account", ForeignKey("tacit_accounts.id"), primary_key=True),
    Column("seq", BigInteger, primary_key=True),  # of the charge that paid for it
    Column("scope", Text, nullable=False),  # whose cache: one analyst's, or everybody's
    Column("program", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("kind", Text, nullable=False),  # answer, or failure: a failure is an answer too
    Column("release", LargeBinary, nullable=False),
    Column("entry", BigInteger),  # of the list of accounts, which says that it was kept
    Index("tacit_answers_cache", "account", "scope", "program", "version"),
)

claims = Table(
    "tacit_claims",
    metadata,
    Column("place", Text, primary_key=True),
    Column("part", Text, primary_key=True),
    Column("account", ForeignKey("tacit_accounts.id"), primary_key=True),
    Column("unit", Text),  # None: not known
    Column("state", Text, nullable=False),  # see claims.py
)
