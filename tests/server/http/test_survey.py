"""`/v1/surveys`: terms for devices, reports from them, results for readers, and who may see what."""

import csv
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service import Running, running
from support.surveys import SLEEP, sleep, written
from tacit.base import InputError, PolicyError
from tacit.ledger.checkpoint import vouched
from tacit.server.ops.config import Config
from tacit.server.ops.service import Service
from tacit.survey.device import Device

GOOD: dict[str, Any] = {"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5}
REPORTS = "/v1/surveys/sleep/reports"


@pytest.fixture(scope="module")
def polled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("polled")
    with running(folder, surveys=(written(folder),), survey_rate=1_000_000) as found:
        yield found


def body() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Device(sleep()).answer(GOOD).json())
    return found


def send(polled: Running, content: Any, path: str = REPORTS) -> Any:
    return polled.call(None, "POST", path, content=content if isinstance(content, bytes) else json.dumps(content))


def test_terms_are_everybodys_and_say_all_that_a_device_needs(polled: Running) -> None:
    found = polled.call(None, "GET", "/v1/surveys/sleep")
    assert found.status_code == 200
    assert found.json() == json.loads(json.dumps(sleep().terms()))
    assert polled.call(None, "GET", "/v1/surveys/none").status_code == 404


def test_a_report_is_counted_once(polled: Running) -> None:
    sent = body()
    assert send(polled, sent).json() == {"counted": True}
    again = send(polled, sent)
    assert (again.status_code, again.json()) == (200, {"counted": False})


def test_the_long_way_does_the_same(polled: Running) -> None:
    """A request with a query does not take the short way."""
    sent = body()
    assert send(polled, sent, f"{REPORTS}?x=1").json() == {"counted": True}
    assert send(polled, sent).json() == {"counted": False}
    assert send(polled, sent, "/v1/surveys/none/reports?x=1").status_code == 404
    assert send(polled, changed(id=1), f"{REPORTS}?x=1").status_code == 422


def changed(**changes: Any) -> Any:
    return {**body(), **changes}


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"", 422, "not JSON"),
        (b"\xff{}", 422, "not JSON"),
        (b"[" * 20_000, 422, "not JSON"),
        (b"[]", 422, "an object with id"),
        ({"id": "00"}, 422, "an object with id"),
        (lambda: {**body(), "answer": "yes"}, 422, "and nothing else"),
        (lambda: changed(id="x" * 32), 422, "32 hexadecimal digits"),
        (lambda: changed(id="A" * 32), 422, "32 hexadecimal digits"),
        (lambda: changed(id=7), 422, "32 hexadecimal digits"),
        (lambda: changed(version="0" * 32), 409, "load the survey again"),
        (lambda: changed(reports={}), 422, "one entry for each question"),
        (lambda: changed(reports={**body()["reports"], "more": "00"}), 422, "one entry for each question"),
        (lambda: changed(reports={**body()["reports"], "slept": "0001"}), 422, "slept is 2 hexadecimal"),
        (lambda: changed(reports={**body()["reports"], "slept": "zz"}), 422, "slept is 2 hexadecimal"),
        (lambda: changed(reports={**body()["reports"], "slept": 1}), 422, "slept is 2 hexadecimal"),
        (lambda: changed(reports={**body()["reports"], "slept": "02"}), 422, "none that a device can make"),
        (lambda: changed(reports={**body()["reports"], "hours": "ff"}), 422, "none that a device can make"),
        (b" " * 70_000, 413, "bytes"),
    ],
)  # fmt: skip
def test_what_no_device_sends_is_refused(polled: Running, content: Any, status: int, said: str) -> None:
    surveys = polled.service.surveys
    assert surveys is not None
    before = surveys.store.size(sleep())
    found = send(polled, content() if callable(content) else content)
    assert found.status_code == status
    assert found.headers["content-type"] == "application/problem+json"
    assert said in found.json()["detail"]
    assert surveys.store.size(sleep()) == before


def test_results_are_for_those_who_are_known(polled: Running) -> None:
    for _ in range(40):
        send(polled, body())
    for path in ("/v1/surveys/sleep/results", "/v1/surveys/sleep/certificate", "/s/sleep/results", "/v1/surveys"):
        assert polled.call(None, "GET", path).status_code == 401, path
        assert polled.call("otto", "GET", path).status_code == 200, path


