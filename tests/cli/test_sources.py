"""`tacit import` and `tacit forget`, and what `init` and `check` do with text."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import tacit
from tacit.base import PolicyError
from tacit.cli import app
from tacit.policy import load

BODY = "who,age,ward,paid,day\n" + "".join(
    f"p{i},{i % 90},{'east' if i % 2 else 'west'},{i / 8},2026-01-{1 + i % 28:02}\n" for i in range(200)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_STATE", raising=False)
    Path("visits.csv").write_text(BODY)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words])


def test_init_proposes_types_that_the_curator_confirms() -> None:
    result = run("init", "visits.csv", "--unit", "who")
    assert result.exit_code == 0, result.output
    assert "Confirm the types" in result.output
    text = Path("tacit.toml").read_text()
    assert text.count("# read from the file: confirm it") == 5
    columns = load("tacit.toml").tables["visits"].columns
    found = {name: str(column.type) for name, column in columns.items()}
    assert found == {"who": "text", "age": "integer", "ward": "text", "paid": "float", "day": "date"}
    assert all(column.bounds is None and column.keys is None for column in columns.values()), "types alone"
    assert "p7" not in text
    assert "west" not in text


def test_init_of_a_file_that_is_written_in_another_way() -> None:
    Path("visits.csv").write_bytes(BODY.replace(",", ";").replace("west", "süd").encode("windows-1252"))
    assert run("init", "visits.csv", "--delimiter", ";", "--encoding", "windows-1252").exit_code == 0
    table = load("tacit.toml").tables["visits"]
    assert (table.delimiter, str(table.encoding), len(table.columns)) == (";", "windows-1252", 5)
    assert run("import").exit_code == 0


def test_init_of_a_broken_file_names_lines() -> None:
    Path("visits.csv").write_text(BODY + "p,1\n")
    result = run("init", "visits.csv")
    assert "line 202: not 5 cells" in str(result.exception)
    assert not Path("tacit.toml").exists()


def test_import_check_and_forget() -> None:
    run("init", "visits.csv", "--unit", "who")
    assert "has not been read as it is now" in run("check").output
    assert run("import").output == "visits: 1 file, 1 read now\n"
    assert run("import").output == "visits: 1 file, as read before\n"
    assert json.loads(run("import", "--json").output) == {"visits": {"files": 1, "read": 0}}
    assert "has not been read" not in run("check").output
    assert run("forget", "--unused").output == "0 copies deleted.\n"
    assert run("forget", "tacit.toml", "--table", "visits").output == "1 copy deleted.\n"
    assert run("check", "--data").exit_code == 0
    assert json.loads(run("forget", "--json").output) == {"deleted": 1}


def test_what_is_wrong_is_said_to_the_curator() -> None:
    run("init", "visits.csv", "--unit", "who")
    Path("visits.csv").write_text(BODY + 'Smith,"1,x,1,2026-01-01\n')
    result = run("import")
    assert isinstance(result.exception, PolicyError)
    assert 'table "visits": "visits.csv" cannot be read as a table: line 202' in str(result.exception)
    checked = run("check", "--data")
    assert checked.exit_code == 1
    assert "line 202" in checked.output
    assert "Smith" not in checked.output + str(result.exception)


def test_check_looks_at_names() -> None:
    run("init", "visits.csv", "--unit", "who")
    Path("visits.csv").rename("other.csv")
    result = run("check")
    assert result.exit_code == 1
    assert 'table "visits": "visits.csv": there is no such file or folder' in result.output


def test_copies_of_a_file_without_a_policy() -> None:
    tacit.ask("visits.csv", "SELECT COUNT(*) FROM data", unit="who", epsilon=1)
    assert run("forget", "--data", "visits.csv").output == "1 copy deleted.\n"
    assert "exclude each other" in str(run("forget", "x.toml", "--data", "visits.csv").exception)


def test_keys_that_were_typed_are_of_the_column_s_type() -> None:
    Path("adult.csv").write_text("sex,income\n" + "0,<=50K\n1,>50K\n" * 300)
    asked = ("ask", "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", "--data", "adult.csv", "--unit", "each row")
    result = run(*asked, "--keys", "sex=0,1", "--epsilon", "1", "--json")
    assert result.exit_code == 0, result.exception
    assert [row[0] for row in json.loads(result.output)["rows"]][:2] == [0, 1]
