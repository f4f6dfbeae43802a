"""OpenDP through its Polars context: Laplace noise for ε, Gaussian for ρ.

`truncate_num_groups(keep="sample")` fails in this version ("multiple fields with name"), so a person keeps its first
groups in the order of their names. Averages are a sum from the middle of the range over a count; sums are of cents.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from bench.peers.people.protocol import Answers, serve

__all__ = ["prepare"]

dp: Any = import_module("opendp.prelude")
pl: Any = import_module("polars")
LONGEST, MOST = 10**6, 10**5  # rows of a group, and groups, declared because its sums need them


def prepare(asked: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Answers]:
    dp.enable_features("contrib", "honest-but-curious")
    cents = (pl.col("amount") * 100).round().cast(pl.Int64)
    frame = pl.read_parquet(asked["data"]).with_columns(cents.alias("cents")).lazy()
    return lambda task: [_one(frame, task) for _ in range(task["trials"])]


def _one(frame: Any, task: Mapping[str, Any]) -> dict[str, float]:
    by, setting, what = task["by"], task["setting"], task["aggregate"]
    middle = setting["value"] * 50 if what == "avg" else 0
    bounded = _bounded(_context(frame.with_columns(pl.col("cents") - middle), task).query(), task)
    measures = _measures(task, middle)
    if by is None:
        found = bounded.select(*measures).release().collect()
    else:
        asked = bounded.group_by(by).agg(*measures)
        if task["keys"] is not None:
            asked = asked.with_keys(pl.LazyFrame({by: task["keys"]}))
        found = asked.release().collect()
    return {
        str(row[by]) if by else "": (
            (middle + row["s"] / max(row["n"], 1)) / 100 if what == "avg" else row["x"] / (100 if what == "sum" else 1)
        )
        for row in found.iter_rows(named=True)
    }


def _context(frame: Any, task: Mapping[str, Any]) -> Any:
    unknown = {"delta": task["delta"]} if task["keys"] is None else {}
    if task["setting"]["noise"] == "gaussian":
        loss = dp.loss_of(rho=task["rho_half"], delta=task["delta"] / 2) if unknown else dp.loss_of(rho=task["rho"])
    else:
        loss = dp.loss_of(epsilon=task["epsilon"], **unknown)
    by = [task["by"]] if task["by"] else []
    margin = dp.polars.Margin(by=by, max_length=LONGEST, max_groups=MOST if by else None)
    unit = dp.unit_of(contributions=1, identifier="person")
    return dp.Context.compositor(
        data=frame, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=[margin]
    )


def _bounded(query: Any, task: Mapping[str, Any]) -> Any:
    by, setting = task["by"], task["setting"]
    inside = 1 if task["aggregate"] == "people" else setting["inside"]
    if setting["mode"] == "sums":
        query = query.truncate_num_groups(setting["groups"], by=[by], keep="first") if by else query
        return query.group_by("person", *([by] if by else [])).agg(pl.col("cents").sum())
    if setting["mode"] == "rows" or by is None:
        return query.truncate_per_group(inside)
    return query.truncate_per_group(inside, by=[by]).truncate_num_groups(setting["groups"], by=[by], keep="first")


def _measures(task: Mapping[str, Any], middle: float) -> list[Any]:
    what, setting = task["aggregate"], task["setting"]
    cents = pl.col("cents").fill_null(0)
    if what in ("rows", "people"):
        return [dp.len(signed=True).alias("x")]
    if what == "sum":
        most = setting["inside"] if setting["mode"] == "sums" else setting["value"]
        return [cents.dp.sum((0, int(most * 100))).alias("x")]
    if what == "avg":
        reach = int(setting["value"] * 100 - middle)
        return [cents.dp.sum((-int(middle), reach)).alias("s"), dp.len(signed=True).alias("n")]
    candidates = [setting["value"] * number / 1000 for number in range(1001)]
    return [pl.col("amount").fill_nan(0.0).fill_null(0.0).dp.median(candidates).alias("x")]


if __name__ == "__main__":
    serve(prepare)
