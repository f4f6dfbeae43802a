"""`tacit serve` as people start it: a process of its own, the demo, a link, a token; stopped and started again."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import httpx
import pytest

from tacit.server.ops.config import Config
from tacit.server.ops.run import settings

PROGRAM = "from tacit.cli import main; main()"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def served(folder: Path, *more: str) -> Iterator[tuple[str, str, list[int]]]:
    """The address and what was printed; at the end the process is told to stop, and its code is in the list."""
    port = free_port()
    command = [sys.executable, "-c", PROGRAM, "serve", "--state", str(folder), "--listen", f"127.0.0.1:{port}", *more]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_SERVER_")}
    out = folder.parent / "out.txt"
    codes: list[int] = []
    with out.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, text=True)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(3000):  # the greeting comes when the service is well
            assert process.poll() is None, out.read_text()
            if "tacit serves at" in out.read_text():
                break
            sleep(0.02)
        assert httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
        yield url, out.read_text(), codes
    finally:
        process.send_signal(signal.SIGTERM)
        codes.append(process.wait(30))


def asked(url: str, token: str) -> httpx.Response:
    body = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{url}/v1/datasets/clinic/ask", json=body, headers=headers, trust_env=False, timeout=30)


def test_from_nothing_to_an_answer(tmp_path: Path) -> None:
    with served(tmp_path / "state") as (url, printed, codes):
        link = re.search(r"(http://\S+/signin\?link=\S+)", printed)
        token = re.search(r"tacit_[0-9a-f]{12}_\S{43}", printed)
        assert link is not None
        assert token is not None
        assert link[1].startswith(url)
        answer = asked(url, token[0])
        assert answer.status_code == 200, answer.text
        with httpx.Client(base_url=url, trust_env=False) as browser:
            browser.post("/signin", data={"link": link[1].split("=", 1)[1]})
            assert browser.get("/v1/me").json()["role"] == "curator"
    assert codes in ([0], [-signal.SIGTERM])
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert '"event": "stopped"' in lines[-1]  # what was open was closed
    assert sum(token[0] in line for line in lines) == 1


@pytest.mark.slow
def test_after_a_restart_nothing_secret_is_shown_again_and_the_answer_is_the_same(tmp_path: Path) -> None:
    with served(tmp_path / "state") as (url, printed, _):
        token = re.search(r"tacit_[0-9a-f]{12}_\S{43}", printed)
        assert token is not None
        first = asked(url, token[0])
    with served(tmp_path / "state") as (url, printed, _):
        assert "signin?link" not in printed
        assert "tacit_" not in printed
        again = asked(url, token[0]).json()
        assert again["cached"]
        assert again["rows"] == first.json()["rows"]


@pytest.mark.slow
def test_several_workers_share_one_budget(tmp_path: Path) -> None:
    with served(tmp_path / "state", "--workers", "2") as (url, printed, _):
        token = re.search(r"tacit_[0-9a-f]{12}_\S{43}", printed)
        assert token is not None
        answers = [asked(url, token[0]).json() for _ in range(10)]
        assert len({str(answer["rows"]) for answer in answers}) == 1
        budget = httpx.get(
            f"{url}/v1/datasets/clinic/budget", headers={"Authorization": f"Bearer {token[0]}"}, trust_env=False
        ).json()
        assert budget["left"]["epsilon"] == "1.9"


def test_no_request_is_logged_by_the_web_server_itself() -> None:
    found = settings(Config())
    assert found["access_log"] is False
    assert found["server_header"] is False
    secure = settings(Config(listen="0.0.0.0:1", certificate=Path("c.pem"), private_key=Path("k.pem")))
    assert (secure["ssl_certfile"], secure["ssl_keyfile"]) == ("c.pem", "k.pem")
