"""One nasty database in three engines, and the list of questions that must have the same integers in all of them.

Two private tables of patients, one of staff in which each row is a person, one of letters whose authors are texts, one
that is empty, and a public one. Beside odd values there are units with many rows, so that clipping has work to do.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import Exact, Relation
from tacit.base.exact import opened
from tacit.engine import Engine
from tacit.engine.result import Result
from tacit.plan.bounded import LARGEST, Bounded, Clip
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.facts import Facts, Type
from tacit.plan.price import Budget, price
from tacit.sql import AskableTable, Catalog, lower, parse

__all__ = ["CATALOG", "CHOSEN", "PER_UNIT", "QUESTIONS", "TABLES", "answers", "into_files", "into_postgres"]

WARDS = ("east", "north", "Süd-West")


def number(low: int | str, high: int | str, step: str | None = None) -> Facts:
    return Facts(
        type=Type.NUMBER, low=Fraction(low), high=Fraction(high), step=None if step is None else Fraction(step)
    )


def integer(low: int, high: int, nullable: bool = True) -> Facts:
    return Facts(type=Type.INTEGER, low=low, high=high, step=Fraction(1), nullable=nullable)


# each column: what is declared, how it is stored in Parquet, and in PostgreSQL
Declared = dict[str, tuple[Facts, pa.DataType, str]]
TEXT: tuple[Facts, pa.DataType, str] = (Facts(type=Type.TEXT), pa.string(), "text")
WHO: tuple[Facts, pa.DataType, str] = (Facts(type=Type.INTEGER), pa.int64(), "bigint")
WARD = Facts(type=Type.TEXT, domain=WARDS)
TABLES: dict[str, Declared] = {
    "visits": {
        "patient_id": WHO,
        "ward": (WARD, pa.string(), "varchar(40)"),
        "cost": (number(0, 5000, "0.01"), pa.float64(), "double precision"),
        "fee": (number(-50, 50, "0.01"), pa.decimal128(12, 2), "numeric(12,2)"),
        "age": (integer(0, 120), pa.int16(), "smallint"),
        "day": (Facts(type=Type.DATE, low=date(2023, 12, 1), high=date(2024, 3, 31)), pa.date32(), "date"),
        "seen": (
            Facts(type=Type.TIMESTAMP, low=datetime(2023, 1, 1), high=datetime(2025, 1, 1)),
            pa.timestamp("us"),
            "timestamp",
        ),
        "urgent": (Facts(type=Type.BOOLEAN, domain=(False, True)), pa.bool_(), "boolean"),
        "note": TEXT,
        "weight": (Facts(type=Type.NUMBER, why='column "weight" has no bounds'), pa.float32(), "real"),
        "level": (
            Facts(type=Type.INTEGER, domain=(1, 2, 5), low=1, high=5, nullable=False),
            pa.int32(),
            "integer",
        ),
    },
    "treatments": {
        "patient": WHO,
        "drug": (integer(1, 9), pa.int32(), "integer"),
        "dose": (number(-100, 100, "0.5"), pa.float64(), "double precision"),
        "kind": TEXT,
    },
    "staff": {
        "ward": (WARD, pa.string(), "text"),
        "salary": (number(0, 10_000, "1"), pa.float64(), "double precision"),
        "grade": (integer(-3, 9), pa.int8(), "smallint"),
    },
    "letters": {"author": TEXT, "words": (integer(0, 500), pa.int64(), "bigint")},
    "nobody": {"who": WHO, "x": (number(0, 10, "1"), pa.float64(), "double precision"), "word": TEXT},
    "wards": {"ward": TEXT, "floor": (integer(0, 9), pa.int32(), "integer"), "city": TEXT},
}
OWNERS: dict[str, dict[str, Any]] = {
    "visits": {"unit": "patient_id"},
    "treatments": {"unit": "patient", "rows_per_unit": 12},
    "staff": {"row_is_unit": True},
    "letters": {"unit": "author"},
    "nobody": {"unit": "who"},
    "wards": {"private": False},
}
CATALOG = Catalog(
    tables={
        name: AskableTable(columns={column: facts for column, (facts, _, _) in columns.items()}, **OWNERS[name])
        for name, columns in TABLES.items()
    }
)

ODD: dict[str, Sequence[Any]] = {
    "ward": (*WARDS, *WARDS, None, "", "East", "nowhere"),
    "cost": (None, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 0.005, 0.015, 2.675, 4999.995, 17),
    "fee": (None, Decimal("0.01"), Decimal("-49.99"), Decimal("50.00"), Decimal("9999999999.99"), Decimal("-7.25")),
    "age": (None, 0, 1, 17, 18, 64, 65, 120, 121, -1, -32768, 32767),
    "day": (None, date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10), date(2024, 2, 29), date(2024, 1, 1),
            date(2023, 12, 31)),
    "seen": (None, datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 3, 10, 2, 30),
             datetime(2024, 6, 30, 23, 59, 59, 999999), datetime(2023, 5, 5, 0, 0), datetime(9999, 12, 31, 23, 59)),
    "urgent": (None, False, True, True),
    "note": (None, "", " ", "a", "A", "ä", "a\u0308", "日本語", "🙂 ok", "c'd\\", "%_x", "12", " -7 ", "1e5", "NaN",
             "2024-02-29", "x" * 300, "ß", "İ", "tab\tnew\nline"),
    "weight": (None, math.nan, math.inf, 0.1, 70.5, -3.0, 3e38),
    "level": (1, 2, 5, 5, 3, None),
    "drug": (None, 1, 2, 3, 9, 10, -5),
    "dose": (None, math.nan, 0.25, 0.75, -0.25, 99.9, 1e9, -1e9, 5.5),
    "kind": (None, "oral", "ORAL", "iv", "ö"),
    "salary": (None, 0.0, 0.5, 1234.5, 9999.5, 1e6, -5.0, math.inf),
    "grade": (None, -3, 0, 9, 127, -128),
    "words": (None, 0, 1, 250, 500, 10**12, -(10**18)),
}  # fmt: skip
PATIENTS = (1, 2, 3, 4, 5, -6, 0, 2**53, 2**53 + 1, 2**60, 2**60 + 1, -(2**63), None)
AUTHORS = ("Ann", "ann", "ann ", "änn", "", "日", None)


def rows() -> dict[str, list[tuple[Any, ...]]]:
    """The same at each call. Some units have a row or two, some have dozens, and some rows are there twice."""
    chance = Random(20240229)

    def some(table: str, owner: Any = None, unit: str | None = None) -> tuple[Any, ...]:
        return tuple(owner if name == unit else chance.choice(ODD[name]) for name in TABLES[table])

    counts = {1: 90, 2: 40, 3: 25, 2**60: 12, 2**60 + 1: 3}
    visits = [some("visits", who, "patient_id") for who in PATIENTS for _ in range(counts.get(who or 0, 4))]
    return {
        "visits": visits + visits[::17],
        "treatments": [some("treatments", who, "patient") for who in PATIENTS for _ in range(3 if who != 1 else 12)],
        "staff": [some("staff") for _ in range(60)],
        "letters": [some("letters", who, "author") for who in AUTHORS for _ in range(9)],
        "nobody": [],
        "wards": [("east", 1, "X"), ("east", 2, "Ÿ"), ("north", 9, None), (None, 4, "X"), ("Süd-West", None, "X")],
    }


def into_files(folder: Path) -> dict[str, Path]:
    """Parquet files, which DuckDB and Spark read."""
    paths = {}
    for table, found in rows().items():
        kinds = {name: kind for name, (_, kind, _) in TABLES[table].items()}
        columns = list(zip(*found, strict=True)) or [()] * len(kinds)
        arrays = {n: pa.array(c, k) for (n, k), c in zip(kinds.items(), columns, strict=True)}
        paths[table] = folder / f"{table}.parquet"
        pq.write_table(pa.table(arrays), paths[table])
    return paths


def into_postgres(dsn: str) -> dict[str, str]:
    """The same rows as tables of the schema public."""
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        for table, found in rows().items():
            columns = TABLES[table]
            kinds = ", ".join(f"{name} {kind}" for name, (_, _, kind) in columns.items())
            cursor.execute(f"CREATE TABLE {table} ({kinds})".encode())
            places = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {table} VALUES ({places})".encode(), found)
    return {table: f"public.{table}" for table in TABLES}


BUDGETS = (
    Budget(currency="rho", amount=Fraction(1, 8), delta=Fraction(1, 10**6)),
    Budget(currency="epsilon", amount=Fraction(1)),
    Budget(currency="epsilon", amount=Fraction(1), delta=Fraction(1, 10**6)),  # keys that are not known need a δ
)
DECLARED = Contribution(rows=Fraction(6), columns={"cost": Fraction(9000), "fee": Fraction(80)}, max_groups=3)
CHOSEN = Contribution(rows=PRIVATE, columns={"cost": PRIVATE})

Answer = dict[str, dict[tuple[Any, ...], int]]


def answers(engine: Engine, sql: str, how_much: Sequence[Contribution] = (DECLARED, CHOSEN)) -> list[Answer]:
    """The integers of every part of a question, in both currencies, with bounds declared and bounds to be chosen."""
    question = lower(parse(sql), CATALOG)
    found, seen = [], set()
    for said in how_much:
        for budget in BUDGETS if _open(sql) else BUDGETS[:2]:
            if _open(sql) and not budget.delta:
                continue
            how: dict[str, Any] = {"relation": Relation.ADD_REMOVE, "unit": "patient", "contribution": said}
            for part in price(question, budget, **how).parts:
                if part not in seen:  # where no clip is needed, both say the same
                    seen.add(part)
                    found += _part(engine, part)
    return found


def _open(sql: str) -> bool:
    return sql in UNKNOWN


def _part(engine: Engine, part: Bounded) -> list[Answer]:
    edges = {place: clip.edges for place, clip in enumerate(part.clips) if clip.bound is None}
    counts = opened(engine.norms(part, edges)) if edges else {}
    norms = {f"norms {place}": {(i,): int(n) for i, n in enumerate(found)} for place, found in counts.items()}
    filled = replace(part, clips=tuple(map(_filled, part.clips)))
    return [norms, _answered(filled, engine.run(filled))]


def _filled(clip: Clip) -> Clip:
    """With a bound that some units pass."""
    if clip.bound is not None:
        return clip
    if clip.by_rows:
        return replace(clip, bound=min(Fraction(LARGEST), Fraction(ceil(clip.row * 7))))
    return replace(clip, bound=Fraction(clip.edges[len(clip.edges) // 3]))


def _answered(bounded: Bounded, exact: Exact[Result]) -> Answer:
    result = opened(exact)
    groups = list(zip(*result.groups.keys, strict=True)) if bounded.keys else [()]
    answer = {name: dict(zip(groups, map(int, found), strict=True)) for name, found in result.groups.columns.items()}
    if result.presence is not None:
        answer["presence"] = dict(zip(groups, map(int, result.presence), strict=True))
    for name, table in result.ranks.items():
        places = zip(*table.keys, map(int, table.columns["cell"]), strict=True)
        answer[name] = dict(zip(places, map(int, table.columns["count"]), strict=True))
    return answer


PER_UNIT = (
    "SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total, AVG(age) AS mean, MIN(fee) AS least, MAX(day) AS last, "
    "COUNT(note) AS said, SUM(fee) FILTER (WHERE urgent) AS some FROM visits GROUP BY patient_id"
)

KNOWN_KEYS = (
    # aggregates
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(note), COUNT(cost), COUNT_IF(urgent) FROM visits",
    "SELECT COUNT(DISTINCT patient_id) FROM visits",
    "SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward",
    "SELECT COUNT(DISTINCT CASE WHEN age >= 65 THEN patient_id END) FROM visits",
    "SELECT COUNT(DISTINCT note, max_values_per_unit => 2) FROM visits",
    "SELECT ward, COUNT(DISTINCT age, max_values_per_unit => 3) FROM visits GROUP BY ward",
    "SELECT SUM(cost), SUM(fee), SUM(age) FROM visits",
    "SELECT ward, SUM(cost) FROM visits GROUP BY ward",
    "SELECT ward, AVG(cost), COUNT(*) FROM visits GROUP BY ward",
    "SELECT AVG(fee), AVG(age) FROM visits",
    "SELECT VARIANCE(cost), STDDEV_POP(age) FROM visits",
    "SELECT ward, VAR_POP(fee) FROM visits GROUP BY ward",
    "SELECT COVAR_SAMP(cost, age), CORR(cost, fee) FROM visits",
    "SELECT urgent, CORR(age, fee) FROM visits GROUP BY urgent",
    "SELECT MIN(cost), MAX(cost), MEDIAN(cost) FROM visits",
    "SELECT ward, MEDIAN(age) FROM visits GROUP BY ward",
    "SELECT QUANTILE_CONT(fee, [0.25, 0.5, 0.75]), PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age) FROM visits",
    "SELECT MEDIAN(DATE_DIFF('day', DATE '2024-01-01', day)), MAX(EXTRACT(HOUR FROM seen)) FROM visits",
    "SELECT MODE(ward), APPROX_TOP_K(level, 2) FROM visits",
    "SELECT HISTOGRAM(ward), HISTOGRAM(cost, 7) FROM visits",
    "SELECT ward, HISTOGRAM(age, 5) FROM visits GROUP BY ward",
    "SELECT SUM(cost) FILTER (WHERE urgent), AVG(age) FILTER (WHERE ward = 'east') FROM visits",
    "SELECT SUM(cost) / COUNT(*) AS mean, 2 * SUM(fee) FROM visits",
    # rows that are units, a promised number of rows, units that are texts, nobody at all
    "SELECT ward, COUNT(*), SUM(salary), AVG(grade) FROM staff GROUP BY ward",
    "SELECT MEDIAN(salary), STDDEV(grade) FROM staff",
    "SELECT drug, COUNT(*), SUM(dose) FROM treatments GROUP BY drug",
    "SELECT MEDIAN(dose), COUNT(DISTINCT patient) FROM treatments",
    "SELECT COUNT(*), SUM(words), COUNT(DISTINCT author) FROM letters",
    "SELECT COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT who), MEDIAN(x) FROM nobody",
    # conditions and choices
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 64 AND NOT urgent",
    "SELECT COUNT(*) FROM visits WHERE cost > 100 OR note IS NULL OR ward IN ('east', 'north')",
    "SELECT COUNT(*) FROM visits WHERE urgent IS NOT TRUE AND ward IS DISTINCT FROM 'east'",
    "SELECT CASE WHEN cost > 1000 THEN 'much' WHEN cost > 1 THEN 'some' END AS size, COUNT(*) "
    "FROM visits GROUP BY 1",
    "SELECT SUM(CASE WHEN urgent THEN fee ELSE -age END), SUM(COALESCE(fee, age, 3)) FROM visits",
    "SELECT SUM(LEAST(fee, age)), SUM(GREATEST(fee, age)), SUM(NULLIF(age, 18)) FROM visits",
    # numbers
    "SELECT SUM(CLAMP(weight, 0, 150)), AVG(CLAMP(cost / age, 0, 30)) FROM visits",
    "SELECT SUM(ABS(fee)), SUM(SIGN(fee)), SUM(ROUND(cost, 1)), SUM(FLOOR(fee)), SUM(CEIL(fee)) FROM visits",
    "SELECT SUM(CLAMP(SQRT(cost), 0, 70)), SUM(CLAMP(LN(cost), -5, 9)), SUM(CLAMP(EXP(age), 0, 100)) FROM visits",
    "SELECT SUM(POWER(age, 2)), SUM(age % 7), SUM(age // 7), SUM(cost * fee), SUM(fee - age) FROM visits",
    "SELECT age % 4 AS rest, COUNT(*) FROM visits GROUP BY rest",
    # texts
    "SELECT SUM(CLAMP(LENGTH(note), 0, 20)), COUNT_IF(note LIKE '%a%'), COUNT_IF(note ILIKE 'A_') FROM visits",
    "SELECT COUNT_IF(LOWER(note) = 'a'), COUNT_IF(UPPER(note) = 'SS'), COUNT_IF(TRIM(note) = '') FROM visits",
    "SELECT COUNT_IF(SUBSTR(note, 1, 1) = 'a'), COUNT_IF(LEFT(note, 2) = '日本'), COUNT_IF(RIGHT(note, 1) = 'k') "
    "FROM visits",
    "SELECT COUNT_IF(note || '!' = 'a!'), COUNT_IF(REPLACE(note, 'x', '') = ''), COUNT_IF(note > 'Z') FROM visits",
    "SELECT COUNT_IF(STARTS_WITH(note, 'c''d')), COUNT_IF(note LIKE '%\\_x'), COUNT_IF(CONTAINS(note, '%')) "
    "FROM visits",
    "SELECT SUM(CLAMP(CAST(note AS DOUBLE), -10, 10)), COUNT(CAST(note AS INTEGER)), COUNT(CAST(note AS DATE)) "
    "FROM visits",
    # dates
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month",
    "SELECT EXTRACT(DOW FROM day) AS weekday, COUNT(*) FROM visits GROUP BY 1",
    "SELECT EXTRACT(HOUR FROM seen) AS hour, SUM(fee) FROM visits GROUP BY 1",
    "SELECT SUM(EXTRACT(YEAR FROM seen) - 2000), SUM(EXTRACT(WEEK FROM day)), SUM(DAY(day)) FROM visits",
    "SELECT COUNT_IF(day + INTERVAL 1 MONTH >= DATE '2024-03-29'), "
    "COUNT_IF(seen < TIMESTAMP '2024-03-10 03:00:00') FROM visits",
    "SELECT SUM(day - DATE '2024-01-01'), COUNT_IF(DATE_TRUNC('week', day) = DATE '2024-02-26') FROM visits",
    # joins
    "SELECT city = 'X' AS x, COUNT(*), SUM(floor) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY 1",
    "SELECT COUNT(*), COUNT(floor), SUM(cost) FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND floor > 1",
    "SELECT COUNT(*), SUM(dose), SUM(fee) FROM visits JOIN treatments ON patient_id = patient",
    "SELECT drug, COUNT(*), AVG(age) "
    "FROM visits LEFT JOIN treatments ON patient_id = patient AND drug = level GROUP BY drug",
    # per unit, then over units
    f"SELECT COUNT(*), AVG(mean), SUM(CLAMP(n, 0, 50)), SUM(CLAMP(total, 0, 9000)) FROM ({PER_UNIT}) p",
    f"WITH p AS ({PER_UNIT}) SELECT n > 4 AS often, COUNT(*), AVG(least), SUM(CLAMP(some, -99, "
    f"99)) FROM p GROUP BY 1",
    f"SELECT MEDIAN(mean), MAX(YEAR(last)), COUNT(some) FROM ({PER_UNIT} HAVING COUNT(*) > 3) p WHERE said > 0",
    "SELECT ward, COUNT(*), AVG(m) FROM (SELECT patient_id, ward, MAX(age) AS m "
    "FROM visits GROUP BY 1, 2) p GROUP BY ward",
    "SELECT ward, COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits) d GROUP BY ward",
    f"SELECT SUM(v.fee - p.least), COUNT(*) FROM visits v JOIN ({PER_UNIT}) p ON v.patient_id = p.patient_id",
    # groups of two keys
    "SELECT ward, urgent, COUNT(*), SUM(fee) FROM visits GROUP BY ward, urgent",
    "SELECT level, DATE_TRUNC('month', day), AVG(cost) FROM visits GROUP BY ALL",
    # as BigQuery writes it
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 2) ward, "
    "SUM(cost, contribution_bounds_per_group => (0, 100)) FROM visits GROUP BY ward",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1, privacy_unit_column = patient_id) "
    "AVG(cost, contribution_bounds_per_row => (0, 10)), COUNT(*) FROM visits",
)  # fmt: skip

UNKNOWN = (
    "SELECT note, COUNT(*) FROM visits GROUP BY note",
    "SELECT note, COUNT(DISTINCT patient_id), SUM(cost) FROM visits GROUP BY note",
    "SELECT UPPER(note), ward, AVG(age) FROM visits GROUP BY 1, 2",
    "SELECT seen, COUNT(*) FROM visits GROUP BY seen",
    "SELECT weight, MEDIAN(fee) FROM visits GROUP BY weight",
    "SELECT city, COUNT(*) FROM visits v LEFT JOIN wards w ON v.ward = w.ward GROUP BY city",
    "SELECT kind, SUM(dose), COUNT(DISTINCT drug, max_values_per_unit => 2) FROM treatments GROUP BY kind",
    "SELECT word, COUNT(*) FROM nobody GROUP BY word",
    f"SELECT n, COUNT(*) FROM ({PER_UNIT}) p GROUP BY n",
)

QUESTIONS = (*KNOWN_KEYS, *UNKNOWN)
