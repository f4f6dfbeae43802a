"""A curator sees what runs and stops it; an analyst sees neither it nor how long it takes."""

import threading
from pathlib import Path
from time import monotonic, sleep

import httpx

from support.seats import endless
from support.service import running

SLOW = "SELECT COUNT(*) AS n FROM visits WHERE age > 41"


def test_a_curator_stops_a_question_of_somebody(tmp_path: Path) -> None:
    with running(tmp_path) as clinic, endless(clinic.service.datasets._opened["clinic"].engine) as begun:
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(clinic.ask("ana", SLOW)))
        thread.start()
        assert begun.acquire(timeout=60)
        for who in ("ana", "ben", "otto"):
            assert clinic.call(who, "GET", "/v1/datasets/clinic/running").status_code == 403
        (found,) = clinic.call("cora", "GET", "/v1/datasets/clinic/running").json()["items"]
        assert (found["owner"], found["sql"]) == ("ana", SLOW)
        place = f"/v1/datasets/clinic/running/{found['id']}"
        assert clinic.call("ana", "DELETE", place).status_code == 403
        assert clinic.call("cora", "DELETE", place).json() == found
        thread.join()
        assert (answers[0].status_code, answers[0].json()["type"]) == (409, "urn:tacit:problem:cancelled")
        assert clinic.call("cora", "DELETE", place).status_code == 404
        assert clinic.call("cora", "GET", "/v1/datasets/clinic/running").json() == {"items": []}
        changes = clinic.call("cora", "GET", "/v1/datasets/clinic/changes").json()["items"]
        assert changes[0]["what"] == "stopped a question of ana"


def test_a_job_can_be_stopped_so_too(tmp_path: Path) -> None:
    with running(tmp_path) as clinic, endless(clinic.service.datasets._opened["clinic"].engine) as begun:
        job = clinic.ask("ana", SLOW, headers={"Prefer": "respond-async"}).headers["location"]
        assert begun.acquire(timeout=60)
        (found,) = clinic.call("cora", "GET", "/v1/datasets/clinic/running").json()["items"]
        clinic.call("cora", "DELETE", f"/v1/datasets/clinic/running/{found['id']}")
        end = monotonic() + 60
        while clinic.call("ana", "GET", job).json()["state"] != "cancelled":
            assert monotonic() < end
            sleep(0.01)
