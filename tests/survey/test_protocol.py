"""Tallies, the bytes of reports, and what every protocol of the registry says of itself."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, RandomnessError, Relation
from tacit.loss import Pure
from tacit.survey import PROTOCOLS, DirectResponse, OptimizedUnary, Protocol, Tally, consistent


def test_tallies_of_different_questions_do_not_add_up() -> None:
    with pytest.raises(InputError, match="different questions"):
        Tally(np.zeros(3, dtype=int), 1) + Tally(np.zeros(4, dtype=int), 1)
    one = Tally(np.array([1, 2]), 3)
    assert one + one == Tally(np.array([2, 4]), 6)
    assert one != Tally(np.array([1, 2]), 4)
    assert one != Tally(np.array([2, 1]), 3)
    with pytest.raises(TypeError):
        hash(one)


def test_bytes_that_are_no_number_of_reports() -> None:
    protocol = OptimizedUnary(epsilon=Fraction(1), categories=20)
    for wrong in (b"", b"ab", b"abcd"):
        with pytest.raises(InputError, match="has 3 bytes"):
            protocol.read(wrong)


def test_another_generator_is_refused() -> None:
    with pytest.raises(RandomnessError, match="not private"):
        DirectResponse(epsilon=Fraction(1), categories=3).sample(0, np.random.default_rng(1))  # type: ignore[arg-type]  # the point


def test_kinds_are_names_of_one_protocol_each() -> None:
    kinds = [protocol.kind for protocol in PROTOCOLS]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("kind", [protocol for protocol in PROTOCOLS if protocol.examples()], ids=lambda p: p.__name__)
def test_the_law_is_exact_and_the_loss_is_local(kind: type[Protocol]) -> None:
    for example in kind.examples():
        protocol = example.mechanism
        assert isinstance(protocol, Protocol)
        law = protocol.law(example.left)
        assert sum(law.values()) == 1
        assert {len(report) for report in law} == {protocol.dtype.itemsize}
        assert protocol.loss() == Pure(protocol.bound, relation=Relation.REPLACE, unit="respondent")
        assert isinstance(example.claim, Pure)
        assert example.claim.bound <= protocol.bound  # less for one report of a protocol that promises for all of them
        with pytest.raises(InputError, match="relation"):
            protocol.loss(relation=Relation.ADD_REMOVE)
        with pytest.raises(InputError, match="sensitivity"):
            protocol.loss(1)


SHARES = st.lists(st.floats(-3, 3), min_size=1, max_size=12)


@given(SHARES)
def test_they_are_at_least_zero_and_sum_to_one(shares: list[float]) -> None:
    found = consistent(shares)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert consistent(found) == pytest.approx(found, abs=1e-12)


@given(SHARES, st.data())
def test_no_other_is_nearer(shares: list[float], data: st.DataObject) -> None:
    other = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(shares), max_size=len(shares)))) + 1e-9
    other /= other.sum()
    raw = np.array(shares)
    assert np.sum((consistent(raw) - raw) ** 2) <= np.sum((other - raw) ** 2) + 1e-9


@given(SHARES, st.floats(-100, 100))
def test_what_is_left_was_lowered_by_one_number(shares: list[float], shift: float) -> None:
    found = consistent(shares)
    lowered = (np.array(shares) - found)[found > 0]
    assert lowered == pytest.approx(lowered[0], abs=1e-12)
    assert (np.array(shares)[found == 0] <= lowered[0] + 1e-12).all()
    assert consistent(np.array(shares) + shift) == pytest.approx(found, abs=1e-11)


def test_worked_numbers() -> None:
    assert consistent([0.5, 0.3, 0.2]) == pytest.approx([0.5, 0.3, 0.2])
    assert consistent([0.7, 0.5, -0.2]) == pytest.approx([0.6, 0.4, 0])
    assert consistent([-5.0, -5.0]) == pytest.approx([0.5, 0.5])
    assert consistent([1e30, 0.0]).tolist() == [1, 0]


@pytest.mark.parametrize("wrong", [[], [float("nan")], [float("inf"), 0], [[0.5, 0.5]]])
def test_what_are_no_shares(wrong: object) -> None:
    with pytest.raises(InputError, match="shares"):
        consistent(wrong)
