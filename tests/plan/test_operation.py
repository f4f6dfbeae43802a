"""Every operation: it has a value for everything, its facts hold for every value, and its one form means the same."""

from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.clinic import CLINIC
from support.expressions import ROWS, SHAPES, broken_fact, grown, of_operation
from tacit.base import InputError
from tacit.plan.bound import bound
from tacit.plan.contribution import Contribution
from tacit.plan.describe import describe
from tacit.plan.expression import Call, Column, Expression, constant
from tacit.plan.facts import Facts, Type, Value, domain_of
from tacit.plan.operation import OPERATIONS, Held, call, canonical_call, evaluate
from tacit.sql import lower, parse


def column(kind: Type, low: Value = None, high: Value = None, **facts: object) -> Column:
    return Column(name="c", facts=Facts(type=kind, low=low, high=high).but(**{"nullable": False, **facts}))


AGE = column(Type.INTEGER, 0, 120)
COST = column(Type.NUMBER, Fraction(0), Fraction(5000), step=Fraction(1, 100))
FREE = column(Type.NUMBER, why='column "c" has no bounds: declare bounds = [low, high]')
NAME = column(Type.TEXT)
WARD = column(Type.TEXT, domain=("north", "south"))
DAY = column(Type.DATE, date(2023, 12, 30), date(2024, 2, 2))
MOMENT = column(Type.TIMESTAMP, datetime(2024, 1, 1, 22, 30), datetime(2024, 1, 2, 1, 0))
FLAG = column(Type.BOOLEAN)


def test_every_operation_is_tried() -> None:
    assert set(SHAPES) == set(OPERATIONS)
    assert all(name == operation.name and operation.about for name, operation in OPERATIONS.items())


@pytest.mark.parametrize("name", OPERATIONS)
def test_facts_hold_for_every_row(name: str) -> None:
    chance = Random(name)
    for depth in (0,) * 12 + (1,) * 6 + (2,) * 3:
        expression = of_operation(chance, name, depth)
        assert broken_fact(expression.facts, (evaluate(expression, row) for row in ROWS)) is None, expression


@given(st.integers(0, 2**64))
def test_facts_hold_however_operations_are_nested(seed: int) -> None:
    chance = Random(seed)
    for _ in range(4):
        expression = grown(chance, tuple(Type), 4)
        assert broken_fact(expression.facts, (evaluate(expression, row) for row in ROWS)) is None, expression


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_call_can_be_built_again_from_its_parts(name: str) -> None:
    made = of_operation(Random(name), name, 2)
    assert call(made.operation, *made.parts) == made


def bounds(expression: Expression) -> tuple[Value, Value]:
    return expression.facts.low, expression.facts.high


def test_ranges_follow() -> None:
    assert bounds(call("multiply", AGE, constant(-2))) == (-240, 0)
    assert bounds(call("subtract", AGE, AGE)) == (-120, 120)
    assert bounds(call("multiply", COST, AGE)) == (0, 600_000)
    assert bounds(call("power", call("subtract", AGE, constant(60)), constant(2)))[1] == pytest.approx(3600)
    assert bounds(call("divide", COST, constant(4))) == (0, 1250)
    assert bounds(call("divide", COST, AGE)) == (0, 5000)  # 0 is NULL, and 1 is the next
    assert bounds(call("clamp", FREE, constant(-1), constant(1))) == (-1, 1)
    assert bounds(call("greatest", FREE, constant(0))) == (0, None)
    assert bounds(call("abs", column(Type.INTEGER, -3, 2))) == (0, 3)
    assert bounds(call("date_diff", DAY, constant(date(2024, 1, 1)))) == (-2, 32)
    assert bounds(call("date_add", DAY, constant(1), constant("month"))) == (date(2024, 1, 30), date(2024, 3, 2))


def test_a_range_covers_the_rounding_of_doubles() -> None:
    tenths = call("add", constant(Fraction(1, 10)), constant(Fraction(2, 10)))
    assert bounds(tenths) == (Fraction(0.1 + 0.2), Fraction(0.1 + 0.2))


