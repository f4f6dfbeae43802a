"""The report on a dataset says what policy and ledger say, and nothing that would need the data."""

import json
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tacit
from support.books import account, cost, limit, opened, program, terms
from support.policies import CLINIC
from tacit.cli import app
from tacit.desk.dataset_page import dataset_page
from tacit.desk.dataset_report import OPEN, dataset_report
from tacit.ledger import Ledger
from tacit.policy import load, parse
from tacit.policy.account import analyst_holder

POLICY = """\
[dataset]
name = "clinic <b>north</b>"

[privacy]
unit = "patient"
currency = "rho"
budget = 2
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit_column = "patient"
clip_rows = 3
max_rows_per_unit = 5

[tables.visits.columns]
patient = { type = "integer" }
cost = { type = "integer", bounds = [0, 100], nullable = false }

[analysts.ana]
limit = 1
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, a policy, and a ledger with two kinds of questions."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"patient": [0, 1, 1, 2], "cost": [5, 6, 7, 8]}), "visits.parquet")
    Path("tacit.toml").write_text(POLICY, encoding="utf-8")
    with tacit.open("tacit.toml", analyst="ana") as session:
        session.ask("SELECT COUNT(*) FROM visits", rho="0.01")
        session.ask("SELECT COUNT(*) FROM visits WHERE cost > 5", rho="0.02")
        session.ask("SELECT SUM(cost) FROM visits", rho="0.2")
    return tmp_path


def report(folder: Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["report", "--policy", str(folder / "tacit.toml"), "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_it_adds_up_what_the_ledger_says(asked: Path) -> None:
    found = report(asked)
    uses, whole = found["spent"]["uses"], found["spent"]["in all"]
    counted = [(each["analyst"], each["for"], each["times"]) for each in uses]
    assert counted == [("ana", "SUM(cost) of visits", 1), ("ana", "COUNT(*) of visits", 2)]
    assert sum(Fraction(each["spent"]) for each in uses) == Fraction(whole)
    assert float(whole) == pytest.approx(0.23)  # a question costs at most what is offered for it
    spent = {each["holder"]: each["spent ever"] for each in found["spent"]["holders"]}
    assert spent == {"dataset": whole, "analyst:ana": whole}
    assert all(Fraction(each["left"]) + Fraction(whole) == int(each["limit"]) for each in found["spent"]["holders"])
    assert found["mechanisms"] == [{"mechanism": "DiscreteGaussian", "releases": 3}]


def test_the_promise_is_that_of_the_limit(asked: Path) -> None:
    promise, policy = report(asked)["promise"], load(asked / "tacit.toml")
    assert promise["epsilon"] == policy.privacy.promise.epsilon(policy.privacy.delta).upper
    assert promise["odds"]["posterior"]["upper"] > 0.5
    assert "ρ = 2" in promise["statement"]


def test_a_charge_that_was_taken_back_is_no_spending(tmp_path: Path) -> None:
    policy = parse(CLINIC)
    with opened(tmp_path / "x.ledger", terms()) as book:
        book.charge(account(), cost(), program(), "kept")
        book.void(book.charge(account(), cost(3), program("other"), "void"))
        found = dataset_report(policy, book.standing("patients"), book.log("patients"), ledger="x")
    assert [(each["times"], each["spent"]) for each in found["spent"]["uses"]] == [(1, "1")]
    assert found["spent"]["in all"] == "1"


def test_the_larger_limit_is_told_where_policy_and_ledger_differ(tmp_path: Path) -> None:
    policy = parse(CLINIC.replace('currency = "rho"', 'currency = "epsilon"').replace("[privacy]", "[privacy]"))
    with opened(tmp_path / "x.ledger", terms(total=5, limits=(limit(analyst_holder("ana"), 1),))) as book:
        found = dataset_report(policy, book.standing("patients"), [], ledger="x")
    assert policy.privacy.budget == 2
    assert found["promise"]["odds"]["odds_factor"] == pytest.approx(2.718281828**5, rel=1e-6)


def test_what_rests_on_trust_is_listed(asked: Path) -> None:
    found = report(asked)
    assert any("no patient has more than 5 rows" in each for each in found["promises of the curator"])
    text = CLINIC.replace('unit = "patient"', 'unit = "patient"\nrelation = "replace"')
    text = text.replace("clip_rows = 20", 'clip_rows = 20\ninvariants = ["state.total"]')
    with Ledger.open(asked / "other.ledger") as book:
        policy = parse(text)
        book.apply(policy.terms())
        told = dataset_report(policy, book.standing(policy.dataset.identity), [], ledger="x")
    assert any("state.total" in each for each in told["not protected"])
    assert any("how many patients there are" in each for each in told["not protected"])
    assert any("table wards holds nothing about any patient" in each for each in told["promises of the curator"])


def test_bounds_say_where_they_come_from(asked: Path) -> None:
    found = {(each["of"], each["what"]): each for each in report(asked)["bounds"]}
    assert found["visits", "rows of one patient"]["bound"] == "at most 3"
    assert found["visits.cost", "values"] == {
        "of": "visits.cost",
        "what": "values",
        "bound": "0 to 100",
        "origin": "declared",
    }
    policy = parse(CLINIC.replace("clip_rows = 20", 'clip_rows = "private"'))
    with Ledger.open(asked / "other.ledger") as book:
        book.apply(policy.terms())
        told = dataset_report(policy, book.standing(policy.dataset.identity), [], ledger="x")
    assert "found privately" in told["bounds"][0]["origin"]


def test_what_only_a_person_knows_is_left_open(asked: Path) -> None:
    found = report(asked)
    assert found["registry"]["tier 1"]["intended use"] == OPEN
    assert {each["point"] for each in found["nist"] if each["answer"] == OPEN} == {
        "Security of the data",
        "Exposure at collection",
    }


def test_the_page_is_the_owners_and_takes_names_for_text(asked: Path) -> None:
    result = CliRunner().invoke(app, ["report", "--html", "report.html"])
    assert result.exit_code == 0, result.output
    page = asked / "report.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text(encoding="utf-8")
    assert "clinic &lt;b&gt;north&lt;/b&gt;" in text
    assert "<b>north" not in text
    assert text == dataset_page(report(asked) | {"made": _made(text, report(asked))})


def _made(text: str, found: dict[str, Any]) -> dict[str, Any]:
    """What differs between two reports is when they were made."""
    made: dict[str, Any] = found["made"]
    start = text.index("<dt>time</dt><dd>") + len("<dt>time</dt><dd>")
    return made | {"time": text[start : text.index("</dd>", start)]}


def test_mistakes_are_told(asked: Path) -> None:
    run, before = CliRunner().invoke, report(asked)["spent"]
    assert "give it a name such as report.html" in str(run(app, ["report", "--html", "report.pdf"]).exception)
    assert "name the policy" in str(run(app, ["report", "--ledger", "tacit.ledger"]).exception)
    assert "cannot write" in str(run(app, ["report", "--html", "no/such/folder/r.html"]).exception)
    assert report(asked)["spent"] == before
