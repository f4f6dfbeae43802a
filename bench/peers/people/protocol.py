"""How a peer is asked: tasks come in as JSON on standard input, one line of JSON for each goes out."""

import contextlib
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from time import sleep
from typing import Any

__all__ = ["Answers", "TreeTime", "UnableError", "serve"]

LOOK = 0.5  # seconds between two looks at the processes

Answers = list[dict[str, float]]  # of each trial, by key


class UnableError(Exception):
    """The peer has no way to answer this."""


def serve(prepare: Callable[[Mapping[str, Any]], Callable[[Mapping[str, Any]], Answers]]) -> None:
    """`prepare` reads the data and gives what answers a task; nothing but results is left on standard output."""
    asked = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    answer, used = prepare(asked), TreeTime()
    for task in asked["tasks"]:
        before = used.seconds()
        try:
            answers = answer(task)
            found: dict[str, Any] = {"answers": answers, "cpu": (used.seconds() - before) / task["trials"]}
        except UnableError as reason:
            found = {"cannot": str(reason)}
        except Exception as failure:  # whatever a peer raises is told, and the next task tried
            found = {"cannot": f"fails: {_first(failure)}"}
        print(json.dumps(found), file=out, flush=True)


def _first(failure: Exception) -> str:
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return (lines[0] if lines else type(failure).__name__)[:200]


class TreeTime:
    """Processor seconds of this process and of all that were ever below it, a Java machine and its workers too.

    A worker that ended is gone from the list of processes, so a thread looks again and again, and the last time that it
    saw of each counts: a little is missed, nothing is counted twice.
    """

    def __init__(self) -> None:
        self._spent: dict[int, float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.seconds()
            sleep(LOOK)

    def seconds(self) -> float:
        parents: dict[int, int] = {}
        spent: dict[int, float] = {}
        for place in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError):
                fields = place.read_text().rpartition(")")[2].split()
                pid = int(place.parent.name)
                parents[pid] = int(fields[1])
                spent[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        tree, more = {os.getpid()}, {os.getpid()}
        while more:
            more = {pid for pid, parent in parents.items() if parent in tree} - tree
            tree |= more
        with self._lock:
            for pid in tree & spent.keys():
                self._spent[pid] = max(self._spent.get(pid, 0.0), spent[pid])
            return sum(self._spent.values())
