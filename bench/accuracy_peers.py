"""Peers asked in interpreters of their own. What one answered is kept beside the data, by all that it depends on, since
the next change of tacit does not change it; where more trials are wanted than there are, only the rest is asked."""

import json
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.accuracy_choice import PeerSetting
from bench.accuracy_questions import SalesQuestion
from bench.peers.install import PEERS, python_of
from bench.sql_data import folder
from tacit.plan.price import rho_of

__all__ = ["PeerTask", "answered"]

ROOT = Path(__file__).parent.parent
SECONDS = 300  # for all trials of one task


@dataclass(frozen=True)
class PeerTask:
    """One question with one setting of one peer."""

    question: SalesQuestion
    peer: str
    way: str
    setting: PeerSetting
    trials: int
    epsilon: Fraction
    delta: Fraction

    def json(self, trials: int = 0) -> dict[str, Any]:
        """As a peer's script reads it."""
        return {
            "aggregate": self.question.aggregate,
            "by": self.question.by,
            "keys": self.question.keys,
            "sql": self.question.sql("bench.sales"),
            "setting": self.setting.json(),
            "trials": trials,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "rho": float(rho_of(self.epsilon, self.delta)),
            "rho_half": float(rho_of(self.epsilon, self.delta / 2)),
        }

    def place(self, data: Path) -> Path:
        """Where its answers are kept."""
        peer = PEERS[self.peer]
        script = (ROOT / f"{peer.module.replace('.', '/')}.py").read_bytes()
        depends = json.dumps([peer.requirements, data.name, data.stat().st_size, self.json()])
        place = folder() / "accuracy-peers"
        place.mkdir(exist_ok=True)
        return place / f"{self.peer}-{sha256(script + depends.encode()).hexdigest()[:24]}.json"


def answered(
    tasks: Sequence[PeerTask], data: Path, tick: Callable[[str], None], *, fresh: bool = False
) -> Iterator[tuple[PeerTask, Mapping[str, Any]]]:
    """Each task of one peer and one file with its answers, or with why there is none."""
    waiting: dict[PeerTask, int] = {}  # and how many trials are missing
    for task in tasks:
        known = {} if fresh else _known(task, data)
        missing = 0 if "cannot" in known else task.trials - len(known.get("answers", ()))
        if missing <= 0:
            tick(f"{task.question.label}, {PEERS[task.peer].name}, known")
            yield task, known
        else:
            waiting[task] = missing
    while waiting:
        for task, found in _process(dict(waiting), data, tick):
            del waiting[task]
            if "over" in found:
                yield task, found
                continue
            added = found if fresh else _added(_known(task, data), found)
            task.place(data).write_text(json.dumps(added))
            yield task, added


def _known(task: PeerTask, data: Path) -> dict[str, Any]:
    place = task.place(data)
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    return found


def _added(known: Mapping[str, Any], found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trials of both."""
    if not known or "cannot" in found:
        return found
    before, now = known["answers"], found["answers"]
    cpu = (known["cpu"] * len(before) + found["cpu"] * len(now)) / (len(before) + len(now))
    return {"answers": before + now, "cpu": cpu}


def _process(
    tasks: Mapping[PeerTask, int], data: Path, tick: Callable[[str], None]
) -> Iterator[tuple[PeerTask, Mapping[str, Any]]]:
    """As many of the tasks as one process answers: all, unless it ends or one takes too long."""
    peer = PEERS[next(iter(tasks)).peer]
    try:
        python = python_of(peer)
    except RuntimeError as reason:
        yield from ((task, {"cannot": str(reason), "over": True}) for task in tasks)
        return
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    running = subprocess.Popen(
        [str(python), "-m", peer.module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        cwd=folder(),
        start_new_session=True,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    asked = {
        "data": str(data),
        "csv": str(data.with_suffix(".csv")),
        "tasks": [task.json(trials) for task, trials in tasks.items()],
    }
    running.stdin.write(json.dumps(asked) + "\n")
    running.stdin.flush()
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(running.stdout, selectors.EVENT_READ)
            for task, trials in tasks.items():
                tick(f"{task.question.label}, {peer.name}, {task.way}")
                line = running.stdout.readline() if ready.select(SECONDS) else None
                if line is None:
                    yield task, {"cannot": f"{trials} trials take more than {SECONDS} s", "over": True}
                    return
                if not line:
                    yield task, {"cannot": f"its process ended with {running.wait()}", "over": True}
                    return
                yield task, json.loads(line)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)  # its Java machine too
        running.wait()
        running.stdout.close()
