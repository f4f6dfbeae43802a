"""The databases that the service keeps its own things in: SQLite, and a fresh database of a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.postgres import database, postgres
from tacit.server.db import State

__all__ = ["database", "postgres", "state"]


@pytest.fixture(params=["sqlite", "postgres"])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[State]:
    """An empty one of each."""
    where = request.getfixturevalue("database") if request.param == "postgres" else tmp_path / "server.db"
    found = State(where)
    yield found
    found.close()
