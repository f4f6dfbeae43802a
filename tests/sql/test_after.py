"""What is made of released tables is what DuckDB makes of the same tables, and costs nothing more."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.hospital import hospital
from tacit.desk.coverage import Coverage
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.operation import call
from tacit.session import Session
from tacit.sql import assemble
from tacit.sql.after import ReleasedRows, after_release

BASE = "SELECT ward, urgent, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY 1, 2"
OTHER = "SELECT ward AS w, COUNT(*) AS m FROM visits WHERE age > 60 GROUP BY 1 HAVING COUNT(*) > 5"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with (
        drawing_from(FixedRng(11)),
        Session(hospital(tmp_path_factory.mktemp("hospital"), limit=1000), "ana") as opened,
    ):
        yield opened


ONE = (
    "SELECT ward, n, c FROM t WHERE n > 100 AND NOT urgent ORDER BY n DESC LIMIT 2",
    "SELECT ward, SUM(n) AS s, AVG(c) AS a, MIN(n), MAX(n) AS high, COUNT(*) AS k FROM t GROUP BY ward ORDER BY 1",
    "SELECT SUM(n), VAR_POP(n), STDDEV_SAMP(n), MEDIAN(n), COUNT(DISTINCT urgent) FROM t",
    "SELECT ward, urgent, 100.0 * n / SUM(n) OVER () AS share FROM t ORDER BY share, ward, urgent",
    "SELECT ward, urgent, RANK() OVER (ORDER BY ward) AS r, DENSE_RANK() OVER (ORDER BY ward DESC) AS d, "
    "ROW_NUMBER() OVER (PARTITION BY urgent ORDER BY n) AS k FROM t ORDER BY 1, 2",
    "SELECT ward, urgent, LAG(n) OVER w AS before, LEAD(n, 2, -1) OVER w AS later, FIRST_VALUE(n) OVER w AS f, "
    "LAST_VALUE(n) OVER w AS l FROM t WINDOW w AS (ORDER BY ward, urgent) ORDER BY 1, 2",
    "SELECT ward, urgent, SUM(n) OVER (ORDER BY ward) AS s, AVG(n) OVER (ORDER BY ward, urgent ROWS BETWEEN 2 "
    "PRECEDING AND 1 FOLLOWING) AS a, COUNT(*) OVER (PARTITION BY ward) AS k, MAX(n) OVER (ORDER BY ward ROWS "
    "UNBOUNDED PRECEDING) AS m FROM t WHERE urgent ORDER BY 1, 2",
    "SELECT ward, urgent, NTILE(3) OVER (ORDER BY ward, urgent) AS t, PERCENT_RANK() OVER (ORDER BY ward) AS p, "
    "CUME_DIST() OVER (ORDER BY ward) AS c FROM t ORDER BY 1, 2",
    "SELECT ward, n FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY n DESC) = 1 ORDER BY 1",
    "SELECT DISTINCT ward FROM t ORDER BY ward DESC LIMIT 2 OFFSET 1",
    "SELECT a.ward, a.n - b.n AS d FROM t a JOIN t b ON a.ward = b.ward AND b.urgent WHERE NOT a.urgent ORDER BY 1",
    "SELECT ward, CASE WHEN n > 300 THEN 'many' ELSE 'few' END AS size, n / 0 AS nothing FROM t ORDER BY 1, 2, n",
    "SELECT COUNT(*), SUM(n), MAX(ward) FROM t WHERE n < 0",
    "SELECT s.ward, s.total FROM (SELECT ward, SUM(n) AS total FROM t GROUP BY ward HAVING SUM(n) > 10) s ORDER BY 2",
)
TWO = (
    "SELECT ward, urgent, n, m FROM t LEFT JOIN u ON ward = w ORDER BY 1, 2",
    "SELECT ward, n * 1.0 / m AS share FROM t JOIN u ON t.ward = u.w WHERE urgent ORDER BY 1",
    "SELECT w, m, total FROM u CROSS JOIN (SELECT SUM(n) AS total FROM t) s ORDER BY 1",
    "SELECT w, m FROM t RIGHT JOIN u ON ward = w ORDER BY 1, 2",
)


def same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(found) == len(wanted)
    for row, other in zip(found, wanted, strict=True):
        for value, expected in zip(row.values(), other.values(), strict=True):
            if isinstance(expected, float) and not np.isfinite(expected):
                assert value is None  # a quotient by zero is NULL here
            elif isinstance(expected, str | bool) or expected is None:
                assert value == expected
            else:
                assert value == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("sql", ONE)
def test_over_one_answer(session: Session, sql: str) -> None:
    asked = session.ask(f"WITH t AS ({BASE}) {sql}", rho=2)
    with duckdb.connect() as connection:
        connection.register("t", _measured(session, sql))
        same(asked.table.to_pylist(), connection.sql(sql).to_arrow_table().to_pylist())


def _measured(session: Session, sql: str) -> Any:
    """The answer of the same program, which has the columns that the question uses and no others."""
    (question,) = session.job(f"WITH t AS ({BASE}) {sql}", rho=2).priced.question.measured
    names = {name for name, _ in question.output}
    listed = {"ward": "ward", "urgent": "urgent", "n": "COUNT(*) AS n", "c": "AVG(cost) AS c"}
    measured = [made for name, made in listed.items() if name in names | {"ward", "urgent"}]
    found = session.ask(f"SELECT {', '.join(measured)} FROM visits GROUP BY ward, urgent", rho=2)
    assert found.cached
    return found.table


@pytest.mark.parametrize("sql", TWO)
def test_over_two_answers(session: Session, sql: str) -> None:
    both = f"WITH t AS (SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY 1, 2), u AS ({OTHER}) "
    asked = session.ask(both + sql, rho=2)
    with duckdb.connect() as connection:
        for table in _tables(session, both + sql):
            connection.register("u" if "m" in table.column_names else "t", table)
        same(asked.table.to_pylist(), connection.sql(sql).to_arrow_table().to_pylist())


def _tables(session: Session, sql: str) -> list[pa.Table]:
    """The answers that a question is made of, as they were when it was asked before."""
    seen: list[ReleasedRows] = []

    def record(after: Any, tables: Any) -> Any:
        seen.extend(tables)
        return after_release(after, tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "after_release", record)
        assert session.ask(sql, rho=2).cached
    return [pa.table(dict(table.columns)) for table in seen]


def test_two_answers_share_the_price(session: Session) -> None:
    """One amount pays for both, each with the larger noise of its share."""
    one = session.job(BASE, rho=1).program
    both = session.job(f"WITH t AS ({BASE}), u AS ({OTHER}) SELECT w, m, n FROM t JOIN u ON w = ward", rho=1).program
    assert one.cost.rho is not None
    assert both.cost.rho is not None
    assert abs(one.cost.rho - both.cost.rho) < Fraction(1, 10**9)
    assert len(both.steps) == 2


def test_an_answer_that_is_passed_on_keeps_its_interval(session: Session) -> None:
    asked = session.ask(
        f"SELECT ward, n, n * 2 + 1 AS twice, -n AS less, n / SUM(n) OVER () AS share, n + n AS sum FROM ({BASE}) t",
        rho=2,
    )
    low, high = asked.intervals["n"]
    assert asked.intervals["twice"] == ([2 * x + 1 for x in low], [2 * x + 1 for x in high])  # type: ignore[operator]
    assert asked.intervals["less"] == ([-x for x in high], [-x for x in low])  # type: ignore[operator]
    assert asked.intervals.keys() == {"n", "twice", "less"}
    assert asked.coverage["twice"].of == "noise"


def test_an_interval_is_not_told_of_two_noisy_numbers() -> None:
    number = Facts(type=Type.NUMBER)
    a, b, k = (Column(name=name, facts=number) for name in "abk")
    rows = ReleasedRows(
        size=1,
        columns={"a": [4.0], "b": [2.0], "k": [3.0]},
        noisy=frozenset("ab"),
        ends={"a": ([3.0], [5.0])},
        covers={"a": Coverage(of="truth")},
    )
    assert rows.interval(call("add", a, b)) is None
    assert rows.interval(b) is None
    assert rows.interval(call("divide", constant(1), a)) is None
    assert rows.interval(call("multiply", a, a)) is None
    found = rows.interval(call("multiply", a, call("negate", k)))
    assert found is not None
    assert found[0] == ([-15.0], [-9.0])


def test_declared_keys_are_listed_by_a_noisy_count_of_people(session: Session) -> None:
    """Ward d is declared and empty."""
    found = session.ask("SELECT DISTINCT ward FROM visits ORDER BY ward", rho=3)
    assert found.table["ward"].to_pylist() == ["a", "b", "c"]
    (step,) = session.job("SELECT ward FROM visits GROUP BY ward", rho=2).program.steps
    assert "noise" in step.name
    little = session.ask("SELECT DISTINCT ward FROM visits ORDER BY ward", rho="0.0001")
    assert len(little.table) < 3  # so much noise hides them


def test_keys_that_nobody_listed_are_selected(session: Session) -> None:
    found = session.ask("SELECT DISTINCT drug FROM visits ORDER BY drug", rho=2)
    assert found.table["drug"].to_pylist() == ["aspirin", "heparin", "insulin"]
    (step,) = session.job("SELECT DISTINCT drug FROM visits", rho=2).program.steps
    assert step.name == "which groups to show"
