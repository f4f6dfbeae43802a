"""Never lost: clients, and the server, are killed at any point, and every charge that was acknowledged is there."""

import time
from pathlib import Path
from random import Random

from support.books import account, cost, opened, program, terms
from support.hammer import FULL, Client, Nursery, Told, begin_book, nursery, whole
from support.postgres import Server

__all__ = ["nursery"]


def test_clients_are_killed_at_random_points(nursery: Nursery, where: str) -> None:
    chance = Random(4)
    told = Told()
    for number in range(200 if FULL else 8):
        if number % 20 == 0:  # a fresh account, so that looking through all of it stays quick
            told, people = Told(), f"people {number}"
            begin_book(where, people)
        clients = nursery.clients(3, where)
        for name, client in enumerate(clients):
            client.ask("stream", name=f"{number} {name}", people=people)
        for client in clients:
            told.hear(client.until("got"))  # who is left goes on, although the one before was killed in the middle
            time.sleep(chance.uniform(0, 0.02))
            client.kill()
        for client in clients:
            told.hear(client.last_words())
        with opened(where) as ledger:
            told.retry(ledger, people)
        nursery.dismiss()
    whole(where)


def test_a_client_is_killed_at_every_call(nursery: Nursery, where: str) -> None:
    """At each call of a function and each return from one in the course of a charge.

    In the fast form at some, and at the last ones that reach the disk or the server: the commit is among them.
    """
    begin_book(where)
    client = nursery.client(where)
    client.ask("die", at=0, key="warm up").answer()
    counted = client.ask("die", at=0, key="whole").answer()
    events, outside = counted["events"], counted["outside"]
    assert events > 20
    assert outside
    told = Told()
    told.tried |= {"warm up", "whole"}
    points = range(1, events + 1) if FULL else sorted({*range(1, events + 1, events // 6), *outside[-6:]})
    outcomes = set()
    with opened(where) as ledger:
        told.hear([{"got": "whole", "seq": 5, "digest": next(ledger.log("patients", after=4)).digest.hex()}])
        for point in points:
            key = f"killed at {point}"
            told.tried |= {f"before {point}", key}
            client = nursery.client(where)
            told.hear([client.ask("die", at=0, key=f"before {point}").answer()])  # now everything is open and cached
            told.hear(client.ask("die", at=point, key=key).last_words())
            client.close()
            outcomes.add(key in told.check(ledger))  # here it stayed open all the time
        # a driver that waits less often makes fewer calls, and its charge ends before the last of these points
        assert 2 * len(told.in_flight) > len(points)
        told.retry(ledger)
    assert outcomes == {False, True}  # some were killed before it was durable, some after
    with opened(where) as ledger:
        assert told.check(ledger) == told.tried
    whole(where)


def test_a_client_is_killed_while_it_creates_the_ledger(nursery: Nursery, tmp_path: Path) -> None:
    chance = Random(8)
    for number in range(100 if FULL else 8):
        path = tmp_path / f"{number}.db"
        client = nursery.client()
        client.ask("open", where=str(path))
        time.sleep(chance.uniform(0, 0.03))
        client.kill()
        client.last_words()
        nursery.dismiss()
        with opened(path, terms()) as ledger:  # whatever was left of it is no obstacle
            ledger.charge(account(), cost(1), program(), "k")
        whole(path)


def test_the_server_is_killed(nursery: Nursery, postgres: Server) -> None:
    """Clients go on by themselves: they are told of a success or of a LedgerError, and none of them hangs."""
    chance = Random(15)
    with postgres.database() as name:
        where = postgres.url(name)
        people, told = "", Told()
        clients: list[Client] = []
        for number in range(200 if FULL else 3):
            if number % 20 == 0:
                people, told = f"people {number}", Told()
                begin_book(where, people)
            if not clients:
                clients = nursery.clients(4, where)
            for place, client in enumerate(clients):
                client.ask("stream", name=f"{number} {place}", people=people)
            time.sleep(chance.uniform(0, 0.1))
            postgres.crash()
            for client in clients:
                client.ask("stop")
            for client in clients:
                told.hear(client.until("stopped"))
            assert not told.in_flight  # they asked again until they knew
            with opened(where) as ledger:
                told.check(ledger, people)
        whole(where)


def test_clients_and_the_server_are_killed_together(nursery: Nursery, postgres: Server) -> None:
    chance = Random(16)
    with postgres.database() as name:
        where = postgres.url(name)
        begin_book(where)
        told = Told()
        for number in range(30 if FULL else 2):
            clients = nursery.clients(3, where)
            for place, client in enumerate(clients):
                client.ask("stream", name=f"{number} {place}")
            time.sleep(chance.uniform(0.01, 0.1))
            postgres.kill()
            for client in clients:
                client.kill()
                told.hear(client.last_words())
            nursery.dismiss()
            postgres.start()
            with opened(where) as ledger:
                told.retry(ledger)
        whole(where)
