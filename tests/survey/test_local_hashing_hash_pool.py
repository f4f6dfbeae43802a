"""Local hashing with a pool: the same estimates, with reports of few bytes."""

from fractions import Fraction

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.survey import PooledHashing
from tacit.survey.hash_family import bucket_of, supported
from tacit.survey.local_hashing import pool


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
