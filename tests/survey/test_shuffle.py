"""The shuffler forgets who and when, holds small batches back, and its price is never below the truth."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from support.channel import hockey_stick
from support.fixed_rng import FixedRng
from tacit.base import InputError, LossError
from tacit.loss import shuffled
from tacit.mechanism import Pmf
from tacit.survey import DirectResponse
from tacit.survey.protocol import Protocol
from tacit.survey.shuffle import Shuffler, local_epsilon, shuffled_loss, stripped

THREE = DirectResponse(epsilon=Fraction(1), categories=3)
WIDE = DirectResponse(epsilon=Fraction(1), categories=70_000)


def reports_of(protocol: DirectResponse, count: int, seed: int = 1) -> list[bytes]:
    source = FixedRng(seed)
    return [protocol.sample(i % protocol.categories, source) for i in range(count)]


@pytest.mark.parametrize("protocol", [THREE, WIDE], ids=["one byte", "four bytes"])
def test_what_leaves_depends_on_the_multiset_alone(protocol: DirectResponse) -> None:
    sent = reports_of(protocol, 40)
    orders = [sent, sent[::-1], sent[20:] + sent[:20]]
    seen = set()
    for order in orders:
        shuffler = Shuffler(protocol, minimum=40)
        for report in order:
            shuffler.add(report)
        seen.add(shuffler.release().tobytes())
    assert len(seen) == 1
    left = seen.pop()
    size = protocol.dtype.itemsize
    assert Counter(left[i : i + size] for i in range(0, len(left), size)) == Counter(sent)
    assert left == b"".join(sorted(sent))


def test_reports_of_many_fields_are_sorted_too() -> None:
    layout = np.dtype([("seed", "<u4"), ("bucket", "u1")])
    made = np.array([(5, 0), (0, 3), (256, 1), (0, 0)], dtype=layout)
    assert stripped(made).dtype == layout
    assert (
        stripped(made).tobytes() == stripped(made[::-1].copy()).tobytes() == b"".join(sorted(r.tobytes() for r in made))
    )


def test_a_small_batch_stays() -> None:
    shuffler = Shuffler(THREE, minimum=5)
    for report in reports_of(THREE, 4):
        shuffler.add(report)
    assert not shuffler.ready
    with pytest.raises(InputError, match="too few to hide in"):
        shuffler.release()
    assert len(shuffler) == 4, "a refused release keeps what it holds"
    shuffler.add(b"\x00")
    assert shuffler.release().size == 5
    assert len(shuffler) == 0
    with pytest.raises(InputError, match="too few"):
        shuffler.release()


def test_what_no_device_sends_is_refused() -> None:
    shuffler = Shuffler(THREE, minimum=2)
    for wrong in (b"", b"\x03", b"\x00\x01"):
        with pytest.raises(InputError):
            shuffler.add(wrong)
    assert len(shuffler) == 0
    with pytest.raises(InputError, match="minimum"):
        Shuffler(THREE, minimum=1)


def mixed(protocol: Protocol, answers: list[int]) -> Pmf:
    """The exact law of the sorted batch."""
    laws = [protocol.law(answer) for answer in answers]
    law: dict[tuple[bytes, ...], Fraction] = {}
    for outcome in product(*(list(one) for one in laws)):
        key = tuple(sorted(outcome))
        law[key] = law.get(key, Fraction(0)) + prod(one[report] for one, report in zip(laws, outcome, strict=True))
    return {key: float(p) for key, p in law.items()}


@pytest.mark.parametrize(("k", "others"), [(2, [0, 1, 0, 1, 0]), (3, [2, 2, 2, 2]), (4, [0, 3, 3, 2])])
@pytest.mark.parametrize("local", ["1/2", 2])
def test_the_price_covers_the_exact_law_of_a_batch(k: int, others: list[int], local: str | int) -> None:
    protocol = DirectResponse(epsilon=Fraction(local), categories=k)
    claim = shuffled_loss(protocol, reports=len(others) + 1)
    left, right = mixed(protocol, [0, *others]), mixed(protocol, [1, *others])
    for part in (0.1, 0.3, 0.6, 0.9):
        epsilon = part * float(local if isinstance(local, int) else Fraction(local))
        found = hockey_stick(left, right, epsilon)
        assert found <= claim.delta(epsilon).upper * (1 + 1e-9)
        assert part > 0.5 or found > 0.01 * claim.delta(epsilon).upper, "the check is not empty"


def test_a_protocol_gets_its_own_analysis() -> None:
    assert (
        shuffled_loss(THREE, reports=1000).epsilon(1e-6).upper < 0.999 * shuffled(1, reports=1000).epsilon(1e-6).upper
    )
    bit = DirectResponse(epsilon=Fraction(1), categories=2)
    assert shuffled_loss(bit, reports=1000).epsilon(1e-6).upper == pytest.approx(
        shuffled(1, reports=1000, categories=2).epsilon(1e-6).upper, rel=1e-6
    )
    assert shuffled_loss(THREE, reports=9).unit == "respondent"


def test_those_who_collude_do_not_hide_anyone() -> None:
    whole, half = (shuffled_loss(THREE, reports=1000, honest=share).epsilon(1e-6).upper for share in (1, 0.5))
    assert half == shuffled_loss(THREE, reports=500).epsilon(1e-6).upper > whole
    assert Shuffler(THREE, minimum=500).loss().epsilon(1e-6).upper == half


@pytest.mark.parametrize("categories", [None, 2, 4])
def test_the_local_epsilon_is_the_largest_that_fits(categories: int | None) -> None:
    found = local_epsilon(1, 1e-6, reports=1000, categories=categories)
    kind = None if categories == 2 else categories
    assert shuffled(found, reports=1000, categories=kind).epsilon(1e-6).upper <= 1 + 1e-6
    assert shuffled(found + Fraction(1, 500), reports=1000, categories=kind).epsilon(1e-6).upper > 1
    assert local_epsilon(1, 1e-6, reports=2, categories=categories) == 1, "nobody to hide among"
    with pytest.raises(LossError, match=r"0\.001"):
        local_epsilon(Fraction(1, 10**6), 1e-9, reports=2)
