"""DuckDB: every kind of source, a locked door, versions, and failures that say nothing."""

import logging
import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.seats import ENDLESS
from tacit.base import EngineError, Exact, InputError
from tacit.base.exact import opened
from tacit.engine import Limits, Stopped, Watch
from tacit.engine.duckdb import DuckDBEngine
from tacit.plan.bounded import Bounded, Clip, Key, Measure
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

WARD = Facts(type=Type.TEXT, domain=("a", "b"))
COST = Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(10))
ROWS = pa.table({"who": [1, 1, 2], "ward": ["a", "b", "a"], "cost": [1.5, 2.0, 99.0]})


def question(table: str = "visits") -> Bounded:
    columns = (
        Source(name="who", column="who", facts=Facts(type=Type.INTEGER)),
        Source(name="ward", column="ward", facts=WARD),
        Source(name="cost", column="cost", facts=COST),
    )
    return Bounded(
        source=Scan(table=table, columns=columns, is_private=True, unit_name="who"),
        keys=(Key(name="ward", expression=Column(name="ward", facts=WARD)),),
        measures=(Measure(name="cost", value=Column(name="cost", facts=COST), step=Fraction(1, 2), low=0, high=20),),
        clips=(Clip(names=("cost",), scales=(Fraction(1),), norm="l2", bound=Fraction(100)),),
    )


def answer(engine: DuckDBEngine) -> dict[Any, int]:
    try:
        table = opened(engine.run(question())).groups
        return dict(zip(table.keys[0], table.columns["cost"].tolist(), strict=True))
    finally:
        engine.close()


def sources(folder: Path) -> Iterator[tuple[str, Any]]:
    (folder / "many").mkdir()
    pq.write_table(ROWS, folder / "visits.parquet")
    pq.write_table(ROWS.slice(0, 1), folder / "many" / "1.parquet")
    pq.write_table(ROWS.slice(1), folder / "many" / "2.parquet")
    ROWS.to_pandas().to_csv(folder / "visits.csv", index=False)
    ROWS.to_pandas().to_csv(folder / "visits.tsv", index=False, sep="\t")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.register("arriving", ROWS)
        connection.execute("CREATE TABLE inside AS SELECT * FROM arriving")
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.deeper AS SELECT * FROM arriving")
    yield "parquet", folder / "visits.parquet"
    yield "parquet, by text", str(folder / "visits.parquet")
    yield "folder", folder / "many"
    yield "csv", folder / "visits.csv"
    yield "tsv", folder / "visits.tsv"
    yield "duckdb", (folder / "clinic.duckdb", "inside")
    yield "schema", (folder / "clinic.duckdb", "s.deeper")
    yield "arrow", ROWS
    yield "pandas", pd.DataFrame(ROWS.to_pydict())


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    for name, source in sources(tmp_path):
        assert answer(DuckDBEngine({"visits": source})) == {"a": 23, "b": 4}, name


def test_polars_too() -> None:
    polars = pytest.importorskip("polars")
    assert answer(DuckDBEngine({"visits": polars.DataFrame(ROWS.to_pydict())})) == {"a": 23, "b": 4}


def test_a_csv_field_that_is_no_number_is_null(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,ward,cost\n1,a,2\n1,a,much\n1,b,\n2,a,1e999\n3,a,3\n,a,5\n")
    assert answer(DuckDBEngine({"visits": path})) == {"a": 10, "b": 0}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDBEngine]:
    pq.write_table(ROWS, tmp_path / "visits.parquet")
    pq.write_table(ROWS, tmp_path / "other.parquet")
    opened_engine = DuckDBEngine({"visits": tmp_path / "visits.parquet"}, threads=1, limits=Limits(memory=200 << 20))
    yield opened_engine
    opened_engine.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_parquet('{folder}/other.parquet')",
        "SELECT * FROM '{folder}/other.parquet'",
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/new.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET threads = 4",
        "SET allowed_paths = ['{folder}/other.parquet']",
        "SELECT * FROM python_variable",
    ],
)
def test_the_door_is_locked(engine: DuckDBEngine, tmp_path: Path, statement: str) -> None:
    python_variable = ROWS  # noqa: F841 - must not be found
    with pytest.raises(duckdb.Error):
        engine._catalog.connection.execute(statement.format(folder=tmp_path))
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "new.duckdb").exists()


