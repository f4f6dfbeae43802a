"""Spreads give what clamping row by row gives, to the last unit."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.clipping import clip
from tacit.base.exact import opened
from tacit.engine.dialect import DUCKDB, POSTGRES, Dialect
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.measure import spread_of
from tacit.engine.render import statements
from tacit.engine.rows import Rows
from tacit.engine.steps import steps_of
from tacit.engine.unit import StoredTable
from tacit.plan.bounded import Bounded, Key, Measure
from tacit.plan.expression import Column, Constant, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.moments import values
from tacit.plan.node import Filter, Scan, Source
from tacit.plan.operation import call

FAR = 2**40  # what is beyond is no number
ODD = [None, math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, float(FAR), -(2.0**41), 1e12, 0.0, -0.0, 5e-324, 0.005]
NEAR_FAR = st.sampled_from([-FAR - 1, -FAR, FAR, FAR + 1])
NUMBER = Facts(type=Type.NUMBER, low=Fraction(-3), high=Fraction(500), step=Fraction(1, 100))
AGE = Facts(type=Type.INTEGER, low=0, high=120)
SIDE = Facts(type=Type.INTEGER, domain=(0, 1), nullable=False)
TABLES = {"t": StoredTable(sql="t", types={"x": "DOUBLE", "side": "INTEGER"})}


def constant(value: Fraction) -> Constant:
    return Constant(value=value, facts=Facts(type=Type.NUMBER, low=value, high=value, nullable=False))


def question(value: Expression, facts: Facts, *, keys: bool = False, **measure: Any) -> Bounded:
    sources = (Source(name="x", column="x", facts=facts), Source(name="side", column="side", facts=SIDE))
    measures = (
        Measure(name="rows"),
        values("there", Column(name="x", facts=facts)),
        Measure(name="sum", value=value, **measure),
    )
    key = Key(name="side", expression=Column(name="side", facts=SIDE))
    return Bounded(
        source=Scan(table="t", columns=sources, is_private=True),
        keys=(key,) if keys else (),
        measures=measures,
        clips=tuple(clip("l2", 2**40, m.name, exempt=True) for m in measures),
    )


def run(bounded: Bounded, rows: list[Any], kind: pa.DataType) -> dict[str, list[int]]:
    side = pa.array([i % 2 for i in range(len(rows))], pa.int32())
    engine = DuckDBEngine({"t": pa.table({"x": pa.array(rows, kind), "side": side})}, threads=1)
    try:
        return {name: column.tolist() for name, column in opened(engine.run(bounded)).groups.columns.items()}
    finally:
        engine.close()


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.sampled_from(ODD) | st.floats() | st.floats(-10, 600), max_size=30),
    step=st.sampled_from([Fraction(1, 100), Fraction(1), Fraction(3, 7), Fraction(1, 10**3), Fraction(50)]),
    shift=st.sampled_from([Fraction(0), Fraction(497, 2), Fraction(1, 3)]),
    offset=st.sampled_from([0, 0, 17, -2000]),
    ends=st.sampled_from([(-(2**30), 2**30), (-50, 30_000), (0, 1), (7, 9)]),
)
def test_numbers(rows: list[float | None], step: Fraction, shift: Fraction, offset: int, ends: tuple[int, int]) -> None:
    low, high = ends
    value: Expression = Column(name="x", facts=NUMBER)
    if shift:
        value = call("subtract", value, constant(shift))
    bounded = question(value, NUMBER, step=step, offset=offset, low=low, high=high)
    assert (
        spread_of(
            bounded.measures[2],
            Rows(bounded, DUCKDB, TABLES),
        )
        is not None
    )
    finite = [min(max(x, -3.0), 500.0) for x in rows if x is not None and abs(x) <= FAR]
    total = sum(min(max(steps_of(x - float(shift), step, offset), low), high) for x in finite)
    assert run(bounded, rows, pa.float64()) == {"rows": [len(rows)], "there": [len(finite)], "sum": [total]}


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(
        st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-FAR - 1, FAR + 1) | st.integers(-5, 130),
        max_size=20,
    )
)
def test_integers(rows: list[int | None]) -> None:
    bounded = question(Column(name="x", facts=AGE), AGE, low=0, high=120)
    assert "FLOOR" not in str(statements(bounded, DUCKDB, TABLES).groups)
    known = [min(max(x, 0), 120) for x in rows if x is not None and abs(x) <= FAR]
    assert run(bounded, rows, pa.int64()) == {"rows": [len(rows)], "there": [len(known)], "sum": [sum(known)]}


@pytest.mark.parametrize("filtered", [False, True])
def test_rows_that_break_the_promise_of_a_value_are_left_out(filtered: bool) -> None:
    """The second side has no row that keeps it."""
    facts = NUMBER.but(nullable=False)
    bounded = question(Column(name="x", facts=facts), facts, keys=True, step=Fraction(1, 100), low=-300, high=50_000)
    if filtered:
        always = call("le", Column(name="side", facts=SIDE), constant(Fraction(1)))
        bounded = replace(bounded, source=Filter(below=bounded.source, condition=always))
    rows = [1.5, None, 1e9, math.nan, -9.0, math.inf, math.nan, None, None]
    assert run(bounded, rows, pa.float64()) == {"rows": [3], "there": [3], "sum": [150 + 50_000 - 300]}


def test_it_is_not_used_where_it_is_not_proven() -> None:
    def found(facts: Facts, dialect: Dialect = DUCKDB, **measure: Any) -> object:
        bounded = question(Column(name="x", facts=facts), facts, **{"low": 0, "high": 9, **measure})
        return spread_of(
            bounded.measures[2],
            Rows(bounded, dialect, TABLES),
        )

    assert found(NUMBER) is not None
    assert found(NUMBER, POSTGRES) is None
    assert found(NUMBER.but(high=None)) is None
    assert found(NUMBER.but(domain=(Fraction(1), Fraction(2)))) is None
    assert found(NUMBER.but(high=Fraction(2**60))) is None
    assert found(NUMBER, high=2**31) is None
    assert found(NUMBER, low=9) is None
    assert found(NUMBER, step=Fraction(1, 10**6)) is None
