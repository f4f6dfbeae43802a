"""`tacit init` and `tacit check`."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from support.policies import CLINIC
from tacit.base import InputError
from tacit.cli import app
from tacit.policy import load
from tacit.policy.reference import as_markdown


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
    result = run("init", "visits.parquet", "--unit", "patient_id", "--name", "clinic")
    assert result.exit_code == 0
    assert "1 table, 3 columns, 3 to fill" in result.output
    assert "tacit check tacit.toml" in result.output
    policy = load("tacit.toml")
    assert policy.dataset.name == "clinic"
    assert policy.where("visits").file == str(folder / "visits.parquet")
    assert policy.table("visits").unit == "patient_id"
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
    result = run("init", "visits.parquet", "--unit", "patient")
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
