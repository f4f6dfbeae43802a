"""A synthetic table over HTTP: its keys, a free quote, one charge, and a file from which rows are drawn."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.service import Running, running
from support.synthetic import policy_of
from tacit.desk.release import ContentRelease
from tacit.synth import SyntheticTable

SETTINGS = {"table": "people", "columns": ["age", "sex", "job"], "rho": "0.5", "bins": ["age = 10"]}


def people(folder: Path) -> Path:
    return policy_of(folder)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("synth"), build=people) as found:
        yield found


def sent(service: Running, settings: Any, what: str = "") -> Any:
    body = {"kind": "synth", "settings": settings}
    return service.call("ana", "POST", f"/v1/datasets/people/jobs{what}", json=body)


@pytest.fixture(scope="module")
def job(service: Running) -> Any:
    """Made once for all tests here, by ana."""
    taken = sent(service, SETTINGS)
    assert taken.status_code == 202, taken.text
    job, until = taken.json(), monotonic() + 60
    while job["state"] in ("queued", "running") and monotonic() < until:
        sleep(0.05)
        job = service.call("ana", "GET", f"/v1/jobs/{job['id']}").json()
    assert job["state"] == "done", job
    return job


def test_from_a_quote_to_rows(service: Running, job: Any) -> None:
    quote = sent(service, SETTINGS, "/quote").json()
    assert quote["enough"]
    assert quote["cost"]["rho"] == "0.5"
    assert job["title"] == "Make a synthetic table: people by aim"
    told = service.call("ana", "GET", job["release"]).json()
    assert told["kind"] == "rows"
    answer = service.call("ana", "GET", f"{job['release']}/file")
    assert ".npz" in answer.headers["content-disposition"]
    release = ContentRelease(kind="rows", content=answer.content, media="application/x-npz", facts=told["facts"])
    made = SyntheticTable.of(release)
    assert len(made.rows(70)) == 70
    assert made.units == pytest.approx(2000, abs=60)


def test_mistakes_are_told_and_free(service: Running) -> None:
    for change, told in (
        ({"columns": ["agee"]}, "did you mean"),
        ({"columns": ["free"], "bins": []}, "has no bounds"),
        ({"rho": None}, "say how much to spend"),
        ({"bins": ["age"]}, "written as in"),
        ({"method": "copula"}, "aim"),
    ):
        answer = sent(service, {**SETTINGS, **change}, "/quote")
        assert answer.status_code in (400, 403, 422), answer.text
        assert any(word in answer.text for word in told.split("|")), answer.text


def test_every_key_is_offered_to_forms(service: Running) -> None:
    kinds = service.call("ana", "GET", "/v1/job-kinds").json()["items"]
    (synth,) = [each for each in kinds if each["kind"] == "synth"]
    assert {"table", "columns", "rho", "epsilon", "method", "pairs", "impossible"} <= {k["name"] for k in synth["keys"]}


def test_a_release_has_a_report_rows_and_its_measurements(service: Running, job: Any) -> None:
    release = job["release"]
    items = service.call("ana", "GET", f"{release}/forms").json()["items"]
    assert [each["name"] for each in items] == ["report", "rows", "csv", "measurements"]
    page = service.call("ana", "GET", f"{release}/forms/report")
    assert "do not cover" in page.text or "too short" in page.text
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    assert page.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    rows = service.call("ana", "GET", f"{release}/forms/rows")
    table = pq.read_table(BytesIO(rows.content))
    assert table.num_rows == pytest.approx(2000, abs=60)
    assert table.schema.metadata[b"synthetic"] == b"true"
    assert json.loads(table.schema.metadata[b"certificate"])
    assert ".synthetic.parquet" in rows.headers["content-disposition"]
    text = service.call("ana", "GET", f"{release}/forms/csv").text
    assert text.splitlines()[0] == '"age","sex","job"'
    told = service.call("ana", "GET", f"{release}/forms/measurements").json()
    assert told["measurements"][0]["columns"] == ["age"]
    assert told["certificate"]
    wrong = service.call("ana", "GET", f"{release}/forms/tables")
    assert wrong.status_code == 404
    assert "report, rows, csv, measurements" in wrong.json()["detail"]
    for form in ("", "/report"):
        assert service.call("ben", "GET", f"{release}/forms{form}").status_code in (403, 404)
