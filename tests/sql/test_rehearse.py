"""What is priced runs, and what cannot run is refused while it is free: over everything that a policy can declare.

Real DuckDB runs the questions; for PostgreSQL and Spark they are written down and rehearsed.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from support.plans import priced_by
from tacit.base import Denied, EngineError, InputError, PolicyError, Refused, Relation, TacitError
from tacit.desk.release import TableRelease
from tacit.engine.dialect import DIALECTS
from tacit.engine.duckdb import DuckDBEngine
from tacit.ledger import Ledger
from tacit.plan.bounded import LARGEST
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Policy, Privacy, Table
from tacit.session import Session
from tacit.sql.rehearse import rehearse

ROWS = pa.table(
    {
        "pid": [1, 1, 2, 3, 4, 4, 4],
        "g": ["a", "b", "a", "b", "a", "a", "b"],
        "x": [0.0, 1.5, -3.0, 1e40, None, 7.0, float("nan")],
        "n": [0, 1, 2, 3, None, 5, 6],
    }
)
AGGREGATES = (
    "COUNT(*)", "COUNT(x)", "SUM(x)", "SUM(n)", "AVG(x)", "AVG(n)", "VAR_SAMP(x)", "STDDEV(n)", "CORR(x, n)",
    "COVAR_POP(x, n)", "MEDIAN(x)", "MIN(n)", "QUANTILE_CONT(x, 0.9)", "MODE(g)", "HISTOGRAM(x, 5)", "HISTOGRAM(n, 7)",
    "COUNT(DISTINCT pid)", "COUNT(DISTINCT n, max_values_per_unit => 2)", "SUM(x * x)", "SUM(x + n)", "AVG(x / 3)",
    "SUM(n) / COUNT(*)", "SUM(x, contribution_bounds_per_group => (0, 5))", "SUM(CLAMP(x, 0, 1e55))",
    "SUM(CLAMP(x, -1e-55, 1e-55))", "SUM(POWER(x, 3))",
)  # fmt: skip
NESTED = "SELECT SUM(y), AVG(z) FROM (SELECT pid, CLAMP(SUM(n), 0, 1e30) AS y, AVG(x) AS z FROM t GROUP BY pid) AS s"


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    opened = DuckDBEngine({"t": ROWS})
    yield opened
    opened.close()


# --- everything that can be declared and asked

sizes = st.one_of(
    st.builds(lambda e, m: Fraction(10) ** e * m, st.integers(-59, 59), st.sampled_from([1, 2, 5])),
    st.builds(lambda e: Fraction(2) ** e, st.integers(-190, 190)),
)
clips = st.one_of(st.none(), st.just("private"), sizes)


@st.composite
def columns(draw: st.DrawFn, kind: ColumnType) -> Column:
    given: dict[str, Any] = {"type": kind, "clip": draw(clips), "nullable": draw(st.booleans())}
    if draw(st.integers(0, 9)):
        low = draw(sizes) * draw(st.sampled_from([-1, 0, 1]))
        high = low + draw(sizes)
        if kind is ColumnType.INTEGER:
            low, high = Fraction(int(low)), Fraction(int(high) + 1)
        elif draw(st.booleans()):
            given["step"] = draw(
                st.one_of(sizes, st.sampled_from([1, 3, 1000, 10**20]).map(lambda n: (high - low) / n))
            )
            low, high = (given["step"] * way(end / given["step"]) for way, end in ((floor, low), (ceil, high)))
        given["bounds"] = (low, high)
        given["typical"] = draw(st.sampled_from([None, None, low, high]))
    return Column(**given)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    currency = draw(st.sampled_from(Currency))
    deltas = [Fraction(1, 10**6), Fraction(1, 10**12), Fraction(1, 10**29), Fraction(1, 2)]
    delta = draw(st.sampled_from(deltas if currency is Currency.RHO else [Fraction(0), *deltas]))
    keys = draw(st.sampled_from([None, ("a", "b"), tuple(f"k{i}" for i in range(500))]))
    table: dict[str, Any] = {"each_row_is_a_unit": True}
    if draw(st.integers(0, 4)):
        groups = draw(st.sampled_from([None, None, 1, 100, 10**9, 10**40]))
        table = {
            "unit_column": "pid",
            "clip_rows": draw(clips),
            "max_rows_per_unit": draw(st.sampled_from([None, None, 1, 3, 10**6, 2**40, 10**50])),
            "max_groups": groups,
            "rows_per_group": None if groups is None else draw(st.sampled_from([None, 1, 10**9, 10**30])),
        }
    held = {
        "pid": Column(type=ColumnType.INTEGER),
        "g": Column(type=ColumnType.TEXT, group_keys=keys),
        "x": draw(columns(draw(st.sampled_from([ColumnType.DECIMAL, ColumnType.FLOAT])))),
        "n": draw(columns(ColumnType.INTEGER)),
    }
    return Policy(
        dataset=Dataset(name="d"),
        privacy=Privacy(
            currency=currency,
            budget=draw(st.sampled_from([Fraction(1), Fraction(10**6), Fraction(1, 10**6)])),
            delta=delta,
            relation=draw(st.sampled_from(list(Relation))),
        ),
        tables={"t": Table(columns=held, **table)},
        analysts={"*": Analyst()},
    )


@st.composite
def questions(draw: st.DrawFn) -> str:
    if not draw(st.integers(0, 9)):
        return NESTED
    asked = ", ".join(draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True)))
    key = draw(st.sampled_from(["", "g", "n", "x > 3"]))
    where = draw(st.sampled_from(["", " WHERE n > 1"]))
    return f"SELECT {key}, {asked} FROM t{where} GROUP BY {key}" if key else f"SELECT {asked} FROM t{where}"


def asked(session: Session, sql: str, **offer: Any) -> TableRelease | None:
    """The answer, looked at from all sides; None if it was refused while nothing had been charged."""
    before = session.standing().balances
    try:
        quote = session.quote(sql, **offer)
    except EngineError:
        raise
    except TacitError:
        assert session.standing().balances == before
        return None
    priced = priced_by(session, sql, **offer)
    for dialect in DIALECTS:
        rehearse(priced, dialect, confidence=offer["confidence"])
    if not quote.enough:
        return None
    try:
        answer = session.ask(sql, **offer)
    except Denied:
        return None
    assert TableRelease.from_bytes(answer.to_bytes()).table.equals(answer.table)
    assert repr(answer)
    assert answer.json()
    assert answer._repr_html_()
    assert repr(answer.certificate())
    return answer


@given(data=st.data())
def test_what_is_priced_runs(engine: DuckDBEngine, data: st.DataObject) -> None:
    try:
        policy = data.draw(policies())
    except PolicyError:
        return
    spends = [policy.privacy.budget * share for share in (1, Fraction(1, 4), Fraction(1, 1000), Fraction(1, 10**6))]
    with TemporaryDirectory() as folder, Ledger.open(Path(folder) / "l") as ledger:
        session = Session(policy, "ana", ledger=ledger, engine=engine)
        for _ in range(3):
            sql, confidence = data.draw(questions()), data.draw(st.sampled_from([0.95, 0.5, 1e-6, 1 - 1e-9]))
            offer = data.draw(st.one_of(
                st.sampled_from(spends).map(lambda spend: {policy.privacy.currency.value: spend}),
                sizes.map(lambda size: {"error": size}),
            ))  # fmt: skip
            note(f"{sql} {offer} {confidence}\n{policy.to_toml()}")
            asked(session, sql, confidence=confidence, **offer)


# --- the edges one by one


def one_table(column: Column, **privacy: Any) -> Policy:
    columns = {
        "pid": Column(type=ColumnType.INTEGER),
        "x": column,
        "g": Column(type=ColumnType.TEXT, group_keys=("a", "b")),
    }
    table = Table(unit_column="pid", clip_rows="private", columns=columns)
    given = {"currency": Currency.EPSILON, "budget": 10**4, "delta": Fraction(1, 10**6), **privacy}
    return Policy(dataset=Dataset(name="d"), privacy=Privacy(**given), tables={"t": table}, analysts={"*": Analyst()})


@pytest.mark.parametrize("currency", Currency)
@pytest.mark.parametrize(
    "power",
    [0, 24, 26, 27, 63, 190, *(pytest.param(p, marks=pytest.mark.slow) for p in (20, 23, 25, 28, 40, 52, 53, 64, 126))],
)
def test_sums_and_averages_of_every_size_are_answered(
    engine: DuckDBEngine, tmp_path: Path, power: int, currency: Currency
) -> None:
    for number, kind in enumerate((ColumnType.INTEGER, ColumnType.FLOAT)):
        policy = one_table(Column(type=kind, bounds=(0, 2**power)), currency=currency)
        with Ledger.open(tmp_path / f"{number}") as ledger:
            session = Session(policy, "ana", ledger=ledger, engine=engine)
            for sql in ("SELECT SUM(x) FROM t", "SELECT AVG(x) FROM t", "SELECT g, SUM(x), AVG(x) FROM t GROUP BY g"):
                assert asked(session, sql, confidence=0.95, **{currency.value: 1}) is not None


@pytest.mark.parametrize("bound", [LARGEST - 1, LARGEST, LARGEST + 1])
def test_the_largest_bound_of_a_plan_is_the_largest_of_an_engine(
    engine: DuckDBEngine, tmp_path: Path, bound: int
) -> None:
    policy = one_table(Column(type=ColumnType.INTEGER, bounds=(0, 2**10), clip=Fraction(bound)))
    with Ledger.open(tmp_path / "l") as ledger:
        session = Session(policy, "ana", ledger=ledger, engine=engine)
        found = asked(session, "SELECT g, SUM(x) FROM t GROUP BY g", epsilon=1, confidence=0.95)
    assert (found is None) == (bound * 2 > LARGEST)  # a row has two steps for each whole number


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**12), Fraction(1, 10**40), Fraction(1, 10**300)])
def test_offers_that_are_almost_nothing_are_answered_or_refused(
    engine: DuckDBEngine, tmp_path: Path, epsilon: Fraction
) -> None:
    policy = one_table(Column(type=ColumnType.FLOAT, bounds=(0, 10**59)))
    with Ledger.open(tmp_path / "l") as ledger:
        session = Session(policy, "ana", ledger=ledger, engine=engine)
        for sql in ("SELECT SUM(x) FROM t", "SELECT g, AVG(x) FROM t GROUP BY g", "SELECT MEDIAN(x) FROM t"):
            asked(session, sql, epsilon=epsilon, confidence=0.95)


@pytest.mark.parametrize("offer", [{"epsilon": 10**7}, {"rho": 1e300}, {"epsilon": 1, "confidence": 1 - 1e-12}])
def test_offers_beyond_all_sense_are_told_so(engine: DuckDBEngine, tmp_path: Path, offer: dict[str, Any]) -> None:
    with Ledger.open(tmp_path / "l") as ledger:
        session = Session(one_table(Column(type=ColumnType.FLOAT, bounds=(0, 1))), "ana", ledger=ledger, engine=engine)
        with pytest.raises(InputError, match=r"at most 1,000,000|must lie between"):
            session.quote("SELECT COUNT(*) FROM t", **offer)


def test_a_clip_below_one_step_is_refused(engine: DuckDBEngine, tmp_path: Path) -> None:
    policy = one_table(Column(type=ColumnType.INTEGER, bounds=(0, 1000), clip=Fraction(1, 10**5)))
    with Ledger.open(tmp_path / "l") as ledger:
        session = Session(policy, "ana", ledger=ledger, engine=engine)
        with pytest.raises(PolicyError, match="declare a larger clip"):
            session.quote("SELECT SUM(x) FROM t", epsilon=1)


def test_whatever_fails_in_a_rehearsal_is_refused_before_the_charge(
    engine: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(tmp_path / "l") as ledger:
        session = Session(one_table(Column(type=ColumnType.FLOAT, bounds=(0, 1))), "ana", ledger=ledger, engine=engine)
        before = session.standing().balances
        for error in (InputError("a step is too small"), OverflowError(), ValueError(), ZeroDivisionError()):
            monkeypatch.setattr("tacit.sql.rehearse.statements", lambda *_, e=error: (_ for _ in ()).throw(e))
            with pytest.raises(Refused, match="this question is refused, since"):
                session.ask(f"SELECT COUNT(*) + {len(str(error))} FROM t", epsilon=1)
        assert session.standing().balances == before
