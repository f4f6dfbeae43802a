"""Policies that name no engine's data: what is said, and that nothing else is read in its place."""

from pathlib import Path

import duckdb
import pytest

from tacit.base import PolicyError
from tacit.engine import open_engine
from tacit.policy import Policy, parse

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