def test_results_as_json_csv_and_certificate(polled: Running) -> None:
    for _ in range(40):
        send(polled, body())
    found = polled.call("ana", "GET", "/v1/surveys/sleep/results").json()
    assert [question["name"] for question in found["questions"]] == ["slept", "wakes", "takes", "hours"]
    shares = [line["consistent"] for line in found["questions"][1]["lines"]]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0
    table = polled.call("ana", "GET", "/v1/surveys/sleep/results", headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert len(rows) == 2 + 5 + 3 + 1
    same = polled.call("ana", "GET", "/v1/surveys/sleep/results?form=csv")
    assert same.text == table.text
    assert polled.call("ana", "GET", "/v1/surveys/sleep/results?form=xml").status_code == 422
    signed = polled.call("ana", "GET", "/v1/surveys/sleep/certificate").json()
    content = signed["certificate"]
    assert content["guarantee"]["epsilon"] == "4"
    assert [question["epsilon"] for question in content["questions"]] == ["1"] * 4
    assert content["reports"] == found["reports"]
    kind = "survey certificate"
    assert vouched(content, signed["signature"], signed["public_key"], kind=kind)
    assert not vouched({**content, "reports": 1}, signed["signature"], signed["public_key"], kind=kind)


def test_the_list_says_how_many_answered(polled: Running) -> None:
    (item,) = polled.call("ana", "GET", "/v1/surveys").json()["items"]
    more = {
        "state": "open",
        "opens": None,
        "closes": None,
        "epsilon": "4",
        "questions": 4,
        "public_results": False,
        "invitations": None,
    }
    assert item == {"survey": "sleep", "title": "How do we sleep?", "submissions": item["submissions"], **more}


def test_it_is_in_the_description_of_the_interface(polled: Running) -> None:
    paths = polled.call(None, "GET", "/v1/openapi.json").json()["paths"]
    schema = paths["/v1/surveys/{survey}/reports"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["id", "version", "reports"]


def test_public_results_opening_hours_and_limits(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    closed = SLEEP.replace('"sleep"', '"closed"').replace("minimum = 5", "minimum = 5\ncloses = 2020-01-01")
    later = SLEEP.replace('"sleep"', '"later"').replace("minimum = 5", "minimum = 5\nopens = 2199-01-01")
    files = [written(tmp_path, SLEEP.replace("minimum = 5", "minimum = 5\npublic_results = true"))]
    for name, text in (("closed", closed), ("later", later)):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(text, encoding="utf-8")
    with running(tmp_path / "a", surveys=tuple(files), survey_rate=12) as found:
        assert found.call(None, "GET", "/v1/surveys/sleep/results").json()["reports"] == 0
        for name, word in (("closed", "closed at 2020-01-01"), ("later", "opens at 2199-01-01")):
            refused = send(found, body(), f"/v1/surveys/{name}/reports")
            assert refused.status_code == 403
            assert word in refused.json()["detail"]
        statuses = [send(found, body()).status_code for _ in range(12)]
        assert statuses[:8] == [200] * 8
        assert statuses[-1] == 429


def test_surveys_that_cannot_be_served_are_refused_at_the_start(tmp_path: Path) -> None:
    path = written(tmp_path)
    config = Config(surveys=(path, path), state=tmp_path / "state", listen="127.0.0.1:0")
    with pytest.raises(PolicyError, match='two surveys are called "sleep"'):
        Service(config)
    with pytest.raises(PolicyError, match="and requests at most 100"):
        Service(Config(surveys=(path,), state=tmp_path / "state", listen="127.0.0.1:0", body=100))
    config = Config(surveys=(path,), state=tmp_path / "state", listen="127.0.0.1:0")
    Service(config).close()
    written(tmp_path, SLEEP.replace("noise", "sound"))
    with pytest.raises(InputError, match="another name"):
        Service(config)


def test_the_log_does_not_say_when_somebody_answered(polled: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tacit.server"):
        polled.call(None, "GET", "/v1/surveys/sleep")
        assert send(polled, body()).json() == {"counted": True}
    routes = [getattr(record, "facts", {}).get("route") for record in caplog.records]
    assert "/v1/surveys/{survey}" in routes
    assert "/v1/surveys/{survey}/reports" not in routes
    told = polled.call("otto", "GET", "/metrics").text
    assert 'route="/v1/surveys/{survey}/reports",outcome="answered"' in told, "how many there were is no secret"
