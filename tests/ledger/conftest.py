"""The stores a ledger is tested on: SQLite in a fresh folder, and a fresh database of a real PostgreSQL."""

from pathlib import Path

import pytest

from support.postgres import database, postgres

__all__ = ["database", "postgres", "where"]


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be opened, in each store."""
    if request.param == "postgres":
        address: str = request.getfixturevalue("database")
        return address
    return str(tmp_path / "ledger.db")
