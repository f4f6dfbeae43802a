"""`tacit survey`: from an empty folder to results."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tacit.base import InputError
from tacit.cli import app
from tacit.cli.screen import show
from tacit.cli.survey import survey_demo
from tacit.server.survey.store import ReportStore


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["survey", *words])


def good(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.exception
    return result.stdout


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plan_is_drawn_beside_its_shuffled_and_central_form(tmp_path: Path) -> None:
    start = 'name = "s"\ntitle = "S"\nepsilon = 1\n[questions.{}]\nask = "Well?"\nkind = "{}"\n'
    (tmp_path / "s.toml").write_text(start.format("well", "yes-no"))
    good("plan", "s.toml", "--plot", "plan.svg")
    assert "a mixer of reports is trusted" in (tmp_path / "plan.svg").read_text()
    (tmp_path / "n.toml").write_text(start.format("long", "number") + "range = [0, 12]\n")
    for words in (("s.toml", "--plot", "plan.txt"), ("n.toml", "--plot", "plan.svg")):
        assert isinstance(run("plan", *words).exception, InputError)


def test_from_nothing_to_results() -> None:
    assert "survey.toml is written" in good("new")
    planned = good("plan", "survey.toml", "--answers", "5000", "--within", "2")
    assert "with 5,000 answers" in planned
    assert "± 3.0 points" in planned
    assert "11,243" in planned
    shown = good("simulate", "survey.toml", "--answers", "400", "--out", "a.parquet")
    assert "(true)" in shown
    good("simulate", "survey.toml", "--answers", "300", "--out", "b.parquet")
    assert "700 reports" in good("collect", "survey.toml", "a.parquet", "b.parquet", "--out", "t.json")
    assert "400 reports" in good("collect", "survey.toml", "a.parquet", "--out", "a.json")
    good("collect", "survey.toml", "b.parquet", "--out", "b.json")
    whole = good("results", "survey.toml", "t.json", "--csv")
    assert whole == good("results", "survey.toml", "b.json", "a.json", "--csv"), "tallies add up in any order"
    assert whole == good("results", "survey.toml", "a.parquet", "b.json", "--csv")
    assert json.loads(good("results", "survey.toml", "t.json", "--json"))["reports"] == 700
    assert "700 reports" in good("results", "survey.toml", "t.json")


def test_json_for_programs() -> None:
    good("new", "s.toml")
    assert [each["name"] for each in json.loads(good("plan", "s.toml", "--json"))["questions"]] == ["happy", "best"]
    found = json.loads(good("simulate", "s.toml", "--answers", "200", "--json"))
    assert found["truth"].keys() == {"happy", "best"}


def test_the_reference_is_printed() -> None:
    assert good("new", "--reference").startswith("# The survey file")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan none.toml", "no such file"),
        ("new survey.toml", "not overwritten"),
        ("new no/survey.toml", "cannot be written"),
        ("plan survey.toml --within 100", "less than 100 points"),
        ("simulate survey.toml --out a.csv", "must end in .parquet"),
        ("simulate survey.toml --out no/a.parquet", "no directory"),
        ("collect survey.toml a.parquet --engine hive", "duckdb or spark"),
        ("collect survey.toml none.parquet", "not a Parquet file"),
        ("results survey.toml few.parquet", "fewer than 100 reports"),
    ],
)
def test_mistakes_are_named(words: str, message: str) -> None:
    good("new", "survey.toml")
    good("simulate", "survey.toml", "--answers", "50", "--out", "few.parquet")
    result = run(*words.split())
    assert result.exit_code != 0
    assert message in str(result.exception)


def test_the_demo_survey(capsys: pytest.CaptureFixture[str]) -> None:
    show(survey_demo(answers=500))
    text = capsys.readouterr().out
    assert "How do we sleep?: 500 reports" in text
    assert "(true)" in text


def test_invitations_are_a_private_file_of_links(tmp_path: Path) -> None:
    good("new", "s.toml")
    text = (tmp_path / "s.toml").read_text()
    (tmp_path / "s.toml").write_text(text.replace('# invitations = "code"', 'invitations = "code"'))
    early = run("invite", "s.toml", "--count", "3", "--state", "state")
    assert "start it once" in str(early.exception)
    (tmp_path / "state").mkdir()
    ReportStore(tmp_path / "state" / "surveys.db").close()  # as a service makes it when it begins
    words = ("invite", "s.toml", "--count", "3", "--out", "codes.csv", "--state", "state")
    assert "3 codes are in codes.csv" in good(*words)
    head, *rows = (tmp_path / "codes.csv").read_text().splitlines()
    assert head == "code,link"
    assert [row.split(",")[1] for row in rows] == [f"/s/my-survey#{row.split(',')[0]}" for row in rows]
    assert (tmp_path / "codes.csv").stat().st_mode & 0o777 == 0o600
    again = run(*words)
    assert "not overwritten" in str(again.exception)
