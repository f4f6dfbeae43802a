"""Mondrian: every part has k rows, labels cover what was behind them, and nothing else changes."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.anonymity import measure
from tacit.attack.generalise import mondrian
from tacit.attack.hierarchy import covers
from tacit.attack.population import chance
from tacit.base import InputError

QUASI = ["zip", "age", "height"]


def people(rows: int) -> pa.Table:
    dice = chance(3)
    return pa.table(
        {
            "zip": [str(n) for n in dice.integers(13000, 13040, rows)],
            "age": dice.integers(20, 80, rows),
            "height": dice.normal(1.7, 0.1, rows).round(2),
            "sick": dice.integers(0, 2, rows),
        }
    )


@pytest.mark.parametrize("k", [1, 2, 7, 50])
def test_every_class_has_k_rows_and_few_have_many_more(k: int) -> None:
    table = people(2000)
    found = mondrian(table, QUASI, k=k)
    measured = measure(found, QUASI)
    assert measured.k >= k
    assert measured.classes >= 2000 / (4 * k)
    assert found.column("sick").equals(table.column("sick"))
    for before, after in zip(table.slice(0, 200).to_pylist(), found.slice(0, 200).to_pylist(), strict=True):
        assert all(covers(after[name], before[name]) for name in QUASI)


def test_equal_rows_stay_together() -> None:
    table = pa.table({"a": [1] * 5 + [2] * 3})
    assert mondrian(table, ["a"], k=3).column("a").to_pylist() == ["1"] * 5 + ["2"] * 3
    assert mondrian(table, ["a"], k=4).column("a").to_pylist() == ["1-2"] * 8


def test_wrong_arguments_are_refused() -> None:
    for k in (0, 11):
        with pytest.raises(InputError, match="k is"):
            mondrian(people(10), QUASI, k=k)
    with pytest.raises(InputError, match="missing values"):
        mondrian(pa.table({"a": np.array([1.0, 2.0]), "b": ["x", None]}), ["b"], k=1)
