"""Starting the service: one process, or several workers that share the ledgers and the state."""

import gc
import os
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI

from tacit.server.app import application
from tacit.server.config import PREFIX, Config
from tacit.server.log import no_paths, to_stderr
from tacit.server.protocol import Patient
from tacit.server.service import Service

__all__ = ["run", "server", "worker"]


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
        "http": Patient,
        "ws": "none",
        "limit_concurrency": 1000,
        "timeout_worker_healthcheck": 60,  # a busy worker is not a dead one
        "ssl_certfile": None if config.certificate is None else str(config.certificate),
        "ssl_keyfile": None if config.private_key is None else str(config.private_key),
    }


def _attentive() -> None:
    """Let the event loop have its turn sooner than after the 5 ms that Python gives a busy thread."""
    sys.setswitchinterval(0.0005)


def _settled() -> None:
    """Have the collector of cycles leave alone what is there for good, such as modules: to look through all of it takes
    a tenth of a second in which nobody is answered."""
    gc.collect()
    gc.freeze()


def server(service: Service) -> uvicorn.Server:
    """A server in this process, not started yet."""
    no_paths()
    _attentive()
    return uvicorn.Server(uvicorn.Config(application(service), **settings(service.config)))


def worker() -> FastAPI:
    """The application of one worker of several, which finds its config in the environment."""
    to_stderr()
    no_paths()
    _attentive()
    made = application(Service.open(Config.read()))
    _settled()
    return made


def run(config: Config) -> None:
    """Serve until told to stop (SIGINT, SIGTERM); what is running is waited for."""
    to_stderr()
    if config.workers == 1:
        made = server(Service.open(config))
        _settled()
        made.run()
        return
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]  # what follows says all of it
    os.environ |= config.environment()
    uvicorn.run("tacit.server.run:worker", factory=True, workers=config.workers, **settings(config))
