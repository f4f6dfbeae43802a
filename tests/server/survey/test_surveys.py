"""A survey that is saved: on disk whole, served at once, by other workers and after a restart; or nothing is there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service import Running, running
from tacit.server.ops.backup import back_up
from tacit.server.ops.restore import check
from tacit.server.ops.service import Service
from tacit.server.survey.draft import SurveyDraft, checked
from tacit.server.survey.store import ReportStore
from tacit.server.survey.surveys import PEOPLE, seeded
from tacit.survey.device import Device
from tacit.survey.results import results_of
from tacit.survey.survey import load

QUESTIONS: list[dict[str, Any]] = [
    {"name": "slept", "ask": "Did you sleep well?", "kind": "yes-no"},
    {"name": "wakes", "ask": "What wakes you?", "kind": "choice", "options": ["noise", "nothing"]},
]


def draft(**changes: Any) -> dict[str, Any]:
    return {"title": "Sleep", "name": "sleep", "epsilon": "2", "minimum": "5", "questions": QUESTIONS, **changes}


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, survey_rate=1_000_000) as found:
        yield found


def folder(clinic: Running) -> Path:
    return clinic.service.config.survey_folder


def save(clinic: Running, **changes: Any) -> Any:
    return clinic.call("cora", "POST", "/v1/surveys", json=draft(**changes))


def respond(clinic: Running, name: str = "sleep") -> Any:
    device = Device(load(folder(clinic) / f"{name}.toml"))
    sent = device.answer({"slept": True, "wakes": "noise"}).json()
    return clinic.call(None, "POST", f"/v1/surveys/{name}/reports", content=sent)


def test_it_is_served_at_once(clinic: Running) -> None:
    found = save(clinic)
    assert (found.status_code, found.json()) == (201, {"survey": "sleep"})
    (path,) = folder(clinic).iterdir()
    assert path.name == "sleep.toml"
    assert path.stat().st_mode & 0o077 == 0
    assert clinic.call(None, "GET", "/s/sleep").status_code == 200
    assert respond(clinic).json() == {"counted": True}
    (item,) = clinic.call("otto", "GET", "/v1/surveys").json()["items"]
    assert (item["survey"], item["submissions"], item["state"]) == ("sleep", 1, "open")


def test_another_worker_notices_and_a_restart_remembers(clinic: Running) -> None:
    other = Service(clinic.service.config)
    try:
        assert other.surveys.every() == {}
        save(clinic)
        assert other.surveys.named("sleep").title == "Sleep"
        save(clinic, name="second")
        assert list(other.surveys.every()) == ["sleep", "second"]
    finally:
        other.close()
    again = Service(clinic.service.config)
    try:
        assert set(again.surveys.known) == {"sleep", "second"}
    finally:
        again.close()


def test_a_report_finds_a_survey_that_another_worker_saved(clinic: Running) -> None:
    other = Service(clinic.service.config)
    try:
        made = folder(clinic)
        made.mkdir(parents=True, exist_ok=True)
        (made / "sleep.toml").write_text(
            'name = "sleep"\ntitle = "t"\nepsilon = 2\n[questions.slept]\nask = "a"\nkind = "yes-no"\n'
            '[questions.wakes]\nask = "b"\nkind = "choice"\noptions = ["noise", "nothing"]\n'
        )
        other.surveys.every()
        assert respond(clinic).json() == {"counted": True}
    finally:
        other.close()


def test_a_name_is_taken_for_ever(clinic: Running) -> None:
    assert save(clinic).status_code == 201
    again = save(clinic, title="Other")
    assert again.status_code == 422
    assert "name: a survey has or had this name" in again.json()["detail"]
    for path in folder(clinic).iterdir():
        path.unlink()
    fresh = Service(clinic.service.config)  # where it is not served any more
    try:
        assert fresh.surveys.store.entered("sleep") is not None
        assert told(fresh, QUESTIONS[:1]) == ["name"]
        assert told(fresh, QUESTIONS) == []  # these questions have the name already
    finally:
        fresh.close()


def told(service: Service, questions: list[dict[str, Any]]) -> list[str | int]:
    """The places that are wrong with a draft of the same name."""
    found = checked(service.surveys, SurveyDraft(**draft(questions=questions)))
    return [step for flaw in found.problems for step in flaw.path]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": ""}, "title: is needed"),
        ({"questions": [{"name": "x"}]}, "questions 1 ask: is needed"),
        ({"name": "../evil"}, "name: must be small letters"),
    ],
)
def test_what_is_not_complete_is_not_saved(clinic: Running, changes: dict[str, Any], said: str) -> None:
    found = save(clinic, **changes)
    assert found.status_code == 422
    assert said in found.json()["detail"]
    assert list(folder(clinic).iterdir()) == []
    assert clinic.service.surveys.every() == {}


def test_what_is_too_large_to_be_sent_is_not_saved(tmp_path: Path) -> None:
    with running(tmp_path, body=1000) as clinic:
        many = [{"name": f"q{n}", "ask": "?", "kind": "yes-no"} for n in range(12)]
        found = save(clinic, questions=many[:1])
        assert found.status_code == 201, found.text
        clinic.service.surveys.body = 250
        tried = clinic.call("cora", "POST", "/v1/surveys/draft", json={"survey": draft(name="b", questions=many)})
        (flaw,) = tried.json()["problems"]
        assert flaw["place"] == ["questions"]
        assert "requests at most 250" in flaw["text"]


def test_a_file_that_cannot_be_served_is_left_out_and_hides_no_other(clinic: Running) -> None:
    save(clinic)
    (folder(clinic) / "broken.toml").write_text("name = ")
    (folder(clinic) / "twice.toml").write_text((folder(clinic) / "sleep.toml").read_text())
    assert list(clinic.service.surveys.every()) == ["sleep"]
    found = save(clinic, name="broken")
    assert found.status_code == 409
    assert (folder(clinic) / "broken.toml").read_text() == "name = "


def test_nothing_is_left_behind_if_it_cannot_be_served(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path) -> None:
        raise OSError("no")

    monkeypatch.setattr(clinic.service.surveys, "add", fails)
    assert save(clinic).status_code == 500
    assert list(folder(clinic).iterdir()) == []


def test_a_draft_is_told_all_and_keeps_nothing(clinic: Running) -> None:
    body: dict[str, Any] = {"survey": draft(epsilon="x"), "answers": "1000", "within": "y"}
    found = clinic.call("cora", "POST", "/v1/surveys/draft", json=body).json()
    assert not found["valid"]
    assert found["forecast"] is None
    body["survey"]["epsilon"] = "2"
    found = clinic.call("cora", "POST", "/v1/surveys/draft", json=body).json()
    assert found["valid"]
    assert [flaw["place"] for flaw in found["problems"]] == [["within"]]
    assert found["forecast"]["questions"][0]["expected"].startswith("With 1,000 answers expect ± ")
    assert not folder(clinic).exists()
    lone = clinic.call("cora", "POST", "/v1/surveys/draft", content=json.dumps({"survey": {"title": "\ud800"}}))
    assert lone.status_code == 422


def test_a_backup_has_its_file(clinic: Running, tmp_path: Path) -> None:
    save(clinic)
    back_up(clinic.service.config, tmp_path / "monday.tar")
    assert [part.name for part in check(tmp_path / "monday.tar").parts if part.name.endswith("/sleep.toml")]


def test_the_demo_is_filled_the_first_time_alone(tmp_path: Path) -> None:
    path = seeded(tmp_path / "demo", tmp_path / "surveys.db")
    assert seeded(tmp_path / "demo", tmp_path / "surveys.db") == path
    survey, store = load(path), ReportStore(tmp_path / "surveys.db")
    assert store.size(survey) == PEOPLE
    counted = store.counted(survey)
    found = results_of(survey, counted.tallies)
    assert found.reports + counted.waiting == PEOPLE
    assert all(finding.lines for finding in found.findings)
    store.close()
