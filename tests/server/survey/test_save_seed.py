"""The demo survey has made-up respondents, once."""

from pathlib import Path

from tacit.server.survey.save import PEOPLE, seeded
from tacit.server.survey.store import ReportStore
from tacit.survey.results import results_of
from tacit.survey.survey_file import load


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
