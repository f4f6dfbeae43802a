"""`tacit init`, `tacit check`, `tacit data import` and `tacit data forget`."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import tacit
from support.policies import CLINIC
from tacit.base import InputError, PolicyError
from tacit.cli import app
from tacit.policy import load
from tacit.policy.reference import as_markdown

BODY = "who,age,ward,paid,day\n" + "".join(
    f"p{i},{i % 90},{'east' if i % 2 else 'west'},{i / 8},2026-01-{1 + i % 28:02}\n" for i in range(200)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"patient_id": [1], "cost": [2.5], "secret": ["hush-hush-4711"]})
    pq.write_table(table, tmp_path / "visits.parquet")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as clinic:
        clinic.execute("CREATE TABLE visits (patient_id BIGINT, cost DOUBLE, age INTEGER, ward VARCHAR, note VARCHAR)")
        clinic.execute("CREATE TABLE wards (ward VARCHAR, floor BIGINT)")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [*words])


def test_init_writes_a_policy_that_check_accepts(folder: Path) -> None:
    result = run("init", "visits.parquet", "--unit-column", "patient_id", "--name", "clinic")
    assert result.exit_code == 0
    assert "1 table, 3 columns, 3 to fill" in result.output
    assert "tacit check tacit.toml" in result.output
    policy = load("tacit.toml")
    assert policy.dataset.name == "clinic"
    assert policy.where("visits").file == str(folder / "visits.parquet")
    assert policy.table("visits").unit_column == "patient_id"
    assert "hush-hush-4711" not in Path("tacit.toml").read_text()
    checked = run("check")
    assert checked.exit_code == 0
    for part in ("this policy is valid", "nobody yet", "To fill", "SUM(cost)", "whether one person is in the data"):
        assert part in checked.output
    assert all(len(line) <= 80 for line in checked.output.splitlines())


def test_init_overwrites_nothing(folder: Path) -> None:
    Path("tacit.toml").write_text("mine")
    result = run("init", "visits.parquet")
    assert isinstance(result.exception, InputError)
    assert "tacit.toml exists already" in str(result.exception)
    assert Path("tacit.toml").read_text() == "mine"
    assert run("init", "visits.parquet", "--out", "other.toml").exit_code == 0
    assert isinstance(run("init", "visits.parquet", "--out", "nowhere/x.toml").exception, InputError)


def test_init_elsewhere_names_the_data_from_there(folder: Path) -> None:
    Path("policies").mkdir()
    assert run("init", "visits.parquet", "--out", "policies/p.toml").exit_code == 0
    assert load("policies/p.toml").where("visits").file == str(folder / "visits.parquet")


def test_init_with_a_unit_that_is_not_there() -> None:
    result = run("init", "visits.parquet", "--unit-column", "patient")
    assert 'did you mean "patient_id"?' in str(result.exception)
    assert not Path("tacit.toml").exists()


def test_check_shows_every_problem_and_exits_1() -> None:
    Path("bad.toml").write_text(CLINIC.replace("[0, 5000]", "[5000, 0]").replace("budget = 2.0", "budget = 0"))
    result = run("check", "bad.toml")
    assert result.exit_code == 1
    assert "bad.toml has 2 problems:" in result.output
    assert 'bad.toml: table "visits", column "cost": bounds = [5000, 0] are reversed' in result.output
    found = run("check", "bad.toml", "--json")
    assert found.exit_code == 1
    assert len(json.loads(found.output)["problems"]) == 2
    assert run("check").exit_code == 1, "no file is a problem too"


def test_check_says_what_the_budget_means() -> None:
    Path("tacit.toml").write_text(
        CLINIC.replace("delta = 1e-6", 'delta = 1e-6\nreset = "90 days"\nlifetime = 4\npopulation = 10')
        .replace("budget = 2.0", "budget = 0.5")
        .replace("delta = 1e-6", "delta = 0.2")
    )
    result = run("check")
    assert result.exit_code == 0, "a warning is a note"
    for part in ("rho 0.5 for everybody together, again every 90 days", "lifetime", "not below 1 divided", "ana, bob"):
        assert part in result.output
    found = json.loads(run("check", "--json").output)
    assert found["valid"] is True
    assert found["people"] == "patients of the clinic"
    assert found["to_fill"][0]["what"] == "bounds"


def test_epsilon_without_delta_is_stated_without() -> None:
    text = CLINIC.replace('"rho"', '"epsilon"').replace("delta = 1e-6", "")
    Path("tacit.toml").write_text(text + '[analysts."*"]\n')
    output = run("check").output
    assert "spent in full: ε = 2" in output
    assert "δ" not in output
    assert "ana, bob and anybody else" in output


def test_the_reference() -> None:
    assert run("check", "--reference").output == as_markdown()
    assert "--reference" not in run("check", "--help").output


# --- text files


@pytest.fixture
def visits_csv(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_STATE", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    (folder / "visits.csv").write_text(BODY)


def test_init_proposes_types_that_the_curator_confirms(visits_csv: None) -> None:
    result = run("init", "visits.csv", "--unit-column", "who")
    assert result.exit_code == 0, result.output
    assert "Confirm the types" in result.output
    text = Path("tacit.toml").read_text()
    assert text.count("# read from the file: confirm it") == 5
    columns = load("tacit.toml").tables["visits"].columns
    found = {name: str(column.type) for name, column in columns.items()}
    assert found == {"who": "text", "age": "integer", "ward": "text", "paid": "float", "day": "date"}
    assert all(column.bounds is None and column.group_keys is None for column in columns.values()), "types alone"
    assert "p7" not in text
    assert "west" not in text


def test_init_of_a_file_that_is_written_in_another_way(visits_csv: None) -> None:
    Path("visits.csv").write_bytes(BODY.replace(",", ";").replace("west", "süd").encode("windows-1252"))
    assert run("init", "visits.csv", "--delimiter", ";", "--encoding", "windows-1252").exit_code == 0
    table = load("tacit.toml").tables["visits"]
    assert (table.delimiter, str(table.encoding), len(table.columns)) == (";", "windows-1252", 5)
    assert run("data", "import").exit_code == 0


def test_init_of_a_broken_file_names_lines(visits_csv: None) -> None:
    Path("visits.csv").write_text(BODY + "p,1\n")
    result = run("init", "visits.csv")
    assert "line 202: not 5 cells" in str(result.exception)
    assert not Path("tacit.toml").exists()


def test_import_check_and_forget(visits_csv: None) -> None:
    run("init", "visits.csv", "--unit-column", "who")
    assert "has not been read as it is now" in run("check").output
    assert run("data", "import").output == "visits: 1 file, 1 read now\n"
    assert run("data", "import").output == "visits: 1 file, as read before\n"
    assert json.loads(run("data", "import", "--json").output) == {"visits": {"files": 1, "read": 0}}
    assert "has not been read" not in run("check").output
    assert run("data", "forget", "--unused").output == "0 copies deleted.\n"
    assert run("data", "forget", "tacit.toml", "--table", "visits").output == "1 copy deleted.\n"
    assert run("check", "--data").exit_code == 0
    assert json.loads(run("data", "forget", "--json").output) == {"deleted": 1}


def test_what_is_wrong_is_said_to_the_curator(visits_csv: None) -> None:
    run("init", "visits.csv", "--unit-column", "who")
    Path("visits.csv").write_text(BODY + 'Smith,"1,x,1,2026-01-01\n')
    result = run("data", "import")
    assert isinstance(result.exception, PolicyError)
    assert 'table "visits": "visits.csv" cannot be read as a table: line 202' in str(result.exception)
    checked = run("check", "--data")
    assert checked.exit_code == 1
    assert "line 202" in checked.output
    assert "Smith" not in checked.output + str(result.exception)


def test_check_looks_at_names(visits_csv: None) -> None:
    run("init", "visits.csv", "--unit-column", "who")
    Path("visits.csv").rename("other.csv")
    result = run("check")
    assert result.exit_code == 1
    assert 'table "visits": "visits.csv": there is no such file or folder' in result.output


def test_copies_of_a_file_without_a_policy(visits_csv: None) -> None:
    tacit.ask("visits.csv", "SELECT COUNT(*) FROM data", unit_column="who", epsilon=1)
    assert run("data", "forget", "--data", "visits.csv").output == "1 copy deleted.\n"
    assert "exclude each other" in str(run("data", "forget", "x.toml", "--data", "visits.csv").exception)


def test_keys_that_were_typed_are_of_the_column_s_type(visits_csv: None) -> None:
    Path("adult.csv").write_text("sex,income\n" + "0,<=50K\n1,>50K\n" * 300)
    asked = (
        "ask",
        "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex",
        "--data",
        "adult.csv",
        "--unit-column",
        "each row",
    )
    result = run(*asked, "--group-keys", "sex=0,1", "--epsilon", "1", "--json")
    assert result.exit_code == 0, result.exception
    assert [row[0] for row in json.loads(result.output)["rows"]][:2] == [0, 1]


def test_former_names_are_among_the_notes() -> None:
    run("init", "visits.parquet", "--unit-column", "patient_id")
    policy = Path("tacit.toml").read_text(encoding="utf-8")
    Path("tacit.toml").write_text(policy.replace("unit_column =", "unit ="), encoding="utf-8")
    assert "a policy: unit is now spelled unit_column" in " ".join(run("check").output.split())
