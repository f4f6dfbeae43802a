"""Cells: the engine's expression, what comes back, and what conditions mean; for every kind of column."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.base import InputError, Refused
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.plan.operation import evaluate
from tacit.synth.columns import ColumnChoices, OpenBins, OpenCategories, open_columns
from tacit.synth.domain import MISSING, Bins, CategoryCells, Domain, DomainColumn

FACTS = {
    "age": Facts(type=Type.INTEGER, low=0, high=9, step=Fraction(1)),
    "income": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(1000), step=Fraction(1, 100), nullable=False),
    "born": Facts(type=Type.DATE, low=date(2000, 1, 1), high=date(2000, 1, 10)),
    "seen": Facts(type=Type.TIMESTAMP, low=datetime(2020, 1, 1), high=datetime(2020, 1, 2), nullable=False),
    "sex": Facts(type=Type.TEXT, domain=("F", "M"), nullable=False),
    "job": Facts(type=Type.TEXT, domain=("cook", "nurse")),
    "yes": Facts(type=Type.BOOLEAN, domain=(False, True)),
    "town": Facts(type=Type.TEXT),
    "wild": Facts(type=Type.NUMBER, why="column 'wild' has no bounds"),
    "huge": Facts(type=Type.INTEGER, domain=tuple(range(3000))),
}
SCAN = Scan(
    table="people",
    columns=tuple(Source(name=name, column=name, facts=facts) for name, facts in FACTS.items()),
    is_private=True,
)


def columns(*names: str, selects: bool = False, **choices: Any) -> Domain:
    return open_columns(SCAN, names, ColumnChoices(**choices), selects=selects)[0]


def column(name: str, **choices: Any) -> DomainColumn:
    return columns(name, **choices).columns[0]


def cell(made: DomainColumn, value: Any) -> int:
    """What every engine computes for a value, by the definition of expressions."""
    found = evaluate(made.expression(Column(name=made.name, facts=FACTS[made.name])), {made.name: value})
    return int(found)  # type: ignore[arg-type]  # a number


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (column("age"), [*range(10), None]),
        (column("age", bins={"age": 3}), [0, 2, 3, 5, 6, 9, None]),
        (column("income", bins={"income": 4}), [Fraction(0), Fraction(250), Fraction(999), Fraction(1000)]),
        (column("born", bins={"born": 2}), [date(2000, 1, 1), date(2000, 1, 6), date(2000, 1, 10), None]),
        (column("seen", bins={"seen": 24}), [datetime(2020, 1, 1), datetime(2020, 1, 1, 13), datetime(2020, 1, 2)]),
        (column("sex"), ["F", "M"]),
        (column("job"), ["cook", "nurse", None]),
        (column("yes"), [False, True, None]),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_a_value_comes_back_in_the_cell_that_it_was_counted_in(made: DomainColumn, values: list[Any]) -> None:
    codes = np.array([cell(made, value) for value in values])
    assert ((codes >= 0) & (codes < made.size)).all()
    assert set(codes.tolist()) <= set(range(made.size))
    for _ in range(20):
        drawn = made.arrow(codes).to_pylist()
        assert [value is None for value in drawn] == [value is None for value in values]
        if made.type is Type.NUMBER:
            drawn = [Fraction(str(value)) for value in drawn]
        assert [cell(made, value) for value in drawn] == codes.tolist()
    assert len(made.labels) == made.size


def test_every_cell_of_whole_numbers_is_drawn_evenly() -> None:
    made = column("age", bins={"age": 2})
    drawn = made.arrow(np.zeros(5000, np.int64)).to_numpy()
    assert sorted(set(drawn.tolist())) == [0, 1, 2, 3, 4]
    assert np.bincount(drawn).min() > 850  # 1,000 less five standard errors


def test_a_domain_is_plain_data_both_ways() -> None:
    domain = columns("age", "income", "born", "seen", "sex", "job", "yes", bins={"income": 7})
    assert Domain.from_json(domain.json()) == domain


def test_conditions_mean_whole_cells() -> None:
    age = column("age", bins={"age": 3})
    assert age.labels == ("0–2", "3–5", "6–9", MISSING)
    assert age.find((0, 5)) == [0, 1]
    assert age.find(None) == [3]
    with pytest.raises(InputError, match=r"cuts one of them: say whole bins, such as 0–2"):
        age.find((0, 4))
    with pytest.raises(InputError, match="has no cell"):
        age.find("forty")
    born = column("born", bins={"born": 2})
    assert born.find(("2000-01-01", "2000-01-05")) == born.find((date(2000, 1, 1), date(2000, 1, 5))) == [0]
    with pytest.raises(InputError, match="has no cell"):
        born.find(("spring", "summer"))
    job = column("job")
    assert job.find(["cook", None]) == [0, 2]
    with pytest.raises(InputError, match="has no cell 'judge': its cells are cook, nurse"):
        job.find("judge")


def test_what_is_not_declared_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(Refused, match=r"column 'wild' has no bounds.*declare bounds"):
        columns("wild")
    with pytest.raises(Refused, match=r"nobody listed the values of column 'town'.*declare group_keys"):
        columns("town")
    with pytest.raises(Refused, match=r"column 'huge' would have 3,000 cells, and 1,000 is the most"):
        columns("huge")
    with pytest.raises(Refused, match="would have 2,000 cells"):
        columns("income", bins={"income": 2000})
    with pytest.raises(InputError, match="from 2 to 100,000"):
        columns("income", most_cells=10**6)


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"bins": {"job": 3}}, "bins speaks of column 'job'"),
        ({"edges": {"age": [5, 3]}}, "must rise"),
        ({"edges": {"age": ["2.5"]}}, "must be whole numbers"),
        ({"edges": {"age": ["x"]}}, "edges of column 'age' are integers"),
        ({"edges": {"age": [5]}, "bins": {"age": 3}}, "keep one of them"),
        ({"bins": {"age": 0}}, "at least 1"),
        ({"private_edges": ("town",)}, "private_edges speaks of column 'town'"),
    ],
)
def test_mistakes_in_choices_are_told(choices: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        columns("age", **choices)


def test_edges_are_taken_within_the_bounds() -> None:
    made = column("age", edges={"age": [-5, 3, 7, 90]})
    assert isinstance(made, Bins)
    assert made.labels == ("0–2", "3–6", "7–9", MISSING)
    dated = column("born", edges={"born": ["2000-01-05"]})
    assert dated.labels[0] == "2000-01-01–2000-01-04"


def test_open_columns_are_filled_with_what_was_found() -> None:
    domain, (towns, ages) = open_columns(
        SCAN, ["town", "age"], ColumnChoices(private_edges=("age",), bins={"age": 4}), selects=True
    )
    assert domain.sizes == (1, 1)
    assert isinstance(towns, OpenCategories)
    assert isinstance(ages, OpenBins)
    filled = towns.filled(["Bonn", "Ulm"])
    assert filled.labels == ("Bonn", "Ulm", "(other)", MISSING)
    assert [cell(filled, value) for value in ("Bonn", "Ulm", "Kiel", None)] == [0, 1, 2, 3]
    assert filled.arrow(np.array([0, 2, 3])).to_pylist() == ["Bonn", "(other)", None]
    empty = towns.filled([])
    assert [cell(empty, value) for value in ("Bonn", None)] == [0, 1]
    edges = ages.filled([Fraction(5, 2), Fraction(5, 2), Fraction(13, 2)])
    assert edges.labels == ("0–2", "3–6", "7–9", MISSING)
    none_left = CategoryCells(name="town", type=Type.TEXT, nullable=False, categories=(), other=True)
    assert cell(none_left, "Bonn") == 0