def test_types_and_steps_follow() -> None:
    assert call("multiply", AGE, constant(10)).facts.step == 10
    assert call("add", COST, constant(Fraction(1, 2))).facts.step == Fraction(1, 100)
    assert call("multiply", COST, AGE).facts.step == Fraction(1, 100)
    assert call("multiply", COST, constant(100)).facts.step is None  # 0.07 * 100 is not whole
    assert call("divide", AGE, constant(2)).facts.type is Type.NUMBER
    assert call("div", AGE, constant(2)).facts.type is Type.INTEGER
    assert call("multiply", column(Type.INTEGER), AGE).facts.type is Type.NUMBER  # beyond 2^53


def test_domains_follow() -> None:
    decade = call("multiply", call("floor", call("divide", AGE, constant(10))), constant(10))
    assert decade.facts.domain == tuple(range(0, 121, 10))
    case = call("case", call("ge", AGE, constant(65)), constant("old"), FLAG, constant("young"), constant(None))
    assert (case.facts.domain, case.facts.nullable) == (("old", "young"), True)
    assert call("upper", WARD).facts.domain == ("NORTH", "SOUTH")
    assert call("concat", WARD, constant("!"), WARD).facts.domain == (
        "north!north",
        "north!south",
        "south!north",
        "south!south",
    )
    assert call(
        "coalesce", column(Type.TEXT, domain=("north", "south"), nullable=True), constant("?")
    ).facts.domain == ("north", "south", "?")
    assert call("eq", AGE, constant(3)).facts.domain == (False, True)
    assert domain_of(call("extract", constant("month"), column(Type.DATE)).facts) == tuple(range(1, 13))
    assert call("extract", constant("year"), DAY).facts.domain == (2023, 2024)
    assert call("length", NAME).facts.domain is None  # fmt: skip


def test_truncated_dates_are_listed() -> None:
    months = call("date_trunc", constant("month"), DAY).facts.domain
    assert months == (date(2023, 12, 1), date(2024, 1, 1), date(2024, 2, 1))
    hours = call("date_trunc", constant("hour"), MOMENT).facts.domain
    assert hours == tuple(
        datetime(2024, 1, 1, 22) + i * (datetime(2024, 1, 1, 1) - datetime(2024, 1, 1)) for i in range(4)
    )
    assert call("date_trunc", constant("month"), column(Type.DATE)).facts.domain is None
    century = column(Type.TIMESTAMP, datetime(1900, 1, 1), datetime(2000, 1, 1))
    assert call("date_trunc", constant("minute"), century).facts.domain is None
    assert len(call("date_trunc", constant("day"), century).facts.domain or ()) == 36_525


def test_what_to_declare_is_passed_on() -> None:
    assert "declare bounds" in call("add", AGE, call("multiply", FREE, constant(2))).facts.why
    assert "CLAMP" in call("divide", AGE, column(Type.NUMBER, 0, 1)).facts.why
    assert call("clamp", FREE, constant(0), constant(1)).facts.why == ""


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("divide", (7.0, 2.0), 3.5),
        ("divide", (1.0, 0.0), None),
        ("div", (-7.0, 2.0), -3.0),
        ("modulo", (-7.0, 2.0), -1.0),
        ("modulo", (7.0, 0.0), None),
        ("add", (1.7e308, 1.7e308), 1.7976931348623157e308),
        ("round", (2.5,), 3.0),
        ("round", (-0.5,), -1.0),
        ("round", (0.49999999999999994,), 0.0),
        ("round", (1250.0, -2.0), 1300.0),
        ("sqrt", (-1.0,), None),
        ("ln", (0.0,), None),
        ("power", (0.0, -1.0), None),
        ("power", (-8.0, 1 / 3), None),
        ("power", (-2.0, 3.0), -8.0),
        ("exp", (1000.0,), 1.7976931348623157e308),
        ("and", (None, False), False),
        ("or", (None, False), None),
        ("in", (1.0, 2.0, None), None),
        ("between", (5.0, None, 3.0), False),
        ("is_distinct", (None, 1.0), True),
        ("least", (None, 3.0, 2.0), 2.0),
        ("clamp", (None, 0.0, 1.0), None),
        ("like", ("50%", "50!%", "!"), True),
        ("like", ("a\nb", "a_b"), True),
        ("ilike", ("ÉA", "Éa"), True),
        ("concat", ("a", None), None),
        ("lower", ("ÀB",), "Àb"),
        ("date_add", (date(2024, 1, 31), 1.0, "month"), date(2024, 2, 29)),
        ("date_add", (date(9999, 12, 1), 1.0, "month"), None),
        ("date_trunc", ("week", date(2024, 2, 29)), date(2024, 2, 26)),
        ("extract", ("dow", date(2024, 3, 3)), 0.0),
        ("to_integer", ("12\n",), None),
        ("to_number", ("1e5",), 1e5),
        ("to_date", ("2023-02-30",), None),
        ("to_text", (-0.0,), "0"),
    ],
)
def test_meanings(name: str, values: tuple[Held, ...], result: Held) -> None:
    assert OPERATIONS[name].apply(*values) == result


