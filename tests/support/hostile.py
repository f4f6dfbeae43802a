"""A dataset on which the worst question that is accepted takes long, that question, and somebody who hangs up on it."""

import json
import socket
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["hung_up_on", "town", "worst"]

POLICY = """\
[dataset]
name = "clinic"
ledger = "clinic.ledger"

[privacy]
unit = "person"
currency = "epsilon"
budget = 1000
delta = 1e-6

[tables.trips]
source = "trips.parquet"
unit_column = "person_id"
clip_rows = 50

[tables.trips.columns]
person_id = { type = "integer", nullable = false }
minute = { type = "integer", bounds = [0, 1439], nullable = false }
fare = { type = "integer", bounds = [0, 100], nullable = false }

[analysts."*"]
limit = 100
"""
EACH = 100  # rows of a person: as many as are taken for granted where nothing is declared
_numbers = count()


def town(folder: Path, people: int = 300) -> Path:
    """The policy; each person has as many trips as the planner reckons with."""
    source = np.random.default_rng(5)
    size = people * EACH
    table = {
        "person_id": np.repeat(np.arange(people), EACH),
        "minute": source.integers(0, 1440, size),
        "fare": source.integers(0, 101, size),
    }
    pq.write_table(pa.table(table), folder / "trips.parquet")
    (folder / "tacit.toml").write_text(POLICY)
    return folder / "tacit.toml"


def worst() -> str:
    """A million rows for each person; a new question each time."""
    return (
        "SELECT COUNT(*) AS n FROM trips a JOIN trips b ON a.person_id = b.person_id "
        f"JOIN trips c ON b.person_id = c.person_id WHERE a.minute * b.fare + c.minute > {next(_numbers) + 1000}"
    )


def hung_up_on(port: int, token: str, sql: str, epsilon: float) -> socket.socket:
    """Ask, by hand; whoever closes what is returned hangs up."""
    body = json.dumps({"sql": sql, "epsilon": epsilon}).encode()
    head = f"POST /v1/datasets/clinic/ask HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    link = socket.create_connection(("127.0.0.1", port), timeout=60)
    link.sendall(head.encode() + body)
    return link
