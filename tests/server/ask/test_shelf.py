"""The shelf by itself: a release is its owner's, also for whoever comes past the routes."""

import pyarrow as pa
import pytest

from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import Identity
from tacit.server.db import State
from tacit.server.problem import HttpProblem
from tacit.session import TableRelease

ANA, BEN = Identity("ana", "analyst"), Identity("ben", "analyst")


@pytest.fixture
def shelf(state: State) -> Shelf:
    return Shelf(state)


def release(entry: int = 1, confidence: float = 0.95) -> TableRelease:
    table = pa.table({"n": [entry]})
    facts = {"ledger": {"id": "book", "entry": entry}}
    return TableRelease(table=table, intervals={"n": ([0.0], [2.0])}, confidence=confidence, facts=facts)


def nobody(_: str, __: set[str]) -> bool:
    return False


def anybody(_: str, __: set[str]) -> bool:
    return True


def test_a_release_comes_back_as_it_was_and_lies_there_once(shelf: Shelf) -> None:
    name = shelf.put(ANA, "clinic", "SELECT 1", release())
    assert shelf.put(ANA, "clinic", "SELECT 1", release()) == name
    assert shelf.find(ANA, name, nobody).release == release()
    others = {
        shelf.put(BEN, "clinic", "SELECT 1", release()),
        shelf.put(ANA, "town", "SELECT 1", release()),
        shelf.put(ANA, "clinic", "SELECT 2", release()),
        shelf.put(ANA, "clinic", "SELECT 1", release(entry=2)),
        shelf.put(ANA, "clinic", "SELECT 1", release(confidence=0.9)),
    }
    assert len(others | {name}) == 6
    assert len(shelf.listed(ANA, after=None, limit=10)) == 5


def test_nobody_shares_or_pages_by_what_is_anothers(shelf: Shelf) -> None:
    name = shelf.put(ANA, "clinic", "SELECT 1", release())
    with pytest.raises(HttpProblem):
        shelf.share(BEN, name, shared=True, tables=set())
    with pytest.raises(HttpProblem):
        shelf.find(BEN, name, anybody)
    with pytest.raises(HttpProblem):
        shelf.listed(BEN, after=name, limit=5)
    shelf.share(ANA, name, shared=True, tables={"visits"})
    assert shelf.find(BEN, name, anybody).owner == "ana"
    assert [laid.id for laid in shelf.shared(BEN, anybody, after=None, limit=5)] == [name]
    with pytest.raises(HttpProblem):
        shelf.find(BEN, name, nobody)
    assert shelf.shared(BEN, nobody, after=None, limit=5) == []
    assert shelf.shared(ANA, anybody, after=None, limit=5) == []  # one's own is no news