def test_files_of_a_database_are_only_read(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS who")
    engine = DuckDBEngine({"visits": (tmp_path / "clinic.duckdb", "visits")})
    with pytest.raises(duckdb.Error, match="read-only"):
        engine._catalog.connection.execute('INSERT INTO "file 0".main.visits VALUES (2)')
    engine.close()


def test_a_failure_says_nothing_and_leads_nowhere(
    engine: DuckDBEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "visits.parquet").write_bytes(b"secret 8675309")
    with caplog.at_level(logging.DEBUG), pytest.raises(EngineError) as caught:
        engine.run(question())
    error = caught.value
    assert str(error) == "the engine could not answer; the charge stands"
    assert error.__context__ is None
    assert error.__cause__ is None
    assert "secret" not in caplog.text
    for at in caught.traceback[1:]:  # the first frame is this one
        assert "8675309" not in repr(at.frame.f_locals.values())


def test_answers_come_closed(engine: DuckDBEngine) -> None:
    closed = engine.run(question())
    assert isinstance(closed, Exact)
    assert repr(closed) == "<Exact>"
    assert "23" not in repr(opened(closed)) + repr(opened(closed).groups)


def test_versions_change_with_files(engine: DuckDBEngine, tmp_path: Path) -> None:
    before = engine.version(["visits"])
    assert engine.version(["visits"]) == before
    state = (tmp_path / "visits.parquet").stat()
    os.utime(tmp_path / "visits.parquet", ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert engine.version(["visits"]) != before


def test_versions_of_tables_in_memory_are_new_with_each_engine() -> None:
    one, two = DuckDBEngine({"visits": ROWS}), DuckDBEngine({"visits": ROWS})
    assert one.version(["visits"]) == one.version(["visits"]) != two.version(["visits"])
    one.close()
    two.close()


def test_a_folder_with_another_file_is_another_version(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "1.parquet")
    engine = DuckDBEngine({"visits": tmp_path})
    before = engine.version(["visits"])
    pq.write_table(ROWS, tmp_path / "2.parquet")
    assert engine.version(["visits"]) != before
    engine.close()


def test_columns_are_named_with_their_types(engine: DuckDBEngine) -> None:
    assert engine.columns("visits") == {"who": "BIGINT", "ward": "VARCHAR", "cost": "DOUBLE"}
    with pytest.raises(InputError, match="no table"):
        engine.columns("nothing")


def test_what_cannot_be_opened_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"no")
    (tmp_path / "notes.txt").write_text("no")
    for source in (
        tmp_path / "none.parquet",
        tmp_path / "notes.txt",
        tmp_path / "bad.parquet",
        7,
        tmp_path / "x.duckdb",
    ):
        with pytest.raises(InputError):
            DuckDBEngine({"visits": source})
    with pytest.raises(InputError, match="two tables"):
        DuckDBEngine({"visits": ROWS, "Visits": ROWS})


def test_a_question_about_a_table_it_does_not_have_is_refused(engine: DuckDBEngine) -> None:
    with pytest.raises(InputError, match="was not given to this engine"):
        engine.run(question("elsewhere"))


def test_a_running_question_can_be_stopped_and_tells_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.engine.watch.PATIENCE", 0.01)
    told: list[float] = []
    engine = DuckDBEngine({"visits": ROWS}, threads=1)
    watch = Watch(progress=told.append)
    stop = threading.Timer(0.6, watch.stop)
    stop.start()
    with pytest.raises(Stopped):
        engine._asked(watch, lambda instance: instance.fetch(ENDLESS))
    stop.join()
    assert told
    assert all(0 <= share <= 1 for share in told)
    assert opened(engine.run(question())).groups.keys  # it still works
    engine.close()


def test_a_file_that_changes_under_a_question_fails_it(tmp_path: Path) -> None:
    """Rows are read more than once, and bounds hold only if they are the same; of other files nothing is asked."""
    mine, other = tmp_path / "visits.parquet", tmp_path / "other.parquet"
    pq.write_table(ROWS, mine)
    pq.write_table(ROWS, other)

    class Disturbed(DuckDBEngine):
        touched = other

        def _read(self, instance: Any, statement: str) -> Any:
            found = super()._read(instance, statement)
            pq.write_table(pa.concat_tables([ROWS, ROWS]), self.touched)
            return found

    engine = Disturbed({"visits": mine, "other": other})
    try:
        assert opened(engine.run(question())).groups.keys
        engine.touched = mine
        with pytest.raises(EngineError) as failure:
            engine.run(question())
        assert failure.value.__cause__ is failure.value.__context__ is None
    finally:
        engine.close()
