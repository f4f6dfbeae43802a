"""A question is one job: the same text and price have the same program, from release to release."""

from pathlib import Path

import pytest

from support.hospital import hospital
from tacit.session import Session

# as ledgers of the first releases hold them: another hash would orphan every stored answer
KNOWN = {
    "SELECT COUNT(*) FROM visits": "05fa2d84ecf4b3cb",
    "SELECT ward, COUNT(*) AS n, AVG(cost), SUM(cost) FROM visits GROUP BY ward": "94875c5875e5fef0",
    "SELECT MEDIAN(cost) FROM visits WHERE age > 60 AND ward IN ('a','b')": "fe3e69e32b32b934",
}


@pytest.mark.parametrize(("sql", "known"), KNOWN.items())
def test_a_question_has_the_identity_that_it_always_had(sql: str, known: str, tmp_path: Path) -> None:
    with Session(hospital(tmp_path, currency="rho"), "ana") as session:
        program = session.job(sql, rho=1).program
    assert program.hashes[0].startswith(known)
    assert program.hashes[1] == program.hash
    assert all(step.task is not None for step in program.steps)


def test_a_job_is_planned_once_and_quoted_as_often_as_one_likes(tmp_path: Path) -> None:
    with Session(hospital(tmp_path), "ana") as session:
        job = session.job("SELECT COUNT(*) AS n FROM visits", rho="0.1")
        before = session.quote(job)
        release = session.spend(job)
        after = session.quote(job)
        assert job.columns == (("n", "integer"),)
        assert before.left.rho is not None
        assert after.left.rho is not None
        assert before.left.rho - after.left.rho == before.cost.rho
        assert session.spend(job) == release
        assert session.key(job).answered


def test_a_job_of_yesterday_is_priced_by_the_rules_of_today(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with Session(policy, "ana") as session:
        job = session.job("SELECT COUNT(*) AS n FROM visits", rho="0.1")
        policy.write_text(policy.read_text().replace("clip_rows = 20", "clip_rows = 5"))
        assert session.spend(job).facts["clips"][0]["rows"] == 5
