"""The choice of protocol."""

from fractions import Fraction

import pytest

from tacit.base import InputError
from tacit.survey import DirectResponse, HadamardResponse, LocalHashing, choose


@pytest.mark.parametrize(
    ("categories", "epsilon", "most_bytes", "kind"),
    [
        (2, 1, None, "direct"),
        (4, 1, None, "direct"),
        (10, 1, None, "subset"),
        (10, 4, None, "direct"),
        (1024, 1, None, "local_hashing"),
        (1024, 1, 2, "hadamard"),
        (1024, 8, None, "direct"),
        (1024, 8, 2, "direct"),
        (1024, "1/2", None, "local_hashing"),
        (1024, "1/2", 2, "hadamard"),
        (100_000, 1, None, "local_hashing"),
        (1_000_000, 1, None, "hadamard"),
    ],
)
def test_which(categories: int, epsilon: int | str, most_bytes: int | None, kind: str) -> None:
    choice = choose(categories=categories, epsilon=epsilon, most_bytes=most_bytes)
    assert choice.protocol.kind == kind
    assert choice.protocol.epsilon == Fraction(epsilon)
    assert choice.report_bytes == choice.protocol.dtype.itemsize <= (most_bytes or 10**9)


@pytest.mark.parametrize("categories", [2, 3, 7, 30, 400, 5000])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 6])
def test_nothing_that_fits_is_more_than_two_percent_better(categories: int, epsilon: float) -> None:
    for most_bytes in (None, 2, 9, 40):
        choice = choose(categories=categories, epsilon=epsilon, most_bytes=most_bytes)
        for other in choice.candidates:
            assert other.total_error == other.protocol.total_error
            if most_bytes is None or other.report_bytes <= most_bytes:
                assert choice.total_error <= 1.02 * other.total_error
                near = other.total_error <= min(c.total_error for c in choice.candidates) * 1.02
                assert most_bytes is not None or not near or choice.report_bytes <= other.report_bytes


def test_it_says_why() -> None:
    choice = choose(categories=1024, epsilon=1)
    assert choice.why == (
        "for 1,024 answers at ε = 1 local hashing is within 0.5% of the least error, subset's, "
        "and its reports have 9 instead of 128 bytes"
    )
    limited = choose(categories=1024, epsilon=1, most_bytes=4)
    assert limited.why == (
        "hadamard has the least error for 1,024 answers at ε = 1 in at most 4 bytes; "
        "subset would err 11% less with reports of 128 bytes"
    )
    table = str(limited).splitlines()
    assert len(table) == 2 + 6
    assert [line for line in table if "←" in line] == [next(line for line in table[2:] if line.startswith("hadamard"))]
    assert choose(categories=3, epsilon=1).why == "direct has the least error for 3 answers at ε = 1"


def test_what_cannot_be_chosen() -> None:
    with pytest.raises(InputError, match="most_bytes=2 or more"):
        choose(categories=1024, epsilon=1, most_bytes=1)
    with pytest.raises(InputError, match="categories"):
        choose(categories=1, epsilon=1)
    with pytest.raises(InputError, match="ask for text"):
        choose(categories=1 << 25, epsilon=1)
    with pytest.raises(InputError, match="choose a larger one"):
        choose(categories=5, epsilon=Fraction(1, 1 << 80))


def test_total_errors_are_those_of_the_formulas() -> None:
    found = {type(c.protocol): c.total_error for c in choose(categories=100, epsilon=1).candidates}
    e = 2.718281828459045
    assert found[DirectResponse] == pytest.approx(
        (e * 99 + 99 * (e + 98)) / (e - 1) ** 2, rel=1e-9
    )  # p = e/(e + 99), q = 1/(e + 99)
    p = e / (e + 1)
    assert found[HadamardResponse] == pytest.approx((p * (1 - p) + 99 / 4) / (p - 0.5) ** 2, rel=1e-9)
    p = e / (e + 3)
    assert found[LocalHashing] == pytest.approx((p * (1 - p) + 99 * 3 / 16) / (p - 0.25) ** 2, rel=1e-9)
