"""Outputs of every kind are read into shapes and numbers, each by itself."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.auditor.audit import audit
from tacit.auditor.outputs import Outputs, exact_number, opened_source, spelled
from tacit.base import InputError
from tacit.mechanism import DiscreteLaplace, Laplace


@dataclass(frozen=True)
class Pair:
    total: float
    count: int


ZOO: list[Any] = [
    1, 2.5, True, None, "text", b"b", nan, inf, -inf, (), (None, True), (None, 2.5), [1, [2, None]], {"a": 1}, {"b": 1},
    {"a": 1, "b": None}, Pair(1.5, 2), {1, 2}, np.float64(3.5), np.array([1.0, nan]), Fraction(1, 3), 10**400, 1 + 2j,
]  # fmt: skip


def test_each_output_is_read_by_itself() -> None:
    whole = Outputs.of(ZOO)
    for place, output in enumerate(ZOO):
        alone = Outputs.of([output])
        assert alone.shapes[0] == whole.shapes[whole.kinds[place]]
        row = whole.numbers[place]
        assert np.array_equal(row[~np.isnan(row)], alone.numbers[0][~np.isnan(alone.numbers[0])])


def test_what_differs_in_kind_differs_in_shape() -> None:
    distinct: list[Any] = [1, 1.0, True, None, "1", nan, inf, -inf, (1,), [1], {"a": 1}, {"b": 1}, Pair(1, 1)]
    assert len(Outputs.of(distinct).shapes) == len(distinct)


def test_arrays_are_read_like_their_rows() -> None:
    table = np.array([[1.0, nan, 3.0], [4.0, 5.0, 6.0], [inf, 8.0, -inf]])
    whole = Outputs.of(table)
    assert [spelled(whole.shapes[kind]) for kind in whole.kinds] == [
        "(number, nan, number)",
        "(number × 3)",
        "(inf, number, -inf)",
    ]
    assert whole.numbers[0, :2].tolist() == [1.0, 3.0]
    assert whole.numbers[2, 0] == 8.0
    for place in range(3):
        alone = Outputs.of(table[place : place + 1])
        assert alone.shapes[0] == whole.shapes[whole.kinds[place]]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, object])
def test_the_type_of_an_array_is_no_part_of_its_outputs(dtype: Any) -> None:
    assert Outputs.of(np.array([1, 2], dtype=dtype)).shapes == Outputs.of(np.array([1.0, 2.0])).shapes
    square = np.array([[1, 2], [3, 4]])
    assert Outputs.of(square.astype(dtype)).shapes == Outputs.of(square.astype(float)).shapes


def test_truth_values() -> None:
    found = Outputs.of(np.array([[True, False], [False, False], [True, False]]))
    assert [spelled(found.shapes[kind]) for kind in found.kinds] == ["(True, False)", "(False × 2)", "(True, False)"]
    assert Outputs.of(np.array([True, False])).shapes[0] in Outputs.of([True]).shapes + Outputs.of([False]).shapes


def test_joined_batches_keep_their_outputs() -> None:
    parts = [Outputs.of([1, (2, 3)]), Outputs.of([None]), Outputs.of([(4, 5, 6), 7])]
    both = Outputs.joined(parts)
    assert [spelled(both.shapes[kind]) for kind in both.kinds] == [
        "number", "(number × 2)", "None", "(number × 3)", "number",
    ]  # fmt: skip
    assert both.column(0)[[0, 1, 3, 4]].tolist() == [1, 2, 4, 7]
    assert np.isnan(both.column(5)).all()
    assert len(Outputs.joined([])) == 0


def test_words() -> None:
    (shape,) = Outputs.of([{"a": 1, "b": (None, "x")}]).shapes
    assert spelled(shape) == "{'a': number, 'b': (None, 'x')}"
    assert spelled(Outputs.of([Pair(1, 2)]).shapes[0]) == "Pair(total=number, count=number)"
    assert (exact_number(3.0), exact_number(0.1), exact_number(1e300)) == ("3", "0.1", "1e+300")


def test_one_output_is_not_many() -> None:
    with pytest.raises(InputError, match="must return an array or a list, not float"):
        Outputs.of(1.5)


def seeded(data: float, size: int) -> Any:
    return data + np.random.default_rng(1).laplace(size=size)


def test_a_fixed_seed_is_noticed() -> None:
    with pytest.raises(InputError, match="seeded gave the same 64 outputs twice"):
        audit(seeded, 1, neighbours=(0, 1), samples=1000)


def test_few_different_outputs_may_repeat() -> None:
    with opened_source(lambda data, size: np.zeros(size), workers=1, rng=None) as source:
        for _ in range(5):
            assert len(source.outputs(0, 100)) == 100


def test_large_requests_come_in_pieces() -> None:
    asked: list[int] = []

    def draw(data: int, size: int) -> Any:
        asked.append(size)
        return np.arange(size) + 10**6 * len(asked)

    with opened_source(draw, workers=1, rng=None) as source:
        assert len(source.outputs(0, 150_000)) == 150_000
    assert sum(asked) == 150_000
    assert max(asked) <= 1 << 16


@pytest.mark.parametrize("value", [3, 3.0, [1, 2, 3]])
@pytest.mark.parametrize("step", [1, "1/8"])
def test_additive_noise_is_the_mechanisms_own(value: Any, step: Any) -> None:
    mechanism = Laplace(scale=Fraction(2), granularity=step)
    with opened_source(mechanism, workers=1, rng=FixedRng(1)) as source:
        found = source.outputs(value, 50)
    many = np.broadcast_to(np.asarray(value, dtype=float), (50, *np.shape(value))).copy()
    assert np.array_equal(found.numbers.ravel(), np.asarray(mechanism.sample(many, FixedRng(1)), dtype=float).ravel())


def test_a_wrong_number_of_outputs_is_refused() -> None:
    with pytest.raises(InputError, match="asked for 20 outputs and returned 3"):
        audit(lambda data, size: np.zeros(3), 1, neighbours=(0, 1), samples=100)
    with pytest.raises(InputError, match="must return that many outputs, not float"):
        audit(lambda data, size: 1.5, 1, neighbours=(0, 1), samples=100)


def test_processes_need_what_can_be_sent_to_them() -> None:
    with pytest.raises(InputError, match="cannot be sent to other processes"):
        audit(lambda data: 1, 1, neighbours=(0, 1), samples=100, workers=2)
    with pytest.raises(InputError, match="workers must be 1 when rng is given"):
        audit(DiscreteLaplace(scale=Fraction(1)), 1, neighbours=(0, 1), samples=100, workers=2, rng=FixedRng(1))
