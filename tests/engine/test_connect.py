"""Policies that name no engine's data: what is said, and that nothing else is read in its place."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from tacit.base import PolicyError
from tacit.engine import compare_names, import_tables, open_engine
from tacit.policy import Policy, parse

__all__ = ["postgres"]

TEXT = """
[dataset]
name = "clinic"
{dataset}
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[tables.visits]
each_row_is_a_unit = true
{table}
[tables.visits.columns.age]
type = "integer"
"""


def policy(dataset: str, table: str = "") -> Policy:
    return parse(TEXT.format(dataset=dataset, table=table))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


MISTAKES = {
    "no source": (policy(""), 'table "visits" has no source'),
    "empty folder": (policy('source = "."'), "has no visits.parquet and no .csv"),
    "file for postgres": (
        policy('engine = "postgres"\nsource = "postgresql://h/d"', 'source = "visits.parquet"'),
        'table "visits": its source is a file, and engine = "postgres"',
    ),
    "postgres nowhere": (policy('engine = "postgres"'), "needs the address of the database"),
    "spark in a folder": (policy('engine = "spark"\nsource = "data"'), "is not where a Spark master is"),
    "text for spark": (policy('engine = "spark"', 'source = "visits.csv"'), "Spark reads Parquet"),
    "spark in an environment": (policy('engine = "spark"\nsource = "${NO_SUCH_NAME}"'), "NO_SUCH_NAME is not set"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_policy_that_names_no_data_says_what_to_write(mistake: str) -> None:
    declared, said = MISTAKES[mistake]
    with pytest.raises(PolicyError) as caught:
        open_engine(declared)
    assert said in str(caught.value)


def test_a_table_in_a_duckdb_file_and_files_in_a_folder(tmp_path: Path) -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.seen (age INTEGER)")
        connection.execute("COPY (SELECT 1 AS age) TO 'visits.parquet'")
    for declared in (policy('source = "clinic.duckdb"', 'source = "s.seen"'), policy('source = "."')):
        engine = open_engine(declared)
        assert engine.columns("visits") == {"age": "INTEGER"}
        engine.close()


def test_what_was_opened_is_closed_again_when_a_declaration_is_wrong(tmp_path: Path) -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (age VARCHAR)")
    with pytest.raises(PolicyError, match='column "age"'):
        open_engine(policy('source = "clinic.duckdb"'))
    with duckdb.connect("clinic.duckdb") as connection:  # for writing: nobody holds it
        connection.execute("DROP TABLE visits")


HEAD = """
[dataset]
name = "clinic"
engine = "{engine}"
source = "{source}"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[tables.visits]
unit_column = "who"
clip_rows = 3
"""


def declared(
    columns: dict[str, str], *, engine: str = "duckdb", source: str = "clinic.duckdb", more: str = ""
) -> Policy:
    lines = "".join(f'[tables.visits.columns.{name}]\ntype = "{kind}"\n' for name, kind in columns.items())
    return parse(HEAD.format(engine=engine, source=source) + lines + more)


def problems(policy: Policy) -> tuple[str, ...]:
    try:
        open_engine(policy).close()
    except PolicyError as error:
        return tuple(map(str, error.problems))
    return ()


IN_DUCKDB = {
    "SMALLINT": "integer", "UBIGINT": "integer", "HUGEINT": "integer", "DECIMAL(10,2)": "decimal", "FLOAT": "float",
    "DOUBLE": "float", "BOOLEAN": "boolean", "VARCHAR": "text", "UUID": "text", "ENUM('a', 'b')": "text",
    "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_NS": "timestamp",
    "TIMESTAMPTZ": "timestamp",
}  # fmt: skip
IN_POSTGRES = {
    "smallint": "integer", "bigint": "integer", "numeric(10,2)": "decimal", "numeric": "decimal", "real": "float",
    "double precision": "float", "boolean": "boolean", "varchar(20)": "text", "char(4)": "text", "text": "text",
    "uuid": "text", "name": "text", "date": "date", "timestamp(3)": "timestamp", "timestamptz": "timestamp",
}  # fmt: skip
FITTING = {"integer": {"integer", "decimal", "float"}, "decimal": {"decimal", "float"}, "float": {"decimal", "float"},
           "timestamp": {"timestamp", "date"}}  # fmt: skip
NEVER_DUCKDB = (
    "BLOB",
    "INTERVAL",
    "TIME",
    "DATE[]",
    "TIMESTAMP[2]",
    "INTEGER[]",
    "STRUCT(a INTEGER)",
    "MAP(INTEGER, DATE)",
)
NEVER_POSTGRES = (
    "bytea",
    "interval",
    "time",
    "date[]",
    "timestamp[]",
    "numeric(4,2)[]",
    "json",
    "inet",
    "mood",
    "money",
)


def check_every_type(stored: dict[str, str], policy_of: dict[str, str]) -> None:
    """`stored` names a column for each type; `policy_of` opens it."""
    for kind in ("integer", "decimal", "float", "boolean", "text", "date", "timestamp"):
        found = problems(declared(dict.fromkeys(stored, kind), **policy_of))
        refused = {name for name in stored if any(f'column "{name}"' in problem for problem in found)}
        assert refused == {n for n, is_a in stored.items() if kind not in FITTING.get(is_a, {is_a})}, (kind, found)


def test_types_of_duckdb() -> None:
    names = {f"c{i}": kind for i, kind in enumerate(IN_DUCKDB)}
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE visits (who BIGINT, {', '.join(f'{n} {k}' for n, k in names.items())})")
    check_every_type({name: IN_DUCKDB[kind] for name, kind in names.items()}, {})


@pytest.mark.parametrize("kind", NEVER_DUCKDB)
def test_what_duckdb_stores_and_nobody_can_ask(kind: str) -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE visits (who BIGINT, odd {kind})")
    for declared_as in ("integer", "text", "date", "timestamp"):
        (problem,) = problems(declared({"odd": declared_as}))
        assert 'table "visits", column "odd"' in problem
        assert "hidden = true" in problem
    assert problems(declared({"odd": "date"}, more="hidden = true\n")) == ()


@pytest.fixture
def clinic(postgres: Server) -> Iterator[tuple[str, "psycopg.Connection[tuple[object, ...]]"]]:
    with postgres.database() as name, psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        yield postgres.url(name), connection


def test_types_of_postgres(clinic: tuple[str, "psycopg.Connection[tuple[object, ...]]"]) -> None:
    url, connection = clinic
    names = {f"c{i}": kind for i, kind in enumerate(IN_POSTGRES)}
    columns = ", ".join(f"{name} {kind}" for name, kind in names.items())
    connection.execute(f"CREATE TABLE visits (who bigint, {columns})".encode())
    check_every_type({name: IN_POSTGRES[kind] for name, kind in names.items()}, {"engine": "postgres", "source": url})


def test_what_postgres_stores_and_nobody_can_ask(clinic: tuple[str, "psycopg.Connection[tuple[object, ...]]"]) -> None:
    url, connection = clinic
    connection.execute("CREATE TYPE mood AS ENUM ('a')")
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(NEVER_POSTGRES))
    connection.execute(f"CREATE TABLE visits (who bigint, {columns})".encode())
    for declared_as in ("decimal", "text", "date", "timestamp"):
        found = problems(
            declared({f"c{i}": declared_as for i in range(len(NEVER_POSTGRES))}, engine="postgres", source=url)
        )
        assert len(found) == len(NEVER_POSTGRES)
        assert all("hidden = true" in problem for problem in found)


def test_a_table_that_is_not_there_is_named(clinic: tuple[str, "psycopg.Connection[tuple[object, ...]]"]) -> None:
    url, _ = clinic
    (problem,) = problems(declared({"age": "integer"}, engine="postgres", source=url))
    assert problem.startswith('table "visits": cannot be found in the data')


def test_every_mistake_is_named_at_once() -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (whom BIGINT, Cost DOUBLE, note VARCHAR, age INTEGER)")
    found = problems(declared({"cost": "decimal", "note": "integer", "xyz": "text", "age": "integer"}))
    assert found == (
        'table "visits", column "cost": the data has no such column; did you mean "Cost"?',
        'table "visits", column "note": it is declared as integer, and the data has VARCHAR: declare type = "text"',
        'table "visits", column "xyz": the data has no such column; it has "Cost", "age", "note", "whom"',
        'table "visits": unit_column = "who": the data has no such column; did you mean "whom"?',
    )


GOOD = ("BLOB", "UUID", "UTINYINT", "UHUGEINT", "DECIMAL(38,38)", "ENUM('a')", "DATE", "TIMESTAMP_S", "TIMESTAMPTZ")
BAD = ("JSON", "INTEGER[]", "INTERVAL", "TIME", "BIT", "TIMESTAMP_NS", "STRUCT(a INTEGER)")


@pytest.mark.parametrize("kind", [*GOOD, *BAD, "DOUBLE", "FLOAT"])
def test_what_may_name_people(kind: str) -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE visits (who {kind}, age INTEGER)")
    found = problems(declared({"age": "integer"}))
    if kind in GOOD:
        assert found == ()
    else:
        assert len(found) == 1
        cause = "cannot name people" if kind in BAD else "two people can have the same number"
        assert f'table "visits": unit_column = "who": is stored as {kind}' in found[0]
        assert cause in found[0]


@pytest.mark.parametrize("kind", ["real", "double precision", "numeric", "oid", "citext", "interval", "integer[]"])
def test_what_may_name_people_in_postgres(
    clinic: tuple[str, "psycopg.Connection[tuple[object, ...]]"], kind: str
) -> None:
    url, connection = clinic
    connection.execute(b"CREATE DOMAIN citext AS text")
    connection.execute(f"CREATE TABLE visits (who {kind}, age integer)".encode())
    assert len(problems(declared({"age": "integer"}, engine="postgres", source=url))) == (kind != "numeric")


def test_a_declared_unit_is_of_a_type_that_holds_what_is_stored() -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (who DECIMAL(20,0), age INTEGER)")
    assert problems(declared({"who": "integer"})) == ()
    assert problems(declared({"who": "decimal"})) == ()
    (problem,) = problems(declared({"who": "date"}))
    assert 'declare type = "decimal"' in problem


BILLS = """
[tables.bills]
unit_column = "payer"
clip_rows = 3
"""


def test_units_of_two_tables_are_of_one_kind() -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (who BIGINT, age INTEGER)")
        connection.execute("CREATE TABLE bills (payer VARCHAR, amount INTEGER)")
    assert problems(declared({"age": "integer"}, more=BILLS)) == (
        'table "bills": its unit is compared as text, and that of table "visits" as integer: declare one type for the '
        "unit's column in both",
    )
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("ALTER TABLE bills ALTER payer TYPE DECIMAL(30,0)")
    assert problems(declared({"age": "integer"}, more=BILLS)) == ()


def test_a_hidden_unit_says_its_type_too() -> None:
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (who BIGINT, age INTEGER)")
        connection.execute("CREATE TABLE bills (payer DECIMAL(20,2), amount INTEGER)")
    hidden = '[tables.{}.columns.{}]\ntype = "decimal"\nhidden = true\n'
    more = hidden.format("visits", "who") + BILLS + hidden.format("bills", "payer")
    assert len(problems(declared({"age": "integer"}, more=BILLS))) == 1
    assert problems(declared({"age": "integer"}, more=more)) == ()


def test_parquet_that_stores_words_by_number_is_text() -> None:
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    pq.write_table(pa.table({"who": [1, 2, 3], "word": words}), "visits.parquet")
    assert problems(declared({"word": "text"}, source="visits.parquet")) == ()


def test_in_text_files_everything_is_text_and_cast(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "visits").mkdir(parents=True)
    (folder / "visits" / "1.csv").write_text("who,age\n1,2\n")
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "visits.tsv").write_text("who\tage\n1\t2\n")
    (tmp_path / "visits.csv").write_text("who,age\n1,2\n")
    for source in ("visits.csv", "flat", "folder"):
        policy = declared({"age": "integer"}, source=source)
        assert import_tables(policy) == {"visits": (1, 1)}
        assert problems(policy) == ()
        wrong = declared({"ages": "integer"}, source=source)
        with pytest.raises(PolicyError, match='"visits": there is no column "ages" among the 2') as caught:
            import_tables(wrong)
        assert '"age"' not in str(caught.value), "the first line may be a person's"
        (found,) = compare_names(wrong).problems
        assert found.startswith('table "visits", column "ages": the data has no such column; the first line')
