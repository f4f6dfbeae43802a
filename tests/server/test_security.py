"""Ways in that must not be: doors nobody listed, stolen tokens, planted sessions, names that are code, paths out."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from support.service import COUNT, Running, asked, clinic, running
from tacit.engine import Watch
from tacit.server.ask.datasets import Cancelled, Datasets
from tacit.server.auth.people import Identity
from tacit.server.http.app import application
from tacit.server.ops.config import Config

ASK = "/v1/datasets/clinic/ask"
BODY = {"sql": COUNT, "epsilon": 0.01}
ANA = Identity("ana", "analyst")
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def clinic_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic"), wire="127.0.0.1:0") as found:
        yield found


# --- every door


OPEN = {
    ("GET", "/healthz"),
    ("GET", "/signin"),
    ("POST", "/signin"),
    ("GET", "/v1/openapi.json"),
    ("GET", "/v1/keys"),
    ("GET", "/oidc/signin"),
    ("GET", "/oidc/return"),
    ("GET", "/v1/surveys/{survey}"),  # respondents are nobody in particular
    ("POST", "/v1/surveys/{survey}/reports"),
    ("POST", "/v1/surveys/{survey}/token"),  # for an invitation code
    ("GET", "/s/{survey}"),
    ("GET", "/s/worker.js"),
    ("GET", "/v1/surveys/{survey}/results"),  # these ask once they know that a survey's results are not public
    ("GET", "/v1/surveys/{survey}/certificate"),
    ("GET", "/s/{survey}/results"),
}
"""Doors that ask nobody who they are. Whoever adds one has to write it down here, and say why in its own tests."""
OPEN_BELOW = ("/static/", "/survey-static/")


def guarded(route: APIRoute) -> bool:
    """Whether a request has to say who it is from before anything else happens."""
    found = [route.dependant]
    while found:
        here = found.pop()
        if getattr(here.call, "__qualname__", "") == "allowed.<locals>.identified":
            return True
        found += here.dependencies
    return False


def every(routes: list[BaseRoute]) -> Iterator[tuple[str, str, bool]]:
    for route in routes:
        inner = getattr(route, "original_router", None)  # newer versions of FastAPI keep routers as they were included
        if inner is not None:
            yield from every(inner.routes)
            continue
        for method in sorted(getattr(route, "methods", None) or {"ANY"}):
            yield method, getattr(route, "path", "?"), isinstance(route, APIRoute) and guarded(route)


def test_every_door_asks_who_it_is_or_is_known_to_be_open(clinic_: Running) -> None:
    doors = list(every(application(clinic_.service).routes))
    assert len(doors) > 30
    unknown = [
        (method, path)
        for method, path, asks in doors
        if not asks and (method.replace("HEAD", "GET"), path) not in OPEN and not path.startswith(OPEN_BELOW)
    ]
    assert unknown == []


def test_every_guarded_door_is_shut_to_whoever_says_nothing(clinic_: Running) -> None:
    shut = 0
    with clinic_.client() as nobody:
        for method, path, asks in every(application(clinic_.service).routes):
            if asks and method != "HEAD":
                answer = nobody.request(method, path.replace("{", "").replace("}", ""), json=BODY)
                assert answer.status_code == 401, (method, path)
                shut += 1
    assert shut > 30


# --- tokens


def test_a_stolen_token_is_useless_once_it_is_revoked(clinic_: Running) -> None:
    people = clinic_.service.people
    people.add("thea", "curator")
    stolen = people.issue("thea")
    headers = {"Authorization": f"Bearer {stolen.text}"}
    kept = clinic_.client()
    with kept as connection:  # and one connection that stays open
        assert connection.get("/v1/people", headers=headers).status_code == 200
        wire = entered(clinic_, "thea", stolen.text)
        assert wire.execute("SELECT 1").fetchone() == (1,)
        mine = clinic_.call("cora", "DELETE", f"/v1/people/thea/tokens/{stolen.prefix}")
        assert mine.status_code == 200
        assert connection.get("/v1/people", headers=headers).status_code == 401
        assert connection.post("/v1/people/thea/tokens", headers=headers, json={}).status_code == 401
    with pytest.raises(psycopg.OperationalError, match="no longer valid"):
        wire.execute("SELECT 1")
    wire.close()
    with pytest.raises(psycopg.OperationalError, match="token is wrong"):
        entered(clinic_, "thea", stolen.text)


def test_a_token_of_one_is_not_a_token_of_another(clinic_: Running) -> None:
    one, other = clinic_.tokens["ana"], clinic_.tokens["cora"]
    mixed = other[:19] + one[19:]
    for token in (mixed, one[:-1], one + "A", one.upper(), "", "tacit__", f"{one}\x00", "null"):
        headers = {"Authorization": f"Bearer {token}"}
        try:
            assert clinic_.call(None, "GET", "/v1/me", headers=headers).status_code == 401
        except (httpx.LocalProtocolError, UnicodeEncodeError):
            continue
    with pytest.raises(psycopg.OperationalError, match="token is wrong"):
        entered(clinic_, "cora", one)
    assert clinic_.call(None, "GET", f"/v1/me?token={one}").status_code == 401
    basic = {"Authorization": f"Basic {one}"}
    assert clinic_.call(None, "GET", "/v1/me", headers=basic).status_code == 401


def test_a_session_is_no_token_and_a_token_no_session(clinic_: Running) -> None:
    link = clinic_.service.people.link("ana")
    with clinic_.client() as browser:
        browser.post("/signin", data={"link": link})
        session = browser.cookies["tacit_session"]
    assert clinic_.call(None, "GET", "/v1/me", headers={"Authorization": f"Bearer {session}"}).status_code == 401
    cookie = {"Cookie": f"tacit_session={clinic_.tokens['ana']}"}
    assert clinic_.call(None, "GET", "/v1/me", headers=cookie).status_code == 401


def test_a_session_ends_with_whoever_is_barred(clinic_: Running) -> None:
    clinic_.service.people.add("bo", "analyst")
    with clinic_.client() as browser:
        browser.post("/signin", data={"link": clinic_.service.people.link("bo")})
        assert browser.get("/v1/me").json()["name"] == "bo"
        clinic_.service.people.bar("bo")
        assert browser.get("/v1/me").status_code == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites(clinic_: Running) -> None:
    with clinic_.client() as browser:
        answer = browser.post("/signin", data={"link": clinic_.service.people.link("ana")})
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said


@pytest.mark.parametrize(
    "origin",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {},
    ],
    ids=["origin", "fetch", "null", "no address", "no guard"],
)
def test_another_site_changes_nothing(clinic_: Running, origin: dict[str, str]) -> None:
    with clinic_.client() as browser:
        browser.post("/signin", data={"link": clinic_.service.people.link("cora")})
        guard = browser.get("/v1/me").json()["csrf"]
        headers = {"X-CSRF-Token": guard, **origin} if origin else {}
        for method, path, body in (
            ("POST", "/v1/people", {"name": "mallory", "role": "curator"}),
            ("POST", "/v1/people/ana/tokens", {}),
            ("DELETE", "/v1/people/ana", None),
            ("POST", ASK, BODY),
            ("POST", "/signout", None),
        ):
            assert browser.request(method, path, json=body, headers=headers).status_code == 403, path
        assert "mallory" not in browser.get("/v1/people").text


# --- names that are code


def entered(clinic_: Running, name: str, token: str) -> "psycopg.Connection[Any]":
    where = f"host=127.0.0.1 port={clinic_.wire_port} dbname=clinic connect_timeout=60"
    return psycopg.connect(where, user=name, password=token, autocommit=True)


QUOTED = 'a"; DROP TABLE tacit_tokens; --'


def test_a_name_is_a_value_and_never_a_statement(clinic_: Running) -> None:
    for name in (QUOTED, "o'brien", EVIL):
        assert clinic_.call("cora", "POST", "/v1/people", json={"name": name, "role": "analyst"}).status_code == 201
        token = clinic_.call("cora", "POST", f"/v1/people/{quote(name, safe='')}/tokens", json={"label": EVIL}).json()
        me = clinic_.call(None, "GET", "/v1/me", headers={"Authorization": f"Bearer {token['token']}"})
        assert me.json()["name"] == name
        assert me.headers["content-type"] == "application/json"
        assert me.headers["x-content-type-options"] == "nosniff"
    assert clinic_.call("ana", "GET", "/v1/me").status_code == 200


@pytest.mark.parametrize("text", [EVIL, QUOTED, "../../etc/passwd", "%00", "\u202e", "a" * 5000])
def test_what_is_sent_comes_back_as_text_if_at_all(clinic_: Running, text: str) -> None:
    there = quote(text, safe="")
    answers = [
        clinic_.call("ana", "POST", ASK, json={"sql": f'SELECT COUNT(*) AS "{text}" FROM visits', "epsilon": -1}),
        clinic_.call("ana", "POST", ASK, json={"sql": text, "epsilon": 1}),
        clinic_.call("ana", "GET", f"/v1/datasets/{there}"),
        clinic_.call("ana", "GET", f"/v1/releases/{there}"),
        clinic_.call("ana", "GET", f"/v1/releases/{there}/certificate"),
        clinic_.call("ana", "GET", f"/v1/jobs/{there}"),
        clinic_.call("ana", "GET", f"/{there}"),
    ]
    for answer in answers:
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["content-security-policy"].startswith("default-src")
    page = clinic_.call(None, "GET", f"/{there}", headers={"Accept": "text/html"})
    assert EVIL not in page.text


STRANGE = """
[dataset]
name = "odd"
people = "odd people"
ledger = "odd.ledger"

