"""Paired fixtures: queries and what they are lowered to, as text, in one file of SQL.

A case is a comment with its name, the query, and comments with the expected plan or refusal:

    -- name: counts by ward
    SELECT ward, COUNT(*) FROM visits GROUP BY ward;
    -- > from scan "visits" (unit unit_1)
    …
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.clinic import CLINIC
from tacit.base import Refused
from tacit.plan.describe import show
from tacit.plan.price import Priced
from tacit.session import Session
from tacit.sql import parse
from tacit.sql.lower import lower

__all__ = ["Case", "answer", "priced_by", "read"]

NAME, DIALECT, EXPECTED = "-- name: ", "-- dialect: ", "-- > "


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    query: str
    expected: str
    dialect: str | None = None


def read(path: Path) -> list[Case]:
    """The cases of a file, in order."""
    cases: list[Case] = []
    for block in path.read_text().split(NAME)[1:]:
        name, *lines = block.splitlines()
        dialect = next((line.removeprefix(DIALECT) for line in lines if line.startswith(DIALECT)), None)
        expected = [line.removeprefix(EXPECTED) for line in lines if line.startswith(EXPECTED)]
        query = "\n".join(line for line in lines if not line.startswith((DIALECT, EXPECTED))).strip()
        cases.append(Case(name=name, query=query, expected="\n".join(expected), dialect=dialect))
    return cases


def answer(query: str, dialect: str | None = None) -> str:
    """The plan of a query as text, or the refusal."""
    try:
        return show(lower(parse(query, dialect), CLINIC))
    except Refused as error:
        return f"refused: {error}"


def priced_by(session: Session, sql: str, **offer: Any) -> Priced:
    """The plan and program that a session would charge for this question."""
    return session.job(sql, **offer).priced
