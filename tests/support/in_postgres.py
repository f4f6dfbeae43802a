"""The clinic with its visits in a real PostgreSQL, where data have no version; and a question held up in its middle."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg

from support.postgres import Server
from tacit.cli.demo.clinic import POLICY

__all__ = ["in_database", "locked", "url", "waiting"]

PATIENCE = 60.0


def in_database(folder: Path, postgres: Server, name: str) -> Path:
    """The clinic's visits in PostgreSQL, a few of them; its ledger beside the policy."""
    with psycopg.connect(postgres.dsn(name)) as connection:
        connection.execute("CREATE TABLE visits (patient_id bigint, ward text, drug text, age int, cost numeric)")
        fill = "INSERT INTO visits SELECT n % 50, 'north', 'a', n % 90, n % 100 FROM generate_series(1, 500) n"
        connection.execute(fill)
    text = POLICY.replace('name = "clinic"', f'name = "clinic"\nengine = "postgres"\nsource = "{url(postgres, name)}"')
    text = text.replace('source = "visits.parquet"', 'source = "visits"')
    (folder / "tacit.toml").write_text(text)
    return folder / "tacit.toml"


def url(postgres: Server, name: str) -> str:
    return postgres.url(name).replace("+psycopg", "")


@contextmanager
def locked(postgres: Server, name: str) -> Iterator["psycopg.Connection[Any]"]:
    """Nobody reads the table meanwhile: a question that was charged waits in the middle."""
    with (
        suppress(psycopg.OperationalError),
        psycopg.connect(postgres.dsn(name)) as holder,
    ):  # it may die with the server
        holder.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        yield holder


def waiting(holder: "psycopg.Connection[Any]") -> None:
    """Until somebody waits for the table."""
    end = monotonic() + PATIENCE
    query = b"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'visits'::regclass"
    while holder.execute(query).fetchone() == (0,):
        assert monotonic() < end
        sleep(0.02)
