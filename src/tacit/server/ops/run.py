"""Starting the service: one process, or several workers that share the ledgers and the state.

Doors are opened first, then everything behind them; the greeting comes last, when the service has answered. Whatever
does not work before that is one line and an exit code.
"""

import gc
import http.client
import os
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import sleep
from typing import Any

import sqlglot.dialects.duckdb  # noqa: F401 - now, and not at the first question of a worker, which would wait for it
import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from tacit.base import TacitError
from tacit.server.http.app import application
from tacit.server.http.guard import PatientProtocol
from tacit.server.ops.config import PREFIX, Config
from tacit.server.ops.listen import Doors, narrow, warn
from tacit.server.ops.log import no_paths, to_stderr
from tacit.server.ops.service import Service

__all__ = ["run", "server", "worker"]

FAILED = 2  # the exit code of a start that was refused, as of any other command
OFTEN = 0.05  # seconds between two looks whether the service answers
Welcome = Callable[[Callable[[], bool]], None]
"""Waits until the service is well, and greets; or until it is stopping."""


def settings(config: Config) -> dict[str, Any]:
    """What uvicorn is told. Its own log of requests is off: it would hold paths and queries."""
    host, port = config.address
    return {
        "host": host,
        "port": port,
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "date_header": True,
        "proxy_headers": config.behind_proxy,
        "timeout_graceful_shutdown": config.grace or None,
        "timeout_keep_alive": 15,
        "http": PatientProtocol,
        "ws": "none",
        "limit_concurrency": 1000,
        "timeout_worker_healthcheck": 60,  # a busy worker is not a dead one
        "ssl_certfile": None if config.certificate is None else str(config.certificate),
        "ssl_keyfile": None if config.private_key is None else str(config.private_key),
    }


def _attentive() -> None:
    """Let the event loop have its turn sooner than after the 5 ms that Python gives a busy thread. And no paths in
    logs."""
    sys.setswitchinterval(0.0005)
    no_paths()


def _settled() -> None:
    """Have the collector of cycles leave alone what is there for good, such as modules: to look through all of it takes
    a tenth of a second in which nobody is answered."""
    gc.collect()
    gc.freeze()


def server(service: Service, doors: Doors | None = None) -> uvicorn.Server:
    """A server in this process, not started yet."""
    _attentive()
    app = application(service, wire=None if doors is None else doors.wire)
    return uvicorn.Server(uvicorn.Config(app, **settings(service.config)))


def worker() -> FastAPI:
    """The application of one worker of several, which finds its config in the environment."""
    to_stderr()
    _attentive()
    try:
        made = application(Service(Config.read()))
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr, flush=True)
        os._exit(FAILED)  # what was open is closed; libraries have a lot to say about an end that they did not expect
    _settled()
    return made


def run(config: Config, greet: Callable[[Doors], None]) -> None:
    """Serve until told to stop (SIGINT, SIGTERM); what is running is waited for. `greet` is called once, when the doors
    are open, every worker is up and the service says that it is well."""
    to_stderr()
    doors = Doors(config)
    narrow(config)

    def welcome(stopping: Callable[[], bool]) -> None:
        if _well(config, doors, stopping):
            greet(doors)
            warn(config)

    try:
        (_run_workers if config.workers > 1 else _run_alone)(config, doors, welcome)
    finally:
        doors.close()


def _run_alone(config: Config, doors: Doors, welcome: Welcome) -> None:
    made = server(Service(config), doors)
    _settled()
    problem: list[TacitError] = []

    def greeted() -> None:
        try:
            welcome(lambda: made.should_exit)
        except TacitError as error:
            problem.append(error)
            made.should_exit = True

    threading.Thread(target=greeted, name="tacit-greeting", daemon=True).start()
    made.run(sockets=doors.http)
    if problem:
        raise problem[0]
    if not made.started:
        sys.exit(FAILED)


def _run_workers(config: Config, doors: Doors, welcome: Welcome) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]  # what follows says all of it
    port = doors.ports[1]
    if port is not None:  # 0 would be another one for each
        config = replace(config, wire=f"{config.wire.rpartition(':')[0]}:{port}")
    os.environ |= config.environment()
    told = uvicorn.Config("tacit.server.ops.run:worker", factory=True, workers=config.workers, **settings(config))
    workers = _Workers(told, doors, welcome)
    workers.run()
    if workers.problem is not None:
        raise workers.problem
    if workers.failed:
        sys.exit(FAILED)


class _Workers(Multiprocess):
    """uvicorn's supervisor. The first worker starts alone, so that what is wrong with all of them is told once."""

    def __init__(self, config: uvicorn.Config, doors: Doors, welcome: Welcome) -> None:
        super().__init__(config, doors.http)
        self.failed = False
        self.problem: TacitError | None = None
        self._welcome = welcome

    def init_processes(self) -> None:
        for count in (1, self.processes_num - 1):
            if self.should_exit.is_set():
                return
            fresh = [Process(self.config, self.sockets) for _ in range(count)]
            for process in fresh:
                process.start()
                self.processes.append(process)
            while not self.should_exit.is_set() and not all(process.is_ready(1) for process in fresh):
                self.handle_signals()
                if any(process.exitcode is not None for process in fresh):
                    self.failed = True
                    self.should_exit.set()
                sleep(OFTEN)
        if not self.should_exit.is_set():
            try:
                self._welcome(self._stopping)
            except TacitError as error:
                self.problem = error
                self.should_exit.set()

    def _stopping(self) -> bool:
        self.handle_signals()
        return self.should_exit.is_set()


def _well(config: Config, doors: Doors, stopping: Callable[[], bool]) -> bool:
    """Wait until /healthz says so; False if the service stops before."""
    host, port = doors.address
    while not stopping():
        with suppress(OSError, http.client.HTTPException):
            if config.tls:
                context = ssl._create_unverified_context()  # our own door, whatever name its certificate has
                found: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=5, context=context)
            else:
                found = http.client.HTTPConnection(host, port, timeout=5)
            try:
                found.request("GET", "/healthz")
                if found.getresponse().status == http.client.OK:
                    return True
            finally:
                found.close()
        sleep(OFTEN)
    return False
