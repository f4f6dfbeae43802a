"""One clinic and one server for a file of tests."""

from collections.abc import Iterator

import pytest

from support.wire import Clinic, Served


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    found = Clinic(tmp_path_factory.mktemp("wire"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def served(clinic: Clinic) -> Iterator[Served]:
    with Served(clinic) as found:
        yield found
