"""One suite for every engine: time, memory and a stop end one question and no other, and nothing stays broken."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from support.seats import ENDLESS
from support.spark import spark
from tacit.base import EngineError
from tacit.base.exact import opened
from tacit.engine import Limits, Stopped, Watch
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.engine.watch import MIB
from tacit.plan.bounded import Bounded, Clip, Key, Measure
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["postgres", "spark"]

LONG = {  # work that takes minutes, and says nothing about sleeping
    "duckdb": ENDLESS,
    "postgres": "SELECT SUM(a.n * b.n) FROM generate_series(1, 1000000) a(n), generate_series(1, 1000000) b(n)",
    "spark": "SELECT MAX(a.id * b.id) AS s FROM range(0, 1000000, 1, 1) a CROSS JOIN range(0, 1000000, 1, 1) b",
}
WARD = Facts(type=Type.TEXT, domain=("a", "b"))
COST = Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(10))


def question() -> Bounded:
    columns = (
        Source(name="who", column="who", facts=Facts(type=Type.INTEGER)),
        Source(name="ward", column="ward", facts=WARD),
        Source(name="cost", column="cost", facts=COST),
    )
    return Bounded(
        source=Scan(table="visits", columns=columns, is_private=True, unit_name="who"),
        keys=(Key(name="ward", expression=Column(name="ward", facts=WARD)),),
        measures=(Measure(name="cost", value=Column(name="cost", facts=COST), step=Fraction(1, 2), low=0, high=20),),
        clips=(Clip(names=("cost",), scales=(Fraction(1),), norm="l2", bound=Fraction(100)),),
    )


Opening = Callable[[Limits], Any]


@pytest.fixture(params=["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opening]:
    """How an engine over the same small table is opened."""
    rows = pa.table({"who": [1, 1, 2], "ward": ["a", "b", "a"], "cost": [1.5, 2.0, 9.0]})
    pq.write_table(rows, tmp_path / "visits.parquet")
    made: list[Any] = []

    def keep(engine: Any) -> Any:
        engine.name = request.param
        made.append(engine)
        return engine

    if request.param == "duckdb":
        yield lambda limits: keep(DuckDBEngine({"visits": tmp_path / "visits.parquet"}, limits=limits))
    elif request.param == "spark":
        session = request.getfixturevalue("spark")
        yield lambda limits: keep(SparkEngine(session, {"visits": tmp_path / "visits.parquet"}, limits=limits))
    else:
        server: Server = request.getfixturevalue("postgres")
        with server.database() as name:
            with psycopg.connect(server.dsn(name)) as connection:
                connection.execute("CREATE TABLE visits (who bigint, ward text, cost float8)")
                connection.execute("INSERT INTO visits VALUES (1, 'a', 1.5), (1, 'b', 2.0), (2, 'a', 9.0)")
            yield lambda limits: keep(PostgresEngine(server.dsn(name), {"visits": "visits"}, limits=limits))
            for engine in made:
                engine.close()
            made.clear()
    for engine in made:
        engine.close()


def answers(engine: Any) -> bool:
    table = opened(engine.run(question())).groups
    return dict(zip(table.keys[0], table.columns["cost"].tolist(), strict=True)) == {"a": 21, "b": 4}


def asked(engine: Any, watch: Watch | None, statement: str) -> None:
    """A statement in the place of a question."""
    if isinstance(engine, DuckDBEngine):
        engine._asked(watch, lambda instance: instance.fetch(statement))
    elif isinstance(engine, PostgresEngine):
        engine._asked(watch, lambda instance: instance.within(lambda fetch: fetch(statement)))
    else:
        engine._asked(watch, lambda instance: instance.within(lambda reader: reader.fetch(statement)))


@contextmanager
def working(engine: Any, watch: Watch) -> Iterator[list[BaseException]]:
    """A question that takes long, in a thread; how it ended."""
    ended: list[BaseException] = []

    def run() -> None:
        try:
            asked(engine, watch, LONG[engine.name])
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not watch.ran:
        sleep(0.001)
    sleep(0.3)  # it is on its way
    yield ended
    thread.join(60)
    assert not thread.is_alive()


def test_time_ends_a_question_and_the_next_is_answered(opening: Opening) -> None:
    engine, watch = opening(Limits(seconds=60)), Watch()
    watch.spent = 58.5
    with pytest.raises(EngineError) as caught:
        asked(engine, watch, LONG[engine.name])
    assert str(caught.value) == "the engine could not answer; the charge stands"
    assert caught.value.__context__ is None
    assert watch.spent > 59.9
    assert answers(engine)
    engine.ready()


def test_several_run_at_once_and_a_stop_is_of_one_alone(opening: Opening) -> None:
    engine = opening(Limits(at_once=3))
    assert answers(engine)
    one, two = Watch(owner="ana"), Watch(owner="ben")
    with working(engine, two) as bens:
        assert answers(engine)  # beside it
        with working(engine, one) as anas:
            one.stop()
        assert isinstance(anas[0], Stopped)
        assert answers(engine)
        assert bens == []
        two.stop()
    assert isinstance(bens[0], Stopped)
    assert answers(engine)


def test_whoever_waits_for_a_place_can_leave(opening: Opening) -> None:
    engine, one, two = opening(Limits(at_once=1)), Watch(), Watch()
    with working(engine, one):
        two.stop()
        with pytest.raises(Stopped):
            engine.run(question(), two)
        late = Watch()
        late.until = monotonic() + 0.2
        with pytest.raises(EngineError):
            engine.run(question(), late)
        one.stop()
    assert answers(engine)


def test_the_end_of_the_engine_ends_what_runs(opening: Opening) -> None:
    engine, watch = opening(Limits(at_once=2)), Watch()
    with working(engine, watch) as ended:
        engine.close()
    assert isinstance(ended[0], Stopped | EngineError)
    with pytest.raises(EngineError):
        engine.ready()


MANY = {
    "duckdb": "SELECT repeat('x', 100) || n AS big FROM range(3000000) t(n)",
    "postgres": "SELECT repeat('x', 100) || n AS big FROM generate_series(1, 3000000) t(n)",
}


def test_an_answer_larger_than_the_memory_of_a_question_fails(opening: Opening) -> None:
    engine = opening(Limits(memory=64 * MIB))
    if engine.name == "spark":
        pytest.skip("a session that was given has limits of its own")
    with pytest.raises(EngineError):
        asked(engine, None, MANY[engine.name])
    assert answers(engine)


def test_memory_and_disk_of_one_question_are_not_taken_from_another(tmp_path: Path) -> None:
    """DuckDB in this process: a question that runs out fails alone, and what it spilled is gone."""
    pq.write_table(pa.table({"who": [1], "ward": ["a"], "cost": [1.5]}), tmp_path / "visits.parquet")
    engine = DuckDBEngine(
        {"visits": tmp_path / "visits.parquet"}, limits=Limits(memory=48 * MIB, disk=16 * MIB, at_once=3), threads=1
    )
    hog = "SELECT COUNT(*) FROM (SELECT n, repeat('x', 200) || n AS t FROM range(3000000) r(n) ORDER BY t DESC, n) s"
    hog = hog.replace("COUNT(*)", "COUNT(DISTINCT t || n)")
    failed: list[str] = []

    def greedy() -> None:
        try:
            asked(engine, Watch(owner="ana"), hog)
        except EngineError:
            failed.append("failed")

    thread = threading.Thread(target=greedy)
    thread.start()
    try:
        while thread.is_alive():
            assert opened(engine.run(question())).groups.keys
    finally:
        thread.join()
    assert failed == ["failed"]
    assert opened(engine.run(question())).groups.keys
    engine.close()


def test_tables_in_memory_are_one_at_a_time_and_outlive_failures() -> None:
    rows = pa.table({"who": [1, 1, 2], "ward": ["a", "b", "a"], "cost": [1.5, 2.0, 9.0]})
    engine = DuckDBEngine({"visits": rows}, limits=Limits(at_once=4, seconds=0.5))
    assert engine.limits.at_once == 1
    before = engine.version(["visits"])
    with pytest.raises(EngineError):
        asked(engine, None, ENDLESS)
    assert answers(engine)
    assert engine.version(["visits"]) == before
    engine.close()


def test_spark_writes_no_values_into_its_log(tmp_path: Path, spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"who": [1], "ward": ["a"], "cost": [1.5]}), tmp_path / "visits.parquet")
    engine = SparkEngine(spark, {"visits": tmp_path / "visits.parquet"})
    with pytest.raises(EngineError):
        asked(engine, None, "SELECT CAST('secret-4711' AS INT) AS n FROM range(1) WHERE id < rand()")
    told = capfd.readouterr()
    assert "4711" not in told.out + told.err
    engine.close()
