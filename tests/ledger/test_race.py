"""Never overspent, and nobody starves: real processes race for one account, on both stores."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from threading import Barrier

import pytest

from support.books import account, cost, limit, opened, program, terms
from support.hammer import FULL, Client, nursery_of_tests, spent_units, whole
from support.postgres import Server
from tacit.ledger import Ledger
from tacit.policy.account import analyst_holder

RACERS = 32
SOON = 0.05  # seconds until all begin at once


@dataclass(frozen=True)
class Track:
    """A ledger, open here and in many other processes. Each race is for the budget of other people."""

    where: str
    ledger: Ledger
    racers: list[Client]

    def start(self) -> float:
        """The moment, on everybody's clock, when they begin."""
        return time.monotonic() + SOON


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def track(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Track]:
    nursery = nursery_of_tests()
    if request.param == "sqlite":
        where = str(tmp_path_factory.mktemp("race") / "ledger.db")
        with opened(where) as ledger:
            yield Track(where, ledger, nursery.clients(RACERS, where))
            nursery.dismiss()
    else:
        server: Server = request.getfixturevalue("postgres")
        with server.database() as name, opened(server.url(name)) as ledger:
            yield Track(server.url(name), ledger, nursery.clients(RACERS, server.url(name)))
            nursery.dismiss()


def test_exactly_the_total_is_granted(track: Track) -> None:
    winners = rounds = 0
    for rounds in range(1, 51 if FULL else 4):
        people = f"round {rounds}"
        track.ledger.apply(terms(people))
        start = track.start()
        for racer in track.racers:
            racer.ask("grab", people=people, total=100, start=start)
        granted: list[list[int]] = [racer.answer()["made"] for racer in track.racers]
        assert sum(map(len, granted)) == 100
        assert spent_units(track.ledger, people) == 100
        charges = [entry.seq for entry in track.ledger.log(people) if entry.kind == "charge"]
        assert sorted(seq for seqs in granted for seq in seqs) == charges
        winners += sum(map(bool, granted))
    assert winners > rounds  # there was a race
    whole(track.where)


def test_every_holder_is_held_to_its_own_limit(track: Track) -> None:
    """Four analysts of 20 each and 50 in all, eight processes an analyst."""
    names = [f"analyst {number % 4}" for number in range(RACERS)]
    own = tuple(limit(analyst_holder(name), 20) for name in sorted(set(names)))
    for number in range(10 if FULL else 1):
        people = f"four analysts {number}"
        track.ledger.apply(terms(people, 50, limits=own))
        start = track.start()
        for racer, name in zip(track.racers, names, strict=True):
            racer.ask("grab", people=people, analyst=name, total=50, start=start)
        granted: Counter[str] = Counter()
        for racer, name in zip(track.racers, names, strict=True):
            granted[name] += len(racer.answer()["made"])
        assert sum(granted.values()) == spent_units(track.ledger, people) == 50
        for name in granted:
            assert granted[name] == spent_units(track.ledger, people, analyst_holder(name)) <= 20
    whole(track.where)


def test_nobody_starves(track: Track) -> None:
    """Nobody stops before everybody had a turn, and another, and another."""
    turns = 20 if FULL else 3
    track.ledger.apply(terms("hungry", 10**6))
    counts = dict.fromkeys(track.racers, 0)
    with DefaultSelector() as ready:
        for number, racer in enumerate(track.racers):
            ready.register(racer, EVENT_READ)
            racer.ask("stream", name=str(number), people="hungry")
        while min(counts.values()) < turns:
            events = ready.select(60)
            assert events, "everybody hangs"
            for event, _ in events:
                assert isinstance(event.fileobj, Client)
                counts[event.fileobj] += sum("got" in message for message in event.fileobj.waiting())
    for racer in track.racers:
        racer.ask("stop")
    for racer in track.racers:
        counts[racer] += sum("got" in message for message in racer.until("stopped"))
    assert spent_units(track.ledger, "hungry") == sum(counts.values())
    whole(track.where)


def test_what_is_taken_back_in_a_race_adds_up(track: Track) -> None:
    """Everybody charges and voids; room for five at a time, so some are refused, and nothing is left at the end."""
    track.ledger.apply(terms("five", 5))
    start, few = track.start(), track.racers[:12]
    for racer in few:
        racer.ask("churn", people="five", total=5, most=40 if FULL else 4, start=start)
    voided = sum(racer.answer()["voided"] for racer in few)
    kinds = Counter(entry.kind for entry in track.ledger.log("five"))
    assert kinds["charge"] == kinds["void"] == voided > 0
    assert spent_units(track.ledger, "five") == 0
    whole(track.where)


def test_a_key_that_many_use_at_once_is_charged_once(track: Track) -> None:
    track.ledger.apply(terms("one key", 10**6))
    few = track.racers[:16]
    for number in range(30 if FULL else 3):
        start = track.start()
        for racer in few:
            racer.ask("charge", key=f"key {number}", people="one key", start=start)
        answers = [racer.answer() for racer in few]
        assert len({(answer["seq"], answer["digest"]) for answer in answers}) == 1
        assert sum(not answer["replayed"] for answer in answers) == 1
        assert spent_units(track.ledger, "one key") == number + 1
    whole(track.where)


def test_the_first_answer_wins_whoever_keeps_one(track: Track) -> None:
    track.ledger.apply(terms("answers", 10**6))
    *few, late = track.racers[:13]
    first = ""
    for number in range(30 if FULL else 2):
        key = f"key {number}"
        for racer in few:
            racer.ask("charge", key=key, people="answers")
        for racer in few:
            racer.answer()
        start = track.start()
        for name, racer in enumerate(few):
            racer.ask("keep", key=key, release=f"{number}, answer of {name}", start=start)
        seen = {racer.answer()["kept"] for racer in few}
        assert len(seen) == 1
        assert late.ask("charge", key=key, people="answers").answer()["replayed"]
        (winner,) = seen
        assert late.ask("keep", key=key, release="late").answer() == {"kept": winner}
        first = first or winner
        recalled = track.ledger.recall(account(people="answers"), program(), "v1")
        assert recalled is not None
        assert recalled.release.decode() == first  # of the charges for one program, the first one's answer
    whole(track.where)


def test_threads_of_one_process_use_a_key_once(track: Track) -> None:
    track.ledger.apply(terms("threads"))
    threads = 16
    gate = Barrier(threads)

    def ask(number: int) -> tuple[int, bool]:
        gate.wait(60)
        receipt = track.ledger.charge(account(people="threads"), cost(1), program(), f"key {number % 2}")
        return receipt.seq, receipt.replayed

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(ask, range(threads)))
    assert len({seq for seq, _ in found}) == 2
    assert sum(not replayed for _, replayed in found) == 2
    assert spent_units(track.ledger, "threads") == 2
