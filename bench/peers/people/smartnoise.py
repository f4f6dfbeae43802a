"""SmartNoise SQL over a data frame: so many rows of a person, drawn at random, in all groups together.

What is asked for as ε it spends on each noisy column, so that an average costs two, and unknown keys another.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from bench.peers.people.protocol import Answers, UnableError, serve

__all__ = ["prepare"]

snsql: Any = import_module("snsql")
pandas: Any = import_module("pandas")


def prepare(asked: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Answers]:
    frame = pandas.read_csv(asked["csv"], dtype={"product": str})
    return lambda task: _many(frame, task)


def _many(frame: Any, task: Mapping[str, Any]) -> Answers:
    setting, what, by = task["setting"], task["aggregate"], task["by"]
    if what == "median":
        raise UnableError("has no median")
    if setting["mode"] != "rows":
        raise UnableError("bounds rows of a person alone")
    unknown = task["keys"] is None
    columns = (2 if what == "avg" else 1) + (1 if unknown and what != "people" else 0)
    most = 1 if what == "people" and by is None else setting["inside"]
    table = {
        "max_ids": most,
        "sample_max_ids": True,
        "censor_dims": unknown,
        "rows": len(frame),
        "person": {"type": "int", "private_id": True},
        "region": {"type": "string"},
        "product": {"type": "string"},
        "amount": {"type": "float", "lower": 0.0, "upper": float(setting["value"] or 500)},
    }
    privacy = snsql.Privacy(epsilon=task["epsilon"] / columns, delta=task["delta"])
    reader = snsql.from_df(frame, privacy=privacy, metadata={"": {"bench": {"sales": table}}})
    asked = task["sql"].replace(" AS k", "")
    return [
        {str(row[0]) if by else "": float(row[-1] or 0) for row in reader.execute(asked)[1:]}
        for _ in range(task["trials"])
    ]


if __name__ == "__main__":
    serve(prepare)
