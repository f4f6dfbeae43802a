"""OpenDP asked the questions of the SQL benchmark through its Polars context, as its documentation shows."""

import json
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import polars as pl

__all__ = ["TASKS"]

dp: Any = import_module("opendp.prelude")  # its types do not name what the Polars extra adds
AMOUNT, GROUPS, ROWS_PER_GROUP = 500.0, 10, 20
RHO, DELTA = 0.05, 1e-6
LONGEST, MOST = 10**9, 20_000  # rows of a group, and groups, declared because its sums need them
SALE, DAY = "row-level COUNT, SUM by region", "row-level COUNT by region × day"
PERSON, PRODUCT = "per person COUNT, SUM, AVG by region", "people by product, keys unknown"
QUARTILES = "row-level quartiles by region"
REGIONS = [f"region {number:02}" for number in range(50)]
CANDIDATES = [number / 2 for number in range(1, 1000)]


def context(path: str, unit: Any, by: list[str], *, known: bool = True, delta: float = 0.0) -> Any:
    dp.enable_features("contrib", "honest-but-curious")
    loss = dp.loss_of(rho=RHO, delta=delta) if delta else dp.loss_of(rho=RHO)
    margin = dp.polars.Margin(
        by=by, max_length=LONGEST, max_groups=MOST if known else None, invariant="keys" if known else None
    )
    return dp.Context.compositor(
        data=pl.scan_parquet(path), privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=[margin]
    )


def summed() -> Any:
    amount: Any = pl.col("amount").fill_nan(0.0).fill_null(0.0)
    return amount.dp.sum((0.0, AMOUNT))


def quantile(order: float) -> Any:
    amount: Any = pl.col("amount").fill_nan(0.0).fill_null(0.0)
    return amount.dp.quantile(order, CANDIDATES).alias(f"q{order}")


def sale(path: str) -> Any:
    asked = context(path, dp.unit_of(contributions=1), ["region"]).query()
    return asked.group_by("region").agg(dp.len(signed=True), summed())


def day(path: str) -> Any:
    asked = context(path, dp.unit_of(contributions=1), ["region", "day"]).query()
    return asked.group_by("region", "day").agg(dp.len(signed=True))


def person(path: str) -> Any:
    """Two of the three aggregates: its mean is made of the same two. keep="sample" fails on more columns than these."""
    asked = context(path, dp.unit_of(contributions=1, identifier="person"), ["region"]).query()
    bounded = asked.truncate_per_group(ROWS_PER_GROUP, by=["region"]).truncate_num_groups(
        GROUPS, by=["region"], keep="first"
    )
    return bounded.group_by("region").agg(dp.len(signed=True), summed()).with_keys(pl.LazyFrame({"region": REGIONS}))


def product(path: str) -> Any:
    asked = context(
        path, dp.unit_of(contributions=1, identifier="person"), ["product"], known=False, delta=DELTA
    ).query()
    bounded = asked.truncate_per_group(1, by=["product"]).truncate_num_groups(GROUPS, by=["product"], keep="first")
    return bounded.group_by("product").agg(dp.len(signed=True))


def quartiles(path: str) -> Any:
    asked = context(path, dp.unit_of(contributions=1), ["region"]).query()
    return asked.group_by("region").agg(*(quantile(order) for order in (0.25, 0.5, 0.75)))


TASKS: dict[str, Callable[[str], Any]] = {
    SALE: sale,
    DAY: day,
    PERSON: person,
    PRODUCT: product,
    QUARTILES: quartiles,
}


def main(task: str, path: str, repeats: int) -> None:
    """Wall and processor time of each repeat, and the most memory the process had."""
    found: dict[str, Any] = {"wall": [], "cpu": []}
    for _ in range(repeats):
        wall, cpu = perf_counter(), process_time()
        rows = TASKS[task](path).release().collect().height
        found["wall"].append(perf_counter() - wall)
        found["cpu"].append(process_time() - cpu)
    print(json.dumps(found | {"rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "rows": rows}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
