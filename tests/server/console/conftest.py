"""A browser and a service for the tests of the console."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import chromium
from support.service import Running, running

__all__ = ["chromium", "clinic"]


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    """The made-up clinic, with nothing spent."""
    with running(tmp_path) as found:
        yield found
