"""What dies, dies at the worst moment: workers, the database and the ledger's database, all by kill -9.

Afterwards there is no answer that was not paid for, no key that paid twice, and nobody was left without a clear word.
"""

import json
import os
import signal
import socket
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import psycopg
import pytest

from support.in_postgres import in_database, locked, url, waiting
from support.postgres import Server, either, pair, postgres
from support.service import COUNT, clinic, running
from support.serving import Serving, serving
from tacit.ledger import Ledger
from tacit.ledger.verify import verify

__all__ = ["pair", "postgres"]

PEOPLE = "patients of a made-up clinic"
SQL = "SELECT COUNT(*) AS n FROM visits"
PATIENCE = 300.0  # on a machine that is busy


def charges(where: str | Path) -> Counter[str]:
    """How often each key was charged; the book must be whole."""
    assert verify(where).ok
    with Ledger.open(where, create=False) as ledger:
        bodies = [json.loads(entry.body) for entry in ledger.log(PEOPLE) if entry.kind == "charge"]
        return Counter(body["key"] for body in bodies)


def outcome(asked: "Future[httpx.Response]", seconds: float = PATIENCE) -> httpx.Response | None:
    """What came back; None if the connection died."""
    try:
        return asked.result(timeout=seconds)
    except httpx.TransportError:
        return None


def test_a_worker_is_killed_while_it_answers(tmp_path: Path, postgres: Server) -> None:
    with (
        postgres.database() as name,
        serving(tmp_path, in_database(tmp_path, postgres, name), "ana") as service,
        ThreadPoolExecutor(1) as threads,
    ):
        with locked(postgres, name) as holder:
            asked = threads.submit(service.ask, "ana", SQL, "first")
            waiting(holder)
            before = service.workers()
            assert len(before) == 2
            for worker in before:  # one of them has it; the other one goes on serving
                os.kill(worker, signal.SIGKILL)
                service.wait()
                sleep(0.5)
                if asked.done():
                    break
            assert outcome(asked) is None
            assert charges(tmp_path / "clinic.ledger") == {"first": 1}
        answer = service.insist("ana", SQL, "first")
        assert service.insist("ana", SQL, "first")["rows"] == answer["rows"]
    assert charges(tmp_path / "clinic.ledger") == {"first": 1}


def test_the_database_is_killed_while_it_answers(tmp_path: Path, postgres: Server) -> None:
    with (
        postgres.database() as name,
        serving(tmp_path, in_database(tmp_path, postgres, name), "ana") as service,
        ThreadPoolExecutor(1) as threads,
    ):
        with locked(postgres, name) as holder:
            asked = threads.submit(service.ask, "ana", SQL, "first")
            waiting(holder)
            postgres.kill()
            failed = outcome(asked)
            assert failed is not None
            assert (failed.status_code, failed.json()["type"]) == (500, "urn:tacit:problem:engine")
            away = service.ask("ana", SQL, "second")  # nobody pays for what could not begin
            assert (away.status_code, away.json()["type"]) == (503, "urn:tacit:problem:unavailable")
            assert "nothing was charged" in away.json()["detail"]
            assert charges(tmp_path / "clinic.ledger") == {"first": 1}
        postgres.start()
        assert service.ask("ana", SQL, "first").status_code == 500  # what failed once under a charge is its answer
        assert service.insist("ana", SQL, "second")["columns"] == ["n"]
    assert charges(tmp_path / "clinic.ledger") == {"first": 1, "second": 1}


def test_the_ledgers_database_is_killed(tmp_path: Path, postgres: Server) -> None:
    policy = clinic(tmp_path)
    with postgres.database() as name:
        policy.write_text(policy.read_text().replace('ledger = "clinic.ledger"', f'ledger = "{url(postgres, name)}"'))
        with serving(tmp_path, policy, "ana") as service:
            first = service.insist("ana", SQL, "first")
            postgres.kill()
            for key in ("first", "second"):
                lost = service.ask("ana", SQL if key == "first" else COUNT, key)
                assert lost.status_code == 503, lost.text
                assert lost.json()["type"] in ("urn:tacit:problem:ledger", "urn:tacit:problem:outcome-unknown")
                assert "retry-after" in lost.headers
                assert str(postgres.folder) not in lost.text
            postgres.start()
            assert service.insist("ana", SQL, "first")["rows"] == first["rows"]
            second = service.insist("ana", COUNT, "second")
            assert service.insist("ana", COUNT, "second")["rows"] == second["rows"]
        assert charges(url(postgres, name)) == {"first": 1, "second": 1}


