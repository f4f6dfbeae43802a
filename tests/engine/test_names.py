"""What a curator does before analysts ask: names are compared, text is read, copies are deleted."""

from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from tacit.base import InputError, PolicyError, SourceError, TacitError
from tacit.engine import compare_names, forget_tables, import_tables, open_engine, read_schema
from tacit.policy import Policy, parse
from tacit.session import Session

__all__ = ["postgres"]

HEAD = """
[dataset]
name = "clinic"
{source}
ledger = "book.ledger"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[analysts.ana]
[tables.visits]
unit_column = "who"
clip_rows = 3
{more}
[tables.visits.columns.age]
type = "integer"
bounds = [0, 100]
[tables.visits.columns.name]
hidden = true
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_STATE", raising=False)


def declared(place: str, *, more: str = "", whole: bool = False) -> Policy:
    source = f'source = "{place}"'
    return parse(HEAD.format(source=source if whole else "", more=more + ("" if whole else f"\n{source}")))


def text(body: str = "who,age,name\np1,20,Smith\np2,x,Jones\n", name: str = "visits.csv") -> None:
    Path(name).write_text(body)


def test_names_of_every_kind_of_source() -> None:
    rows = pa.table({"who": ["a"], "age": [1], "name": ["Smith"]})
    pq.write_table(rows, "visits.parquet")
    text()
    with duckdb.connect("c.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'a' AS who, 1 AS age, 'Smith' AS name")
    for policy in (declared("visits.parquet"), declared("visits.csv"), declared("c.duckdb", whole=True)):
        assert compare_names(policy).problems == ()
        wrong = parse(policy.to_toml().replace("columns.age", "columns.aged"))
        (problem,) = compare_names(wrong).problems
        assert problem.startswith('table "visits", column "aged": the data has no such column; ')
        nobody = parse(policy.to_toml().replace('unit_column = "who"', 'unit_column = "whom"'))
        assert 'unit_column = "whom": the data has no such column' in compare_names(nobody).problems[0]
        assert "Smith" not in problem


@pytest.mark.parametrize(
    ("place", "whole", "message"),
    [
        ("none.parquet", False, '"none.parquet": there is no such file'),
        ("none.csv", False, '"none.csv": there is no such file'),
        ("none.duckdb", True, '"none.duckdb": there is no such file'),
        ("c.duckdb", True, '"c.duckdb": there is no table "visits" in it'),
        ("broken.parquet", False, '"broken.parquet": is not a Parquet file'),
        ("twice.csv", False, "cell 2 of it repeats a name"),
        ("folder", True, "has no visits.parquet and no .csv"),
    ],
)
def test_what_is_not_there_is_a_problem(place: str, whole: bool, message: str) -> None:
    with duckdb.connect("c.duckdb") as connection:
        connection.execute("CREATE TABLE other AS SELECT 1 AS x")
    Path("broken.parquet").write_bytes(b"Smith")
    Path("twice.csv").write_text("Smith,Smith\n")
    Path("folder").mkdir()
    (problem,) = compare_names(declared(place, whole=whole)).problems
    assert problem.startswith('table "visits": ')
    assert message in problem
    assert "Smith" not in problem


def test_types_are_compared_where_the_data_says_them() -> None:
    pq.write_table(pa.table({"who": ["a"], "age": ["Smith"], "name": ["x"]}), "visits.parquet")
    (problem,) = compare_names(declared("visits.parquet")).problems
    assert problem.endswith('it is declared as integer, and the data has VARCHAR: declare type = "text"')


def test_what_cannot_be_reached_from_here_is_a_remark() -> None:
    found = compare_names(declared("${NOT_SET}"))
    assert found.problems == ()
    assert "NOT_SET is not set" in found.remarks[0]
    text()
    (remark,) = compare_names(declared("visits.csv")).remarks
    assert "has not been read as it is now: `tacit data import tacit.toml`" in remark
    import_tables(declared("visits.csv"))
    assert compare_names(declared("visits.csv")).remarks == ()


def test_text_is_read_for_questions() -> None:
    text()
    policy = declared("visits.csv")
    with pytest.raises(SourceError, match=r"its curator runs `tacit data import tacit\.toml`"):
        open_engine(policy)
    told: list[float] = []
    assert import_tables(policy, progress=told.append) == {"visits": (1, 1)}
    assert told[-1] == 1.0
    assert import_tables(policy) == {"visits": (1, 0)}
    with Session(policy, "ana") as session:
        assert session.ask("SELECT COUNT(*) FROM visits", rho="0.1").table.num_rows == 1
        copies = list(Path("book.ledger.copies/copies").iterdir())
        assert pq.read_schema(copies[0]).names == ["age", "who"], "what is hidden is not copied"
        text("who,age,name\np1,20,Smith\np2,30,Jones\np3,40,Doe\n")
        with pytest.raises(SourceError, match="changed since"):
            session.ask("SELECT COUNT(*) FROM visits", rho="0.2")
        import_tables(policy)
        assert session.ask("SELECT COUNT(*) FROM visits", rho="0.2").table.num_rows == 1


def test_nothing_is_charged_for_data_that_has_to_be_read_first() -> None:
    text()
    policy = declared("visits.csv")
    import_tables(policy)
    with Session(policy, "ana") as session:
        before = session.left()
        text("who,age,name\np1,20,Smith\n")
        with pytest.raises(SourceError) as caught:
            session.ask("SELECT COUNT(*) FROM visits", rho="0.2")
        assert session.left() == before
        assert caught.value.__cause__ is caught.value.__context__ is None


def test_what_is_declared_of_the_text_is_used() -> None:
    text("p1;20;Smith\np2;NA;Jones\n")
    import_tables(declared("visits.csv", more='delimiter = ";"\nheader = ["who", "age", "name"]\nnull = ["NA"]'))
    with pytest.raises(PolicyError, match=r'table "visits": .*not 3 cells|repeats|there is no column'):
        import_tables(declared("visits.csv"))
    with pytest.raises(PolicyError, match='there is no table "x"'):
        import_tables(declared("visits.csv"), ["x"])


def test_a_folder_of_text() -> None:
    Path("visits").mkdir()
    for number in range(3):
        text(f"who,age,name\np{number},2,Smith\n", f"visits/{number}.csv")
    policy = declared("./visits")
    assert import_tables(policy) == {"visits": (3, 3)}
    open_engine(policy).close()
    text("who,age,name\np9,2,Smith\n", "visits/9.csv")
    with pytest.raises(SourceError, match="has not been read yet"):
        open_engine(policy)
    assert import_tables(policy) == {"visits": (4, 1)}
    text('who,age,name\np9,2,"Smith\n', "visits/9.csv")
    with pytest.raises(PolicyError, match=r'"9.csv" cannot be read as a table: line 2: a quote that is never closed'):
        import_tables(policy)


def test_copies_are_deleted() -> None:
    text()
    policy = declared("visits.csv")
    import_tables(policy)
    assert forget_tables(policy, unused=True) == 0
    assert forget_tables(policy, ["visits"]) == 1
    with pytest.raises(SourceError, match="has not been read yet"):
        open_engine(policy)
    import_tables(policy)
    assert forget_tables(policy) == 1


def test_a_duckdb_file_that_is_replaced_under_a_session() -> None:
    """The old answer was stored as that of the new data, and a new session got it, free."""

    def made(name: str, many: int) -> Path:
        with duckdb.connect(name) as connection:
            connection.execute(f"CREATE TABLE visits AS SELECT range AS who, 1 AS age, '' AS name FROM range({many})")
        return Path(name)

    made("c.duckdb", 1000)
    policy = declared("c.duckdb", whole=True)
    with Session(policy, "ana") as session:
        old = session.ask("SELECT COUNT(DISTINCT who) FROM visits", rho="0.2")
        made("new.duckdb", 9000).replace("c.duckdb")
        new = session.ask("SELECT COUNT(DISTINCT who) FROM visits", rho="0.2")
    with Session(policy, "ana") as other:
        again = other.ask("SELECT COUNT(DISTINCT who) FROM visits", rho="0.2")
    assert abs(old.value() - 1000) < 100
    assert abs(new.value() - 9000) < 100
    assert not new.cached
    assert again.cached
    assert again.value() == new.value()


SECRET = "hush-hush-4711"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    table = pa.table({"id": pa.array([1], pa.int64()), "note": [SECRET], "cost": pa.array([1.5])})
    pq.write_table(table, tmp_path / "visits.parquet")
    (tmp_path / "wards.csv").write_text(f'\ufeff"the ward",beds\n{SECRET},"12\n', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not data")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE visits (id BIGINT, cost DECIMAL(9,2), mood ENUM ('hush-hush-4711', 'b'))")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.visits (a DATE); CREATE TABLE old.labs (b BLOB)")
        connection.execute("INSERT INTO visits VALUES (1, 2, 'hush-hush-4711')")
    return tmp_path


def test_parquet(data: Path) -> None:
    schema = read_schema(data / "visits.parquet")
    assert schema.tables == {"visits": {"id": "int64", "note": "string", "cost": "double"}}
    assert schema.files == {"visits": str(data / "visits.parquet")}


def test_csv_has_names_and_no_types(data: Path) -> None:
    assert read_schema(data / "wards.csv").tables == {"wards": {"the ward": "", "beds": ""}}


def test_a_folder_is_a_table_for_each_file(data: Path) -> None:
    schema = read_schema(data)
    assert list(schema.tables) == ["visits", "wards"]
    assert SECRET not in repr(schema)


def test_duckdb(data: Path) -> None:
    schema = read_schema(data / "clinic.duckdb")
    assert schema.tables == {
        "visits": {"id": "BIGINT", "cost": "DECIMAL(9,2)", "mood": "enum"},
        "labs": {"b": "BLOB"},
        "old_visits": {"a": "DATE"},
    }
    assert schema.sources == {"labs": "old.labs", "old_visits": "old.visits"}
    assert SECRET not in repr(schema)


def test_values_are_not_read_even_where_they_are_broken(data: Path) -> None:
    """The rows of a Parquet file are overwritten: whoever reads them fails."""
    path = data / "visits.parquet"
    raw = path.read_bytes()
    path.write_bytes(raw[:4] + b"\0" * 60 + raw[64:])
    assert read_schema(path).tables["visits"]["id"] == "int64"


@pytest.mark.parametrize("name", ["no.parquet", "notes.txt", "bad.parquet", "bad.duckdb", "twice.csv", "empty.csv"])
def test_what_cannot_be_read(data: Path, name: str) -> None:
    (data / "bad.parquet").write_bytes(b"PAR1 nothing")
    (data / "bad.duckdb").write_bytes(b"nothing" * 999)
    (data / "twice.csv").write_text("a,a\n")
    (data / "empty.csv").write_text("")
    with pytest.raises(InputError, match=name):
        read_schema(data / name)


def test_urls(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only postgresql://"):
        read_schema("s3://bucket/x.parquet")
    with pytest.raises(InputError, match="no Parquet or CSV files"):
        read_schema(tmp_path)
    with pytest.raises(TacitError) as caught:
        read_schema(f"postgresql://ana:{SECRET}@127.0.0.1:1/x")
    assert str(caught.value).startswith("postgresql://localhost:1/x: cannot be reached")
    assert SECRET not in str(caught.value)


def test_postgres(postgres: Server) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection:
            connection.execute("CREATE TABLE visits (id bigint, cost numeric(9,2), at timestamptz, note text)")
            connection.execute("CREATE SCHEMA old; CREATE TABLE old.labs (b bytea)")
        schema = read_schema(postgres.url(name))
    assert schema.engine == "postgres"
    assert schema.sources == {"labs": "old.labs"}
    assert schema.tables["visits"] == {
        "id": "bigint", "cost": "numeric", "at": "timestamp with time zone", "note": "text"
    }  # fmt: skip
