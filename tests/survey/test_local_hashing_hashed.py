"""The rates of protocols that hash, and their number of buckets."""

from fractions import Fraction

import pytest

from tacit.base import InputError
from tacit.survey import LocalHashing
from tacit.survey.hash_family import BUCKETS, bucket_weights
from tacit.survey.local_hashing import best_buckets, rates


@pytest.mark.parametrize("buckets", [2, 3, 5, 64, 100])
def test_the_rates_are_those_of_two_independent_buckets(buckets: int) -> None:
    p, q = rates(Fraction(1), buckets)
    w, other = bucket_weights(buckets), (1 - p) / (buckets - 1)
    told = [[p if said == true else other for said in range(buckets)] for true in range(buckets)]
    assert q == sum(w[i] * w[j] * told[i][j] for i in range(buckets) for j in range(buckets))
    if buckets in (2, 64):
        assert q == Fraction(1, buckets)


@pytest.mark.parametrize(("epsilon", "buckets"), [("1/2", 3), (1, 4), (2, 8), (3, 21), (4, 56)])
def test_the_best_number_of_buckets_is_near_the_known_one(epsilon: str | int, buckets: int) -> None:
    """e^ε + 1, rounded (Wang and others 2017), for many answers."""
    assert best_buckets(Fraction(epsilon), 100_000) == buckets


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**9), Fraction(1, 10), Fraction(1), Fraction(3), Fraction(9), Fraction(60)]
)
@pytest.mark.parametrize("categories", [2, 10, 1000])
def test_no_other_number_of_buckets_is_better(epsilon: Fraction, categories: int) -> None:
    chosen = LocalHashing(epsilon=epsilon, categories=categories)
    others = {2, 3, 4, chosen.buckets // 2, chosen.buckets - 1, chosen.buckets + 1, 2 * chosen.buckets, BUCKETS}
    for buckets in others:
        if 2 <= buckets <= BUCKETS:
            other = LocalHashing(epsilon=epsilon, categories=categories, buckets=buckets)
            assert chosen.total_error <= other.total_error * (1 + 1e-5)  # the weights of buckets are not quite alike


def test_buckets_have_limits() -> None:
    with pytest.raises(InputError, match="buckets"):
        LocalHashing(epsilon=Fraction(1), categories=10, buckets=1)
    with pytest.raises(InputError, match="buckets must be at most 4096"):
        LocalHashing(epsilon=Fraction(1), categories=10, buckets=5000)
    with pytest.raises(InputError, match="categories must be at most 131072"):
        LocalHashing(epsilon=Fraction(1), categories=131_073)