def storm(service: Serving, kills: int, kill: Any) -> dict[str, list[Any]]:
    """Four analysts ask with a key each time until they have an answer, twice, while something is killed."""
    found: dict[str, list[Any]] = {}

    def asks(place: int) -> None:
        number = 0
        while not over or number < 3:
            key = f"key-{place}-{number}"
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE age > {number % 80} AND cost > {place}"
            found[key] = [service.insist("ana", sql, key, 0.0001)["rows"] for _ in range(2)]
            number += 1

    over: list[bool] = []
    with ThreadPoolExecutor(4) as threads:
        going = [threads.submit(asks, place) for place in range(4)]
        for _ in range(kills):
            sleep(0.7)
            kill()
        over.append(True)
        for each in going:
            each.result()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, 40])
def test_workers_are_killed_again_and_again(tmp_path: Path, kills: int) -> None:
    turns = iter(range(1000))

    with serving(tmp_path, clinic(tmp_path), "ana") as service:

        def kill() -> None:
            there = service.workers()
            if there:
                os.kill(there[next(turns) % len(there)], signal.SIGKILL)

        found = storm(service, kills, kill)
    assert all(first == second for first, second in found.values())
    assert charges(tmp_path / "clinic.ledger") == dict.fromkeys(found, 1)


@pytest.mark.slow
def test_the_ledgers_database_is_killed_again_and_again(tmp_path: Path, postgres: Server) -> None:
    policy = clinic(tmp_path)
    with postgres.database() as name:
        policy.write_text(policy.read_text().replace('ledger = "clinic.ledger"', f'ledger = "{url(postgres, name)}"'))
        with serving(tmp_path, policy, "ana") as service:
            found = storm(service, 15, postgres.crash)
        assert all(first == second for first, second in found.values())
        assert charges(url(postgres, name)) == dict.fromkeys(found, 1)


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_the_ledgers_primary_dies_and_its_standby_takes_over(
    tmp_path: Path, pair: tuple[Server, Server], kills: int
) -> None:
    """Two workers, asked through both doors; people and ledger are in the pair. Each time a new standby is made."""
    later = [Server(pair[0].binaries, begun=False) for _ in range(kills - 1)]
    made = [*pair, *later]  # one address names all
    place, policy = either(*made), clinic(tmp_path)
    policy.write_text(policy.read_text().replace('ledger = "clinic.ledger"', f'ledger = "{place}"'))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    order = list(made)

    def kill() -> None:
        order.pop(0).kill()
        sleep(0.3)
        order[0].promote()
        if len(order) > 1:
            order[1].follow(order[0])

    settings = {"WIRE": f"127.0.0.1:{port}", "DATABASE": place}
    with serving(tmp_path, policy, "ana", environment=settings) as service:
        wire = Wire(f"host=127.0.0.1 port={port} dbname=clinic user=ana password={service.tokens['ana']}")
        with ThreadPoolExecutor(1) as threads:
            stop: list[bool] = []
            going = threads.submit(wire.insist, stop)
            found = storm(service, kills, kill)
            stop.append(True)
            asked = going.result(timeout=PATIENCE)
    assert all(first == second for first, second in (*found.values(), *asked.values()))
    assert len(asked) > 1
    assert charges(place) == dict.fromkeys([*found, *asked], 1)
    for each in later:
        each.close()


