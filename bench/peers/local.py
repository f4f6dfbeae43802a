"""The local protocols of pure-ldp and multi-freq-ldpy, measured as their documentation uses them: one report at a time.

Needs an interpreter with `pip install pure-ldp multi-freq-ldpy scikit-learn statsmodels "xxhash<3.7"`; prints
reports a second as JSON.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any

__all__ = ["TASKS"]

Task = tuple[str, str, Callable[[int], Any], Callable[[list[Any]], Any]]


def pure_ldp(k: int, epsilon: float) -> Iterator[Task]:
    """Client and server of each protocol that both have; answers are numbered from 1."""
    found: Any = import_module("pure_ldp.frequency_oracles")
    pairs = {
        "direct": (found.DEClient(epsilon, k), found.DEServer(epsilon, k)),
        "optimized_unary": (found.UEClient(epsilon, k, use_oue=True), found.UEServer(epsilon, k, use_oue=True)),
        "local_hashing": (found.LHClient(epsilon, k, use_olh=True), found.LHServer(epsilon, k, use_olh=True)),
        "hadamard": (found.HadamardMechClient(epsilon, k, 1), found.HadamardMechServer(epsilon, k, 1)),
    }
    for kind, (client, server) in pairs.items():
        yield "pure-ldp", kind, partial(_privatise, client), partial(_aggregate, server)


def _privatise(client: Any, answer: int) -> Any:
    return client.privatise(answer + 1)


def _aggregate(server: Any, reports: list[Any]) -> Any:
    for report in reports:
        server.aggregate(report)
    return server.estimate(1)


def multi_freq_ldpy(k: int, epsilon: float) -> Iterator[Task]:
    """Client and aggregator of each protocol that both have."""
    home = "multi_freq_ldpy.pure_frequency_oracles."
    grr, lh, ue, ss = (import_module(home + name) for name in ("GRR", "LH", "UE", "SS"))
    yield (
        "multi-freq-ldpy",
        "direct",
        lambda answer: grr.GRR_Client(answer, k, epsilon),
        lambda reports: grr.GRR_Aggregator_MI(reports, k, epsilon),
    )
    yield (
        "multi-freq-ldpy",
        "optimized_unary",
        lambda answer: ue.UE_Client(answer, k, epsilon, True),
        lambda reports: ue.UE_Aggregator_MI(reports, epsilon, True),
    )
    yield (
        "multi-freq-ldpy",
        "local_hashing",
        lambda answer: lh.LH_Client(answer, k, epsilon, True),
        lambda reports: lh.LH_Aggregator_MI(reports, k, epsilon, True),
    )
    yield (
        "multi-freq-ldpy",
        "subset",
        lambda answer: ss.SS_Client(answer, k, epsilon),
        lambda reports: ss.SS_Aggregator_MI(reports, k, epsilon),
    )


TASKS = (pure_ldp, multi_freq_ldpy)


def measured(perturb: Callable[[int], Any], aggregate: Callable[[list[Any]], Any], count: int) -> dict[str, float]:
    """Reports a second of each side; the first few compile what is compiled."""
    aggregate([perturb(answer) for answer in (0, 1, 2)])
    start = process_time()
    reports = [perturb(answer % 1000) for answer in range(count)]
    made = process_time()
    aggregate(reports)
    return {"perturb": count / (made - start), "aggregate": count / (process_time() - made)}


def main(k: int, epsilon: float, count: int) -> None:
    """Every task, as one JSON object by library and kind."""
    rates: dict[str, dict[str, Any]] = {}
    for library in TASKS:
        for name, kind, perturb, aggregate in library(k, epsilon):
            rates.setdefault(name, {})[kind] = measured(perturb, aggregate, count)
    print(json.dumps(rates))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
