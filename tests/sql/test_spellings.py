"""Functions made of operations give what their systems document, on real values in Python and in DuckDB."""

from datetime import date, datetime

import duckdb
import pytest

from support.clinic import CLINIC
from tacit.engine.dialect import DUCKDB
from tacit.engine.expression import expression_sql
from tacit.plan.operation import Held, evaluate
from tacit.plan.question import INTERVAL_ENDS
from tacit.sql import lower, parse
from tacit.sql.aggregates import NAMES
from tacit.sql.allow import CALLED
from tacit.sql.calls import NAMED
from tacit.sql.functions import NAMED_FUNCTIONS

ROW: dict[str, Held] = {
    "day_1": date(2024, 2, 29), "seen_1": datetime(2024, 3, 1, 23, 59, 30, 250000), "age_1": 37.0, "cost_1": 1234.56,
    "note_1": "AB-12-x", "ward_1": "east", "urgent_1": True, "weight_1": -8.0,
}  # fmt: skip

SAME = [  # what DuckDB itself has, so that its own answer is the truth
    "STRFTIME(day, '%Y-%m-%d')",
    "STRFTIME(seen, '%H:%M:%S')",
    "STRFTIME(day, '%B %a %j')",
    "MONTHNAME(day)",
    "DAYNAME(day)",
    "LAST_DAY(day)",
    "DATE_DIFF('week', day, DATE '2024-12-31')",
    "DATE_DIFF('month', day, DATE '2021-01-31')",
    "DATE_DIFF('quarter', day, DATE '2025-01-01')",
    "DATE_DIFF('hour', seen, TIMESTAMP '2024-03-02 00:00:00')",
    "DATE_DIFF('second', seen, TIMESTAMP '2024-02-28 12:00:01')",
    "EPOCH(seen)",
    "DAYOFWEEK(day)",
    "WEEKOFYEAR(day)",
    "POSITION('12' IN note)",
    "SPLIT_PART(note, '-', 2)",
    "SPLIT_PART(note, '-', 9)",
    "CONCAT_WS('/', ward, NULL, note)",
    "LPAD(note, 9, '*')",
    "RPAD(note, 3, '*')",
    "TRUNC(cost)",
    "CBRT(weight)",
    "DEGREES(age)",
    "RADIANS(age)",
    "REGEXP_MATCHES(note, '^[A-Z]{2}-')",
    "REGEXP_FULL_MATCH(note, '[a-z]+')",
    "note SIMILAR TO 'AB.*'",
    "ward || age",
    "IFNULL(NULLIF(age, 37), 1)",
    "NULLIF(age, 36)",
]
KNOWN: list[tuple[str, str | None, Held]] = [
    ("DATE_TRUNC(day, WEEK)", "bigquery", date(2024, 2, 25)),
    ("DATE_TRUNC(day, WEEK(FRIDAY))", "bigquery", date(2024, 2, 23)),
    ("DATE_DIFF(DATE '2024-03-03', day, WEEK)", "bigquery", 1.0),
    ("EXTRACT(DAYOFWEEK FROM day)", "bigquery", 5.0),
    ("DAYOFWEEK(day)", "spark", 5.0),
    ("DAYOFWEEK(day)", "snowflake", 4.0),
    ("DAYNAME(day)", "snowflake", "Thu"),
    ("TIMESTAMP_DIFF(TIMESTAMP '2024-03-02 00:59:00', seen, HOUR)", "bigquery", 0.0),
    ("TIMESTAMPDIFF(MINUTE, seen, TIMESTAMP '2024-03-02 01:00:00')", None, 60.0),
    ("TIMESTAMP_DIFF(seen, TIMESTAMP '2024-03-02 01:00:00', MINUTE)", "bigquery", -60.0),
    ("EXTRACT(EPOCH FROM (seen - TIMESTAMP '2024-03-01 23:59:00'))", "postgres", 30.25),
    ("FORMAT_DATE('%Y-%m', day)", "bigquery", "2024-02"),
    ("TO_CHAR(day, 'YYYY-MM')", "postgres", "2024-02"),
    ("TO_CHAR(day, 'YYYY-MM')", "snowflake", "2024-02"),
    ("DATE_FORMAT(seen, 'yyyy-MM-dd HH')", "spark", "2024-03-01 23"),
    ("TRUNC(cost, 1)", None, 1234.5),
    ("TRUNC(cost, -2)", None, 1200.0),
    ("TRUNC(weight / 3, 2)", None, -2.66),
    ("WIDTH_BUCKET(age, 0, 100, 10)", None, 4.0),
    ("WIDTH_BUCKET(age, 0, 37, 10)", None, 11.0),
    ("WIDTH_BUCKET(weight, 0, 37, 10)", None, 0.0),
    ("age BETWEEN SYMMETRIC 40 AND 30", None, True),
    ("DECODE(ward, 'west', 1, 'east', 2, 3)", None, 2.0),
    ("NVL2(ward, 1, 2)", None, 1.0),
    ("DIV0(age, 0)", None, 0.0),
    ("note SIMILAR TO 'AB-%'", "postgres", True),
    ("note SIMILAR TO 'AB.%'", "postgres", False),
    ("REGEXP_CONTAINS(note, r'-\\d+-')", "bigquery", True),
    ("note RLIKE 'b'", "spark", False),
    ("note ~* 'b'", "postgres", True),
    ("SPLIT(note, '-')[SAFE_OFFSET(0)]", "bigquery", "AB"),
    ("urgent = 1", None, True),
    ("urgent IN (0)", None, False),
    ("ADD_MONTHS(day, 12)", "spark", date(2025, 2, 28)),
    ("DATEADD(month, -1, day)", "snowflake", date(2024, 1, 29)),
    ("SQUARE(age)", None, 1369.0),
    ("DATE_DIFF(MINUTE, seen, TIMESTAMP '2024-03-02 00:01:00')", "spark", 1.0),
]


def value(sql: str, dialect: str | None) -> tuple[Held, str]:
    """What an expression gives for the row, in Python, and its SQL for DuckDB."""
    question = lower(parse(f"SELECT {sql} AS k, COUNT(*) FROM visits GROUP BY k", dialect), CLINIC)
    expression = question.keys[0].expression
    return evaluate(expression, ROW), expression_sql(expression, DUCKDB)


def in_duckdb(sql: str, names: dict[str, Held]) -> Held:
    with duckdb.connect() as connection:
        columns = ", ".join(f'? AS "{name}"' for name in names)
        (found,) = connection.execute(f"SELECT {sql} FROM (SELECT {columns})", list(names.values())).fetchall()[0]
    return float(found) if isinstance(found, int) and not isinstance(found, bool) else found


@pytest.mark.parametrize("sql", SAME)
def test_as_duckdb_has_it(sql: str) -> None:
    own = {name.removesuffix("_1"): int(v) if name == "age_1" else v for name, v in ROW.items()}  # type: ignore[arg-type]
    wanted = in_duckdb(sql, own)
    found, written = value(sql, None)
    for each in (found, in_duckdb(written, ROW)):
        assert each == (pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted)


@pytest.mark.parametrize(("sql", "dialect", "wanted"), KNOWN)
def test_as_others_document_it(sql: str, dialect: str | None, wanted: Held) -> None:
    found, written = value(sql, dialect)
    for each in (found, in_duckdb(written, ROW)):
        assert each == (pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted)


def test_names_that_are_known_are_those_that_have_a_meaning() -> None:
    assert set(CALLED) == {*NAMES, *NAMED, *NAMED_FUNCTIONS, *INTERVAL_ENDS, "date_part"}
