"""Nothing grows without a declared bound: the size of a plan with the text, its rows with the tables, its work with
what is computed."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.clinic import CLINIC
from tacit.base import Refused
from tacit.engine.dialect import DIALECTS
from tacit.engine.expression import expression_sql
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.node import MOST_ROWS, Filter, Group, Join, Project, Scan, Source, most_rows
from tacit.plan.operation import call
from tacit.plan.question import LoweredQuestion
from tacit.plan.work import MOST_WORK, check_answer, work_of
from tacit.sql import AskableTable, Catalog, lower, parse

AGE = Facts(type=Type.INTEGER, low=0, high=120, step=Fraction(1))


def plan(sql: str, catalog: Catalog = CLINIC) -> LoweredQuestion:
    return lower(parse(sql), catalog)


# --- parts: what is nested is not doubled

NESTS: dict[str, Callable[[str], str]] = {
    "simple case": lambda x: f"CASE {x} WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END",
    "case": lambda x: f"CASE WHEN {x} > 1 THEN 2 ELSE 5 END",
    "between": lambda x: f"CASE WHEN {x} BETWEEN 1 AND 9 THEN 1 ELSE 0 END",
    "in": lambda x: f"CASE WHEN {x} IN (1, 2, 3) THEN 1 ELSE 0 END",
    "coalesce": lambda x: f"COALESCE({x}, 1)",
    "nullif": lambda x: f"NULLIF({x}, 1)",
    "clamp": lambda x: f"CLAMP({x}, 1, 9)",
    "least": lambda x: f"LEAST({x}, 3)",
    "round": lambda x: f"ROUND({x} / 3, 1)",
    "power": lambda x: f"POWER({x}, 2)",
    "modulo": lambda x: f"({x} % 7)",
    "cast": lambda x: f"CAST(CAST({x} AS VARCHAR) AS INTEGER)",
}


def nested(nest: Callable[[str], str], depth: int) -> str:
    found = "age"
    for _ in range(depth):
        found = nest(found)
    return f"SELECT COUNT(*) FROM visits WHERE {found} > 1"


@pytest.mark.parametrize("name", NESTS)
def test_a_plan_grows_with_its_text_and_not_with_its_depth(name: str) -> None:
    deepest = 11 if name in ("cast", "between", "in") else 20
    sizes, written = {}, {}
    for depth in (deepest // 2, deepest):
        source = plan(nested(NESTS[name], depth)).source
        assert isinstance(source, Filter)
        sizes[depth] = source.condition.size
        written[depth] = {dialect: len(expression_sql(source.condition, dialect)) for dialect in DIALECTS.values()}
    assert sizes[deepest] <= 2.2 * sizes[deepest // 2]
    for dialect in DIALECTS.values():
        assert written[deepest][dialect] <= 2.6 * written[deepest // 2][dialect]


def test_the_operand_of_a_simple_case_is_there_once() -> None:
    source = plan("SELECT COUNT(*) FROM visits WHERE CASE age + 1 WHEN 1 THEN TRUE WHEN 2 THEN FALSE END").source
    assert isinstance(source, Filter)
    assert [part.name for part in source.condition.walk() if isinstance(part, Column)] == ["age_1"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS a0, " + ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(40)) + " FROM visits",
        "SELECT COUNT(*) AS a0, " + ", ".join(f"a{i} * a{i} AS a{i + 1}" for i in range(40)) + " FROM visits",
    ],
)
def test_names_that_double_names_are_refused(sql: str) -> None:
    with pytest.raises(Refused, match=r"more than 5,000 parts"):
        plan(sql)


def test_a_with_that_is_used_often_counts_each_time() -> None:
    many = " OR ".join(f"age = {i}" for i in range(900))
    uses = " ".join(f"JOIN a a{i} USING (patient_id)" for i in range(60))
    sql = f"WITH a AS (SELECT DISTINCT patient_id FROM visits WHERE {many}) SELECT COUNT(*) FROM visits {uses}"
    with pytest.raises(Refused, match="each WITH is written out"):
        plan(sql)


def test_a_star_counts_its_columns() -> None:
    wide = AskableTable(unit="id", columns={"id": AGE} | {f"c{i}": AGE for i in range(600)}, rows_per_unit=1)
    steps = ", ".join(f"a{i} AS (SELECT * FROM {'t' if i == 0 else f'a{i - 1}'})" for i in range(50))
    with pytest.raises(Refused, match=r"each \* with its columns"):
        plan(f"WITH {steps} SELECT COUNT(*) FROM a49", Catalog(tables={"t": wide}))


def test_keys_have_a_number() -> None:
    with pytest.raises(Refused, match="GROUP BY of 300 keys"):
        plan("SELECT COUNT(*) FROM visits GROUP BY " + ", ".join(f"age + {i}" for i in range(300)))


# --- work: what engines write out


def chain(steps: int, made: str = "d || d", first: str = "note") -> str:
    steps_ = [f"a0 AS (SELECT patient_id, {first} AS d FROM visits)"]
    steps_ += [f"a{i + 1} AS (SELECT patient_id, {made} AS d FROM a{i})" for i in range(steps)]
    return f"WITH {', '.join(steps_)} SELECT COUNT(*) FROM a{steps} WHERE d IS NOT NULL"


@pytest.mark.parametrize(
    ("made", "first"),
    [("d || d", "note"), ("d + d", "age"), ("REPLACE(d, 'a', 'aaaa') || d", "note"), ("CONCAT(d, d, d)", "ward")],
)
def test_what_doubles_what_was_computed_is_refused(made: str, first: str) -> None:
    plan(chain(3, made, first))
    with pytest.raises(Refused, match="operations when what WITH and subqueries compute is written out"):
        plan(chain(15, made, first))


def test_what_was_grouped_is_not_computed_again() -> None:
    steps = ["a0 AS (SELECT patient_id, age AS d FROM visits GROUP BY patient_id, age)"]
    steps += [f"a{i + 1} AS (SELECT patient_id, d + d AS d FROM a{i} GROUP BY patient_id, d + d)" for i in range(15)]
    plan(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a15")


def test_work_is_that_of_everything_written_out() -> None:
    scan = Scan(table="t", columns=(Source(name="x", column="x", facts=AGE),), is_private=True)
    x = Column(name="x", facts=AGE)
    once = Project(below=scan, columns=(("y", call("add", x, x)),))
    y = Column(name="y", facts=AGE)
    twice = Project(below=once, columns=(("z", call("add", y, y)),))
    assert work_of(once).columns["y"] == 3
    assert work_of(twice).columns["z"] == 7
    assert work_of(twice).total == 10


def test_many_passes_over_much_work_are_refused() -> None:
    condition = " AND ".join(f"note || '{i}' <> 'a'" for i in range(100))
    sums = ", ".join(f"SUM(age + {i})" for i in range(20))
    medians = ", ".join(f"MEDIAN(age + {i})" for i in range(60))
    plan(f"SELECT {sums} FROM visits WHERE {condition}")
    with pytest.raises(Refused, match="read the rows 61 times"):
        plan(f"SELECT {medians} FROM visits WHERE {condition}")


def test_much_after_the_release_is_refused() -> None:
    count = Column(name="count1", facts=Facts(type=Type.INTEGER, nullable=False))
    large = call("add", count, constant(1))
    check_answer([large, count], 1_000_000)
    for _ in range(10):
        large = call("add", large, constant(1))
    with pytest.raises(Refused, match="after their release"):
        check_answer([large], 1_000_000)


# --- rows: what joins can make of one unit's

CALENDAR = AskableTable(private=False, columns={"day": AGE, "month": AGE}, unique=frozenset({"day"}), rows=365)
UNSAID = AskableTable(private=False, columns={"day": AGE, "month": AGE})
PEOPLE = AskableTable(unit="pid", columns={"pid": AGE, "x": AGE})
FEW = AskableTable(unit="pid", columns={"pid": AGE, "x": AGE}, rows_per_unit=3)
JOINED = Catalog(tables={"calendar": CALENDAR, "unsaid": UNSAID, "people": PEOPLE, "few": FEW})


def joined(first: str, table: str, key: str, times: int) -> str:
    joins = " ".join(f"JOIN {table} t{i} ON {key.format(i=i)}" for i in range(times))
    return f"SELECT COUNT(*) FROM {first} p {joins}"


@pytest.mark.parametrize(
    ("first", "table", "key", "most"),
    [
        ("people", "calendar", "p.x = t{i}.month", 1),  # 100·365
        ("few", "calendar", "p.x = t{i}.month", 2),  # 3·365·365
        ("people", "unsaid", "p.x = t{i}.month", 1),  # 100·1000
        ("people", "calendar", "p.x * 0 = t{i}.month * 0", 1),
        ("people", "people", "p.pid = t{i}.pid", 2),
        ("few", "few", "p.pid = t{i}.pid", 11),
    ],
)
def test_joins_that_could_grow_too_far_are_refused(first: str, table: str, key: str, most: int) -> None:
    plan(joined(first, table, key, most), JOINED)
    with pytest.raises(Refused, match=r"this join is refused, since one unit could have .* rows in it"):
        plan(joined(first, table, key, most + 1), JOINED)


def test_keys_that_are_unique_do_not_multiply() -> None:
    plan(joined("people", "calendar", "p.x = t{i}.day", 20), JOINED)


def test_a_refused_join_says_what_to_declare() -> None:
    with pytest.raises(Refused) as found:
        plan(joined("people", "unsaid", "p.x = t{i}.month", 3), JOINED)
    for words in ("join fewer tables", "declares unique", 'rows for table "unsaid"', "max_rows_per_unit for table"):
        assert words in str(found.value)
    with pytest.raises(Refused) as found:
        plan(joined("few", "calendar", "p.x = t{i}.month", 3), JOINED)
    assert "the curator can declare" not in str(found.value)


@pytest.mark.parametrize("around", ["SELECT pid, x FROM people", "SELECT pid, x + 1 AS x FROM people WHERE x > 1"])
def test_joins_grow_through_subqueries_and_with(around: str) -> None:
    joins = " ".join(f"JOIN a a{i} ON p.pid = a{i}.pid" for i in range(3))
    with pytest.raises(Refused, match="one unit could have 100,000,000 rows"):
        plan(f"WITH a AS ({around}) SELECT COUNT(*) FROM a p {joins}", JOINED)
    inner = f"SELECT p.pid, p.x FROM ({around}) p JOIN ({around}) q ON p.pid = q.pid"
    with pytest.raises(Refused, match="one unit could have"):
        plan(f"SELECT COUNT(*) FROM ({inner}) a JOIN ({inner}) b ON a.pid = b.pid", JOINED)


def test_one_row_for_each_unit_multiplies_nothing() -> None:
    joins = " ".join(f"JOIN (SELECT pid, MAX(x) AS x FROM people GROUP BY pid) a{i} USING (pid)" for i in range(20))
    plan(f"SELECT COUNT(*) FROM people {joins}", JOINED)


def test_public_tables_multiply_each_other() -> None:
    by_day = "SELECT c.month FROM calendar c JOIN calendar d ON c.day = d.day"
    plan(f"SELECT COUNT(*) FROM few JOIN ({by_day}) e ON x = e.month", JOINED)
    with pytest.raises(Refused, match="one unit could have"):
        plan(
            "SELECT COUNT(*) FROM people JOIN (SELECT c.month FROM unsaid c JOIN unsaid d ON c.month = d.month) e "
            "ON x = e.month",
            JOINED,
        )


@given(st.lists(st.sampled_from([(1, True), (3, False), (50, False), (365, True), (365, False)]), max_size=6))
def test_the_number_of_rows_is_what_joins_can_make(tables: list[tuple[int, bool]]) -> None:
    """Against tables in which every key is the same, or every key different where it is declared so."""
    node: Join | Scan = Scan(
        table="p", columns=(Source(name="x", column="x", facts=AGE),), is_private=True, unit_name="x", rows_per_unit=2
    )
    rows = 2
    for number, (size, unique) in enumerate(tables):
        name = f"y{number}"
        right = Scan(table=name, columns=(Source(name=name, column="y", facts=AGE),), is_private=False, rows=size)
        on = ((Column(name="x", facts=AGE), Column(name=name, facts=AGE)),)
        node = Join(kind="inner", left=node, right=right, on=on, unique=unique)
        rows *= 1 if unique else size
    assert most_rows(node) == rows
    assert most_rows(Group(below=node, keys=(), aggregates=())) == 1


def test_limits_are_what_the_documentation_says() -> None:
    assert (MOST_ROWS, MOST_WORK) == (1_000_000, 20_000)
