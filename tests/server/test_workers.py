"""Two real workers are one service: what one person may take is counted together, also after a worker was killed."""

import os
import signal
import socket
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import psycopg
import pytest

from support.in_postgres import in_database, locked, url
from support.postgres import Server, postgres
from support.service import COUNT, clinic
from support.serving import Serving, serving
from tacit.policy import load
from tacit.server.ask.jobs import MOST
from tacit.server.survey.store import ReportStore
from tacit.survey.device import Device
from tacit.survey.plan import DEMO
from tacit.survey.survey import parse

__all__ = ["postgres"]

keys = count()


@contextmanager
def held(policy: Path) -> Iterator[None]:
    """Nobody can charge the ledger, so that jobs stay open."""
    with closing(sqlite3.connect(load(policy).ledger(), isolation_level=None)) as book:
        book.execute("BEGIN IMMEDIATE")
        yield
        book.execute("ROLLBACK")


def sent(service: Serving, who: str, number: int) -> int:
    """One job; a connection of its own, so that any worker may get it."""
    body = {"sql": COUNT.replace("GROUP", f"WHERE age >= {number % 90} GROUP"), "epsilon": 0.001}
    with service.client(who) as client:
        headers = {
            "Prefer": "respond-async",
            "Idempotency-Key": f"job-{next(keys)}",
        }  # a key of its own: no look at the ledger
        answer = client.post("/v1/datasets/clinic/ask", json=body, headers=headers)
    return answer.status_code


def states(service: Serving, who: str) -> Counter[str]:
    with service.client(who) as client:
        items: list[dict[str, Any]] = client.get("/v1/jobs").json()["items"]
    return Counter(item["state"] for item in items)


def test_open_jobs_are_limited_for_both_workers_together_and_a_killed_worker_frees_its_own(tmp_path: Path) -> None:
    policy = clinic(tmp_path)
    with serving(tmp_path, policy, "ana", environment={"JOBS": "1"}) as service, held(policy):
        with ThreadPoolExecutor(8) as pool:
            codes = Counter(pool.map(lambda n: sent(service, "ana", n), range(60)))
        assert codes == {202: MOST, 429: 60 - MOST}
        os.kill(service.workers()[0], signal.SIGKILL)
        for _ in range(200):
            lost = 0
            with suppress(httpx.TransportError):
                lost = states(service, "ana")["lost"]
            if lost:
                break
            sleep(0.05)
        assert lost
        codes = Counter(sent(service, "ana", n) for n in range(40))
        assert codes == {202: lost, 429: 40 - lost}


def test_clients_of_postgresqls_protocol_come_in_at_every_worker_and_stop_what_runs_in_another(
    tmp_path: Path, postgres: Server
) -> None:
    """A request to stop is a connection of its own, which any worker may get: each question has to be stopped."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    wire = {"WIRE": f"127.0.0.1:{port}", "QUESTIONS_AT_ONCE": "12"}
    with (
        postgres.database() as name,
        serving(tmp_path, in_database(tmp_path, postgres, name), "ana", environment=wire) as service,
        ExitStack() as stack,
    ):
        place = f"host=127.0.0.1 port={port} dbname=clinic user=ana password={service.tokens['ana']}"
        clients = [stack.enter_context(psycopg.connect(place, autocommit=True)) for _ in range(6)]
        numbers = [client.info.backend_pid for client in clients]
        while max(numbers) - min(numbers) < 100:  # a worker counts its connections, from anywhere
            clients.append(stack.enter_context(psycopg.connect(place, autocommit=True)))
            numbers.append(clients.pop(0).info.backend_pid)
            assert len(numbers) < 24
        with locked(postgres, name), ThreadPoolExecutor(6) as threads:

            def asked(number: int) -> object:
                clients[number].execute("SET tacit.epsilon = 0.001")
                return clients[number].execute(f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}".encode())

            waiting = [threads.submit(asked, number) for number in range(6)]
            sleep(1)
            for client in clients:
                client.cancel_safe(timeout=30)
            for each in waiting:
                with pytest.raises(psycopg.errors.QueryCanceled):
                    each.result(timeout=30)


def test_requests_and_failures_are_limited_for_both_workers_together(tmp_path: Path) -> None:
    with serving(tmp_path, clinic(tmp_path), "ana", environment={"RATE": "10", "FAILURES": "10"}) as service:

        def looked(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.get(f"{service.url}/v1/me", headers=headers, trust_env=False).status_code

        with ThreadPoolExecutor(8) as pool:
            wrong = Counter(pool.map(looked, ["tacit_wrong"] * 60))
            right = Counter(pool.map(looked, [service.tokens["ana"]] * 60))
        # one more every six seconds, so that a slow machine lets a few more through, and never twice as many
        assert 10 <= wrong[401] <= 15
        assert 10 <= right[200] <= 15
        assert wrong[401] + wrong[429] == right[200] + right[429] == 60


@pytest.mark.parametrize("where", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_reports_are_taken_by_both_workers_and_counted_once_though_one_is_killed(
    where: str, tmp_path: Path, postgres: Server
) -> None:
    """Each submission is sent until it is acknowledged, and once more; what is kept are the reports that were made."""
    survey, connections = parse(DEMO), 6
    sent = [Device(survey).answer({"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5}) for _ in range(90)]
    (tmp_path / "survey.toml").write_text(DEMO)
    with ExitStack() as stack:
        place: str | Path = tmp_path / "state" / "surveys.db"
        settings = {"SURVEYS": str(tmp_path / "survey.toml"), "SURVEY_RATE": "100000"}
        if where == "postgres":
            name = stack.enter_context(postgres.database())
            place = settings["DATABASE"] = url(postgres, name)
        service = stack.enter_context(serving(tmp_path, clinic(tmp_path), "ana", environment=settings))

        def deliver(part: int) -> int:
            return sum(insist(service, survey.name, each.json()) for each in sent[part::connections])

        with ThreadPoolExecutor(connections) as pool:
            first = [pool.submit(deliver, part) for part in range(connections)]
            sleep(0.2)
            os.kill(service.workers()[0], signal.SIGKILL)
            assert sum(each.result() for each in first) <= len(sent)  # whose answer was lost is told: known already
            assert sum(pool.map(deliver, range(connections))) == 0
        with closing(ReportStore(place)) as store:
            assert store.size(survey) == len(sent)
            for question in survey.questions:
                assert list(store.reports(survey, question)) == sorted(each.reports[question] for each in sent)


def insist(service: Serving, survey: str, body: str) -> bool:
    """Send it until it is acknowledged; whether it was new."""
    for _ in range(600):
        with suppress(httpx.TransportError):
            headers = {"Content-Type": "application/json"}
            answer = httpx.post(
                f"{service.url}/v1/surveys/{survey}/reports", content=body, headers=headers, trust_env=False, timeout=30
            )
            if answer.status_code < 300:
                return bool(answer.json()["counted"])
            assert answer.status_code == 503, answer.text
        sleep(0.1)
    raise AssertionError("nobody took it")
