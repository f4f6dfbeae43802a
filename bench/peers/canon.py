"""pyCANON measuring the table of the anonymity benchmark; run by an interpreter that has it: canon.py TABLE."""

import json
import sys
from importlib import import_module
from time import process_time
from typing import Any

__all__ = ["main"]


def main(path: str, quasi: list[str], sensitive: str) -> dict[str, Any]:
    """k, l and t, and the processor time of the three, the table being in memory already."""
    anonymity: Any = import_module("pycanon.anonymity")
    data: Any = import_module("pandas").read_parquet(path)
    start = process_time()
    k = anonymity.k_anonymity(data, quasi)
    distinct = anonymity.l_diversity(data, quasi, [sensitive])
    t = anonymity.t_closeness(data, quasi, [sensitive])
    return {"seconds": process_time() - start, "k": int(k), "distinct": int(distinct), "t": float(t)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2].split(","), sys.argv[3])))