class Wire:
    """An analyst at the other door, who asks with a key each time until there is an answer, twice."""

    def __init__(self, place: str) -> None:
        self._place = place

    def insist(self, stop: list[bool]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        while not stop:
            key = f"wire-{len(found)}"
            found[key] = [self._asked(key, len(found)) for _ in range(2)]
        return found

    def _asked(self, key: str, number: int) -> Any:
        end = monotonic() + PATIENCE
        while True:
            try:
                with psycopg.connect(self._place, autocommit=True) as connection:
                    connection.execute("SET tacit.epsilon = 0.0001")
                    connection.execute(f"SET tacit.key = '{key}'".encode())
                    sql = f"SELECT COUNT(*) AS n FROM visits WHERE age > {number % 80}"
                    return connection.execute(sql.encode()).fetchall()
            except psycopg.Error as error:  # in between: the ledger or people cannot be asked
                # who comes in meets the database of people first, and psycopg does not tell the state of that
                clear = error.sqlstate in ("53000", "57P03", "08007") or "try again later" in str(error)
                if not clear or monotonic() > end:
                    raise
                sleep(0.1)


def job_of(service: Serving, **more: str) -> dict[str, Any]:
    """A question taken as a job; what was told of it."""
    with service.client("ana") as client:
        headers = {"Prefer": "respond-async", **more}
        answer = client.post("/v1/datasets/clinic/ask", json={"sql": SQL, "epsilon": 0.01}, headers=headers)
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.mark.parametrize("how", ["cancelled", pytest.param("lost", marks=pytest.mark.slow)])
def test_a_job_on_data_without_a_version_is_asked_again_under_its_key_and_charged_once(
    how: str, tmp_path: Path, postgres: Server
) -> None:
    with (
        postgres.database() as name,
        serving(tmp_path, in_database(tmp_path, postgres, name), "ana") as service,
        service.client("ana") as client,
    ):
        with locked(postgres, name) as holder:
            job = job_of(service)
            waiting(holder)
            assert charges(tmp_path / "clinic.ledger") == {job["key"]: 1}
            if how == "cancelled":
                assert client.delete(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"
            else:
                for worker in service.workers():
                    os.kill(worker, signal.SIGKILL)
                service.wait()
        told = client.get(f"/v1/jobs/{job['id']}").json()
        assert (told["state"], told["key"]) == (how, job["key"])
        answer = service.insist("ana", SQL, job["key"])
        assert answer["key"] == job["key"]
        assert charges(tmp_path / "clinic.ledger") == {job["key"]: 1}
        without = job_of(service)  # which is another question, since the data may be others
        assert without["key"] != job["key"]
        while client.get(f"/v1/jobs/{without['id']}").json()["state"] in ("queued", "running"):
            sleep(0.05)
    assert charges(tmp_path / "clinic.ledger") == {job["key"]: 1, without["key"]: 1}


def test_a_statement_that_is_stopped_names_the_key_under_which_it_is_not_paid_for_again(
    tmp_path: Path, postgres: Server
) -> None:
    with (
        postgres.database() as name,
        running(tmp_path, lambda folder: in_database(folder, postgres, name), wire="127.0.0.1:0") as service,
    ):
        place = f"host=127.0.0.1 port={service.wire_port} dbname=clinic user=ana password={service.tokens['ana']}"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET tacit.epsilon = 0.01")
            with locked(postgres, name) as holder, ThreadPoolExecutor(1) as threads:
                asked = threads.submit(connection.execute, SQL)
                waiting(holder)
                connection.cancel_safe(timeout=30)
                with pytest.raises(psycopg.errors.QueryCanceled) as stopped:
                    asked.result()
            hint = stopped.value.diag.message_hint or ""
            key = hint.split("'")[1]
            assert charges(tmp_path / "clinic.ledger") == {key: 1}
            connection.execute(f"SET tacit.key = '{key}'".encode())
            first = connection.execute(SQL).fetchall()
            assert connection.execute(SQL).fetchall() == first
            assert charges(tmp_path / "clinic.ledger") == {key: 1}
            with pytest.raises(psycopg.Error, match="another program or cost: nothing was charged"):
                connection.execute("SELECT COUNT(*) AS n FROM visits WHERE age > 50")
            connection.execute("RESET tacit.key")
            connection.execute(SQL)
    assert sorted(charges(tmp_path / "clinic.ledger").values()) == [1, 1]
