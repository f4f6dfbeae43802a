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
from tacit.base import RefusalKind, Refused
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
    "SELECT ward, n FROM t WHERE n > (SELECT AVG(n) FROM t) AND ward > (SELECT MIN(ward) FROM t) ORDER BY 1, 2",
    "SELECT ward, urgent, 100 * n / (SELECT SUM(n) FROM t) AS share, (SELECT MAX(c) FROM t WHERE n < 0) AS nothing, "
    "(SELECT MAX(n) FROM t HAVING COUNT(*) > 99) AS none FROM t ORDER BY 1, 2",
    "SELECT ward, SUM(n) AS s FROM t GROUP BY ward HAVING SUM(n) > (SELECT AVG(n) FROM t) + 1 ORDER BY 1",
    "SELECT ward, n FROM t WHERE urgent UNION ALL SELECT 'all', SUM(n) FROM t ORDER BY 2, 1 LIMIT 3",
    "SELECT ward FROM t UNION SELECT ward FROM t WHERE n > 300 UNION SELECT MAX(ward) FROM t ORDER BY 1",
    "SELECT k, COUNT(*), SUM(n) FROM (SELECT ward AS k, n FROM t UNION ALL SELECT ward, -n / 2 FROM t) s GROUP BY k "
    "ORDER BY 1",
    "SELECT s.ward, s.total FROM (SELECT ward, SUM(n) AS total FROM t GROUP BY ward HAVING SUM(n) > 10) s ORDER BY 2",
)
TWO = (
    "SELECT ward, urgent, n, m FROM t LEFT JOIN u ON ward = w ORDER BY 1, 2",
    "SELECT ward, n * 1.0 / m AS share FROM t JOIN u ON t.ward = u.w WHERE urgent ORDER BY 1",
    "SELECT w, m, total FROM u CROSS JOIN (SELECT SUM(n) AS total FROM t) s ORDER BY 1",
    "SELECT w, m FROM t RIGHT JOIN u ON ward = w ORDER BY 1, 2",
    "SELECT ward, n, w, m FROM t FULL JOIN (SELECT w || '!' AS w, m FROM u UNION ALL SELECT w, -m FROM u) v ON ward "
    "= w ORDER BY 1, 2, 3, 4",
    "SELECT ward, n FROM t NATURAL JOIN (SELECT w AS ward FROM u WHERE m > 0) v ORDER BY 1, 2",
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


def test_values_without_from_and_beside_a_measured_answer(session: Session) -> None:
    found = session.ask(
        f"WITH t AS ({BASE}) SELECT (SELECT SUM(n) FROM t) AS a, (SELECT SUM(n) + 1 FROM t) AS b, "
        "(SELECT COUNT(*) FROM t WHERE n < 0) AS c",
        rho=2,
    ).table.to_pylist()
    (row,) = found
    assert row["b"] == row["a"] + 1
    assert row["c"] == 0
    found = session.ask(
        "SELECT ward, COUNT(*) AS n, (SELECT COUNT(*) FROM visits) AS whole, COUNT(*) / (SELECT COUNT(*) FROM visits) "
        "AS share FROM visits GROUP BY ward HAVING COUNT(*) < (SELECT COUNT(*) FROM visits) / 3 ORDER BY ward",
        rho=2,
    ).table.to_pylist()
    assert [row["ward"] for row in found] == [row["ward"] for row in found if row["n"] < row["whole"] / 3]
    assert {"c", "d"} <= {row["ward"] for row in found} < {"a", "b", "c", "d"}
    assert all(row["share"] == row["n"] / row["whole"] for row in found)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*), (SELECT cost FROM visits) FROM visits", "its rows are people's own"),
        ("SELECT COUNT(*), (SELECT COUNT(*) FROM visits GROUP BY ward) FROM visits", "one column of one row"),
        ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)", "other people's rows"),
        ("SELECT SUM(cost - (SELECT AVG(cost) FROM visits)) FROM visits", "other people's rows"),
        ("SELECT (SELECT 1)", "nothing to protect"),
        ("SELECT ward, cost FROM visits UNION ALL SELECT ward, cost FROM visits", "rows are never released"),
        ("SELECT ward FROM visits UNION SELECT COUNT(*) FROM visits", "UNION"),
    ],
)
def test_what_is_no_value(session: Session, sql: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        session.quote(sql, rho=1)


def test_a_join_of_answers_that_may_be_too_large_is_refused_before_it_is_paid_for(session: Session) -> None:
    """Nobody knows how many drugs there will be, and no key of theirs is equal to one of the other's."""
    left = session.left
    drugs = "SELECT drug, ward, COUNT(*) AS n FROM visits GROUP BY 1, 2"
    with pytest.raises(Refused, match="any number of rows") as refusal:
        session.ask(f"WITH t AS ({drugs}) SELECT COUNT(*) FROM t a JOIN t b ON a.n = b.n", rho=1)
    assert refusal.value.kind is RefusalKind.LIMIT
    assert session.left == left
    session.quote(
        f"WITH t AS ({drugs}) SELECT COUNT(*) FROM t a JOIN t b ON a.drug = b.drug AND a.ward = b.ward", rho=1
    )
    session.quote(f"WITH t AS ({drugs} ORDER BY n LIMIT 9) SELECT COUNT(*) FROM t a JOIN t b ON a.n = b.n", rho=1)


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
