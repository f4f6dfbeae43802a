"""Flower's own messages, app, contexts and records, in the environment of its own that flwr has."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cohorts import policy_in

FLOWER = Path(sys.prefix) / "flwr" / "bin" / "python"

pytestmark = pytest.mark.skipif(not FLOWER.exists(), reason="federated training by Flower needs flwr: make flwr")


PLACES = range(1, 5)
CONNECTION = """
[superlink]
default = "here"
[superlink.here]
address = "127.0.0.1:{port}"
insecure = true
"""


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
        [FLOWER, here, folder, json.dumps(usual | settings)], capture_output=True, text=True, timeout=3600, check=False
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
def test_where_no_round_came_through_the_model_is_as_it_was(tmp_path: Path) -> None:
    found = simulated(tmp_path, rounds=1, lost=[[1, "upload", node] for node in range(1, 5)])
    assert found["aborted"] == [1]
    assert not any(found["released"])
    assert found["paid"] == pytest.approx(found["price"])


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["central", "distributed"])
def test_a_thousand_clients(tmp_path: Path, noise: str) -> None:
    """In one process, without ray. Distributed is a whole secure sum of all of them, two of whom drop out."""
    lost = [[1, "upload", 3], [1, "unmask", 4]] if noise == "distributed" else []
    found = simulated(tmp_path, clients=1000, survivors=900, rounds=1, sigma="1/100", noise=noise, lost=lost)
    assert np.abs(np.array(found["released"]) - np.array(found["wanted"])).max() < 0.05


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def listens(port: int) -> bool:
    with socket.socket() as own:
        return not own.connect_ex(("127.0.0.1", port))


@pytest.mark.slow
def test_a_superlink_and_supernodes(tmp_path: Path) -> None:
    """Flower's server and four of its nodes as processes on loopback; each message to a device is a process of its own,
    so that a device's secrets of a round live in what Flower keeps for it. One device fails in training."""
    policy_in(tmp_path, limit=100_000)
    home, app = tmp_path / "home", tmp_path / "app"
    home.mkdir()
    shutil.copytree(Path(__file__).with_name("flower_app"), app)
    link, *ports = free_ports(1 + len(PLACES))
    (home / "config.toml").write_text(CONNECTION.format(port=link))
    programs = FLOWER.parent
    around = {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
    }  # fmt: skip
    with ExitStack() as running:

        def start(name: str, *told: str) -> None:
            log = running.enter_context((tmp_path / f"{name}.log").open("w"))
            one = subprocess.Popen(
                [programs / name.partition(" ")[0], "--insecure", *told], env=around, stdout=log, stderr=log
            )
            running.callback(one.wait, 60)
            running.callback(one.terminate)

        start("flower-superlink", "--port", str(link), "--disable-runtime-dependency-installation")
        waited_for(lambda: listens(link))
        for place, port in zip(PLACES, ports, strict=True):
            more = ("--superlink", f"127.0.0.1:{link}", "--port", str(port), "--node-config", f"place={place}")
            start(f"flower-supernode {place}", *more)
        told = ["run", str(app), "here", "--run-config", f'folder="{tmp_path}"']
        done = subprocess.run([str(programs / "flwr"), *told], env=around, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        waited_for((tmp_path / "result.json").exists)
    found = json.loads((tmp_path / "result.json").read_text())
    assert np.abs(np.array(found["released"]) - np.array(found["wanted"])).max() < 0.04  # seven standard deviations
    assert not found["aborted"]
    assert found["paid"] == pytest.approx(found["price"])
    assert "the secret of this device" not in (tmp_path / "flower-superlink.log").read_text()


def waited_for(what: Any) -> None:
    end = time.monotonic() + 1800
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)
