"""Slips of the pen: each is told with its place, in plain words, and as a mistake of its own class."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.base import Mistake, Refused
from tacit.plan.facts import Facts, Type
from tacit.sql import Catalog, lower, parse
from tacit.sql.catalog import AskableTable
from tacit.sql.parse import DIALECTS

CATALOG = Catalog(
    tables={
        "people": AskableTable(
            columns={
                "age": Facts(type=Type.INTEGER, low=0, high=100, step=Fraction(1)),
                "city": Facts(type=Type.TEXT, domain=("east", "west")),
                "pid": Facts(type=Type.INTEGER),
                "day": Facts(type=Type.DATE),
            },
            unit="pid",
        )
    }
)
PARSER = re.compile(r"class '|sqlglot|Token|SENTINEL|Error|keyword: '")


def _read() -> list[tuple[str, str]]:
    """Pairs of a question and what is told of it, which follows on a line that begins with >."""
    blocks = (Path(__file__).parent / "mistakes.txt").read_text().strip().split("\n\n")
    return [(block.split("\n> ")[0], block.split("\n> ")[1]) for block in blocks]


MISTAKES = _read()


@pytest.mark.parametrize(("sql", "told"), MISTAKES)
def test_a_mistake_is_told_with_its_place_in_plain_words(sql: str, told: str) -> None:
    with pytest.raises(Mistake) as found:
        lower(parse(sql), CATALOG)
    assert str(found.value) == told


def _told(sql: str, dialect: str | None) -> str:
    try:
        lower(parse(sql, dialect), CATALOG)
    except Refused as error:
        return str(error)
    return ""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", [sql for sql, _ in MISTAKES])
def test_no_dialect_names_a_class_of_the_parser(sql: str, dialect: str) -> None:
    assert not PARSER.search(_told(sql, dialect))


@pytest.mark.parametrize("cut", range(1, 118))
def test_a_question_that_is_cut_short_anywhere_is_told_in_plain_words(cut: int) -> None:
    whole = (
        "WITH a AS (SELECT pid, age FROM people) SELECT city, AVG(CASE WHEN a.age > 3 THEN 1 ELSE 0 END) AS share "
        "FROM people JOIN a USING (pid) WHERE people.age BETWEEN 1 AND 9 GROUP BY city HAVING COUNT(*) > 3 ORDER BY 1"
    )
    assert not PARSER.search(_told(whole[: 2 * cut], None))


def test_words_of_sql_that_are_names_are_no_mistakes() -> None:
    lower(parse('SELECT people.age AS "from", COUNT(*) AS "where" FROM people GROUP BY people.age'), CATALOG)
    lower(parse("SELECT COUNT(*) FROM people WHERE age IS NOT DISTINCT FROM 3 AND NOT age IN (1, -2)"), CATALOG)
    lower(parse("SELECT EXTRACT(year FROM day), COUNT(*) FROM people GROUP BY ALL LIMIT 3 OFFSET 2"), CATALOG)


def test_what_cannot_be_answered_is_no_mistake() -> None:
    with pytest.raises(Refused) as found:
        lower(parse("SELECT * FROM people"), CATALOG)
    assert not isinstance(found.value, Mistake)
