"""A real service on a loopback port: the made-up clinic, people of every role, and clients for them."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any, Unpack

import httpx

from tacit.cli.demo.clinic import build
from tacit.engine import Watch
from tacit.server.ask.datasets import Datasets
from tacit.server.auth.people import Identity, Role
from tacit.server.ops.config import Config
from tacit.server.ops.run import server
from tacit.server.ops.service import Service
from tacit.session import TableRelease
from tacit.sql.offer import OfferTerms

__all__ = ["COUNT", "Running", "asked", "clinic", "running"]

PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used on http, and slow to make for each client
COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
PEOPLE: Mapping[str, Role] = {
    "cora": "curator",
    "ana": "analyst",
    "ben": "analyst",
    "zoe": "analyst",
    "otto": "auditor",
}
MORE = """
[tables.staff]
source = "staff.parquet"
each_row_is_a_unit = true

[tables.staff.columns]
pay = { type = "integer", bounds = [0, 100], nullable = false }
code = { type = "integer", bounds = [0, 9], hidden = true }

[analysts.ben]
limit = 2
tables = ["visits"]

[analysts.cora]
limit = 1
"""


def clinic(folder: Path) -> Path:
    """The clinic of the tour, with a second table that ben may not ask; zoe and otto are not in its policy."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    build(folder)
    pq.write_table(pa.table({"pay": list(range(100)), "code": [n % 10 for n in range(100)]}), folder / "staff.parquet")
    with (folder / "tacit.toml").open("a", encoding="utf-8") as file:
        file.write(MORE)
    return folder / "tacit.toml"


@dataclass(frozen=True)
class Running:
    """A service that runs, and a token of everybody."""

    service: Service
    url: str
    tokens: dict[str, str] = field(repr=False)
    wire_port: int | None = None

    def client(self, who: str | None = None, **more: Any) -> httpx.Client:
        headers = {} if who is None else {"Authorization": f"Bearer {self.tokens[who]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, verify=PLAIN, **more)

    def call(self, who: str | None, method: str, path: str, **more: Any) -> httpx.Response:
        """One request of one person."""
        with self.client(who) as client:
            return client.request(method, path, **more)

    def ask(
        self, who: str, sql: str = COUNT, *, headers: Mapping[str, str] | None = None, **offer: Any
    ) -> httpx.Response:
        body = {"sql": sql, **(offer or {"epsilon": 0.1})}
        return self.call(who, "POST", "/v1/datasets/clinic/ask", json=body, headers=dict(headers or {}))


def asked(
    datasets: Datasets,
    who: Identity,
    dataset: str,
    sql: str,
    *,
    key: str | None = None,
    watch: Watch | None = None,
    **terms: Unpack[OfferTerms],
) -> TableRelease:
    """The answer to a question, as a door asks for it."""
    return datasets.answer(datasets.question(who, dataset, sql, **terms), key=key, watch=watch)


@contextmanager
def running(folder: Path, build: Callable[[Path], Path] = clinic, **settings: Any) -> Iterator[Running]:
    """Uvicorn in a thread; at the end it is told to stop, and has stopped. `build` writes the data and the policy."""
    given = {"rate": 100_000, "failures": 100_000, "grace": 5} | settings
    config = Config(datasets=(build(folder),), listen="127.0.0.1:0", state=folder / "state", **given)
    service = Service(config)
    tokens = {}
    for name, role in PEOPLE.items():
        service.people.add(name, role)
        tokens[name] = service.people.issue(name).text
    uvicorn = server(service)
    thread = threading.Thread(target=uvicorn.run)
    thread.start()
    try:
        while not uvicorn.started:
            assert thread.is_alive(), "the service did not start"
            sleep(0.01)
        port = uvicorn.servers[0].sockets[0].getsockname()[1]
        wire = uvicorn.config.loaded_app.state.wire if config.wire else None
        yield Running(service, f"http://127.0.0.1:{port}", tokens, wire and wire.sockets[0].getsockname()[1])
    finally:
        uvicorn.should_exit = True
        thread.join()
