"""Whoever hangs up is worked for no more: the engine's work ends, the place is free, and the charge stands."""

import json
import socket
import threading
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest

from support.seats import endless
from support.service import Running, running
from support.wire import Clinic, Served

PATIENCE = 60.0
SLOW = "SELECT COUNT(*) AS n FROM visits WHERE age > 41"
QUICK = "SELECT COUNT(*) AS n FROM visits WHERE age > 17"


def until(holds: Any) -> None:
    end = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < end
        sleep(0.01)


def asked(clinic: Running, who: str, sql: str, more: bytes = b"") -> socket.socket:
    """A question by hand, whose answer nobody reads."""
    host, port = clinic.url.removeprefix("http://").split(":")
    body = json.dumps({"sql": sql, "epsilon": 0.001}).encode()
    link = socket.create_connection((host, int(port)), timeout=PATIENCE)
    head = f"POST /v1/datasets/clinic/ask HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {clinic.tokens[who]}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    link.sendall(head.encode() + body + more)
    return link


@pytest.mark.parametrize("more", [b"", b"POST / HTTP/1.1\r\nhost: x\r\n\r\n" * 100], ids=["plainly", "with more sent"])
def test_questions_of_who_hangs_up_leave_their_places(tmp_path: Path, more: bytes) -> None:
    with running(tmp_path, questions_at_once=2) as clinic:
        engine: Any = clinic.service.datasets._opened["clinic"].engine
        with endless(engine, only="> 41") as begun:
            for _ in range(2):
                links = [asked(clinic, who, SLOW, more) for who in ("ana", "ben")]
                for _ in links:
                    assert begun.acquire(timeout=PATIENCE)
                for link in links:
                    link.close()
                until(lambda: not engine._seats.busy)
                for who in ("ana", "ben", "cora"):
                    assert clinic.ask(who, QUICK).status_code == 200
        assert clinic.call(None, "GET", "/healthz").status_code == 200
        spent = clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"]
        assert clinic.ask("ana", SLOW, epsilon=0.001).status_code == 200  # under the charge that stands
        assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == spent
        assert not clinic.service.pool._inside


def test_who_waits_behind_others_and_hangs_up_is_forgotten(tmp_path: Path) -> None:
    with running(tmp_path, questions_at_once=2) as clinic:
        engine: Any = clinic.service.datasets._opened["clinic"].engine
        with endless(engine, only="> 41") as begun:
            first = asked(clinic, "ana", SLOW)
            assert begun.acquire(timeout=PATIENCE)
            waiting = [asked(clinic, "ana", f"{SLOW} AND age < {60 + n}") for n in range(5)]
            until(lambda: len(engine._seats._waiting) == 5)
            assert clinic.ask("ben", QUICK).status_code == 200  # nobody has all places
            for link in waiting:
                link.close()
            until(lambda: not engine._seats._waiting)
            first.close()
            until(lambda: not engine._seats.busy)
        assert clinic.ask("ana", QUICK).status_code == 200


def test_a_question_that_was_stopped_again_and_again_has_failed(tmp_path: Path) -> None:
    """To stop and ask again is free, and so every look at the time it takes would be."""
    with running(tmp_path) as clinic:
        engine: Any = clinic.service.datasets._opened["clinic"].engine
        with endless(engine, only="> 41") as begun:
            for _ in range(3):
                link = asked(clinic, "ana", SLOW)
                assert begun.acquire(timeout=PATIENCE)
                link.close()
                until(lambda: not engine._seats.busy and not clinic.service.pool._inside)
        answer = clinic.ask("ana", SLOW, epsilon=0.001)
        assert (answer.status_code, answer.json()["type"]) == (500, "urn:tacit:problem:engine")


@pytest.mark.parametrize("extended", [False, True])
def test_a_closed_connection_of_the_other_door_stops_its_question(tmp_path: Path, extended: bool) -> None:
    with closing(Clinic(tmp_path)) as clinic, Served(clinic) as served:
        engine: Any = clinic.datasets._opened["clinic"].engine
        with endless(engine, only="> 41") as begun:
            connection = served.connect()
            connection.execute("SET tacit.epsilon = 0.25")

            def ask() -> None:
                with suppress(psycopg.Error):
                    connection.execute(SLOW, (), prepare=extended)

            thread = threading.Thread(target=ask)
            thread.start()
            assert begun.acquire(timeout=PATIENCE)
            with socket.socket(fileno=socket.dup(connection.fileno())) as link:
                link.shutdown(socket.SHUT_RDWR)
            thread.join()
            until(lambda: not engine._seats.busy)
        with served.connect() as other:
            other.execute("SET tacit.epsilon = 0.25")
            assert other.execute(QUICK).fetchall()
