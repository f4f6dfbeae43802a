"""OpenDP's own answers to the row-level questions, many times: each region's count, sum and median at a given ε."""

import json
import sys
from typing import Any

import opendp.prelude as dp
import polars as pl

__all__ = ["answers"]

LONGEST, MOST, AMOUNT = 10**9, 50, 500.0
CANDIDATES = [number / 20 for number in range(0, 10_001)]  # of a median: every 5 cents


def answers(path: str, what: str, epsilon: float) -> dict[str, float]:
    dp.enable_features("contrib", "honest-but-curious")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["region"], max_length=LONGEST, max_groups=MOST, invariant="keys")],
    )
    amount: Any = pl.col("amount").fill_nan(0.0).fill_null(0.0)
    asked = {
        "COUNT": dp.len(signed=True),
        "SUM": amount.dp.sum((0.0, AMOUNT)),
        "median": amount.dp.median(CANDIDATES),
    }[what]
    found = context.query().group_by("region").agg(asked.alias("answer")).release().collect()
    return dict(zip(found["region"].to_list(), map(float, found["answer"].to_list()), strict=True))


def main(path: str, what: str, epsilon: float, trials: int) -> None:
    print(json.dumps([answers(path, what, epsilon) for _ in range(trials)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
