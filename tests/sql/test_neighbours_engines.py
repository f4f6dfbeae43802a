"""The same on PostgreSQL and Spark: the integers before noise are DuckDB's, to the last unit, also after clipping."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from support.databases import CATALOG, KINDS, PUBLIC, Answer, Row, answered, arrow, rows_of
from support.postgres import Server, postgres
from support.queries import COMBINED
from support.spark import spark
from tacit.base.exact import opened
from tacit.engine import Engine
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded
from tacit.plan.centre import centre_part, with_centre
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.facts import Type
from tacit.plan.keys import by_counts
from tacit.sql import lower, parse

__all__ = ["postgres", "spark"]

SEEDS = (11, 27)
POSTGRES = {
    Type.INTEGER: "bigint",
    Type.NUMBER: "double precision",
    Type.TEXT: "text",
    Type.BOOLEAN: "boolean",
    Type.DATE: "date",
    Type.TIMESTAMP: "timestamp",
}
REPRESENTATIVE = (
    "SELECT ward, COUNT(*), SUM(cost), AVG(cost) FROM visits GROUP BY ward",
    "SELECT VARIANCE(change), COUNT(change), STDDEV_POP(small) FROM visits",
    "SELECT urgent, CORR(age, cost), COVAR_POP(third, narrow) FROM visits GROUP BY urgent",
    "SELECT note, COUNT(DISTINCT patient_id), COUNT(DISTINCT age, max_values_per_unit => 2) FROM visits GROUP BY note",
    "SELECT DATE_TRUNC('month', day), MEDIAN(cost), MAX(change) FROM visits GROUP BY 1",
    "SELECT level, MODE(ward), HISTOGRAM(age, 4) FROM visits GROUP BY level",
    "SELECT CASE WHEN cost > 100 THEN 'much' END, SUM(age / 3), SUM(CLAMP(LN(cost), -5, 5)) FROM visits GROUP BY 1",
    "SELECT COUNT_IF(note LIKE '%a%'), SUM(cost) FILTER (WHERE ward = 'east'), SUM(COALESCE(change, 3)) FROM visits",
    "SELECT kind, AVG(dose), SUM(dose * dose) FROM treatments GROUP BY kind",
    "SELECT v.ward, SUM(dose), COUNT(*) FROM visits v JOIN treatments t ON patient_id = patient GROUP BY v.ward",
    "SELECT floor, AVG(cost) FROM visits v LEFT JOIN wards w ON v.ward = w.ward GROUP BY floor",
    "SELECT family, SUM(price), MEDIAN(dose) FROM treatments t JOIN drugs d ON t.drug = d.drug GROUP BY family",
    "SELECT n > 2, AVG(mean), SUM(CLAMP(total, 0, 700)) FROM (SELECT patient_id, COUNT(*) AS n, AVG(age) AS mean, "
    "SUM(cost) AS total FROM visits GROUP BY patient_id) p GROUP BY 1",
    "WITH p AS (SELECT patient_id, note, MIN(change) AS least, COUNT(*) AS n FROM visits GROUP BY 1, 2) "
    "SELECT note, SUM(least), SUM(CLAMP(n, 0, 3)) FROM p GROUP BY note",
    "SELECT grade, SUM(bonus), VARIANCE(salary), MEDIAN(bonus) FROM staff GROUP BY grade",
    "SELECT title, COUNT(*) FROM staff GROUP BY title",
    *COMBINED[:-1],
)


def with_centres(part: Bounded) -> Iterator[Bounded]:
    """What is run to find the centres of averages, and the part with them in some place."""
    for place, centre in enumerate(part.centres):
        yield centre_part(part, centre, part.clips[0].norm)
        part = with_centre(part, place, (centre.ranks.cells // 3, centre.ranks.cells // 2))
    yield part


ASKED = [
    bound(lower(parse(sql), CATALOG), norm=norm, contribution=said)  # type: ignore[arg-type]  # a word
    for sql in REPRESENTATIVE
    for norm, said in (("l2", Contribution(rows=Fraction(2))), ("l1", Contribution(rows=PRIVATE)))
]
COUNTED = [part for asked in ASKED for part in getattr(by_counts(asked), "parts", ()) if part.counted is not None]
PLAIN = (part for asked in ASKED for part in asked.parts if part.clips)
PARTS = [found for part in (*PLAIN, *COUNTED) for found in with_centres(part)]
assert COUNTED


def tables(seed: int) -> dict[str, list[Row]]:
    """Everybody's rows."""
    return {**{table: found["whole"] for table, found in rows_of(seed).items()}, **PUBLIC}


def answers(engine: Engine, parts: Sequence[Bounded]) -> Iterator[tuple[Answer, list[list[int]]]]:
    """Of every part, and how many units are between the edges of each clip whose bound is open."""
    for part in parts:
        edges = {place: clip.edges for place, clip in enumerate(part.clips) if clip.bound is None}
        found = opened(engine.norms(part, edges)) if edges else {}
        counts = [found[place].tolist() for place in edges]
        yield answered(filled(part), engine.run(filled(part))), counts


def filled(part: Bounded) -> Bounded:
    """With bounds that most units are over."""
    clips = (
        replace(clip, bound=clip.row * Fraction(3, 2) if clip.bound is None else clip.bound) for clip in part.clips
    )
    return replace(part, clips=tuple(clips))


def in_duckdb(seed: int, parts: Sequence[Bounded] = PARTS) -> list[Any]:
    engine = DuckDBEngine({table: arrow(table, rows) for table, rows in tables(seed).items()}, threads=1)
    try:
        return list(answers(engine, parts))
    finally:
        engine.close()


def compare(engine: Engine, seed: int, parts: Sequence[Bounded] = PARTS) -> None:
    try:
        expected = in_duckdb(seed, parts)
        for part, here, there in zip(parts, expected, answers(engine, parts), strict=True):
            assert here == there, part
    finally:
        engine.close()


def test_clips_do_something() -> None:
    """Else there would be little to compare."""
    cut = [sum(counts[1:]) for _, found in in_duckdb(SEEDS[0]) for counts in found]
    assert sum(map(bool, cut)) > len(cut) / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_postgres_gives_the_same_integers(postgres: Server, seed: int) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection, connection.cursor() as cursor:
            for table, rows in tables(seed).items():
                columns = ", ".join(f'"{column}" {POSTGRES[kind]}' for column, kind in KINDS[table].items())
                cursor.execute(f"CREATE TABLE {table} ({columns})".encode())
                places = ", ".join("%s" for _ in KINDS[table])
                cursor.executemany(f"INSERT INTO {table} VALUES ({places})".encode(), rows)
        compare(PostgresEngine(postgres.dsn(name), {table: table for table in tables(seed)}), seed)


def in_spark(spark: Any, folder: Path, seed: int) -> SparkEngine:
    for table, rows in tables(seed).items():
        pq.write_table(arrow(table, rows), folder / f"{table}.parquet")
    return SparkEngine(spark, {table: folder / f"{table}.parquet" for table in tables(seed)})


def test_spark_gives_the_same_integers(spark: Any, tmp_path: Path) -> None:
    compare(in_spark(spark, tmp_path, SEEDS[0]), SEEDS[0], PARTS[::9])


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_spark_gives_the_same_integers_for_all(spark: Any, tmp_path: Path, seed: int) -> None:
    compare(in_spark(spark, tmp_path, seed), seed)
