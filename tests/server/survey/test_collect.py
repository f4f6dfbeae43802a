"""The collector: what it acknowledged is on disk, even if it is killed, and one bad report harms no other."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import sleep as wait
from typing import Any

import httpx
import pytest

from support.surveys import SLEEP, sleep, written
from tacit.base import TacitError
from tacit.server.db import Unavailable
from tacit.server.problem import HttpProblem
from tacit.server.survey.collect import Collector
from tacit.server.survey.store import Delivery, Refusal, ReportStore
from tacit.survey.device import Device
from tacit.survey.survey import Survey

GOOD: dict[str, Any] = {"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5}


def delivery(survey: Survey) -> Delivery:
    made = Device(survey).answer(GOOD)
    return Delivery(made.id, made.reports)


def collected(store: ReportStore, survey: Survey, sent: list[Delivery]) -> list[bool | Refusal | BaseException]:
    async def all_at_once() -> list[bool | Refusal | BaseException]:
        collector = Collector(store)
        try:
            return await asyncio.gather(*(collector.submit(survey, each) for each in sent), return_exceptions=True)
        finally:
            await asyncio.get_running_loop().run_in_executor(None, collector.close)

    return asyncio.run(all_at_once())


def test_many_at_once_and_one_of_them_impossible(tmp_path: Path) -> None:
    survey, store = sleep(), ReportStore(tmp_path / "surveys.db")
    store.enter(survey)
    sent = [delivery(survey) for _ in range(300)]
    sent[100] = sent[100]._replace(reports={**sent[100].reports, "slept": b"\x02"})
    sent[200] = sent[199]
    told = collected(store, survey, sent)
    assert isinstance(told[100], HttpProblem)
    assert "slept" in str(told[100])
    assert sorted([told[199], told[200]], key=bool) == [False, True]
    assert all(each is True for place, each in enumerate(told) if place not in (100, 199, 200))
    assert store.size(survey) == 298
    store.close()


def test_a_store_that_fails_is_told_to_everybody(tmp_path: Path) -> None:
    survey, store = sleep(), ReportStore(tmp_path / "surveys.db")
    told = collected(store, survey, [delivery(survey) for _ in range(5)])  # the survey was never entered
    assert all(isinstance(each, TacitError) for each in told)
    store.enter(survey)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE tacit_reports")
    assert all(isinstance(each, Unavailable) for each in collected(store, survey, [delivery(survey)]))
    store.close()


def test_a_report_that_breaks_its_reader_does_not_end_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, store = sleep(), ReportStore(tmp_path / "surveys.db")
    store.enter(survey)

    def broken(*_: object) -> None:
        raise IndexError("nobody thought of this")

    async def one_after_the_other() -> bool | Refusal:
        collector = Collector(store)
        try:
            with monkeypatch.context() as patch:
                patch.setattr("tacit.server.survey.collect.impossible", broken)
                with pytest.raises(Unavailable):
                    await asyncio.wait_for(collector.submit(survey, delivery(survey)), 20)
            return await asyncio.wait_for(collector.submit(survey, delivery(survey)), 20)
        finally:
            await asyncio.get_running_loop().run_in_executor(None, collector.close)

    assert asyncio.run(one_after_the_other()) is True
    store.close()


def test_after_the_end_nothing_is_taken(tmp_path: Path) -> None:
    survey, store = sleep(), ReportStore(tmp_path / "surveys.db")
    collector = Collector(store)
    collector.close()
    with pytest.raises(Unavailable, match="ending"):
        asyncio.run(collector.submit(survey, delivery(survey)))
    store.close()


def test_nothing_acknowledged_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    survey = sleep(minimum=1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "SURVEYS": written(tmp_path, SLEEP.replace("minimum = 5", "minimum = 1")),
        "STATE": tmp_path / "state",
        "LISTEN": f"127.0.0.1:{port}",
        "SURVEY_RATE": 1_000_000,
    }
    environment = os.environ | {f"TACIT_SERVER_{name}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "tacit", "serve"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=quiet, stderr=quiet) as process:
        try:
            acknowledged = asyncio.run(_sent_until_killed(process, survey, f"http://127.0.0.1:{port}"))
        finally:
            process.kill()
    store = ReportStore(tmp_path / "state" / "surveys.db")
    store.enter(survey)
    assert len(acknowledged) >= 200
    assert store.add(survey, acknowledged) == [False] * len(acknowledged), "each of them is there"
    tally = store.counted(survey).tallies["slept"]
    assert tally.reports == store.size(survey) == len(list(store.reports(survey, "slept")))
    store.close()


async def _sent_until_killed(process: "subprocess.Popen[bytes]", survey: Survey, url: str) -> list[Delivery]:
    acknowledged: list[Delivery] = []
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        for _ in range(600):
            try:
                if (await client.get("/healthz")).status_code == 200:
                    break
            except httpx.TransportError:
                wait(0.1)

        async def respondent() -> None:
            while True:
                made = Device(survey).answer(GOOD)
                try:
                    answer = await client.post(f"/v1/surveys/{survey.name}/reports", content=made.json())
                except httpx.TransportError:
                    return
                assert json.loads(answer.text) == {"counted": True}, answer.text
                acknowledged.append(Delivery(made.id, made.reports))
                if len(acknowledged) == 200:
                    process.send_signal(signal.SIGKILL)  # while others are on their way

        await asyncio.gather(*(respondent() for _ in range(16)))
    return acknowledged
