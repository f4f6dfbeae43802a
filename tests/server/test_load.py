"""Many analysts at once: every request is answered or refused by the budget, and nobody spends more than they may."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from support.hostile import hung_up_on, town, worst
from support.service import COUNT, running
from tacit.ledger.verify import verify

PRICE, EACH = 0.01, 4  # of a new question, and how many of them somebody can pay
QUESTION = "SELECT COUNT(*) AS n FROM visits WHERE age > {age}"


@pytest.mark.parametrize("analysts", [8, pytest.param(64, marks=pytest.mark.slow)])
def test_nobody_overspends_however_many_ask(tmp_path: Path, analysts: int) -> None:
    names = [f"analyst {number}" for number in range(analysts)]
    with running(tmp_path) as clinic:
        policy = tmp_path / "tacit.toml"
        with policy.open("a") as file:
            file.write(f'\n[analysts."*"]\nlimit = {PRICE * EACH}\n')
        for name in names:
            clinic.service.people.add(name, "analyst")
            clinic.tokens[name] = clinic.service.people.issue(name).text

        def asks(name: str) -> Counter[tuple[str, int]]:
            seen: Counter[tuple[str, int]] = Counter()
            with clinic.client(name) as client:
                for turn in range(EACH + 2):
                    new = {"sql": QUESTION.format(age=turn), "epsilon": PRICE}
                    for kind, body in (("ask", new), ("ask", new), ("quote", new), ("quote", {**new, "sql": COUNT})):
                        seen[kind, client.post(f"/v1/datasets/clinic/{kind}", json=body).status_code] += 1
            return seen

        with ThreadPoolExecutor(analysts) as threads:
            found = sum(threads.map(asks, names), Counter[tuple[str, int]]())
        opened = clinic.service.datasets._opened["clinic"]
        people = opened.policy.dataset.identity
        standing = opened.ledger.standing(people)
        paid = Counter(
            json.loads(entry.body)["analyst"] for entry in opened.ledger.log(people) if entry.kind == "charge"
        )
    turns = (EACH + 2) * analysts
    bought = min(EACH * analysts, 300)  # the dataset has 3 in all
    assert set(found) <= {("ask", 200), ("ask", 403), ("quote", 200)}
    assert found["quote", 200] == 2 * turns
    assert found["ask", 200] == 2 * bought  # the second time is free
    assert sum(paid.values()) == bought
    assert max(paid.values()) <= EACH
    assert all(balance.spent.fits(balance.limit) for balance in standing.balances)
    assert verify(tmp_path / "clinic.ledger").ok


@pytest.mark.parametrize("others", [6, pytest.param(16, marks=pytest.mark.slow)])
def test_one_analyst_with_the_worst_questions_takes_nobody_elses_turn(tmp_path: Path, others: int) -> None:
    """Again and again, from several connections, hanging up on some; the others ask new and stored questions."""
    rounds = 4
    names = [f"analyst {number}" for number in range(others)]
    with running(tmp_path, build=town, question_seconds=5.0) as clinic:
        for name in (*names, "mallory"):
            clinic.service.people.add(name, "analyst")
            clinic.tokens[name] = clinic.service.people.issue(name).text
        port, over, dice, asked = int(clinic.url.rpartition(":")[2]), Event(), Random(1), count()
        engine: Any = clinic.service.datasets._opened["clinic"].engine

        def mallory() -> None:
            while not over.is_set():
                with hung_up_on(port, clinic.tokens["mallory"], worst(), 0.2) as link:
                    next(asked)
                    link.settimeout(dice.choice([0.3, 1.0, 8.0]))
                    with suppress(TimeoutError):
                        link.recv(65_536)

        def asks(name: str) -> list[int]:
            seen: list[int] = []
            with clinic.client(name) as client:
                for turn in range(rounds):
                    new = {"sql": f"SELECT COUNT(*) AS n FROM trips WHERE fare > {turn}", "epsilon": 0.2}
                    # new, and then stored
                    seen += [client.post("/v1/datasets/clinic/ask", json=new).status_code for _ in range(3)]
            return seen

        crowd = [Thread(target=mallory) for _ in range(8)]
        for thread in crowd:
            thread.start()
        while not engine._seats.busy:
            sleep(0.01)
        try:
            with ThreadPoolExecutor(others) as threads:
                found = list(threads.map(asks, names))
            assert clinic.call(None, "GET", "/healthz").status_code == 200
        finally:
            over.set()
            for thread in crowd:
                thread.join()
        assert found == [[200] * 3 * rounds] * others
        assert next(asked) >= 8
        end = monotonic() + 60
        while engine._seats.busy or engine._seats._waiting or clinic.service.pool._inside:
            assert monotonic() < end
            sleep(0.02)
        assert clinic.ask("mallory", "SELECT COUNT(*) AS n FROM trips", epsilon=0.2).status_code == 200
    assert verify(tmp_path / "clinic.ledger").ok
