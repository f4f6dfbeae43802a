"""Spark on a cluster of its own: with a worker killed in the middle of a question, the right integers or no answer."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.spark import missing

if missing() is not None:
    pytest.skip(str(missing()), allow_module_level=True)

from support.cluster import Cluster

pytestmark = pytest.mark.slow  # five processes of Java

POLICY = """
[dataset]
name = "clinic"
engine = "ENGINE"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
[tables.visits]
source = "visits"
unit_column = "who"
clip_rows = 5
[tables.visits.columns]
ward = { type = "integer", bounds = [0, 40] }
cost = { type = "decimal", bounds = [0, 1000], step = "0.01" }
"""

ASK = """
import json, sys, warnings
warnings.simplefilter("ignore")
from fractions import Fraction
from tacit.base import EngineError, Relation
from tacit.base.exact import opened
from tacit.engine import open_engine
from tacit.plan.contribution import Contribution
from tacit.plan.price import Budget, price
from tacit.policy import load
from tacit.sql import lower
from tacit.sql import Catalog, parse

policy = load(sys.argv[1])
question = lower(parse("SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward"), Catalog.from_policy(policy))
how = {"relation": Relation.ADD_REMOVE, "unit": "patient", "contribution": Contribution(rows=Fraction(5))}
(part,) = price(question, Budget(currency="rho", amount=Fraction(1)), **how).parts
engine = open_engine(policy)
for _ in range(int(sys.argv[2])):
    try:
        groups = opened(engine.run(part)).groups
        found = sorted(zip(map(str, groups.keys[0]), *([int(n) for n in c] for c in groups.columns.values())))
    except EngineError:
        found = "no answer"
    print(json.dumps(found), flush=True)
engine.close()
"""


def write(folder: Path, rows: int) -> None:
    """Eight files, so that both workers have some to read; one unit in ten is over its bound."""
    (folder / "visits").mkdir()
    source = np.random.default_rng(5)
    for number in range(8):
        who = source.integers(0, max(1, rows // 4), rows)
        who[: rows // 4] //= 10
        columns = {"who": who, "ward": source.integers(0, 41, rows), "cost": source.gamma(2, 90, rows)}
        pq.write_table(pa.table(columns), folder / "visits" / f"{number}.parquet")


def policy(folder: Path, engine: str, source: str = "") -> str:
    place = folder / f"{engine}.toml"
    table = 'source = "visits"'
    text = POLICY.replace("ENGINE", engine).replace(table, f'source = "{folder / "visits"}"')
    place.write_text(text.replace("[privacy]", f'source = "{source}"\n[privacy]' if source else "[privacy]"))
    return str(place)


def answers_while_killing(folder: Path, rows: int, times: int) -> tuple[list[Any], Any]:
    """What Spark says, a worker being killed after the first answer, and what is right."""
    write(folder, rows)
    with Cluster() as cluster:
        right = cluster.driver(ASK, policy(folder, "duckdb"), "1")
        asked = cluster.driver(ASK, policy(folder, "spark", cluster.url), str(times))
        try:
            assert asked.stdout is not None
            first = asked.stdout.readline()
            assert first, cluster.said("driver") + cluster.said("worker0")
            found = [json.loads(first)]
            assert all(cluster.executors().values())  # both workers have one
            threading.Event().wait(0.3)  # the next question has begun
            cluster.kill("worker1")
            found += [json.loads(line) for line in asked.stdout]
            assert asked.wait(60) == 0
            true, _ = right.communicate(timeout=60)
            return found, json.loads(true)
        finally:
            for process in (right, asked):
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


def test_a_worker_that_dies_costs_an_answer_and_never_makes_a_wrong_one(tmp_path: Path) -> None:
    found, true = answers_while_killing(tmp_path, rows=10_000, times=3)
    assert len(found) == 3
    assert found[0] == true
    assert all(answer in (true, "no answer") for answer in found)
    assert sum(count for _, count, _ in true)


@pytest.mark.parametrize("number", range(3))
def test_again_with_more_rows(tmp_path: Path, number: int) -> None:
    found, true = answers_while_killing(tmp_path, rows=300_000 * (number + 1), times=8)
    assert found[0] == true
    assert all(answer in (true, "no answer") for answer in found)
