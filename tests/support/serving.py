"""`tacit serve` as a process of its own with several workers, to be killed; and clients that insist on an answer."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx

from support.service import PLAIN
from tacit.server.auth.people import People
from tacit.server.db import State

__all__ = ["Serving", "serving"]

PROGRAM = "from tacit.cli import main; main()"
PATIENCE = 300.0  # on a machine that is busy; nobody waits that long elsewhere


@dataclass(frozen=True)
class Serving:
    """A service that runs elsewhere."""

    process: "subprocess.Popen[bytes]" = field(repr=False)
    url: str
    tokens: dict[str, str] = field(repr=False)
    log: Path

    def workers(self) -> list[int]:
        """The processes that serve; the first child of the supervisor may be Python's own tracker of resources."""
        found = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        lines = [line.split(None, 2) for line in found.stdout.splitlines()]
        return [int(pid) for pid, parent, what in lines if int(parent) == self.process.pid and "spawn_main" in what]

    def client(self, who: str, timeout: float = 60) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=timeout, trust_env=False, verify=PLAIN)

    def ask(self, who: str, sql: str, key: str, epsilon: float = 0.01) -> httpx.Response:
        with self.client(who) as client:
            body = {"sql": sql, "epsilon": epsilon}
            return client.post("/v1/datasets/clinic/ask", json=body, headers={"Idempotency-Key": key})

    def insist(self, who: str, sql: str, key: str, epsilon: float = 0.01) -> dict[str, Any]:
        """Ask with one key until there is an answer. Whatever comes before it must be a clear error."""
        end = monotonic() + PATIENCE
        while True:
            try:
                answer = self.ask(who, sql, key, epsilon)
            except httpx.TransportError:
                pass  # whoever had it is gone
            else:
                if answer.status_code == 200:
                    found: dict[str, Any] = answer.json()
                    return found
                assert answer.status_code == 503, answer.text
                assert answer.headers["content-type"] == "application/problem+json"
            assert monotonic() < end, self.log.read_text()[-2000:]
            sleep(0.1)

    def healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", trust_env=False, timeout=10, verify=PLAIN).status_code == 200
        except httpx.TransportError:
            return False

    def wait(self) -> None:
        """Until it has greeted, with every worker up, and answers."""
        end = monotonic() + PATIENCE
        while "tacit serves at" not in self.log.read_text() or not self.healthy():
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert monotonic() < end, self.log.read_text()[-2000:]
            sleep(0.05)


@contextmanager
def serving(
    folder: Path, policy: Path, *people: str, environment: Mapping[str, str] | None = None
) -> Iterator[Serving]:
    """Two workers for this policy; everybody named is an analyst. The service is stopped at the end."""
    (folder / "state").mkdir()
    state = State((environment or {}).get("DATABASE") or folder / "state" / "server.db")
    tokens = {}
    for name in people:
        People(state).add(name, "analyst")
        tokens[name] = People(state).issue(name).text
    state.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"LISTEN": f"127.0.0.1:{port}", "STATE": str(folder / "state"), "DATASETS": str(policy), "WORKERS": "2"}
    settings |= {"RATE": "100000", "GRACE": "2", **(environment or {})}
    known = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_SERVER_")}
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "serve"],
            env=known | {f"TACIT_SERVER_{name}": value for name, value in settings.items()},
            stdout=file,
            stderr=file,
            cwd=folder,
        )
    found = Serving(process, f"http://127.0.0.1:{port}", tokens, log)
    try:
        found.wait()
        yield found
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            for pid in found.workers():
                os.kill(pid, signal.SIGKILL)
            process.kill()
            process.wait()
