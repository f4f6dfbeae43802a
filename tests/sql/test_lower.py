"""What makes two questions the same, and what the names in a plan look like."""

import re

import pytest

from support.clinic import CLINIC
from tacit.base import Refused, TacitError
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Scan
from tacit.plan.question import LoweredQuestion
from tacit.sql import AskableTable, Catalog, lower, parse


def ask(sql: str, dialect: str | None = None) -> LoweredQuestion:
    return lower(parse(sql, dialect), CLINIC)


BASE = "SELECT ward, SUM(cost) AS c FROM visits WHERE age > 65 GROUP BY ward"


@pytest.mark.parametrize(
    "same",
    [
        "select ward, sum(cost) as c from visits where age > 65 group by ward",
        "SELECT v.WARD AS ward, SUM(V.Cost) AS c FROM VISITS AS v WHERE v.age > (65) GROUP BY 1;",
        "SELECT visits.ward, SUM((cost)) c FROM visits WHERE age > 65.0 GROUP BY ward",
        '/* x */ SELECT "ward", SUM("cost") AS c -- y\nFROM "visits" WHERE ("age" > 65) GROUP BY ALL',
        "SELECT ward, SUM(cost) AS c FROM (SELECT * FROM visits) t WHERE age > 65 GROUP BY t.ward",
        "WITH a AS (SELECT ward w, cost, age a FROM visits) SELECT w ward, SUM(cost) c FROM a WHERE a > 65 GROUP BY 1",
        "SELECT ward, SUM(cost) AS c FROM (SELECT cost, ward FROM visits WHERE age > 65) GROUP BY ward",
    ],
)  # fmt: skip
def test_the_same_question(same: str) -> None:
    assert ask(same) == ask(BASE)
    assert hash(ask(same)) == hash(ask(BASE))


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("65", "66"),
        BASE.replace("SUM", "AVG"),
        BASE.replace("AS c", "AS d"),
        BASE.replace("visits", "visits v JOIN treatments t ON v.patient_id = t.patient"),
        f"{BASE} LIMIT 3",
        f"{BASE} ORDER BY c",
        BASE.replace("SELECT", "SELECT DISTINCT"),
    ],
)
def test_another_question(other: str) -> None:
    assert ask(other) != ask(BASE)


def test_every_dialect_means_the_same() -> None:
    assert len({ask(BASE, dialect) for dialect in (None, "duckdb", "postgres", "spark", "bigquery")}) == 1


def test_names_of_columns_are_plain_and_unlike_those_of_answers() -> None:
    question = ask('SELECT "Ward Name" AS k, COUNT(*) FROM visits GROUP BY "Ward Name"')
    scan = question.source
    assert isinstance(scan, Scan)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*_\d+", source.name) for source in scan.columns)
    released = [*(key.name for key in question.keys), *(aggregate.name for aggregate in question.aggregates)]
    assert not [name for name in released if re.search(r"_\d+$", name)]


def test_only_what_is_used_is_read() -> None:
    question = ask("SELECT SUM(c) FROM (SELECT *, cost * 2 AS c, age + 1 AS a FROM visits WHERE urgent) t")
    node = question.source
    while not isinstance(node, Scan):
        node = node.below  # type: ignore[attr-defined]  # there is no join in it
    assert {source.column for source in node.columns} == {"patient_id", "cost", "urgent"}


def test_a_table_of_rows_that_are_units_keeps_a_column_to_count() -> None:
    scan = ask("SELECT COUNT(*) FROM staff").source
    assert isinstance(scan, Scan)
    assert (len(scan.columns), scan.unit) == (1, None)


def test_text_is_kept_for_messages_and_does_not_matter() -> None:
    first, second = (ask(f"SELECT SUM({name}) AS s FROM visits v").aggregates[0] for name in ("cost", "v.cost"))
    assert (first.text, second.text) == ("SUM(cost)", "SUM(v.cost)")
    assert first == second


def test_conditions_are_of_rows_and_having_is_of_answers() -> None:
    question = ask("SELECT COUNT(*) AS n FROM visits WHERE age > 3 HAVING n > 3")
    assert isinstance(question.source, Filter)
    assert question.having is not None
    assert {part.name for part in question.having.walk() if isinstance(part, Column)} == {question.aggregates[0].name}


def test_deep_callers_get_a_refusal_and_no_overflow() -> None:
    """A server may already be deep in its own calls when a question comes."""

    def deep(levels: int) -> str:
        if levels:
            return deep(levels - 1)
        try:
            ask(f"SELECT SUM({'(' * 15}{' + '.join(['age'] * 60)}{')' * 15}) FROM visits")
        except TacitError as error:
            return type(error).__name__
        return "answered"

    outcomes = {deep(levels) for levels in range(0, 800, 40)}
    assert outcomes == {"answered", Refused.__name__}


def test_columns_of_awkward_names_stay_apart() -> None:
    whole = Facts(type=Type.INTEGER, low=0, high=9)
    names = ("unit", "unit_1", "Unit 1", "é", "列", "key1", "count1", "presence", "x" * 200, "x" * 201)
    table = AskableTable(unit="who", columns=dict.fromkeys(names, whole))
    columns = ", ".join(f'SUM("{name}")' for name in names)
    question = lower(parse(f"SELECT {columns} FROM t"), Catalog(tables={"t": table}))
    scan = question.source
    assert isinstance(scan, Scan)
    plain = [source.name for source in scan.columns]
    assert len(set(plain)) == len(plain) == len(names) + 1
    assert max(map(len, plain)) < 60  # PostgreSQL cuts names at 63
    assert [source.column for source in scan.columns if source.name == scan.unit] == ["who"]
    asked = [argument.name for a in question.aggregates for argument in a.arguments if isinstance(argument, Column)]
    assert asked == [source.name for source in scan.columns if source.name != scan.unit]
