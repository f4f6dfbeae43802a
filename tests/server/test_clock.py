"""A dataset on a clock, through every door: its moment for answers, failures and jobs, and no progress before it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest

from support.seats import endless
from support.service import COUNT, Running, clinic, running
from support.wire import Clinic, Served

SECONDS = 1.0


def on_a_clock(folder: Path) -> Path:
    policy = clinic(folder)
    text = policy.read_text()
    assert "[privacy]\n" in text
    policy.write_text(text.replace("[privacy]\n", '[privacy]\ndeadline = "1 second"\n'))
    return policy


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, on_a_clock, grid=5.0) as found:  # the grid is for those without a clock
        yield found


def engine(service: Running) -> Any:
    return service.service.datasets._opened["clinic"].engine


def test_answers_and_failures_come_at_their_moment(service: Running) -> None:
    began = monotonic()
    assert service.ask("ana").status_code == 200
    assert monotonic() - began >= SECONDS
    began = monotonic()
    assert service.ask("ana").json()["cached"]
    assert monotonic() - began < SECONDS
    with endless(engine(service)):
        began = monotonic()
        answer = service.ask("ana", "SELECT COUNT(*) AS n FROM visits")
        assert monotonic() - began >= SECONDS
        assert (answer.status_code, answer.json()["type"]) == (500, "urn:tacit:problem:engine")


def test_a_job_is_running_until_its_moment_and_tells_no_progress(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.engine.watch.PATIENCE", 0.05)
    monkeypatch.setattr(service.service.jobs, "tells", True)
    seen: list[dict[str, Any]] = []
    began = monotonic()
    with endless(engine(service)):
        place = service.ask("ana", COUNT, headers={"Prefer": "respond-async"}).headers["location"]
        while not seen or seen[-1]["state"] in ("queued", "running"):
            seen.append(service.call("ana", "GET", place).json())
            sleep(0.02)
    assert monotonic() - began >= SECONDS
    assert seen[-1]["state"] == "failed"
    assert not any("progress" in each for each in seen)
    assert set(seen[0]) == set(seen[-1]) - {"problem"}


def test_the_other_door_keeps_to_it_too(tmp_path: Path) -> None:
    with closing(Clinic(tmp_path)) as small:
        policy = tmp_path / "tacit.toml"
        policy.write_text(policy.read_text().replace("[privacy]\n", '[privacy]\ndeadline = "1 second"\n'))
        with Served(small) as served, served.connect() as connection:
            connection.execute("SET tacit.epsilon = 0.25")
            began = monotonic()
            assert connection.execute("SELECT count(*) AS n FROM visits WHERE age < 61").fetchall()
            assert monotonic() - began >= SECONDS
            connection.execute("SET statement_timeout = '100ms'")
            with pytest.raises(psycopg.errors.QueryCanceled):  # always, since no answer comes before its moment
                connection.execute("SELECT count(*) AS n FROM visits WHERE age < 62")
