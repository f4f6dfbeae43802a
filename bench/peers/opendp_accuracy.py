"""OpenDP's own answers to the row-level questions, many times: each region's count, sum and median at a given ε."""

import json
import sys
from importlib import import_module
from typing import Any

import polars as pl

__all__ = ["answers"]

dp: Any = import_module("opendp.prelude")  # its types do not name what the Polars extra adds
LONGEST, MOST, AMOUNT = 10**7, 50, 50_000
CANDIDATES = [number / 100 for number in range(10_001)]  # of a median: every cent, to where medians can be


def answers(path: str, what: str, epsilon: float) -> dict[str, float]:
    dp.enable_features("contrib", "honest-but-curious")
    context = dp.Context.compositor(
        # whole cents: of floating-point sums it also hides rounding, which would cost it accuracy
        data=pl.scan_parquet(path).with_columns((pl.col("amount") * 100).round().cast(pl.Int64).alias("cents")),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["region"], max_length=LONGEST, max_groups=MOST, invariant="keys")],
    )
    amount: Any = pl.col("amount").fill_nan(0.0).fill_null(0.0)
    cents: Any = pl.col("cents").fill_null(0)
    asked = {
        "COUNT": dp.len(signed=True),
        "SUM": cents.dp.sum((0, AMOUNT)),
        "median": amount.dp.median(CANDIDATES),
    }[what]
    found = context.query().group_by("region").agg(asked.alias("answer")).release().collect()
    unit = 100 if what == "SUM" else 1
    return {region: answer / unit for region, answer in zip(found["region"], found["answer"], strict=True)}


def main(path: str, what: str, epsilon: float, trials: int) -> None:
    print(json.dumps([answers(path, what, epsilon) for _ in range(trials)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
