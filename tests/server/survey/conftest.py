"""A browser, and a service with a survey."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.browser import chromium
from support.service import Running, running
from support.surveys import written

__all__ = ["chromium", "polled"]

expect.set_options(timeout=30_000)  # two cores may be busy


@pytest.fixture
def polled(tmp_path: Path) -> Iterator[Running]:
    """The clinic, and the survey of how we sleep."""
    with running(tmp_path, surveys=(written(tmp_path),), survey_rate=1_000_000) as found:
        yield found
