"""Clipping inside real engines against exact arithmetic: equal integers, and sensitivities that hold."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.clipping import COST, COUNT, FACTS, QUESTIONS, WHO, Row, clip, column, database, expected, visits
from support.postgres import Server, postgres
from support.spark import spark
from tacit.base import InputError
from tacit.base.exact import opened
from tacit.engine import Engine
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.result import Result
from tacit.engine.spark import SparkEngine, _Instance
from tacit.plan.bounded import Bounded, Clip, Key, Measure, Presence
from tacit.plan.expression import Column, Constant, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Group, Join, Node, Scan, Source, SubAggregate
from tacit.plan.operation import call

__all__ = ["postgres", "spark"]


def answered(bounded: Bounded, result: Result) -> dict[str, dict[tuple[Any, ...], int]]:
    groups = list(zip(*result.groups.keys, strict=True)) if bounded.keys else [()]
    answer = {name: dict(zip(groups, map(int, column), strict=True)) for name, column in result.groups.columns.items()}
    if result.presence is not None:
        answer["presence"] = dict(zip(groups, map(int, result.presence), strict=True))
    for name, table in result.ranks.items():
        places = zip(*table.keys, map(int, table.columns["cell"]), strict=True)
        answer[name] = dict(zip(places, map(int, table.columns["count"]), strict=True))
    return answer


def arrow(rows: list[Row]) -> pa.Table:
    kinds = (pa.int64(), pa.string(), pa.string(), pa.float64(), pa.int64())
    columns = list(zip(*rows, strict=True)) or [()] * len(FACTS)
    return pa.table({n: pa.array(c, k) for n, c, k in zip(FACTS, columns, kinds, strict=True)})


WARD_FLOORS = pa.table({"name": ["east", "north", "north", "south"], "floor": pa.array([1, 2, 3, 9], pa.int64())})


def in_duckdb(rows: list[Row], bounded: Bounded) -> dict[str, dict[tuple[Any, ...], int]]:
    engine = DuckDBEngine({"visits": arrow(rows), "floors": WARD_FLOORS}, threads=1)
    try:
        return answered(bounded, opened(engine.run(bounded)))
    finally:
        engine.close()


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))])
def test_duckdb_clips_to_the_last_unit(name: str, seed: int) -> None:
    rows = database(seed, rows=(0, 1, 60, 60, 120, 200)[seed])
    assert in_duckdb(rows, QUESTIONS[name]) == expected(QUESTIONS[name], rows)


def differences(one: dict[tuple[Any, ...], int], two: dict[tuple[Any, ...], int]) -> list[int]:
    return [one.get(g, 0) - two.get(g, 0) for g in one.keys() | two.keys()]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_without_one_unit_every_clip_moves_by_at_most_its_bound(name: str, seed: int) -> None:
    bounded = QUESTIONS[name]
    rows = database(seed + 100, rows=80)
    whole = in_duckdb(rows, bounded)
    for gone in (1, 2**60):
        less = in_duckdb([row for row in rows if row[0] != gone], bounded)
        check_sensitivity(bounded, whole, less)


def check_sensitivity(bounded: Bounded, one: dict[str, Any], two: dict[str, Any]) -> None:
    shown = None if bounded.presence is None else one["presence"].keys() & two["presence"].keys()
    for item in bounded.clips:
        assert item.bound is not None
        size = Fraction(0)
        for name, scale in zip(item.names, item.scales, strict=True):
            first, second = one[name], two[name]
            if name == "cells":
                first, second = by_group(first), by_group(second)
            elif shown is not None:  # a group that only one of the two shows is hidden by presence, not by the clip
                first, second = ({g: found[g] for g in shown} for found in (first, second))
            for change in differences(first, second):
                size += (scale * change) ** 2 if item.norm == "l2" else abs(scale * change)
        assert size <= (item.bound**2 if item.norm == "l2" else item.bound), item.names
    if bounded.presence is not None:
        moved = differences(one["presence"], two["presence"])
        size = Fraction(sum(v * v for v in moved) if bounded.presence.norm == "l2" else sum(map(abs, moved)))
        assert size <= bounded.presence.one ** (2 if bounded.presence.norm == "l2" else 1)


def by_group(found: dict[tuple[Any, ...], int]) -> dict[tuple[Any, ...], int]:
    total: dict[tuple[Any, ...], int] = defaultdict(int)
    for place, count in found.items():
        total[place[:-1]] += count
    return total


def nested() -> Bounded:
    """Visits of adults with their wards' floors, the mean and the sum per unit and ward, then counts by floor."""
    floors = Scan(
        table="floors",
        columns=(
            Source(name="floor_ward", column="name", facts=Facts(type=Type.TEXT, nullable=False)),
            Source(name="floor", column="floor", facts=Facts(type=Type.INTEGER, low=0, high=9)),
        ),
        is_private=False,
    )
    adults = Filter(below=visits(), condition=call("ge", column("age"), constant(18)))
    joined = Join(
        kind="left",
        left=adults,
        right=floors,
        on=((column("ward"), Column(name="floor_ward", facts=FACTS["product"])),),
    )
    spent = Facts(type=Type.NUMBER, low=Fraction(-1000), high=Fraction(1000))
    grouped: Node = Group(
        below=joined,
        keys=(("level", Column(name="floor", facts=joined.schema["floor"])),),
        aggregates=(
            SubAggregate(
                name="visited", function="count", argument=None, facts=Facts(type=Type.INTEGER, low=0, high=40)
            ),
            SubAggregate(name="spent", function="sum", argument=column("cost"), facts=spent),
            SubAggregate(name="mean", function="avg", argument=column("cost"), facts=FACTS["cost"]),
            SubAggregate(name="oldest", function="max", argument=column("age"), facts=FACTS["age"]),
        ),
    )
    measures = [
        Measure(
            name=name,
            value=Column(name=name, facts=grouped.schema[name]),
            step=Fraction(1, 64),
            low=-(2**20),
            high=2**20,
        )
        for name in ("visited", "spent", "mean", "oldest")
    ]
    level = Key(name="level", expression=Column(name="level", facts=grouped.schema["level"]))
    clips = tuple(clip("l2", 2000, measure.name) for measure in measures)
    return Bounded(source=grouped, keys=(level,), measures=tuple(measures), clips=clips)


