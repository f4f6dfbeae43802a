"""What the SQL benchmarks ask, and of what: the policy over the bench data, the questions, and their plain forms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from bench.sql_data import DAYS, REGION_NAMES
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Policy, Privacy, Table

__all__ = ["TASKS", "Task", "policy"]

AMOUNT = 500  # what one sale counts at most: a public guess, and the 999th permille
CLIP_ROWS = Fraction(60)  # of one person, over all regions
GROUPS = 10  # that the hand-written way samples


@dataclass(frozen=True)
class Task:
    """A question, the same without privacy, and what else it is measured beside; `at_most` times each of them."""

    name: str
    question: str
    plain: Mapping[str, str]
    at_most: Mapping[str, float]
    opendp: float | None = None  # at least so many times faster


SAMPLED = f"""
SELECT region, SUM(n) AS n, SUM(s) AS s, SUM(s) / SUM(n) AS a FROM (
  SELECT region, n, s, ROW_NUMBER() OVER (PARTITION BY person ORDER BY hash(person, region, 7)) AS place
  FROM (SELECT person, region, COUNT(*) AS n, SUM(LEAST(GREATEST(amount, 0), {AMOUNT})) AS s
        FROM {{data}} GROUP BY person, region)
) WHERE place <= {GROUPS} GROUP BY region"""
TWO_LEVELS = f"""
SELECT region, SUM(n) AS n, SUM(s) AS s, SUM(s) / SUM(n) AS a
FROM (SELECT person, region, COUNT(*) AS n, SUM(LEAST(GREATEST(amount, 0), {AMOUNT})) AS s
      FROM {{data}} GROUP BY person, region) GROUP BY region"""

TASKS = (
    Task(
        "row-level COUNT, SUM by region",
        "SELECT region, COUNT(*) AS n, SUM(amount) AS s FROM each_sale GROUP BY region",
        {"plain DuckDB": "SELECT region, COUNT(*), SUM(amount) FROM {data} GROUP BY region"},
        {"plain DuckDB": 1.5},
    ),
    Task(
        "row-level COUNT by region × day",
        "SELECT region, day, COUNT(*) AS n FROM each_sale GROUP BY region, day",
        {"plain DuckDB": "SELECT region, day, COUNT(*) FROM {data} GROUP BY region, day"},
        {"plain DuckDB": 2},
    ),
    Task(
        "per person COUNT, SUM, AVG by region",
        "SELECT region, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM sales GROUP BY region",
        {"sampled by hand": SAMPLED, "two levels": TWO_LEVELS},
        {"sampled by hand": 0.4, "two levels": 2},
        opendp=8,
    ),
    Task(
        "people by product, keys unknown",
        "SELECT product, COUNT(DISTINCT person) AS n FROM sales GROUP BY product",
        {"plain DuckDB": "SELECT product, COUNT(DISTINCT person) FROM {data} GROUP BY product"},
        {"plain DuckDB": 2},
    ),
    Task(
        "row-level quartiles by region",
        "SELECT region, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY amount) AS q1, MEDIAN(amount) AS q2, "
        "PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY amount) AS q3 FROM each_sale GROUP BY region",
        {"plain DuckDB": "SELECT region, QUANTILE_CONT(amount, [0.25, 0.5, 0.75]) FROM {data} GROUP BY region"},
        {"plain DuckDB": 2},
    ),
)


def policy(
    data: Path,
    ledger: Path,
    *,
    currency: str = "rho",
    budget: Fraction = Fraction(10**6),
    delta: Fraction = Fraction(1, 10**6),
    clip_rows: Fraction | str = CLIP_ROWS,
    clip: Fraction | str | None = None,
    amount: int = AMOUNT,
    typical: Fraction | None = None,
    only: str | None = None,
) -> Policy:
    """The bench data twice: whose sale each is (`sales`), and as if each were another's (`each_sale`); or `only` one of
    them, since a ledger that knows what tables are made of takes one unit for each file."""
    columns = {
        "region": Column(type=ColumnType.TEXT, group_keys=REGION_NAMES, nullable=False),
        "product": Column(type=ColumnType.INTEGER, nullable=False),
        "day": Column(type=ColumnType.INTEGER, bounds=(0, DAYS - 1), nullable=False),
    }
    paid = Column(type=ColumnType.FLOAT, bounds=(0, amount), step=Fraction(1, 100), nullable=False, typical=typical)
    whose = {"person": Column(type=ColumnType.INTEGER, nullable=False), "amount": replace(paid, clip=clip)}
    tables = {
        "sales": Table(source=str(data), unit_column="person", clip_rows=clip_rows, columns=columns | whose),
        "each_sale": Table(source=str(data), each_row_is_a_unit=True, columns=columns | {"amount": paid}),
    }
    return Policy(
        dataset=Dataset(name="sales", source=str(data), ledger=str(ledger)),
        privacy=Privacy(currency=Currency(currency), budget=budget, delta=delta, least=Fraction(0)),
        tables=tables if only is None else {only: tables[only]},
        analysts={"ana": Analyst()},
    )
