"""What is declared and what was spent, as data."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service import Running, running
from tacit.ledger import Ledger
from tacit.policy import load


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def test_a_budget_says_what_it_is_stated_at_and_where_its_chain_is(clinic: Running) -> None:
    before = clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()
    name = clinic.ask("ana").json()["id"]
    found = clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()
    assert (found["currency"], found["delta"], found["period"]) == ("epsilon", "1/1000000", None)
    assert (found["window"], found["window_end"], found["sealed"]) == (1, None, False)
    assert found["seq"] > before["seq"]
    assert found["head"] != before["head"]
    proof = clinic.call("ana", "GET", f"/v1/releases/{name}/proof").json()
    assert (found["seq"], found["head"]) == (proof["seq"], proof["digest"])


def test_a_window_is_told_in_microseconds(clinic: Running) -> None:
    policy = clinic.service.config.datasets[0]
    policy.write_text(policy.read_text().replace("delta = 1e-6", 'delta = 1e-6\nreset = "90 days"'))
    declared = load(policy)
    with Ledger.open(declared.ledger()) as ledger:
        ledger.apply(declared.terms())
    found = clinic.call("otto", "GET", "/v1/datasets/clinic/budget").json()
    assert found["period"] == 90 * 86_400 * 10**6
    assert found["window_end"] is not None
