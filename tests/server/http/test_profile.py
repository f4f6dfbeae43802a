"""The profile of a table over HTTP: what it costs, who may make it, who pays, and what questions gain."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.profiled import profiled
from support.service import Running, running

COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.5}


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, build=profiled) as found:
        yield found


def ended(clinic: Running, who: str, job: Any) -> Any:
    """The job when it has ended."""
    until = monotonic() + 30
    while job["state"] in ("queued", "running") and monotonic() < until:
        sleep(0.05)
        job = clinic.call(who, "GET", f"/v1/jobs/{job['id']}").json()
    return job


def listed(clinic: Running, who: str = "cora") -> dict[str, Any]:
    answer = clinic.call(who, "GET", "/v1/datasets/clinic/profiles")
    assert answer.is_success, answer.text
    return {each["table"]: each for each in answer.json()["items"]}


def make(clinic: Running, who: str, table: str = "visits") -> Any:
    return clinic.call(who, "POST", "/v1/datasets/clinic/profile", json={"table": table})


def spent(clinic: Running, holder: str) -> float:
    holders = clinic.call("cora", "GET", "/v1/datasets/clinic/budget").json()["holders"]
    return sum(float(each["spent"]["epsilon"]) for each in holders if each["holder"] == holder)


def test_a_curator_makes_one_and_the_dataset_pays(clinic: Running) -> None:
    before = listed(clinic)["visits"]
    assert (before["price"], before["made"], before["current"]) == ("0.5", None, False)
    assert before["quote"]["cost"]["epsilon"] == "0.5"
    taken = make(clinic, "cora")
    assert taken.status_code == 202, taken.text
    job = ended(clinic, "cora", taken.json())
    assert job["state"] == "done", job
    after = listed(clinic)["visits"]
    assert after["current"]
    assert after["made"]["entry"] > 0
    assert (spent(clinic, "dataset"), spent(clinic, "analyst:cora")) == (0.5, 0.0)
    assert "units" in clinic.call("cora", "GET", job["release"]).json()["columns"]
    told = clinic.call("otto", "GET", "/v1/datasets/clinic/changes").json()["items"]
    assert ("cora", "made the profile of visits") in [(line["who"], line["what"]) for line in told]
    answer = clinic.call("ana", "POST", "/v1/datasets/clinic/ask", json=COUNT).json()
    assert not any("a profile of visits" in note for note in answer["notes"])


def test_of_the_same_data_it_is_made_once(clinic: Running) -> None:
    for _ in range(2):
        assert ended(clinic, "cora", make(clinic, "cora").json())["state"] == "done"
    assert spent(clinic, "dataset") == 0.5


def test_only_curators_make_one_and_auditors_may_look(clinic: Running) -> None:
    for who in ("ana", "ben", "otto"):
        assert make(clinic, who).status_code == 403
    assert listed(clinic, "otto")["visits"]["made"] is None
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/profiles").status_code == 403
    assert spent(clinic, "dataset") == 0


@pytest.mark.parametrize("table", ["staff", "nothing", "visits; DROP TABLE visits"])
def test_a_table_that_declares_none_is_refused_before_anything_is_charged(clinic: Running, table: str) -> None:
    refused = make(clinic, "cora", table)
    assert refused.status_code == 422
    assert "profile = " in refused.json()["detail"]
    assert spent(clinic, "dataset") == 0


def test_one_beyond_the_budget_is_refused_before_anything_is_charged(clinic: Running) -> None:
    def limited(budget: float) -> None:
        assert clinic.call("cora", "PUT", "/v1/datasets/clinic/limits", json={"budget": budget}).is_success

    limited(0.25)  # less than any profile of it
    assert "may cost at most 0.25" in listed(clinic)["visits"]["refused"]
    assert make(clinic, "cora").status_code == 403
    limited(0.7)
    assert clinic.ask("ana", epsilon=0.25).is_success
    assert not listed(clinic)["visits"]["quote"]["enough"]
    refused = make(clinic, "cora")
    assert refused.status_code == 403
    assert "too little left" in refused.json()["detail"]
    assert spent(clinic, "dataset") == 0.25
