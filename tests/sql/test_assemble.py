"""Every aggregate and all that follows the noise, asked end to end on DuckDB, against the truth from numpy."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.hospital import hospital, visits
from tacit.session import Session, TableRelease

DATA = {
    name: np.array(column.to_pylist()) for name, column in zip(visits().column_names, visits().columns, strict=True)
}
SURE = 0.9999  # so that a right answer is outside its interval once in ten thousand


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(hospital(tmp_path_factory.mktemp("hospital"), limit=1000), "ana") as opened:
        yield opened


def asked(session: Session, sql: str, seed: int = 5, **offer: Any) -> TableRelease:
    with drawing_from(FixedRng(seed)):
        return session.ask(sql, **{"rho": 0.5, **offer})


def covers(answer: TableRelease, column: str, truth: float, row: int = 0, *, width: float) -> None:
    low, high = answer.interval(column, row)
    assert low is not None
    assert high is not None
    assert low <= truth <= high, (column, low, truth, high)
    assert high - low < width, (column, low, high)


COST, AGE = DATA["cost"], DATA["age"]
URGENT = DATA["urgent"].astype(bool)


@pytest.mark.parametrize(
    ("aggregate", "truth", "width"),
    [
        ("COUNT(*)", 3000, 400),
        ("COUNT(cost)", 3000, 400),
        ("COUNT(DISTINCT patient_id)", len(np.unique(DATA["patient_id"])), 30),
        ("COUNT(DISTINCT ward, max_values_per_unit => 3)", 3, 30),
        ("SUM(cost)", COST.sum(), 400_000),
        ("SUM(age)", AGE.sum(), 40_000),
        ("AVG(cost)", COST.mean(), 80),
        ("AVG(age)", AGE.mean(), 8),
        ("VARIANCE(cost)", COST.var(ddof=1), 60_000),
        ("VAR_POP(age)", AGE.var(), 700),
        ("STDDEV(cost)", COST.std(ddof=1), 250),
        ("STDDEV_POP(age)", AGE.std(), 20),
        ("COVAR_POP(age, cost)", np.cov(AGE, COST, ddof=0)[0, 1], 10_000),
        ("COVAR_SAMP(age, cost)", np.cov(AGE, COST)[0, 1], 10_000),
        ("CORR(age, cost)", np.corrcoef(AGE, COST)[0, 1], 1.5),
        ("COUNT(*) FILTER (WHERE urgent)", URGENT.sum(), 400),
        ("SUM(CASE WHEN urgent THEN cost ELSE 0 END)", COST[URGENT].sum(), 400_000),
        ("SUM(cost) / COUNT(*)", COST.mean(), 200),
        ("100.0 * COUNT(*) FILTER (WHERE urgent) / COUNT(*)", 100 * URGENT.mean(), 25),
        ("AVG(cost * 2 + age)", (COST * 2 + AGE).mean(), 250),
    ],
)
def test_each_aggregate_is_right_within_its_interval(
    session: Session, aggregate: str, truth: float, width: float
) -> None:
    answer = asked(session, f"SELECT {aggregate} AS x FROM visits", confidence=SURE)
    covers(answer, "x", truth, width=width)


@pytest.mark.parametrize(
    ("aggregate", "order"),
    [("MEDIAN(cost)", 0.5), ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost)", 0.9),
     ("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost)", 0.25), ("MIN(cost)", 0.005), ("MAX(cost)", 0.995)],
)  # fmt: skip
def test_quantiles_are_right_within_their_intervals(session: Session, aggregate: str, order: float) -> None:
    answer = asked(session, f"SELECT {aggregate} AS q FROM visits", rho=8)
    covers(answer, "q", float(np.quantile(COST, order)), width=600)
    said = any("% quantile" in note for note in answer.notes)
    assert said == aggregate.startswith(("MIN", "MAX"))


def test_groups_that_are_declared_are_all_there_and_empty_ones_too(session: Session) -> None:
    answer = asked(session, "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward", confidence=SURE)
    assert answer.table["ward"].to_pylist() == ["a", "b", "c", "d"]
    for row, ward in enumerate("abcd"):
        inside = DATA["ward"] == ward
        covers(answer, "n", inside.sum(), row, width=700)
        if inside.any():
            covers(answer, "c", COST[inside].mean(), row, width=600)
    assert answer.intervals["c"][0][3] == 0  # of nobody nothing is known
    assert answer.intervals["c"][1][3] == 1000


def test_groups_of_several_kinds_of_keys(session: Session) -> None:
    answer = asked(
        session,
        "SELECT urgent, EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits GROUP BY 1, 2",
        rho=2,
        confidence=SURE,
    )
    assert [(row["urgent"], row["m"]) for row in answer.rows()] == [(u, m) for u in (False, True) for m in (1, 2, 3)]
    months = np.array([day.month for day in DATA["day"]])
    for row, found in enumerate(answer.rows()):
        covers(answer, "n", ((found["urgent"] == URGENT) & (months == found["m"])).sum(), row, width=300)
    dated = asked(session, "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY 1")
    assert [str(value)[:10] for value in dated.table["m"].to_pylist()] == ["2024-01-01", "2024-02-01", "2024-03-01"]
    assert isinstance(dated.table["m"][0].as_py(), date)


def test_unknown_keys_are_shown_only_with_enough_behind_them(session: Session) -> None:
    answer = asked(
        session, "SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug ORDER BY n DESC", rho=1, confidence=SURE
    )
    assert answer.table["drug"].to_pylist() == ["aspirin", "insulin", "heparin"]
    assert answer.facts["keys"] == {"drug": "selected"}
    assert any("likely missing" in note for note in answer.notes)
    for row, drug in enumerate(answer.table["drug"].to_pylist()):
        covers(answer, "n", (DATA["drug"] == drug).sum(), row, width=250)
    none = asked(session, "SELECT drug, COUNT(*) AS n FROM visits WHERE drug LIKE 'rare%' GROUP BY drug", rho=0.3)
    assert none.table.num_rows == 0
    assert none.table.schema.names == ["drug", "n"]
    assert "no group had enough units to be shown" in none.notes


def test_quantiles_by_unknown_keys_belong_to_their_groups(session: Session) -> None:
    sql = (
        "SELECT drug, ward, MEDIAN(CASE drug WHEN 'aspirin' THEN 100 ELSE 900 END) AS m FROM visits GROUP BY drug, ward"
    )
    answer = asked(session, sql, rho=8)
    assert answer.table.num_rows >= 6
    assert {(row["drug"] == "aspirin", round(row["m"])) for row in answer.rows()} == {(True, 100), (False, 900)}


def test_having_order_limit_offset_distinct(session: Session) -> None:
    base = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    rows = asked(session, base).rows()
    by_count = sorted(rows, key=lambda row: -row["n"])
    assert asked(session, f"{base} ORDER BY n DESC").rows() == by_count
    assert asked(session, f"{base} ORDER BY n DESC LIMIT 2 OFFSET 1").rows() == by_count[1:3]
    assert asked(session, f"{base} HAVING COUNT(*) > 700").rows() == [row for row in rows if row["n"] > 700]
    assert asked(session, f"{base} ORDER BY ward DESC").rows() == rows[::-1]
    assert asked(session, f"{base} LIMIT 0").rows() == []
    kinds = asked(session, "SELECT DISTINCT COUNT(*) > 400 AS many FROM visits GROUP BY ward ORDER BY many")
    assert kinds.rows() == [{"many": False}, {"many": True}]
    assert not kinds.intervals
    ordered = asked(session, f"{base} ORDER BY COUNT(*) > 700 DESC, ward DESC")
    assert [row["ward"] for row in ordered.rows()] == ["b", "a", "d", "c"]


def test_modes_and_histograms(session: Session) -> None:
    answer = asked(session, "SELECT MODE(ward) AS m, HISTOGRAM(age, 5) AS h FROM visits", rho=2)
    (row,) = answer.rows()
    assert row["m"] == "a"
    edges = np.histogram(AGE, bins=5, range=(0, 110))[0]
    assert np.abs(np.array(row["h"]) - edges).max() < 150
    top = asked(session, "SELECT urgent, APPROX_TOP_K(ward, 2) AS t FROM visits GROUP BY urgent", rho=2)
    assert top.table["t"].to_pylist() == [["a", "b"], ["a", "b"]]


def test_joins_and_sub_aggregation(session: Session) -> None:
    joined = asked(
        session,
        "SELECT w.floor, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor",
        rho=1, confidence=SURE,
    )  # fmt: skip
    floors = dict(zip(joined.table["floor"].to_pylist(), range(joined.table.num_rows), strict=True))
    covers(joined, "n", np.isin(DATA["ward"], ["a", "b"]).sum(), floors[1], width=700)
    per_patient = asked(
        session,
        "SELECT AVG(n) AS a FROM (SELECT patient_id, LEAST(COUNT(*), 10) AS n FROM visits GROUP BY patient_id)",
        confidence=SURE,
    )
    _, each = np.unique(DATA["patient_id"], return_counts=True)
    covers(per_patient, "a", np.minimum(each, 10).mean(), width=1)


def test_an_expression_with_a_quantile_has_no_interval(session: Session) -> None:
    answer = asked(session, "SELECT MEDIAN(cost) * 2 AS twice, COUNT(*) + 1 AS more FROM visits", rho=1)
    assert list(answer.intervals) == ["more"]


def test_a_text_that_reads_none_is_not_null(session: Session) -> None:
    sql = "SELECT DISTINCT CASE WHEN urgent THEN 'None' END AS word FROM visits GROUP BY urgent HAVING COUNT(*) > -1e9"
    assert set(asked(session, sql).table["word"].to_pylist()) == {"None", None}
