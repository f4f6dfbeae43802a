"""Flower's own messages, app, contexts and records, in the environment of its own that flwr has."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cohorts import policy_in

FLOWER = Path(sys.prefix) / "flwr" / "bin" / "python"

pytestmark = pytest.mark.skipif(not FLOWER.exists(), reason="federated training by Flower needs flwr: make flwr")


def simulated(folder: Path, **settings: Any) -> dict[str, Any]:
    policy_in(folder, limit=100_000)
    usual = {
        "clients": 10,
        "survivors": 7,
        "size": 40,
        "rounds": 2,
        "sigma": "1/20",
        "noise": "distributed",
        "lost": [],
    }
    here = Path(__file__).with_name("flower_simulation.py")
    done = subprocess.run(
        [FLOWER, here, folder, json.dumps(usual | settings)], capture_output=True, text=True, timeout=900, check=False
    )
    assert not done.returncode, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_clients_learn_together_and_pay_once(tmp_path: Path) -> None:
    """In the second round two drop out, one of them after it uploaded; the app of a third fails."""
    lost = [[2, "upload", 3], [2, "unmask", 4]]
    found = simulated(tmp_path, lost=lost, fails=9)
    off = np.array(found["released"]) - np.array(found["wanted"])
    assert np.abs(off).max() < 0.25  # of means around 0.08: three of ten are missing
    assert np.std(off) < 0.1
    assert not found["aborted"]
    assert found["asked"] == 19  # once a round and client
    assert found["paid"] == pytest.approx(found["price"])


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["local", "central"])
def test_other_settings_of_the_same_thing(tmp_path: Path, noise: str) -> None:
    found = simulated(tmp_path, noise=noise, sigma="1/100")
    assert np.abs(np.array(found["released"]) - np.array(found["wanted"])).max() < 0.1


@pytest.mark.slow
def test_a_round_with_too_few_left_moves_nothing(tmp_path: Path) -> None:
    found = simulated(tmp_path, lost=[[1, "upload", node] for node in range(1, 5)])
    assert found["aborted"] == [1]
    assert found["paid"] == pytest.approx(found["price"])


@pytest.mark.slow
def test_a_thousand_clients(tmp_path: Path) -> None:
    found = simulated(tmp_path, clients=1000, survivors=900, rounds=1, sigma="1/100", noise="central")
    assert np.abs(np.array(found["released"]) - np.array(found["wanted"])).max() < 0.05