def refused() -> Iterator[tuple[str, tuple[Expression, ...], str]]:
    yield "add", (AGE, NAME), "add needs a number as argument 2, not a text"
    yield "add", (AGE,), "add takes 2 arguments, not 1"
    yield "nothing", (), "no operation nothing"
    yield "eq", (AGE, NAME), "eq mixes integer and text"
    yield "eq", (DAY, constant("soon")), "eq compares a date with a text that is none"
    yield "modulo", (COST, AGE), "modulo is for whole numbers"
    yield "round", (COST, AGE), "round needs a constant whole number"
    yield "round", (COST, constant(99)), "round needs a constant whole number"
    yield "in", (AGE, AGE), "in needs constants"
    yield "like", (NAME, NAME), "like needs a constant pattern"
    yield "like", (NAME, constant("a!"), constant("!")), "ends in its escape"
    yield "substr", (NAME, constant(0)), "from 1"
    yield "replace", (NAME, constant(""), constant("a")), "not empty"
    yield "case", (FLAG, AGE), "case takes pairs"
    yield "case", (AGE, AGE, AGE), "case needs a condition"
    yield "date_trunc", (constant("hour"), DAY), "needs a timestamp"
    yield "date_trunc", (constant("century"), DAY), "constant unit"
    yield "to_text", (COST,), "to_text is for whole numbers"
    yield "to_number", (DAY,), "to_number needs"


