"""What surrounds every route: limits, headers, errors that tell nothing, metrics, the log."""

import json
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from support.service import COUNT, Running, running
from tacit.server.ask.datasets import Datasets
from tacit.server.ops.log import Lines


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic"), body=2000) as found:
        yield found


def test_every_response_has_the_headers(clinic: Running) -> None:
    for path in ("/healthz", "/v1/datasets", "/nowhere", "/signin"):
        headers = clinic.call(None, "GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers
        assert "strict-transport-security" not in headers  # this one is on http


def test_the_frameworks_own_errors_are_problems_too(clinic: Running) -> None:
    for method, path, status in (("GET", "/nowhere", 404), ("PATCH", "/v1/datasets", 405), ("GET", "/v1/../x", 404)):
        answer = clinic.call("ana", method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    broken = clinic.call(
        "ana", "POST", "/v1/datasets/clinic/ask", content=b"{", headers={"Content-Type": "application/json"}
    )
    assert (broken.status_code, broken.json()["status"]) == (422, 422)


def test_what_was_sent_is_not_repeated(clinic: Running) -> None:
    answer = clinic.call("ana", "POST", "/v1/datasets/clinic/ask", json={"sql": COUNT, "epsilon": "<b>mine</b>"})
    assert answer.status_code == 422
    assert "mine" not in answer.text


def test_a_body_that_is_too_large(clinic: Running) -> None:
    said = clinic.call("ana", "POST", "/v1/datasets/clinic/ask", json={"sql": "x" * 3000, "epsilon": 1})
    assert (said.status_code, said.json()["type"]) == (413, "urn:tacit:problem:body")

    def unsaid() -> Iterator[bytes]:
        yield from (b"x" * 500 for _ in range(10))

    streamed = clinic.call("ana", "POST", "/v1/datasets/clinic/ask", content=unsaid())
    assert streamed.status_code == 413
    assert clinic.call("ana", "GET", "/v1/datasets").status_code == 200


def test_bytes_that_are_no_request_do_no_harm(clinic: Running) -> None:
    host, port = clinic.url.removeprefix("http://").split(":")
    for sent in (
        b"\x00\xff" * 100,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 30_000,
        b"POST /v1 HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=10) as link:
            try:
                link.sendall(sent)
                answer = link.recv(200)
            except OSError:
                answer = b""
            assert not answer or b" 4" in answer
    assert clinic.call(None, "GET", "/healthz").status_code == 200


def test_a_fault_of_ours_tells_nothing(
    clinic: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("patient 4711 has a secret")

    monkeypatch.setattr(Datasets, "question", broken)
    with caplog.at_level(logging.INFO):
        answer = clinic.call("ana", "POST", "/v1/datasets/clinic/quote", json={"sql": COUNT, "epsilon": 1})
        lines = written(caplog, 1)
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:tacit:problem:internal")
    fault = next(line for line in lines if line["event"] == "fault")
    assert fault["error"] == "RuntimeError"
    assert fault["at"].startswith("broken:")
    for told in (answer.text, *(Lines().format(record) for record in caplog.records)):
        assert "4711" not in told


def written(caplog: pytest.LogCaptureFixture, requests: int) -> list[dict[str, Any]]:
    """Our lines of the log, once so many requests are in it: a line is written after the response was sent."""
    assert not [record for record in caplog.records if record.name == "uvicorn.access"]  # it would hold queries
    for _ in range(500):
        lines = [json.loads(Lines().format(record)) for record in caplog.records if record.name == "tacit.server"]
        if sum(line["event"] == "request" for line in lines) >= requests:
            return lines
        sleep(0.01)
    raise AssertionError("a request is not in the log")


def test_the_log_has_no_question_no_answer_and_no_secret(clinic: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        found = clinic.ask("ana", "SELECT COUNT(*) AS wonderful FROM visits WHERE age > 33", epsilon=0.01).json()
        clinic.call("ana", "GET", f"/v1/releases/{found['id']}?secret=abc")
        clinic.call(None, "GET", "/signin?link=abcdef")
        lines = written(caplog, 3)
    asked = next(line for line in lines if line.get("route") == "/v1/datasets/{dataset}/ask")
    assert (asked["who"], asked["method"], asked["outcome"]) == ("ana", "POST", "answered")
    text = json.dumps(lines)
    for secret in ("wonderful", "33", "abc", found["id"], clinic.tokens["ana"], str(found["rows"][0][0])):
        assert secret not in re.sub(r'"time": "[^"]*"', "", text)


def test_metrics_count_and_hold_no_data(clinic: Running) -> None:
    clinic.ask("ana", "SELECT COUNT(*) AS n FROM visits WHERE age > 50", epsilon=0.25)
    text = clinic.call("otto", "GET", "/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values['tacit_limit{dataset="clinic",currency="epsilon"}']) == 3
    assert 0.25 <= float(values['tacit_spent{dataset="clinic",currency="epsilon"}']) < 3
    assert int(values['tacit_questions_total{dataset="clinic",kind="asked"}']) >= 1
    key = 'tacit_requests_total{method="POST",route="/v1/datasets/{dataset}/ask",outcome="answered"}'
    assert int(values[key]) >= 1
    names = {line.split("{")[0] for line in values}
    assert names == {"tacit_limit", "tacit_spent", "tacit_questions_total", "tacit_requests_total"}  # no times, no rows


def test_an_engine_that_fails_looks_like_one_that_answers_to_whoever_watches(
    clinic: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("row 17 is odd")

    opened = clinic.service.datasets._opened["clinic"]
    monkeypatch.setattr(opened.engine, "run", fails)
    with caplog.at_level(logging.INFO):
        answer = clinic.ask("ana", "SELECT COUNT(*) AS n FROM visits WHERE age > 60", epsilon=0.01)
        lines = written(caplog, 1)
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:tacit:problem:engine")
    assert "odd" not in answer.text  # nor in the key of the charge, which is hexadecimal
    assert [line["outcome"] for line in lines if line["event"] == "request"] == ["answered"]


def test_a_revoked_token_is_out_at_once(clinic: Running) -> None:
    token = clinic.service.people.issue("ana")
    clinic.tokens["spare"] = token.text
    assert clinic.call("spare", "GET", "/v1/me").json()["name"] == "ana"
    gone = clinic.call("ana", "DELETE", f"/v1/people/ana/tokens/{token.prefix}")
    assert gone.json()["revoked"] is not None
    for method, path in (("GET", "/v1/me"), ("POST", "/v1/datasets/clinic/ask"), ("GET", "/v1/releases")):
        assert clinic.call("spare", method, path).status_code == 401
    assert clinic.call("ana", "DELETE", f"/v1/people/ben/tokens/{token.prefix}").status_code == 403
    assert clinic.call("cora", "DELETE", f"/v1/people/ben/tokens/{token.prefix}").status_code == 404


def test_openapi_has_examples(clinic: Running) -> None:
    found = clinic.call(None, "GET", "/v1/openapi.json").json()
    assert found["components"]["schemas"]["QuestionBody"]["examples"]
    assert found["paths"]["/v1/datasets/{dataset}/ask"]["post"]["responses"]["200"]["content"]["text/csv"]["example"]
    assert all("default" in way["responses"] for ways in found["paths"].values() for way in ways.values())


def test_too_many_requests(tmp_path: Path) -> None:
    with running(tmp_path, rate=5, failures=3) as few:
        codes = [few.call("ana", "GET", "/v1/me").status_code for _ in range(8)]
        assert codes[:5] == [200] * 5
        assert 429 in codes
        assert few.call("ben", "GET", "/v1/me").status_code == 200  # each for themselves


def test_wrong_tokens_of_one_address_hold_up_nobody_else_behind_it(tmp_path: Path) -> None:
    wrong = {"Authorization": "Bearer tacit_000000000000_" + "x" * 43}
    page = {"Accept": "text/html"}
    with running(tmp_path, failures=3) as few, few.client() as inside:
        people = few.service.people
        assert inside.post("/signin", data={"link": people.link("ana")}).status_code == 303
        codes = [few.call(None, "GET", "/v1/me", headers=wrong).status_code for _ in range(20)]
        assert codes[:3] == [401] * 3
        assert codes.count(429) > 10
        told = few.call(None, "GET", "/v1/me", headers=wrong).json()["detail"]
        assert "at most 3 wrong tokens or links a minute from one address" in told
        assert inside.get("/v1/me").json()["name"] == "ana"
        assert few.call("ben", "GET", "/v1/me").status_code == 200
        for cookies in ({}, {"tacit_session": "past its time"}):  # who is on their way in is shown the way
            with few.client(cookies=cookies) as browser:
                assert browser.get("/v1/me").status_code == 401
                assert "Sign in" in browser.get("/budget", headers=page).text
                assert browser.post("/signin", data={"link": people.link("ben")}).status_code == 303


def test_psql_comes_in_by_the_same_tokens(tmp_path: Path) -> None:
    import psycopg

    with running(tmp_path, wire="127.0.0.1:0") as clinic:
        port = clinic.wire_port
        with psycopg.connect(
            host="127.0.0.1", port=port, user="ana", password=clinic.tokens["ana"], dbname="clinic", autocommit=True
        ) as link:
            link.execute("SET tacit.epsilon = 0.1")
            rows = link.execute(COUNT).fetchall()
        assert [list(row) for row in rows] == clinic.ask("ana").json()["rows"]  # the same answer, paid for once
        clinic.service.people.bar("ana")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(host="127.0.0.1", port=port, user="ana", password=clinic.tokens["ana"], dbname="clinic")


def test_no_health_without_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as clinic:
        monkeypatch.setattr(clinic.service.state.__class__, "ready", lambda _: False)
        assert clinic.call(None, "GET", "/healthz").status_code == 503
