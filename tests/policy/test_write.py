"""What is written reads back as what it was."""

from datetime import date, datetime, timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from support.policies import clinic
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Policy, Privacy, Table, parse
from tacit.policy.declaration import number
from tacit.policy.kind import name as as_name


def readable(text: str) -> bool:
    try:
        return bool(as_name.read(text) == text)
    except ValueError:
        return False


names = st.text(  # few that a name may not hold, so that few are thrown away
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Zs"]) | st.sampled_from(" \u200c\u200d\t"),
    min_size=1,
    max_size=12,
).filter(readable)
money = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=10**6)


def pairs(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.tuples(of, of).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: tuple(sorted(pair)))  # type: ignore[type-var]  # one kind at a time


columns = st.one_of(
    st.builds(Column, type=st.none(), nullable=st.booleans()),
    st.builds(Column, type=st.just(ColumnType.INTEGER), bounds=pairs(st.integers(-9999, 9999)), clip=money),
    st.builds(Column, type=st.just(ColumnType.DATE), bounds=pairs(st.dates(min_value=date(1, 1, 1)))),
    st.builds(Column, type=st.just(ColumnType.TIMESTAMP), bounds=pairs(st.datetimes(min_value=datetime(1, 1, 1)))),
    st.builds(Column, type=st.just(ColumnType.FLOAT), step=money, clip=st.just("private")),
    st.builds(
        Column, type=st.just(ColumnType.TEXT), group_keys=st.lists(st.text(), min_size=1, unique=True).map(tuple)
    ),
)


def distinct(of: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.lists(st.tuples(names, of), max_size=3, unique_by=lambda item: item[0].casefold()).map(dict)


policies = st.builds(
    lambda name, budget, delta, tables, analysts, reset: Policy(
        dataset=Dataset(name=name),
        privacy=Privacy(currency=Currency.RHO, budget=budget, delta=delta, reset=reset),
        tables=tables,
        analysts=analysts,
    ),
    names,
    money,
    st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 10)),
    distinct(st.builds(Table, unit_column=names, clip_rows=money | st.none(), columns=distinct(columns))),
    distinct(st.builds(Analyst, limit=money | st.none(), each=money | st.none())),
    st.none() | st.integers(1, 10**6).map(lambda minutes: timedelta(minutes=minutes)),
)


@given(policies)
def test_what_is_written_reads_back_equal(policy: Policy) -> None:
    again = parse(policy.to_toml())
    assert again == policy
    assert again.hash == policy.hash


def test_a_written_policy_is_readable() -> None:
    lines = clinic().to_toml().splitlines()
    assert "[tables.visits.columns.cost]" in lines
    assert "bounds = [0, 5000]" in lines
    assert "delta = 1e-6" in lines
    assert "step = 0.01" in lines


@given(st.fractions())
def test_numbers_are_written_exactly(value: Fraction) -> None:
    assert Fraction(number(value)) == value
