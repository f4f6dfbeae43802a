"""`tacit ask` and `tacit quote`."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from support.hospital import hospital
from tacit.base import Denied, InputError, OverBudget, Refused, TacitError
from tacit.cli import app

BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    hospital(tmp_path)
    return tmp_path


def run(*words: str, typed: str | None = None) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [*words], input=typed)


def shown(*words: str, typed: str | None = None) -> str:
    result = run(*words, typed=typed)
    assert result.exit_code == 0, result.exception
    return result.output


def test_ask_shows_a_table_what_it_cost_and_what_is_left() -> None:
    text = shown("ask", BY_WARD, "--rho", "0.5")
    assert " ± " in text
    assert "cost rho 0.5; rho 39.5" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    again = shown("ask", BY_WARD, "--rho", "0.5", "--policy", "tacit.toml", "--analyst", "ana")
    assert "answered before: free; rho 39.5" in again


def test_a_dataset_in_mu_squared_from_question_to_certificate(folder: Path) -> None:
    (folder / "other").mkdir()
    policy = str(hospital(folder / "other", currency="mu_squared"))
    text = shown("ask", BY_WARD, "--mu-squared", "0.5", "--policy", policy, "--certificate", "c.json")
    assert "cost mu_squared 0.5; mu_squared 39.5" in text
    assert "answered before: free" in shown("ask", BY_WARD, "--mu-squared", "0.5", "--policy", policy)
    assert "costs mu_squared " in shown("quote", BY_WARD, "--epsilon", "1", "--policy", policy)
    refused = run("ask", BY_WARD, "--rho", "0.5", "--policy", policy)
    assert isinstance(refused.exception, Refused)
    (account,) = json.loads(shown("budget", "--policy", policy, "--json"))["accounts"]
    whole = account["holders"][0]
    assert account["currency"] == "mu_squared"
    assert float(whole["spent"]["mu_squared"]) == pytest.approx(0.5)
    assert 0 < whole["spent_ever_epsilon"]["epsilon"] < whole["limit_epsilon"]
    told = json.loads((folder / "c.json").read_text())["certificate"]["guarantee"]
    assert (told["variant"], told["epsilon"], told["rho"]) == ("Gaussian differential privacy", None, None)
    assert "μ² = 0.49999" in told["words"]
    assert "worked out again, the program costs no more than the mu_squared" in shown("verify", "c.json")
    assert "mu_squared 50 for everybody together" in shown("check", policy)


def test_quote_is_free() -> None:
    text = shown("quote", "SELECT COUNT(*) AS n FROM visits", "--error", "50")
    assert "± 50" in text
    assert "would be left" in text
    data = json.loads(shown("quote", "-", "--rho", "1", "--json", typed="SELECT COUNT(*) AS n FROM visits"))
    assert data["enough"]
    assert "rho 39, " in shown("ask", BY_WARD, "--rho", "1")


def test_json_files_and_a_picture(folder: Path) -> None:
    data = json.loads(shown("ask", BY_WARD, "--rho", "1", "--json", "--csv", "x.csv", "--parquet", "x.parquet"))
    assert data["columns"] == ["ward", "n", "c"]
    assert data["left"]["rho"].startswith("39")
    assert data["cached"] is False
    assert pq.read_table("x.parquet").column_names == [
        "ward",
        *(f"{name}{more}" for name in ("n", "c") for more in ("", "_low", "_high", "_covers")),
    ]
    assert (folder / "x.csv").read_text().count("\n") == 5
    assert "The picture is in x.png" in shown("ask", BY_WARD, "--rho", "1", "--plot", "x.png")
    assert (folder / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_certificate_that_verifies(folder: Path) -> None:
    shown("ledger", "key", "new", "issuer.key")
    shown("ask", BY_WARD, "--rho", "1", "--certificate", "c.json", "--signing-key", "issuer.key", "--csv", "x.csv")
    assert "✓  signature" in shown("verify", "c.json", "--public-key", "issuer.key.pub", "--answer", "x.csv")
    shown("ask", BY_WARD, "--rho", "1", "--certificate", "c.html")
    assert "<html" in (folder / "c.html").read_text()
    for words in (("--certificate", "c.txt"), ("--certificate", "no/c.json"), ("--signing-key", "issuer.key")):
        result = run("ask", "SELECT COUNT(*) AS m FROM visits", "--rho", "1", *words)
        assert isinstance(result.exception, InputError)
    assert "rho 38, " in shown("ask", "SELECT COUNT(*) AS m FROM visits", "--rho", "1")


def test_one_file_without_a_policy() -> None:
    known = [
        "--data",
        "visits.parquet",
        "--unit-column",
        "patient_id",
        "--bounds",
        "cost=0:1000",
        "--group-keys",
        "ward=a,b,c",
    ]
    text = shown("ask", BY_WARD, *known, "--epsilon", "4")
    assert "cost epsilon 4" in text
    assert "epsilon 6" in text
    days = ["--bounds", "day=2024-01-01:2024-03-31", "--clip-rows", "10", "--budget", "20"]
    by_month = "SELECT EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits GROUP BY 1"
    assert "epsilon 15" in shown("ask", by_month, *known, *days, "--epsilon", "1")
    assert "would be left" in shown("quote", by_month, *known, *days, "--epsilon", "1")


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ([BY_WARD], Refused, "say how much to spend"),
        ([BY_WARD, "--epsilon", "1", "--rho", "1"], InputError, "not epsilon and rho"),
        ([BY_WARD, "--rho", "much"], InputError, "rho"),
        ([BY_WARD, "--rho", "1", "--confidence", "95"], InputError, "between 0 and 1"),
        ([BY_WARD, "--rho", "41"], Denied, "at most 40"),
        ([BY_WARD, "--rho", "1", "--analyst", "eve"], Denied, "not in the policy"),
        ([BY_WARD, "--rho", "1", "--policy", "other.toml"], TacitError, "no such file"),
        ([BY_WARD, "--rho", "1", "--unit-column", "patient_id"], InputError, "--unit-column goes with --data"),
        ([BY_WARD, "--rho", "1", "--data", "visits.parquet"], InputError, "--data needs --unit"),
        ([BY_WARD, "--rho", "1", "--data", "visits.parquet", "--policy", "x"], InputError, "exclude each other"),
        ([BY_WARD, "--rho", "1", "--data", "v.parquet", "--unit-column", "x"], InputError, "no such file"),
        ([BY_WARD, "--rho", "1", "--csv", "nowhere/x.csv"], InputError, "no folder"),
        ([BY_WARD, "--rho", "1", "--plot", "x.gif"], InputError, "must end in"),
        (["SELECT cost FROM visits", "--rho", "1"], Refused, "without an aggregate"),
        (["SELECT COUNT(*) FROM visit", "--rho", "1"], TacitError, "visits"),
        (["SELECT AVG(costs) FROM visits", "--rho", "1"], TacitError, "cost"),
    ],
)
def test_mistakes_are_named_and_cost_nothing(words: list[str], kind: type[Exception], message: str) -> None:
    result = run("ask", *words)
    assert isinstance(result.exception, kind)
    assert message in str(result.exception)
    assert "rho 39," in shown("ask", BY_WARD, "--rho", "1")


@pytest.mark.parametrize("bounds", ["cost", "cost=", "cost=5", "cost=a:b", "cost=2024-13-01:2025-01-01", "=0:1"])
def test_bounds_that_cannot_be_read(bounds: str) -> None:
    known = ["--data", "visits.parquet", "--unit-column", "patient_id", "--epsilon", "1"]
    result = run("ask", BY_WARD, *known, "--bounds", bounds)
    assert isinstance(result.exception, InputError)
    assert "--bounds" in str(result.exception)


def test_a_bound_may_be_written_with_an_exponent() -> None:
    known = ["--data", "visits.parquet", "--unit-column", "patient_id", "--epsilon", "1", "--bounds", "cost=-1e-3:1e3"]
    assert "would be left" in shown("quote", "SELECT SUM(cost) AS c FROM visits", *known)


def test_without_a_policy_the_ways_out_are_named(folder: Path) -> None:
    (folder / "tacit.toml").unlink()
    result = run("ask", BY_WARD, "--rho", "1")
    for way in ("--policy", "tacit init", "--data FILE --unit-column COLUMN"):
        assert way in str(result.exception)


def test_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_ANALYST")
    monkeypatch.setattr("tacit.cli.options.getuser", lambda: "eve")
    assert '"eve" is not in the policy' in str(run("ask", BY_WARD, "--rho", "1").exception)

    def nobody() -> str:
        raise OSError("no name")

    monkeypatch.setattr("tacit.cli.options.getuser", nobody)
    assert "--analyst NAME" in str(run("ask", BY_WARD, "--rho", "1").exception)


def test_a_spent_budget_refuses() -> None:
    shown("ask", BY_WARD, "--rho", "39.5", "--idempotency-key", "first")
    assert isinstance(run("ask", BY_WARD, "--rho", "1").exception, OverBudget)
    assert "free" in shown("ask", BY_WARD, "--rho", "39.5", "--idempotency-key", "first")
