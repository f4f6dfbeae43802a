"""The ends of every stored type through every operation and every aggregate.

No statement fails, and nobody else's part of an answer changes when rows with such values are added.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _pytest.mark import ParameterSet

from support.clipping import clip
from support.databases import answered
from support.expressions import COLUMNS, of_operation
from support.extremes import SIDE, rounds, scan, table_sql
from support.postgres import Server, postgres
from support.spark import spark
from tacit.base.exact import opened
from tacit.engine import Limits
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Engine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.plan.bounded import Bounded, Key, Measure, Presence, Ranks
from tacit.plan.cells import Piece
from tacit.plan.expression import Call, Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.moments import values
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan, Source, SubAggregate
from tacit.plan.operation import OPERATIONS, call

__all__ = ["postgres", "spark"]

NAMES = sorted(OPERATIONS)
BATCHES = [NAMES[i : i + 10] for i in range(0, len(NAMES), 10)]
SIDES = Column(name="side", facts=SIDE)
TABLES = ("calm", "wild")
DAY = 86_400_000  # milliseconds
Opens = Callable[[dict[str, str]], list[Engine]]


# --- questions


def number(value: Expression) -> Expression:
    """A bounded number that a value decides."""
    match value.facts.type:
        case Type.BOOLEAN:
            value = call("to_integer", value)
        case Type.TEXT:
            value = call("length", value)
        case Type.DATE | Type.TIMESTAMP:
            value = call("extract", constant("year"), value)
    return call("clamp", value, constant(-50), constant(100))


def truth(value: Expression) -> Expression:
    return value if value.facts.type is Type.BOOLEAN else call("is_not_null", value)


def totals(source: Node, expressions: list[Expression], *, exempt: bool) -> Bounded:
    """Counts and sums of many values by side."""
    measures = [Measure(name="rows", low=16, high=16)]
    for i, value in enumerate(expressions):
        measures.append(values(f"there {i}", value, half=16))
        measures.append(Measure(name=f"sum {i}", value=number(value), low=-50, high=100))
    clips = tuple(clip("l2", 2**20 if exempt else 40, measure.name, exempt=exempt) for measure in measures)
    return Bounded(source=source, keys=(Key(name="side", expression=SIDES),), measures=tuple(measures), clips=clips)


def keyed(source: Node, key: Expression, value: Expression) -> Bounded:
    """Groups that nobody listed, the different values of another, and its ranks."""
    pieces = (Piece(low=Fraction(-50), width=Fraction(2), cells=75),)
    ranks = Ranks(name="ranks", value=number(value), pieces=pieces, one=4)
    different = Measure(name="different", kind="distinct", value=value, cap=2)
    people = Measure(name="people", kind="units", low=16, high=16)
    return Bounded(
        source=source,
        keys=(Key(name="side", expression=SIDES), Key(name="key", expression=key)),
        measures=(people, different),
        clips=(clip("l2", 40, "people"), clip("l1", 2, "different", exempt=True), clip("l2", 9, "ranks")),
        ranks=(ranks,),
        presence=Presence(norm="l2", one=2**6),
    )


def by_unit(source: Node, expressions: list[Expression]) -> Node:
    """Aggregates over the rows of each unit."""
    made: list[SubAggregate] = []
    for i, value in enumerate(expressions):
        least = Facts(type=value.facts.type)
        if value.facts.type is not Type.BOOLEAN:
            made.append(SubAggregate(name=f"least {i}", function="min", argument=value, facts=least))
        inside = Facts(type=Type.NUMBER, low=Fraction(-100), high=Fraction(200))
        made += [
            SubAggregate(name=f"sum {i}", function="sum", argument=number(value), facts=inside),
            SubAggregate(name=f"avg {i}", function="avg", argument=number(value), facts=inside),
        ]
    return Group(below=source, keys=(("side", SIDES),), aggregates=tuple(made))


def used(expressions: Iterable[Expression]) -> Iterator[str]:
    """The columns in expressions."""
    for expression in expressions:
        if isinstance(expression, Column):
            yield expression.name
        elif isinstance(expression, Call):
            yield from used(expression.arguments)


def reading(*expressions: Expression) -> Scan:
    """The table with the columns of these expressions, and no other: short statements are read fast."""
    names, table = {"who", "side", *used(expressions)}, scan("t")
    return replace(table, columns=tuple(source for source in table.columns if source.name in names))


def questions(names: list[str], chance: Random, count: int) -> Iterator[Bounded]:
    expressions: list[Expression] = [
        of_operation(chance, name, depth) for name in names for depth in (0, 0, 1, 2)[:count]
    ]
    table = scan("t")
    yield totals(table, expressions, exempt=True)
    yield totals(table, expressions[::3], exempt=False)
    grouped = by_unit(reading(*expressions[::2]), expressions[::2])
    made = [Column(name=name, facts=facts) for name, facts in grouped.schema.items() if name not in ("who", "side")]
    yield totals(grouped, list(made), exempt=True)
    for i, value in enumerate(expressions):
        other = expressions[(i + 1) % len(expressions)]
        yield totals(Filter(below=reading(value, other), condition=truth(value)), [other], exempt=True)
        if i % 2 == 0:
            yield keyed(reading(value, other), value, other)
        named = Project(below=reading(value), columns=(("side", SIDES), ("made", value)))
        yield totals(Filter(below=named, condition=truth(Column(name="made", facts=value.facts))), [], exempt=False)


def joins() -> Iterator[Bounded]:
    """Each column as the key of a join with a public table that has the same extreme values."""
    for name, facts in COLUMNS.items():
        plain = Facts(type=facts.type)
        public = Scan(table="public", columns=(Source(name="other", column=name, facts=plain),), is_private=False)
        keys = (Column(name=name, facts=facts), Column(name="other", facts=plain))
        for unique in (True, False):
            joined = Join(kind="left", left=reading(keys[0]), right=public, on=(keys,), unique=unique)
            yield totals(joined, [Column(name="other", facts=plain)], exempt=not unique)


# --- the check


def check(calm: Engine, wild: Engine, found: Iterable[Bounded]) -> None:
    for bounded in found:
        plain, odd = (answered(bounded, engine.run(bounded)) for engine in (calm, wild))
        for name, groups in odd.items():
            others = {group: value for group, value in groups.items() if group[0] == 0}
            assert others == {group: value for group, value in plain[name].items() if group[0] == 0}, (name, bounded)
    opened(wild.norms(bounded, {0: (1, 16, 40)}))


def run(opens: Opens, stored: dict[str, str], found: Iterable[Bounded]) -> None:
    calm, wild = opens(stored)
    try:
        check(calm, wild, found)
    finally:
        calm.close()
        wild.close()


@pytest.fixture(scope="module")
def in_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Opens:
    folder = tmp_path_factory.mktemp("duckdb")

    def opens(stored: dict[str, str]) -> list[Engine]:
        path = folder / f"{len(list(folder.iterdir()))}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for name in TABLES:
                connection.execute(f"CREATE TABLE {name} AS {table_sql('duckdb', stored, wild=name == 'wild')}")
        return [DuckDBEngine({"t": (path, name), "public": (path, "wild")}, threads=1) for name in TABLES]

    return opens


@pytest.fixture(scope="module")
def in_postgres(postgres: Server) -> Iterator[Opens]:
    with postgres.database() as database, psycopg.connect(postgres.dsn(database), autocommit=True) as connection:

        def opens(stored: dict[str, str]) -> list[Engine]:
            for name in TABLES:
                rows = table_sql("postgres", stored, wild=name == "wild")
                connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
                connection.execute(f"CREATE TABLE {name} AS {rows}".encode())
            url = postgres.dsn(database)
            return [PostgresEngine(url, {"t": name, "public": "wild"}, limits=Limits(seconds=60)) for name in TABLES]

        yield opens


@pytest.fixture(scope="module")
def in_spark(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Opens:
    folder = tmp_path_factory.mktemp("spark")

    def opens(stored: dict[str, str]) -> list[Engine]:
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        place = folder / str(len(list(folder.iterdir())))
        for name in TABLES:
            rows = session.sql(table_sql("spark", stored, wild=name == "wild"))
            rows.coalesce(1).write.parquet(str(place / name))
        return [SparkEngine(spark, {"t": place / name, "public": place / "wild"}) for name in TABLES]

    return opens


def batches(first: int) -> list[ParameterSet]:
    """Every second batch, and in the full run the others."""
    return [pytest.param(at, marks=[pytest.mark.slow] if (at - first) % 2 else []) for at in range(len(BATCHES))]


@pytest.mark.parametrize("at", batches(0))
def test_duckdb(in_duckdb: Opens, at: int) -> None:
    found = rounds("duckdb")
    run(in_duckdb, found[at % len(found)], questions(BATCHES[at], Random(at), 1))


@pytest.mark.parametrize("at", batches(1))
def test_postgres(in_postgres: Opens, at: int) -> None:
    found = rounds("postgres")
    run(in_postgres, found[at % len(found)], questions(BATCHES[at], Random(at), 1))


def test_spark(in_spark: Opens) -> None:
    """A few, since each statement takes seconds; all of them are in the long form."""
    asked = list(questions(NAMES[::10], Random(1), 1))
    run(in_spark, rounds("spark")[0], asked[:1])


def test_joins(in_duckdb: Opens, in_postgres: Opens) -> None:
    run(in_duckdb, rounds("duckdb")[3], joins())
    run(in_postgres, rounds("postgres")[2], joins())


def relying() -> Iterator[Bounded]:
    """Filters that rely on facts which the rows that are left out do not have."""
    domain = (1, 2, 3, 5, 8, 13, 21, 34)  # PostgreSQL asks first what costs least: a quotient before this list
    level = Facts(type=Type.INTEGER, domain=domain, low=1, high=34, nullable=False)
    share = level.but(type=Type.NUMBER, domain=tuple(map(Fraction, domain)))
    q, x = Column(name="q", facts=level), Column(name="x", facts=share)
    d = Column(name="d", facts=Facts(type=Type.DATE, nullable=False))
    t = Column(name="t", facts=Facts(type=Type.TEXT, domain=("12", "1"), nullable=False))
    one, many = constant(1), constant(100)
    conditions = [(number, call("gt", call("divide", many, number), one)) for number in (q, x)]
    conditions += [(n, call("ge", call(name, n), constant(0))) for n in (q, x) for name in ("sqrt", "ln", "exp")]
    conditions += [(q, call("ge", call(name, many, q), constant(0))) for name in ("modulo", "div", "power")]
    conditions += [(d, call("gt", call("date_add", d, constant(n), constant("month")), d)) for n in (1, -1)]
    conditions += [(d, call("ge", d, call("date_trunc", constant("week"), d)))]
    conditions += [(t, call("gt", call("to_integer", t), constant(0)))]
    table = scan("t")
    for column, condition in conditions:
        source = Source(name=column.name, column=column.name, facts=column.facts)
        read = replace(table, columns=(*table.columns[:2], source))
        yield totals(Filter(below=read, condition=condition), [column], exempt=True)


def test_filters_see_nothing_but_facts(in_duckdb: Opens, in_postgres: Opens) -> None:
    for at in range(6):
        for opens, dialect in ((in_duckdb, "duckdb"), (in_postgres, "postgres")):
            stored = rounds(dialect)[at]
            run(opens, {name: stored[name] for name in ("q", "x", "d", "t")}, relying())


ENDS = (0, 1, -1, 2**63 - 1, -(2**63) + 1, -(2**63), 10**15, -(10**15))
BYTES = pa.array([b"\xff", b"\xc3", b"", b"\xed\xa0\x80", b"a\0b", b"\xf4\x90\x80\x80", b"a", b"12"], pa.binary())
ARROW: dict[str, tuple[Type, pa.Array]] = {
    **{unit: (Type.TIMESTAMP, pa.array(ENDS, pa.timestamp(unit))) for unit in ("s", "ms", "us", "ns")},
    **{f"{unit} with a zone": (Type.DATE, pa.array(ENDS, pa.timestamp(unit, "UTC"))) for unit in ("ms", "ns")},
    "date32": (Type.DATE, pa.array((0, 1, -1, 2**31 - 1, -(2**31), -(2**31) + 1, 2932896, -719162), pa.date32())),
    "date64": (Type.DATE, pa.array([end // 8 // DAY * DAY for end in ENDS], pa.int64()).view(pa.date64())),
    "uint64": (Type.INTEGER, pa.array([end % 2**64 for end in ENDS], pa.uint64())),
    "decimal128": (Type.NUMBER, pa.array([Decimal(end) for end in ENDS], pa.decimal128(38, 0))),
    "decimal256": (Type.NUMBER, pa.array([Decimal(10**75 * (end % 7 - 3)) for end in ENDS], pa.decimal256(76, 0))),
    "float16": (Type.NUMBER, pa.array(np.array(["nan", "inf", "-inf", "6e-8", "-0", "65504", "1", "2"], np.float16))),
    "text": (Type.TEXT, pa.Array.from_buffers(pa.string(), 8, BYTES.buffers())),
    "words": (Type.TEXT, pa.array(["a", "b", None, "", "a", "\uffff", "12", "x"]).dictionary_encode()),
}  # fmt: skip


@pytest.mark.parametrize("form", ["memory", "parquet"])
@pytest.mark.parametrize("name", ARROW)
def test_arrow(name: str, form: str, tmp_path: Path) -> None:
    """What DuckDB is given as Arrow or Parquet, in types that it does not have itself."""
    kind, odd = ARROW[name]
    if form == "parquet" and name in ("s", "decimal256"):
        pytest.skip("which Arrow does not write")
    plain = odd.slice(0, 2) if kind is not Type.TEXT or name == "words" else odd.slice(6, 2)
    engines = []
    for rows, sides in ((plain, [0, 0]), (pa.chunked_array([plain, odd]), [0, 0] + [1] * 8)):
        table = pa.table({"who": range(len(sides)), "side": pa.array(sides, pa.int32()), "v": rows})
        if form == "parquet":
            pq.write_table(table, tmp_path / f"{len(sides)}.parquet")
        engines.append(
            DuckDBEngine({"t": table if form == "memory" else tmp_path / f"{len(sides)}.parquet"}, threads=1)
        )
    v = Column(name="v", facts=Facts(type=kind))
    read = replace(scan("t"), columns=(*scan("t").columns[:2], Source(name="v", column="v", facts=v.facts)))
    found = [totals(read, [v], exempt=True), totals(Filter(below=read, condition=truth(v)), [v], exempt=False)]
    try:
        check(engines[0], engines[1], [*found, keyed(read, v, v), totals(by_unit(read, [v]), [], exempt=True)])
    finally:
        for engine in engines:
            engine.close()


@pytest.mark.slow
def test_filters_see_nothing_but_facts_in_spark(in_spark: Opens) -> None:
    for found in rounds("spark"):
        run(in_spark, found, relying())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_more(in_duckdb: Opens, in_postgres: Opens, seed: int) -> None:
    chance = Random(seed)
    for names in BATCHES:
        run(in_duckdb, rounds("duckdb", chance)[0], questions(names, chance, 4))
        run(in_postgres, rounds("postgres", chance)[0], questions(names, chance, 4))
    run(in_duckdb, rounds("duckdb", chance)[0], joins())
    run(in_postgres, rounds("postgres", chance)[0], joins())


@pytest.mark.slow
@pytest.mark.parametrize("at", range(len(BATCHES)))
def test_spark_in_full(in_spark: Opens, at: int) -> None:
    found = rounds("spark")
    run(in_spark, found[at % len(found)], questions(BATCHES[at], Random(at), 1))
    run(in_spark, found[(at + 1) % len(found)], list(joins())[at :: len(BATCHES)])
