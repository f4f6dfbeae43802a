"""The whole way from SQL to an answer, audited as a black box: two databases that differ in one person.

The claim is what the ledger charges. Verdicts must not be "violated", and are with noise that is too small, in the same
harness: so these tests can fail.
"""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.asked import SIDES, Question, opened
from support.postgres import Server, postgres
from support.spark import spark
from tacit.auditor.audit import audit
from tacit.auditor.verdict import Verdict
from tacit.engine import Engine
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, Exponential, KeyedCounts, KeySelection
from tacit.policy import Currency

__all__ = ["postgres", "spark"]

Opener = Callable[[pa.Table, str], Engine]

PRICES = {Currency.EPSILON: "1", Currency.RHO: "1/2", Currency.MU_SQUARED: "1"}
SURE = "0.999999"  # one false alarm in a million runs of each test
SOME = "0.95"  # where an alarm is what is wanted
BY_PERSON = "(SELECT person, cell, LEAST(COUNT(*), 2) AS n FROM visits GROUP BY person, cell) p"

ONE_NUMBER = (  # what the person who comes and goes changes as much as anybody may: the audit comes close to the claim
    Question("COUNT(*) AS x"),
    Question("SUM(amount) AS x"),
    Question("COUNT(DISTINCT kind, max_values_per_unit => 1) AS x"),
    Question("COUNT_IF(amount > 9) AS x"),
)
CHEAP = (
    *ONE_NUMBER,
    Question("COUNT(DISTINCT person) AS x"),
    Question("AVG(amount) AS x"),
    Question("VARIANCE(amount) AS x"),
    Question("STDDEV(amount) AS x"),
    Question("CORR(amount, IF(kind = 'c', 0, amount)) AS x"),
    Question("MODE(kind) AS x"),
    Question("HISTOGRAM(kind) AS x"),
    Question("COUNT(*) AS x, SUM(amount) AS y, AVG(amount) AS z"),
    Question("COUNT(*) AS x", having=" HAVING COUNT(*) > 4"),
    Question("AVG(n) AS x", source=BY_PERSON),
    Question("COUNT(*) AS x", key="drug", people=0),
    Question("COUNT(*) AS x", key="drug", people=20),
)
QUANTILES = (
    Question("MEDIAN(amount) AS x"),
    Question("QUANTILE_CONT(amount, [0.25, 0.75]) AS x"),
    Question("MAX(amount) AS x"),
    Question("COUNT(*) AS x, MEDIAN(amount) AS y"),
)
ONE_BY_ONE = (
    Question("COUNT(*) AS x", key=""),
    Question("SUM(amount) AS x", key="", clip="private"),
    Question("AVG(amount) AS x, MEDIAN(amount) AS y", key=""),
)


def duckdb(table: pa.Table, side: str) -> Engine:
    return DuckDBEngine({"visits": table})


def audited(
    question: Question,
    folder: Path,
    engine: Opener,
    currency: Currency,
    *,
    samples: int,
    cells: int,
    confidence: str = SURE,
) -> Verdict:
    price = PRICES[currency]
    with opened(question, folder, engine, cells=cells if question.key else 1, currency=currency, price=price) as desk:
        return audit(desk.outputs, desk.claim(), neighbours=SIDES, samples=samples, confidence=confidence)


def noise_divided_by(factor: int, patch: pytest.MonkeyPatch) -> None:
    """Plant the defect: whatever the release stage draws has so much less noise than was paid for."""

    for kind, size in ((DiscreteLaplace, "scale"), (DiscreteGaussian, "sigma"), (BinnedQuantiles, "scale")):

        def scaled(self: Any, units: Any, size: str = size, honest: Any = kind.scaled) -> Any:
            found = honest(self, units)
            return dataclasses.replace(found, **{size: getattr(found, size) / factor})

        patch.setattr(kind, "scaled", scaled)
    for chooser in (KeySelection, Exponential):
        honest = chooser.sample

        def sample(self: Any, value: Any, rng: Any = None, honest: Any = honest) -> Any:
            return honest(dataclasses.replace(self, scale=self.scale / factor), value, rng)

        patch.setattr(chooser, "sample", sample)


@pytest.mark.parametrize("question", CHEAP, ids=str)
def test_every_aggregate(question: Question, tmp_path: Path) -> None:
    verdict = audited(question, tmp_path, duckdb, Currency.EPSILON, samples=500, cells=250)
    assert verdict.status != "violated", str(verdict)


@pytest.mark.parametrize("question", QUANTILES, ids=str)
def test_quantiles(question: Question, tmp_path: Path) -> None:
    verdict = audited(question, tmp_path, duckdb, Currency.EPSILON, samples=150, cells=50)
    assert verdict.status != "violated", str(verdict)


@pytest.mark.parametrize(
    ("question", "currency"),
    [
        *((question, Currency.EPSILON) for question in ONE_NUMBER),
        (ONE_NUMBER[0], Currency.RHO),
        (ONE_NUMBER[0], Currency.MU_SQUARED),
    ],
    ids=str,
)
def test_the_audit_has_power(question: Question, currency: Currency, tmp_path: Path) -> None:
    """Where one person can change all that the noise is for, the certified loss comes near what was charged."""
    verdict = audited(question, tmp_path, duckdb, currency, samples=4000, cells=1000)
    assert verdict.status == "pass", str(verdict)
    assert verdict.epsilon > (0.6 if currency is Currency.EPSILON else 0.25) * verdict.claimed