def constant(value: int) -> Expression:
    return Constant(value=value, facts=Facts(type=Type.INTEGER, low=value, high=value, nullable=False))


@pytest.mark.parametrize("seed", range(4))
def test_sub_aggregates_over_joins_keep_their_sensitivity(seed: int) -> None:
    bounded = nested()
    rows = database(seed + 200, rows=80)
    whole = in_duckdb(rows, bounded)
    assert any(any(found.values()) for found in whole.values())
    check_sensitivity(bounded, whole, in_duckdb([row for row in rows if row[0] != 1], bounded))


def on_server(dsn: str, rows: list[Row]) -> PostgresEngine:
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE visits (unit bigint, ward text, product text, cost float8, age bigint)")
        cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s)", rows)
        cursor.execute("CREATE TABLE floors (name text, floor integer)")
        cursor.executemany(
            "INSERT INTO floors VALUES (%s, %s)", [tuple(row.values()) for row in WARD_FLOORS.to_pylist()]
        )
    return PostgresEngine(dsn, {"visits": "visits", "floors": "public.floors"})


@pytest.mark.parametrize("seed", range(2))
def test_postgres_gives_the_same_integers(postgres: Server, seed: int) -> None:
    rows = database(seed + 300, rows=150 * seed)
    with postgres.database() as name:
        engine = on_server(postgres.dsn(name), rows)
        try:
            for title, bounded in {**QUESTIONS, "nested": nested()}.items():
                assert answered(bounded, opened(engine.run(bounded))) == in_duckdb(rows, bounded), title
        finally:
            engine.close()


def test_spark_gives_the_same_integers(spark: Any, tmp_path: Path) -> None:
    rows = database(301, rows=120)
    pq.write_table(arrow(rows), tmp_path / "visits.parquet")
    pq.write_table(WARD_FLOORS, tmp_path / "floors.parquet")
    engine = SparkEngine(spark, {"visits": tmp_path / "visits.parquet", "floors": str(tmp_path / "floors.parquet")})
    for title, bounded in {**QUESTIONS, "nested": nested()}.items():
        assert answered(bounded, opened(engine.run(bounded))) == in_duckdb(rows, bounded), title
    chosen = norms_question()
    check_norms(engine, chosen, rows)
    engine.close()


EDGES = [0, 16, 40, 100, 1000]


def norms_question() -> Bounded:
    found = QUESTIONS["l2 by ward"]
    unset = Clip(names=("count", "cost"), scales=(Fraction(1), Fraction(1, 100)), norm="l2", bound=None)
    more = Clip(names=("again",), scales=(Fraction(1),), norm="l1", bound=None)
    measures = (COUNT, replace(COUNT, name="again"), COST)
    return Bounded(source=found.source, keys=found.keys, measures=measures, clips=(more, unset))


def check_norms(engine: Engine, bounded: Bounded, rows: list[Row]) -> None:
    """Of one clip, and of both at once, in which cells of one do not end where those of the other do."""
    alone = opened(engine.norms(bounded, {1: EDGES}))
    assert alone[1].tolist() == counted(rows)
    both = opened(engine.norms(bounded, {0: [16, 64], 1: EDGES}))
    assert both[1].tolist() == counted(rows)
    visited = Counter(row[0] for row in rows if row[0] is not None)
    assert both[0].tolist() == [
        sum(n == 1 for n in visited.values()),
        sum(1 < n <= 4 for n in visited.values()),
        sum(n > 4 for n in visited.values()),
    ]


