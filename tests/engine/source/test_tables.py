"""Tables in DuckDB: paths are names, folders fit together, and a version is of what was read."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.broken import broken
from tacit.base import InputError, SourceError
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.source.copies import Copies
from tacit.engine.source.listing import listed
from tacit.engine.source.tables import FileSource
from tacit.policy import Column, ColumnType, Table

TABLE = Table(unit_column="pid", columns={"x": Column(type=ColumnType.INTEGER)})
engines: list[DuckDBEngine] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while engines:
        engines.pop().close()


def declared(path: Path, table: Table = TABLE) -> FileSource:
    return FileSource(path=path, table=table, copies=Copies(path.parent / "state"))


def opened(source: Any) -> DuckDBEngine:
    engines.append(DuckDBEngine({"t": source}, threads=1))
    return engines[-1]


def rows(engine: DuckDBEngine, columns: str = "*") -> list[tuple[Any, ...]]:
    """What a question would read: after the version, as a question does."""
    engine.version(["t"])
    found: list[tuple[Any, ...]] = engine._catalog.connection.execute(
        f"SELECT {columns} FROM memory.main.t ORDER BY ALL"
    ).fetchall()
    return found


def write(path: Path, *pids: Any, **more: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"pid": list(pids), **more}), path)
    return path


@pytest.mark.parametrize("name", ["[12]", "a*b", "a?b", "{a,b}", "pid=all", "it's", "%20", "a b", "x#y", "é", "~"])
def test_a_path_is_a_name(tmp_path: Path, name: str) -> None:
    for other in ("1", "2", "aXb", "a", "b"):
        write(tmp_path / f"{other}.parquet", 666)
        write(tmp_path / other / "v.parquet", 666)
    assert rows(opened(write(tmp_path / f"{name}.parquet", 1, 2))) == [(1,), (2,)]
    assert rows(opened(write(tmp_path / name / "v.parquet", 3))) == [(3,)]
    assert rows(opened(tmp_path / name)) == [(3,)]
    text = tmp_path / f"{name}.csv"
    text.write_text("pid\n7\n")
    assert rows(opened(text)) == [("7",)]
    with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 8 AS pid")
    assert rows(opened((tmp_path / f"{name}.duckdb", "t"))) == [(8,)]


def test_a_path_that_duckdb_would_not_read_is_refused_before_anybody_pays(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="odd characters in its path"):
        opened(write(tmp_path / "a\\b.parquet", 1))


def test_a_folder_s_name_is_no_column(tmp_path: Path) -> None:
    """One hive-like name on the way made a hundred people one unit."""
    write(tmp_path / "year=2026" / "pid=all" / "v.parquet", *range(100))
    assert rows(opened(tmp_path / "year=2026" / "pid=all")) == [(i,) for i in range(100)]
    with pytest.raises(SourceError, match='has the folder "pid=all" in it'):
        opened(tmp_path / "year=2026")


def test_what_counts_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "f" / "b.parquet", 2)
    write(tmp_path / "f" / "a.PARQUET", 1)
    for name in ("_SUCCESS", ".c.parquet", "_metadata.parquet", ".hidden", "README.md"):
        (tmp_path / "f" / name).write_bytes(b"nothing")
    assert rows(opened(tmp_path / "f")) == [(1,), (2,)]
    (tmp_path / "f" / "x.csv").write_text("pid\n3\n")
    with pytest.raises(SourceError, match="files of two kinds"):
        opened(tmp_path / "f")
    (tmp_path / "e").mkdir()
    with pytest.raises(SourceError, match="no Parquet or CSV files"):
        opened(tmp_path / "e")


def test_files_of_a_folder_fit_the_declaration(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    write(folder / "a.parquet", 1, x=[1], extra=["z"])
    write(folder / "b.parquet", 2, x=[2], other=[0.5])
    assert rows(opened(declared(folder))) == [(1, 1), (2, 2)], "undeclared columns may differ"
    write(folder / "c.parquet", 3)
    with pytest.raises(SourceError, match=r'"c.parquet": column "x" is not there'):
        opened(declared(folder))
    write(folder / "c.parquet", 3, x=["Smith"])
    with pytest.raises(SourceError, match=r'"c.parquet": column "x" is stored in another way') as caught:
        opened(declared(folder))
    assert "Smith" not in str(caught.value)
    with pytest.raises(SourceError, match=r'"b.parquet": column "extra" is not there'):
        opened(folder)  # nothing is declared, so all of it has to fit


def test_a_replaced_parquet_file(tmp_path: Path) -> None:
    path = write(tmp_path / "v.parquet", *range(5))
    engine = opened(path)
    before = engine.version(["t"])
    assert len(rows(engine)) == 5
    write(tmp_path / "new.parquet", *range(7)).replace(path)
    assert engine.version(["t"]) != before
    assert len(rows(engine)) == 7
    second = engine.version(["t"])
    shutil.copy(write(tmp_path / "new.parquet", *range(9)), path)  # in place
    assert engine.version(["t"]) not in (before, second)
    assert len(rows(engine)) == 9
    path.unlink()
    with pytest.raises(SourceError, match="no such file"):
        engine.version(["t"])


def test_files_that_come_and_go_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "f" / "a.parquet", 1)
    engine = opened(tmp_path / "f")
    seen = [engine.version(["t"])]
    write(tmp_path / "f" / "b.parquet", 2)
    seen.append(engine.version(["t"]))
    assert rows(engine) == [(1,), (2,)]
    (tmp_path / "f" / "a.parquet").unlink()
    seen.append(engine.version(["t"]))
    assert rows(engine) == [(2,)]
    assert len(set(seen)) == 3
    write(tmp_path / "f" / "c.parquet", "Smith")
    with pytest.raises(SourceError, match=r'"c.parquet": column "pid" is stored in another way') as caught:
        engine.version(["t"])
    assert "Smith" not in str(caught.value)
    (tmp_path / "f" / "c.parquet").unlink()
    assert rows(engine) == [(2,)]


def database(path: Path, many: int) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT range AS pid FROM range({many})")
        connection.execute(f"CREATE TABLE u AS SELECT range AS pid FROM range({many})")
    return path


@pytest.mark.parametrize("way", ["renamed", "in place", "removed first"])
def test_a_replaced_duckdb_file(tmp_path: Path, way: str) -> None:
    """An attached file is held by its inode: the old data was answered under the new version."""
    path, new = database(tmp_path / "c.duckdb", 5), database(tmp_path / "new.duckdb", 8)
    engine = DuckDBEngine({"t": (path, "t"), "u": (path, "u")}, threads=1)
    engines.append(engine)
    before = engine.version(["t"])
    assert len(rows(engine)) == 5
    if way == "in place":
        path.write_bytes(new.read_bytes())
    else:
        if way == "removed first":
            path.unlink()
            with pytest.raises(SourceError, match="no such DuckDB file"):
                engine.version(["t"])
        new.replace(path)
    after = engine.version(["t"])
    assert after != before
    assert len(rows(engine)) == 8
    engine.version(["u"])
    assert engine._catalog.connection.execute("SELECT count(*) FROM memory.main.u").fetchall() == [(8,)]
    assert engine.version(["t"]) == after


def test_changes_that_are_still_in_the_log_of_a_duckdb_file(tmp_path: Path) -> None:
    path = database(tmp_path / "c.duckdb", 5)
    engine = opened((path, "t"))
    before = engine.version(["t"])
    other = tmp_path / "other.duckdb"
    shutil.copy(path, other)
    connection = duckdb.connect(str(other))
    connection.execute("SET checkpoint_threshold = '1GB'")
    connection.execute("INSERT INTO t VALUES (99)")
    shutil.copy(f"{other}.wal", f"{path}.wal")
    connection.close()
    assert engine.version(["t"]) != before
    assert len(rows(engine)) == 6


def test_a_link_that_leads_elsewhere_now(tmp_path: Path) -> None:
    one, two, link = write(tmp_path / "1.parquet", 1), write(tmp_path / "2.parquet", 2), tmp_path / "now.parquet"
    link.symlink_to(one)
    engine = opened(link)
    assert rows(engine) == [(1,)]
    link.unlink()
    link.symlink_to(two)
    with pytest.raises(SourceError, match="at another place now: open a new session"):
        engine.version(["t"])
    assert rows(opened(link)) == [(2,)]


def test_text_is_not_read_until_its_curator_has_had_it_read(tmp_path: Path) -> None:
    path, copies = tmp_path / "v.csv", Copies(tmp_path / "state")
    path.write_text("pid,x\na,1\nb,2.5\nc,3.0\n")
    source = FileSource(path=path, table=TABLE, copies=copies, remedy="tacit data import x.toml")
    for _ in range(2):
        with pytest.raises(SourceError, match=r"has not been read yet.* `tacit data import x.toml`"):
            opened(source)
        assert not copies.folder.exists()
    source.reading(listed(path)).read([path], copies)
    engine = opened(source)
    before = engine.version(["t"])
    assert rows(engine, "pid, x") == [("a", 1), ("b", None), ("c", 3)]
    path.write_text("pid,x\na,1\nSmith,2\n")
    with pytest.raises(SourceError, match="changed since") as caught:
        engine.version(["t"])
    assert "Smith" not in str(caught.value)
    source.reading(listed(path)).read([path], copies)
    assert engine.version(["t"]) != before
    assert rows(engine, "pid") == [("Smith",), ("a",)]
    path.write_text("pid,x\na,1\nb,2.5\nc,3.0\n")
    source.reading(listed(path)).read([path], copies)
    assert engine.version(["t"]) == before, "the same content, read in the same way"


def test_the_owner_s_own_file_is_read_again_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("pid\na\n")
    engine = opened(path)
    assert rows(engine) == [("a",)]
    path.write_text("pid\nb\nc\n")
    assert rows(engine) == [("b",), ("c",)]
    path.write_text("pid\nb\nSmith,c\n")
    with pytest.raises(SourceError, match="line 3"):
        engine.version(["t"])


def test_keys_for_text_are_refused_for_parquet(tmp_path: Path) -> None:
    table = Table(unit_column="pid", delimiter=";")
    with pytest.raises(InputError, match="delimiter is for CSV and TSV files"):
        opened(declared(write(tmp_path / "v.parquet", 1), table))


def bad_times() -> pa.Array:
    return pa.array([0, 9_300_000_000_000_000, 86_400_000, None], pa.timestamp("ms"))


@pytest.mark.parametrize("many", [False, True])
def test_what_duckdb_cannot_hold_is_null_and_fails_nothing(tmp_path: Path, many: bool) -> None:
    text = broken([b"a", b"\xffSmith", "é".encode(), None])
    place = tmp_path / "f" if many else tmp_path / "f" / "0.parquet"
    write(tmp_path / "f" / "0.parquet", 1, 2, 3, 4, word=text, seen=bad_times())
    expected = [(1, "a", 0), (2, None, None), (3, "é", 86400), (4, None, None)]
    if many:
        write(tmp_path / "f" / "1.parquet", 5, word=["ok"], seen=pa.array([0], pa.timestamp("ms")))
        expected.append((5, "ok", 0))
    copies = Copies(tmp_path / "state")
    table = Table(unit_column="pid", columns={name: Column(type=ColumnType.TEXT) for name in ("word", "seen")})
    engine = opened(FileSource(path=place, table=table, copies=copies))
    assert rows(engine, "pid, word, epoch(seen)::BIGINT") == expected
    assert rows(engine, "count(*)") == [(len(expected),)]
    assert list(copies.files.glob("*.parquet"))
    again = opened(FileSource(path=place, table=table, copies=copies))
    assert rows(again, "pid, word, epoch(seen)::BIGINT") == expected
    assert again.version(["t"]) == engine.version(["t"])


def test_a_copy_is_only_made_where_it_is_needed(tmp_path: Path) -> None:
    copies = Copies(tmp_path / "state")
    write(tmp_path / "v.parquet", 1, 2, x=[1, 2], note=broken([b"\xff", b"ok"]))
    engine = opened(FileSource(path=tmp_path / "v.parquet", table=TABLE, copies=copies))
    assert rows(engine, "pid, x") == [(1, 1), (2, 2)]
    assert not copies.folder.exists(), "the note is not declared, so nobody can ask about it"


def test_units_that_are_not_utf_8_are_nobody_s_and_not_one_person(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"pid": broken([b"\xff", b"\xfe", b"a"])}), path)
    assert rows(opened(path)) == [("a",), (None,), (None,)]


def test_a_file_cut_short_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    path = write(tmp_path / "v.parquet", *[f"Smith {i}" for i in range(5000)])
    raw = path.read_bytes()
    path.write_bytes(raw[:200] + bytes(400) + raw[600:])
    with pytest.raises(SourceError, match=r'"v.parquet"') as caught:
        opened(path)
    assert "Smith" not in str(caught.value)
