"""PipelineDP with its local backend: sampled partitions and rows of a person, or so many rows in all."""

import csv
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.people.protocol import Answers, UnableError, serve

__all__ = ["prepare"]

dp: Any = import_module("pipeline_dp")
METRICS = {
    "rows": dp.Metrics.COUNT,
    "people": dp.Metrics.PRIVACY_ID_COUNT,
    "sum": dp.Metrics.SUM,
    "avg": dp.Metrics.MEAN,
    "median": dp.Metrics.PERCENTILE(50),
}


def prepare(asked: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Answers]:
    with Path(asked["csv"]).open(newline="") as file:
        rows = [
            (int(row["person"]), {"region": row["region"], "product": row["product"], None: ""}, float(row["amount"]))
            for row in csv.DictReader(file)
        ]
    return lambda task: [_one(rows, task) for _ in range(task["trials"])]


def _one(rows: Any, task: Mapping[str, Any]) -> dict[str, float]:
    setting, what, by = task["setting"], task["aggregate"], task["by"]
    given: dict[str, Any] = {}
    if setting["mode"] == "rows" and by is not None:
        if task["keys"] is None:
            raise UnableError("max_contributions needs known keys")
        given["max_contributions"] = setting["inside"]
    else:
        given["max_partitions_contributed"] = setting["groups"] if by else 1
        given["max_contributions_per_partition"] = (
            1 if what == "people" or setting["mode"] == "sums" else setting["inside"]
        )
    if setting["mode"] == "sums":
        given |= {"min_sum_per_partition": 0.0, "max_sum_per_partition": float(setting["inside"])}
    elif what in ("sum", "avg", "median"):
        given |= {"min_value": 0.0, "max_value": float(setting["value"])}
    noise = dp.NoiseKind.GAUSSIAN if setting["noise"] == "gaussian" else dp.NoiseKind.LAPLACE
    accountant = dp.NaiveBudgetAccountant(total_epsilon=task["epsilon"], total_delta=task["delta"])
    extractors = dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1][by],
        value_extractor=lambda row: row[2],
    )
    params = dp.AggregateParams(metrics=[METRICS[what]], noise_kind=noise, **given)
    found = dp.DPEngine(accountant, dp.LocalBackend()).aggregate(
        rows, params, extractors, public_partitions=task["keys"]
    )
    accountant.compute_budgets()
    return {str(key): float(values[0]) for key, values in found}


if __name__ == "__main__":
    serve(prepare)