@pytest.mark.parametrize(("name", "arguments", "words"), list(refused()))
def test_wrong_arguments_are_refused_by_name(name: str, arguments: tuple[Expression, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call(name, *arguments)


def test_dates_and_timestamps_and_texts_compare() -> None:
    assert call("ge", MOMENT, constant("2024-01-02")).arguments[1] == constant(datetime(2024, 1, 2))
    assert call("ge", MOMENT, DAY).arguments[1].facts.type is Type.TIMESTAMP
    assert call("ge", DAY, constant("2024-01-02")).arguments[1] == constant(date(2024, 1, 2))


def test_values_that_are_not_finite_count_as_null_or_largest() -> None:
    assert evaluate(call("floor", FREE), {"c": float("nan")}) is None
    assert evaluate(call("add", FREE, FREE), {"c": float("inf")}) == 1.7976931348623157e308


def in_one_form(expression: Expression) -> Expression:
    if not isinstance(expression, Call):
        return expression
    return canonical_call(expression.operation, *map(in_one_form, expression.arguments))


def turned(expression: Expression, chance: Random) -> Expression:
    """The same with operands in another order, wherever that means nothing."""
    if not isinstance(expression, Call):
        return expression
    parts = [turned(part, chance) for part in expression.arguments]
    name, (first, *rest) = expression.operation, parts
    if name in ("and", "or"):
        return canonical_call(name, *chance.sample(parts, len(parts)), *chance.sample(parts, 1))
    if name in ("eq", "ne", "is_distinct", "is_not_distinct", "add", "multiply"):
        return canonical_call(name, *chance.sample(parts, len(parts)))
    if name in ("lt", "le", "gt", "ge") and chance.random() < 0.5:
        other = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}[name]
        return canonical_call(other, *parts[::-1])
    if name == "in":
        return canonical_call(name, first, *chance.sample(rest, len(rest)))
    return canonical_call(name, *parts)


@given(st.integers(0, 2**64))
def test_one_form_means_the_same_on_every_row(seed: int) -> None:
    chance = Random(seed)
    for _ in range(3):
        expression = grown(chance, (Type.BOOLEAN, Type.NUMBER, Type.INTEGER), 4)
        one = in_one_form(expression)
        assert [evaluate(one, row) for row in ROWS] == [evaluate(expression, row) for row in ROWS]
        assert one.facts.type is expression.facts.type


@given(st.integers(0, 2**64))
def test_every_order_has_one_form(seed: int) -> None:
    chance = Random(seed)
    expression = in_one_form(grown(chance, (Type.BOOLEAN,), 4))
    assert in_one_form(expression) == expression
    assert turned(expression, chance) == expression


SAME = [
    ("age > 77", "77 < age", "(age) > (77)", "age > 77.0", "NOT age <= 77", "NOT (77 >= age)"),
    ("age = 3", "3 = age", "age IN (3)", "age IN (3, 3)", "NOT age <> 3"),
    ("age >= 3 AND age <= 9", "age BETWEEN 3 AND 9", "9 >= age AND 3 <= age", "(age <= 9) AND (3 <= age AND 3 <= age)"),
    ("urgent AND (age > 3 OR ward = 'east')", "('east' = ward OR 3 < age) AND urgent"),
    ("age IN (1, 2, 3)", "age IN (3, 1, 2, 2)"),
    ("age IN (1, NULL)", "age IN (NULL, 1)"),
    ("age + drug > 3", "3 < drug + age"),
    ("age * drug = 4", "4 = drug * age"),
    ("note IS NOT NULL", "NOT note IS NULL"),
    ("NOT NOT urgent", "urgent"),
    ("ward IS DISTINCT FROM note", "note IS DISTINCT FROM ward"),
]
OTHER = [
    ("age > 77", "age >= 77"), ("age > 77", "age < 77"), ("age - drug > 3", "drug - age > 3"),
    ("age IN (1, 2)", "age IN (1, 3)"), ("NOT (urgent AND age > 3)", "NOT urgent AND NOT age > 3"),
    ("(age + drug) + cost > 3", "age + (drug + cost) > 3"), ("urgent", "urgent IS TRUE"),
    ("age / drug > 1", "age > drug"),
    ("COALESCE(age, drug) > 1", "COALESCE(drug, age) > 1"), ("age IN (1, NULL)", "age IN (1)"),
]  # fmt: skip


def program(sql: str) -> object:
    planned = bound(lower(parse(sql), CLINIC), norm="l2", contribution=Contribution(rows="private"))
    return describe((planned.parts, planned.recipes))


@pytest.mark.parametrize("conditions", SAME)
def test_conditions_that_mean_the_same_are_one_program(conditions: tuple[str, ...]) -> None:
    forms = (
        "SELECT COUNT(*) FROM visits WHERE {}",
        "SELECT COUNT(*) FILTER (WHERE {}) FROM visits",
        "SELECT SUM(CASE WHEN {} THEN 1 ELSE 0 END) FROM visits",
    )
    for form in forms:
        first, *others = (program(form.format(condition)) for condition in conditions)
        assert all(other == first for other in others)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_conditions_that_do_not_are_two(one: str, other: str) -> None:
    assert program(f"SELECT COUNT(*) FROM visits WHERE {one}") != program(f"SELECT COUNT(*) FROM visits WHERE {other}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT AVG(cost) FROM visits", "select avg(v.Cost) AS mean FROM visits AS v"),
        ("SELECT MEDIAN(cost) FROM visits", "SELECT QUANTILE_CONT(cost, 0.5) FROM visits"),
        ("SELECT SUM(age + drug) FROM visits", "SELECT SUM(drug + age) AS both FROM visits"),
        (
            "SELECT SUM(n) FROM (SELECT age * 2 AS n FROM visits)",
            "SELECT SUM(m) FROM (SELECT 2 * age AS m FROM visits) AS s",
        ),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY 1"),
        ("SELECT age + 1 AS a, COUNT(*) FROM visits GROUP BY 1 + age", "SELECT COUNT(*) FROM visits GROUP BY age + 1"),
        ("WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a", "SELECT COUNT(*) FROM visits"),
    ],
)  # fmt: skip
def test_names_and_spellings_do_not_matter(one: str, other: str) -> None:
    assert program(one) == program(other)
