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
from tacit.survey import LocalHashing
from tacit.survey.hash_family import bucket_weights, buckets_of


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
        own = buckets_of(reports["a"], reports["b"], np.full(len(reports), 777), buckets)
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
