"""Queries that must never be answered: every forbidden construct in every place, in every dialect, in disguise."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from support.clinic import CLINIC
from tacit.base import Refused
from tacit.sql import DIALECTS, lower, parse

FILES = Path(__file__).parent / "hostile"


def corpus(name: str) -> tuple[str, ...]:
    lines = (FILES / f"{name}.txt").read_text().splitlines()
    return tuple(line.replace("\\n", "\n") for line in lines if not line.startswith("# "))


VALUES, PLACES, TABLES, ENDINGS, STATEMENTS = map(corpus, ("values", "places", "tables", "endings", "statements"))

CARRIED = "WITH carried AS (SELECT {} FROM visits v) SELECT COUNT(*) FROM carried"
MEANT = {  # places that give a value a meaning: all rows, all columns, a column that nobody computes with
    ("SELECT COUNT({}) FROM visits v", "*"),
    *((CARRIED, value) for value in ("*", "v.*", "photo")),
}


def refused(sql: str, dialect: str | None = None) -> bool:
    try:
        lower(parse(sql, dialect), CLINIC)
    except Refused:
        return True
    return False


@pytest.mark.parametrize("place", PLACES)
def test_forbidden_values_in_every_place(place: str) -> None:
    accepted = [
        place.format(value) for value in VALUES if (place, value) not in MEANT and not refused(place.format(value))
    ]
    assert not accepted


@pytest.mark.parametrize("dialect", DIALECTS)
def test_forbidden_values_in_every_dialect(dialect: str) -> None:
    places = PLACES[:2] + PLACES[6:8] + PLACES[13:15]
    queries = [place.format(value) for place, value in product(places, VALUES)]
    if dialect in ("bigquery", "spark"):  # where double quotes are texts
        queries = [query for query in queries if '"' not in query]
    assert not [query for query in queries if not refused(query, dialect)]


@pytest.mark.parametrize("table", TABLES)
def test_forbidden_tables(table: str) -> None:
    assert refused(f"SELECT COUNT(*) FROM {table}")
    assert refused(f"WITH a AS (SELECT * FROM {table}) SELECT COUNT(*) FROM a")
    assert all(refused(f"SELECT COUNT(*) FROM {table}", dialect) for dialect in DIALECTS)


@pytest.mark.parametrize("ending", ENDINGS)
def test_forbidden_clauses(ending: str) -> None:
    assert refused(f"SELECT COUNT(*) FROM visits v {ending}")
    assert all(refused(f"SELECT COUNT(*) FROM visits v {ending}", dialect) for dialect in DIALECTS)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_forbidden_statements(statement: str) -> None:
    assert refused(statement)
    assert all(refused(statement, dialect) for dialect in DIALECTS)


DISGUISES: dict[str, Callable[[str], str]] = {
    "small": str.lower,
    "large": str.upper,
    "lines": lambda sql: sql.replace(" ", "\n\t"),
    "comments": lambda sql: sql.replace(" ", " /* harmless */ "),
    "endings": lambda sql: sql.replace(" ", " -- harmless\n"),
    "nested comments": lambda sql: f"/* a /* b */ c */ {sql}",
    "semicolon": lambda sql: f"{sql};",
    "wide spaces": lambda sql: sql.replace(" ", "\u00a0"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_disguises_do_not_help(disguise: str) -> None:
    change = DISGUISES[disguise]
    queries = [*STATEMENTS, *(f"SELECT COUNT(*) FROM {table}" for table in TABLES)]
    queries += [place.format(value) for place in (PLACES[1], PLACES[7]) for value in VALUES]
    assert not [query for query in queries if not refused(change(query))]


def test_the_frames_themselves_are_accepted() -> None:
    """Were they not, nothing above would show anything: each place, with a value that is allowed there."""
    fits = {1: "cost", 7: "urgent", 10: "2", 17: "ward", 18: "5", 24: "0.5", 25: "3"}
    for i, place in enumerate(PLACES):
        query = place.format(fits.get(i, "age") if i not in (0, 5, 16) else "1")
        assert not refused(query), query
    assert not refused("SELECT COUNT(*) FROM visits")


def test_the_corpus_is_large() -> None:
    assert len(PLACES) * len(VALUES) + len(TABLES) + len(ENDINGS) + len(STATEMENTS) > 3000
