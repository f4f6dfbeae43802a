"""Local hashing: both forms have the law given the function, and the function says nothing."""

from fractions import Fraction

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng
from support.reports import check_impossible, pieces
from tacit.base import InputError, LossError
from tacit.mechanism import Pmf
from tacit.noise import Rng
from tacit.survey import LocalHashing, PooledHashing
from tacit.survey.hash_family import BUCKETS, bucket_of, bucket_weights, supported
from tacit.survey.local_hashing import best_buckets, pool, rates


class Fixed(Rng):
    """One hash function for everybody, then real coins."""

    def __init__(self, function: bytes) -> None:
        super().__init__()
        self._function, self._rest = function, FixedRng(6)

    def read(self, count: int) -> bytes:
        if count == 4:
            self._function = self._function[4:] + self._function[:4]
            return self._function[-4:]
        return self._rest.read(count)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (123_456_789, 987_654_321), (2**32 - 1, 7)])
@pytest.mark.parametrize("buckets", [2, 3, 300])
def test_the_device_has_the_law_given_the_function(a: int, b: int, buckets: int) -> None:
    protocol = LocalHashing(epsilon=Fraction(3), categories=50, buckets=buckets)
    source = Fixed(a.to_bytes(4, "little") + b.to_bytes(4, "little"))
    outputs = [protocol.sample(41, source) for _ in range(3000)]
    law: Pmf = {report: float(p) for report, p in protocol.law_given(a, b, 41).items()}
    assert set(outputs) <= law.keys()
    assert p_value(law, outputs) > 1e-6


@pytest.mark.parametrize("buckets", [2, 3, 5])
def test_both_forms_have_the_joint_law_of_true_and_reported_bucket(buckets: int) -> None:
    protocol = LocalHashing(epsilon=Fraction(1), categories=1000, buckets=buckets)
    p, rest = float(protocol.p), float((1 - protocol.p) / (buckets - 1))
    law: Pmf = {
        (i, j): float(w) * (p if i == j else rest)
        for i, w in enumerate(bucket_weights(buckets))
        for j in range(buckets)
    }
    source = FixedRng(2)
    singly = protocol.read(b"".join(protocol.sample(777, source) for _ in range(3000)))
    for reports in (singly, protocol.sample(np.full(60_000, 777), source)):
        a, b = (reports[name].astype(np.int64) for name in ("a", "b"))
        own = bucket_of(a, b, 777, buckets)
        assert p_value(law, zip(own.tolist(), reports["bucket"].tolist(), strict=True)) > 1e-6


def test_functions_are_uniform_words() -> None:
    reports = LocalHashing(epsilon=Fraction(1), categories=9).sample(np.zeros(40_000, dtype=int), FixedRng(1))
    for name in ("a", "b"):
        for shift in (0, 8, 16, 24):
            found = (reports[name] >> np.uint32(shift) & np.uint32(255)).tolist()
            assert p_value(dict.fromkeys(range(256), 1 / 256), found) > 1e-6
    assert len(set(pieces(reports))) == len(reports)


def test_reports_and_laws_that_do_not_exist() -> None:
    protocol = LocalHashing(epsilon=Fraction(1), categories=9)
    check_impossible(protocol, [bytes(8) + b"\x04", b"\xff" * 9])
    with pytest.raises(LossError, match="law_given"):
        protocol.law(0)
    with pytest.raises(InputError, match="a and b"):
        protocol.law_given(1 << 32, 0, 0)
    with pytest.raises(InputError, match="answers"):
        protocol.law_given(0, 0, 9)


def test_the_pool_is_frozen_and_a_longer_one_begins_alike() -> None:
    a, b = pool(4)
    assert a.tolist() == [4200507496, 3297394865, 10178944, 1092263455]
    assert b.tolist() == [2723094919, 3918370260, 114816585, 2103588600]
    longer = pool(1000)
    assert longer[0][:4].tolist() == a.tolist()
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 0


@pytest.mark.parametrize("seeds", [1, 5, 700])
def test_support_is_what_hashing_every_report_gives(seeds: int) -> None:
    protocol = PooledHashing(epsilon=Fraction(1), categories=60, seeds=seeds)
    reports = protocol.sample(np.arange(500) % 60, FixedRng(1))
    a, b = pool(seeds)
    drawn = reports["seed"].astype(int)
    expected = supported(a[drawn], b[drawn], reports["bucket"], buckets=protocol.buckets, answers=60)
    assert protocol.support(protocol.tally(reports)).tolist() == expected.tolist()
    assert protocol.tally(reports).counts.size == seeds * protocol.buckets


def test_a_report_names_its_function_and_a_bucket() -> None:
    protocol = PooledHashing(epsilon=Fraction(6), categories=60, seeds=700, buckets=300)
    report = protocol.sample(7, FixedRng(1))
    assert len(report) == 4
    a, b = pool(700)
    seed, bucket = int.from_bytes(report[:2], "little"), int.from_bytes(report[2:], "little")
    assert bucket == bucket_of(int(a[seed]), int(b[seed]), 7, 300)  # at this ε and seed the truth was kept


def test_limits() -> None:
    with pytest.raises(InputError, match="seeds must be at most 65536"):
        PooledHashing(epsilon=Fraction(1), categories=9, seeds=65_537)
    with pytest.raises(InputError, match="seeds"):
        PooledHashing(epsilon=Fraction(1), categories=9, seeds=0)
    with pytest.raises(InputError, match="too many to list"):
        PooledHashing(epsilon=Fraction(6), categories=9).law(0)
    protocol = PooledHashing(epsilon=Fraction(1), categories=9, seeds=10)
    for report in (b"\x0a\x00", b"\x00\x09"):
        with pytest.raises(InputError):
            protocol.read(report)


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
