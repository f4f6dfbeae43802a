"""Many analysts at once: every request is answered or refused by the budget, and nobody spends more than they may."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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
        opened = clinic.service.desk._opened["clinic"]
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
