"""The report says what was measured, how far the model is from it, and what not to do with rows."""

from pathlib import Path

import pytest

from support.synthetic import policy_of
from tacit.base import InputError
from tacit.session import Session

COLUMNS = ["age", "sex", "job", "income"]


def test_the_report_is_a_page_of_its_own(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path), "ana") as session:
        made = session.synthesise("people", rho="0.5", columns=COLUMNS, bins={"age": 8, "income": 8}).release()
    report = made.report()
    told = report.json()
    assert told["warning"] in report.html()
    measured = [each for each in told["pairs"] if each["apart"] is not None]
    assert measured
    for each in measured:  # the fit is about as far from a measurement as its noise
        assert each["apart"] < 2 * each["noise"]
    assert sum(each["chosen"] for each in told["rounds"]) == sum(each.chosen for each in made.rounds)
    report.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 4
    assert "<script" not in page
    with pytest.raises(InputError, match="must end in"):
        report.save(tmp_path / "report.txt")
