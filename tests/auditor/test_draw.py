"""Outputs are independent and as many as were asked for, or there is no audit."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.auditor.audit import audit
from tacit.auditor.draw import opened_source
from tacit.base import InputError
from tacit.mechanism import DiscreteLaplace, Laplace


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