[privacy]
unit = "person"
currency = "epsilon"
budget = 5

[tables."t'; DROP"]
source = "odd.parquet"
each_row_is_a_unit = true

[tables."t'; DROP".columns]
'x"; --' = { type = "integer", bounds = [0, 100], nullable = false }
"<img src=x onerror=alert(1)>" = { type = "text", group_keys = ["a'b", '<script>"'], nullable = false }

[analysts.ana]
limit = 5
"""


def test_names_of_tables_columns_and_keys_are_never_code(tmp_path: Path) -> None:
    table = {'x"; --': [1, 2, 3, 4] * 50, EVIL: ["a'b", '<script>"'] * 100}
    pq.write_table(pa.table(table), tmp_path / "odd.parquet")
    (tmp_path / "tacit.toml").write_text(STRANGE)
    desk = Datasets([tmp_path / "tacit.toml"])
    try:
        sql = f"""SELECT "{EVIL}" AS "{EVIL}", SUM("x""; --") AS "'; --" FROM "t'; DROP" GROUP BY "{EVIL}" """
        found = asked(desk, ANA, "odd", sql, epsilon=2)
        assert found.table.column_names == [EVIL, "'; --"]
        assert sorted(found.table.column(0).to_pylist()) == ['<script>"', "a'b"]
        sums = dict(zip(found.table.column(0).to_pylist(), found.table.column(1).to_pylist(), strict=True))
        low, high = found.interval("'; --")
        assert low is not None
        assert high is not None
        reach = 10 * (high - low)  # far beyond what noise does
        assert abs(sums["a'b"] - 200) < reach
        assert abs(sums['<script>"'] - 300) < reach
        assert EVIL not in found._repr_html_()
    finally:
        desk.close()


# --- paths that lead out


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../config.py",
        "/static/%2e%2e/%2e%2e/config.py",
        "/static/..%2f..%2fconfig.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app.css/../../pages.py",
        "/static/..\\..\\config.py",
        "/v1/../../../etc/passwd",
        "/v1/releases/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/datasets/..%2f..%2ftacit.toml",
    ],
)
def test_no_path_leads_out(clinic_: Running, path: str) -> None:
    import socket

    host, port = clinic_.url.removeprefix("http://").split(":")
    token = clinic_.tokens["cora"]
    with socket.create_connection((host, int(port)), timeout=60) as link:  # by hand: clients tidy paths up
        link.sendall(
            f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n".encode()
        )
        answer = b""
        while data := link.recv(65_536):
            answer += data
    status = int(answer.split(b" ", 2)[1])
    assert status in (400, 404, 405), answer[:200]
    for secret in (b"root:", b"import ", b"[dataset]"):
        assert secret not in answer


# --- too much


def test_a_body_that_is_large_is_not_read(clinic_: Running) -> None:
    large = b'{"sql": "' + b"x" * 100_000 + b'"}'
    headers = {"content-type": "application/json"}
    assert clinic_.call("ana", "POST", ASK, content=large, headers=headers).status_code == 413

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(large), 5000):
            yield large[start : start + 5000]

    assert clinic_.call("ana", "POST", ASK, content=chunks(), headers=headers).status_code == 413
    assert clinic_.call("ana", "POST", ASK, content=b"[" * 60_000, headers=headers).status_code in (400, 422)
    deep = json.dumps({"sql": "SELECT " + "(" * 20_000, "epsilon": 1}).encode()
    assert clinic_.call("ana", "POST", ASK, content=deep, headers=headers).status_code == 422
    digits = b'{"sql": "SELECT 1", "epsilon": 1e999999999}'
    assert clinic_.call("ana", "POST", ASK, content=digits, headers=headers).status_code == 422


def test_who_asks_too_often_is_told_at_the_other_door_too(tmp_path: Path) -> None:
    with running(tmp_path, wire="127.0.0.1:0", rate=5, failures=3) as few:
        connection = entered(few, "ana", few.tokens["ana"])
        for _ in range(5):
            connection.execute("SELECT 1")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="at most 5 requests of one person"):
            connection.execute("SELECT 1")
        connection.close()
        for _ in range(3):
            with pytest.raises(psycopg.OperationalError, match="token is wrong"):
                entered(few, "ben", few.tokens["ana"])
        with pytest.raises(psycopg.OperationalError, match="at most 3 wrong tokens"):
            entered(few, "ben", few.tokens["ana"])
        wrong = {"Authorization": "Bearer tacit_wrong"}
        assert few.call(None, "GET", "/v1/me", headers=wrong).status_code == 429  # both doors count together
        assert few.call("ben", "GET", "/v1/me").status_code == 200
        entered(few, "ben", few.tokens["ben"]).close()


def test_the_other_door_is_in_the_metrics(clinic_: Running) -> None:
    with entered(clinic_, "ana", clinic_.tokens["ana"]) as connection:
        connection.execute("SET tacit.epsilon = 0.01")
        connection.execute(COUNT)
        connection.execute(f"EXPLAIN {COUNT}")
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT secret FROM nowhere")
    text = clinic_.call("cora", "GET", "/metrics").text
    for line in (
        'method="WIRE",route="question",outcome="answered"',
        'method="WIRE",route="explain",outcome="answered"',
        'method="WIRE",route="question",outcome="rejected"',
    ):
        assert line in text
    assert "nowhere" not in text


# --- stopping


def test_a_long_question_of_duckdb_is_interrupted(tmp_path: Path) -> None:
    import threading

    import duckdb

    policy = clinic(tmp_path)
    rows = "SELECT range AS patient_id, 'north' AS ward, 'a' AS drug, range % 90 AS age, range % 100 AS cost"
    duckdb.sql(f"COPY ({rows} FROM range(12000000)) TO '{tmp_path / 'visits.parquet'}' (FORMAT parquet)")
    desk, watch = Datasets([policy]), Watch()
    found: list[object] = []
    sql = "SELECT ward, SUM(cost) AS cost, AVG(age) AS age FROM visits GROUP BY ward"

    def asking() -> None:
        try:
            found.append(asked(desk, ANA, "clinic", sql, epsilon=0.1, watch=watch))
        except Cancelled as stopped:
            found.append(stopped)

    thread = threading.Thread(target=asking)
    try:
        thread.start()
        end = monotonic() + 60
        while not watch.ran:
            assert monotonic() < end
            sleep(0.001)
        sleep(0.02)
        watch.stop()
        thread.join(60)
        assert isinstance(found[0], Cancelled)
        before = desk.left(ANA, "clinic")
        assert asked(desk, ANA, "clinic", sql, epsilon=0.1).table.num_rows > 0  # under the same charge
        assert desk.left(ANA, "clinic") == before
    finally:
        desk.close()


def test_what_can_be_reached_from_elsewhere_is_never_in_the_clear(tmp_path: Path) -> None:
    from tacit.base import InputError

    for place in ({"listen": "0.0.0.0:1"}, {"wire": "0.0.0.0:1"}, {"listen": "[::]:1"}, {"wire": "example.org:1"}):
        with pytest.raises(InputError, match="can be reached from elsewhere"):
            Config(**place)  # type: ignore[arg-type]  # one of two settings