@pytest.mark.parametrize("question", ONE_BY_ONE, ids=str)
def test_one_answer_a_question(question: Question, tmp_path: Path) -> None:
    verdict = audited(question, tmp_path, duckdb, Currency.EPSILON, samples=12, cells=1)
    assert verdict.status != "violated", str(verdict)


@pytest.mark.parametrize(
    ("currency", "samples"), [(Currency.EPSILON, 2000), (Currency.RHO, 10_000), (Currency.MU_SQUARED, 10_000)]
)
def test_half_noise_is_found(currency: Currency, samples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise_divided_by(2, monkeypatch)
    verdict = audited(ONE_NUMBER[0], tmp_path, duckdb, currency, samples=samples, cells=1000, confidence=SOME)
    assert verdict.status == "violated", str(verdict)


@pytest.mark.parametrize("question", [question for question in (*CHEAP, QUANTILES[0]) if question.people], ids=str)
def test_hardly_any_noise_is_found(question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise_divided_by(1000, monkeypatch)
    verdict = audited(question, tmp_path, duckdb, Currency.EPSILON, samples=250, cells=125, confidence=SOME)
    assert verdict.status == "violated", str(verdict)


def test_a_low_threshold_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that one person alone has, shown by their noisy count as soon as that is above zero."""
    monkeypatch.setattr(KeyedCounts, "threshold", lambda self: 1)
    alone = Question("COUNT(*) AS x", key="drug", people=0)
    verdict = audited(alone, tmp_path, duckdb, Currency.EPSILON, samples=500, cells=250, confidence=SOME)
    assert verdict.status == "violated", str(verdict)


@pytest.mark.parametrize("question", ONE_BY_ONE, ids=str)
def test_hardly_any_noise_is_found_one_by_one(
    question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise_divided_by(1000, monkeypatch)
    verdict = audited(question, tmp_path, duckdb, Currency.EPSILON, samples=40, cells=1, confidence=SOME)
    assert verdict.status == "violated", str(verdict)


def check_engine(engine: Opener, folder: Path, questions: tuple[Question, ...], *, samples: int, cells: int) -> None:
    """Not violated in either currency; violated with hardly any noise."""
    for number, (currency, question) in enumerate((c, q) for c in Currency for q in questions):
        place = folder / str(number)
        place.mkdir()
        verdict = audited(question, place, engine, currency, samples=samples, cells=cells)
        assert verdict.status != "violated", str(verdict)
    with pytest.MonkeyPatch.context() as patch:
        noise_divided_by(1000, patch)
        place = folder / "defect"
        place.mkdir()
        verdict = audited(questions[0], place, engine, Currency.EPSILON, samples=samples, cells=cells)
        assert verdict.status == "violated", str(verdict)


def on_postgres(server: Server, name: str) -> Opener:
    """Each table under a name of its own in one database."""
    number = iter(range(10**6))

    def engine(table: pa.Table, side: str) -> Engine:
        place = f"visits_{next(number)}"
        with psycopg.connect(server.dsn(name)) as connection, connection.cursor() as cursor:
            columns = "person bigint, cell text, drug text, amount integer, kind text"
            cursor.execute(f"CREATE TABLE {place} ({columns})".encode())
            with cursor.copy(f"COPY {place} FROM STDIN".encode()) as copy:
                for row in table.to_pylist():
                    copy.write_row(tuple(row.values()))
        return PostgresEngine(server.dsn(name), {"visits": place})

    return engine


def on_spark(session: Any, folder: Path) -> Opener:
    number = iter(range(10**6))

    def engine(table: pa.Table, side: str) -> Engine:
        place = folder / f"{next(number)}.parquet"
        pq.write_table(table, place)
        return SparkEngine(session, {"visits": place})

    return engine


def test_postgres(postgres: Server, tmp_path: Path) -> None:
    with postgres.database() as name:
        check_engine(on_postgres(postgres, name), tmp_path, (CHEAP[0], CHEAP[5]), samples=600, cells=300)


@pytest.mark.slow
def test_postgres_every_aggregate(postgres: Server, tmp_path: Path) -> None:
    with postgres.database() as name:
        check_engine(on_postgres(postgres, name), tmp_path, CHEAP, samples=5000, cells=1000)


@pytest.mark.slow
def test_spark(spark: Any, tmp_path: Path) -> None:
    check_engine(on_spark(spark, tmp_path), tmp_path, (CHEAP[0], CHEAP[5], CHEAP[-1]), samples=2000, cells=1000)


@pytest.mark.slow
@pytest.mark.parametrize("question", [*CHEAP, *QUANTILES], ids=str)
@pytest.mark.parametrize("currency", Currency)
def test_every_aggregate_with_many_samples(question: Question, currency: Currency, tmp_path: Path) -> None:
    samples = 3000 if question in QUANTILES else 20_000
    verdict = audited(question, tmp_path, duckdb, currency, samples=samples, cells=1000)
    assert verdict.status != "violated", str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("question", ONE_BY_ONE, ids=str)
@pytest.mark.parametrize("currency", Currency)
def test_one_answer_a_question_with_many_samples(question: Question, currency: Currency, tmp_path: Path) -> None:
    verdict = audited(question, tmp_path, duckdb, currency, samples=600, cells=1)
    assert verdict.status != "violated", str(verdict)


def test_the_prices_differ_so_that_each_answer_is_new(tmp_path: Path) -> None:
    with opened(CHEAP[0], tmp_path, duckdb, cells=3, currency=Currency.EPSILON, price="1") as desk:
        first, second = desk.ask("with"), desk.ask("with")
        claim = desk.claim()
    assert len(first) == len(second) == 3
    assert claim.epsilon(0).upper == pytest.approx(1)
    assert Fraction(desk.price) == 1
