"""Tumult Analytics on Spark: Laplace noise for ε, Gaussian for ρ.

All trials are one query: the data stands there once for each of them, with people and groups of its own, so that every
trial is bounded and noised by itself as it would be alone, and what Spark takes to start a query is taken once.
"""

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from tempfile import mkdtemp
from typing import Any

from bench.peers.people.protocol import Answers, serve

__all__ = ["prepare"]

os.environ["PYSPARK_PYTHON"] = sys.executable  # before a Java machine is started
tmlt: Any = import_module("tmlt.analytics")
sql: Any = import_module("pyspark.sql")
functions: Any = import_module("pyspark.sql.functions")
PARALLEL = 2


def prepare(asked: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Answers]:
    settings = {
        "spark.sql.shuffle.partitions": str(PARALLEL),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "3g",
        "spark.sql.warehouse.dir": mkdtemp(),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = sql.SparkSession.builder.master(f"local[{PARALLEL}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.read.parquet(asked["data"])
    return lambda task: _many(spark, rows, task)


def _many(spark: Any, rows: Any, task: Mapping[str, Any]) -> Answers:
    trials, by, setting = task["trials"], task["by"], task["setting"]
    turns = spark.range(trials).withColumnRenamed("id", "trial")
    key = functions.col(by).cast("string") if by else functions.lit("")
    many = rows.crossJoin(functions.broadcast(turns)).select(
        (functions.col("person") * trials + functions.col("trial")).alias("person"),
        functions.concat_ws("|", functions.col("trial").cast("string"), key).alias("cell"),
        "amount",
    )
    unknown = task["keys"] is None
    if unknown:
        budget = tmlt.ApproxDPBudget(task["epsilon"], task["delta"])
        parts = (tmlt.ApproxDPBudget(task["epsilon"] / 2, task["delta"]), tmlt.ApproxDPBudget(task["epsilon"] / 2, 0))
    elif setting["noise"] == "gaussian":
        budget = tmlt.RhoZCDPBudget(task["rho"])
    else:
        budget = tmlt.PureDPBudget(task["epsilon"])
    session = tmlt.Session.from_dataframe(budget, "sales", many, protected_change=tmlt.AddRowsWithID("person"))
    inside = 1 if task["aggregate"] == "people" else setting["inside"]
    query = tmlt.QueryBuilder("sales")
    if setting["mode"] == "rows" or by is None:
        query = query.enforce(tmlt.MaxRowsPerID(inside))
    else:
        query = query.enforce(tmlt.MaxGroupsPerID("cell", setting["groups"]))
        query = query.enforce(tmlt.MaxRowsPerGroupPerID("cell", inside))
    if unknown:
        keys = tmlt.KeySet.from_dataframe(session.evaluate(query.get_groups(["cell"]), parts[0]))
        found = session.evaluate(_asked(query.groupby(keys), task), parts[1])
    else:
        keys = tmlt.KeySet.from_dict({"cell": [f"{turn}|{name}" for turn in range(trials) for name in task["keys"]]})
        found = session.evaluate(_asked(query.groupby(keys), task), budget)
    answers: Answers = [{} for _ in range(trials)]
    for cell, value in found.select("cell", "x").collect():
        turn, _, name = cell.partition("|")
        answers[int(turn)][name] = float(value)
    return answers


def _asked(grouped: Any, task: Mapping[str, Any]) -> Any:
    what, value = task["aggregate"], float(task["setting"]["value"] or 500)
    if what in ("rows", "people"):
        return grouped.count(name="x")
    measure = {"sum": grouped.sum, "avg": grouped.average, "median": grouped.median}[what]
    return measure("amount", 0.0, value, name="x")


if __name__ == "__main__":
    serve(prepare)