def counted(rows: list[Row]) -> list[int]:
    """How many units have a norm up to each edge and above the one before, from sums here."""
    sizes: dict[Any, Fraction] = defaultdict(Fraction)
    free = Clip(names=("count", "cost"), scales=(Fraction(1), Fraction(1)), norm="l2", bound=Fraction(1), exempt=True)
    for unit in {row[0] for row in rows} - {None}:
        own = [row for row in rows if row[0] == unit]
        found = expected(
            Bounded(source=visits(), keys=QUESTIONS["l2 by ward"].keys, measures=(COUNT, COST), clips=(free,)), own
        )
        sizes[unit] = sum(
            (Fraction(v) ** 2 for v in found["count"].values()),
            sum(((Fraction(v, 100)) ** 2 for v in found["cost"].values()), Fraction(0)),
        )
    places = [sum(size > edge**2 for edge in EDGES) for size in sizes.values()]
    return [places.count(place) for place in range(len(EDGES) + 1)]


def test_norms_of_units_by_cell(postgres: Server) -> None:
    rows = database(400, rows=60)
    engine = DuckDBEngine({"visits": arrow(rows)}, threads=1)
    check_norms(engine, norms_question(), rows)
    with pytest.raises(InputError, match="not chosen"):
        engine.run(norms_question())
    engine.close()
    with postgres.database() as name:
        server = on_server(postgres.dsn(name), rows)
        check_norms(server, norms_question(), rows)
        server.close()


def test_rows_that_are_units_need_no_unit_and_give_the_same() -> None:
    rows = [(i, *row[1:]) for i, row in enumerate(database(500, rows=50))]
    names = ("count", "cost", "ages", "who")
    exempt = tuple(clip("l2", 10**6, name, exempt=True) for name in names)
    measures = (COUNT, COST, Measure(name="ages", kind="distinct", value=column("age"), cap=1), WHO)
    keys = QUESTIONS["l1 unknown keys"].keys
    for presence in (None, Presence(norm="l2", one=8)):
        with_unit = Bounded(source=visits(), keys=keys, measures=measures, clips=exempt, presence=presence)
        without = Bounded(source=visits(unit=False), keys=keys, measures=measures, clips=exempt, presence=presence)
        assert in_duckdb(rows, without) == in_duckdb(rows, with_unit) == expected(with_unit, rows)


def test_a_unit_far_beyond_every_bound_still_counts_only_its_bound() -> None:
    """Coordinates near the largest a row can be, and squares near the widest integers."""
    huge = Facts(type=Type.NUMBER, low=Fraction(-(2**40)), high=Fraction(2**40))
    scan = Scan(
        table="visits",
        columns=(
            Source(name="unit", column="unit", facts=FACTS["unit"]),
            Source(name="cost", column="cost", facts=huge),
        ),
        is_private=True,
        unit_name="unit",
    )
    measure = Measure(name="cost", value=Column(name="cost", facts=huge), low=-(2**40), high=2**40)
    for norm, bound in (("l2", 2**39), ("l1", 2**39), ("l2", 3), ("l1", 3)):
        bounded = Bounded(source=scan, keys=(), measures=(measure,), clips=(clip(norm, bound, "cost"),))
        rows: list[Row] = [(1, None, None, 1e300, None)] * 500 + [(2, None, None, -2.0, None)]
        total = in_duckdb(rows, bounded)["cost"][()]
        assert bound - 2 - max(1, bound >> 40) <= total <= bound - 2


@pytest.mark.parametrize("most", [0, 1, 2**20])
def test_spark_holds_busy_units_in_each_task_or_takes_the_longer_way(
    most: int, monkeypatch: pytest.MonkeyPatch, spark: Any, tmp_path: Path
) -> None:
    rows = [(who, ("north", "west")[n % 2], "x", float(n), n) for who in range(6) for n in range(1 + 20 * who)]
    pq.write_table(arrow(rows), tmp_path / "visits.parquet")
    engine = SparkEngine(spark, {"visits": tmp_path / "visits.parquet"})
    monkeypatch.setattr("tacit.engine.per_unit.MOST_BUSY", most)
    asked: list[str] = []
    fetch = _Instance.fetch

    def noted(instance: _Instance, sql: str) -> Any:
        asked.append(sql)
        return fetch(instance, sql)

    monkeypatch.setattr(_Instance, "fetch", noted)
    bounded = QUESTIONS["l2 busy units"]
    assert answered(bounded, opened(engine.run(bounded))) == expected(bounded, rows)
    ways = [sql[:9] for sql in asked if sql.startswith(("WITH d AS", "WITH t AS"))]  # beside the ranks
    assert ways == ["WITH d AS", "WITH t AS"][: 1 if most > 1 else 2]  # several units have more than 16 rows
    engine.close()
