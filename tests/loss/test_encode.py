"""A stored loss comes back as the same loss, or not at all."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base import InputError, LossError, Number, Relation
from tacit.loss import (
    GDP,
    PLD,
    ZCDP,
    Approx,
    DiscreteLaplacePart,
    DiscreteNormal,
    Interval,
    Loss,
    Normal,
    Part,
    Pure,
    ResponsePart,
)
from tacit.loss.concentrated import MeanConcentrated, ShiftedZCDP
from tacit.loss.encode import from_json, to_json
from tacit.loss.renyi import RDP
from tacit.loss.sampling import Poisson, PoissonReplace

amount = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6)
share = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(999, 1000))
plain = st.one_of(
    st.builds(ResponsePart, st.fractions(min_value=0, max_value=50), st.just(Fraction(0)) | share),
    st.builds(Normal, amount),
    st.builds(DiscreteLaplacePart, amount, st.fractions(min_value=0, max_value=100)),
    st.builds(DiscreteNormal, amount, st.fractions(min_value=0, max_value=100)),
    st.builds(PoissonReplace, amount, share),
)
parts = st.recursive(plain, lambda inner: st.builds(Poisson, inner, share), max_leaves=3)
neighbours = st.fixed_dictionaries(
    {"relation": st.sampled_from(list(Relation)), "unit": st.sampled_from(["row", "user day"])}
)


def through_text(loss: Loss) -> Loss:
    return from_json(json.loads(json.dumps(to_json(loss), allow_nan=False)))


@settings(deadline=None)
@given(st.lists(st.tuples(parts, st.integers(1, 10**6)), min_size=1, max_size=4), neighbours)
def test_programs_round_trip(listed: list[tuple[Part, int]], about: dict[str, Any]) -> None:
    if any(part.replace_only for part, _ in listed):
        about = {**about, "relation": Relation.REPLACE}
    loss = PLD.of(tuple(listed), **about)
    back = through_text(loss)
    assert back == loss
    assert type(back) is type(loss)


@given(st.fractions(min_value=0, max_value=100), st.fractions(min_value=0, max_value=Fraction(1, 2)), neighbours)
def test_zcdp_round_trips(rho: Fraction, delta: Fraction, about: dict[str, Any]) -> None:
    loss = ZCDP(rho, delta=delta, **about)
    assert through_text(loss) == loss


@given(st.sets(st.fractions(min_value=Fraction(11, 10), max_value=1000), min_size=1, max_size=5), neighbours)
def test_rdp_round_trips(orders: set[Fraction], about: dict[str, Any]) -> None:
    loss = RDP(sorted(orders), [Fraction(i, 3) for i in range(len(orders))], Fraction(1, 7), **about)
    back = through_text(loss)
    assert isinstance(back, RDP)
    assert (back.orders, back.values, back.slack) == (loss.orders, loss.values, loss.slack)
    assert (back.relation, back.unit) == (loss.relation, loss.unit)


def test_closed_forms_keep_their_kind() -> None:
    losses: list[Loss] = [Pure(1), Approx(1, 1e-6), GDP("0.3"), 10 * GDP(1).sampled(rate=0.01)]
    losses += [ShiftedZCDP("-1/3", "1/2"), MeanConcentrated("1/3", "2/7", unit="user")]
    for loss in losses:
        assert through_text(loss) == loss
    assert through_text(Approx(1, 0)) == Pure(1)  # the narrowest kind


class Odd(Loss):
    """A loss that nobody taught to be stored."""

    def epsilon(self, delta: Number, *, accuracy: float = 1e-5) -> Interval:
        return Interval(0, 1)

    def delta(self, epsilon: Number, *, accuracy: float = 1e-5) -> Interval:
        return Interval(0, 1)

    def grouped(self, size: int) -> Loss:
        return self

    def _plus(self, other: Loss) -> Loss:
        return self


def test_a_kind_without_a_stored_form_is_refused() -> None:
    with pytest.raises(LossError, match="Odd"):
        to_json(Odd())


def changed(loss: Loss, **fields: Any) -> dict[str, Any]:
    return to_json(loss) | fields


def part(**fields: Any) -> dict[str, Any]:
    return changed(Pure(1), parts=[{"count": 1, "part": fields}])


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        changed(Pure(1), version=2),
        changed(Pure(1), version=None),
        changed(Pure(1), kind="tarot"),
        changed(Pure(1), kind=None),
        changed(Pure(1), kind=["parts"]),
        changed(Pure(1), kind={}),
        changed(Pure(1), relation="sideways"),
        changed(Pure(1), unit=""),
        changed(Pure(1), unit=3),
        changed(Pure(1), extra=1),
        changed(Pure(1), parts={}),
        changed(Pure(1), parts=[{"count": 0, "part": ResponsePart(Fraction(1)).json()}]),
        changed(Pure(1), parts=[{"count": True, "part": ResponsePart(Fraction(1)).json()}]),
        changed(Pure(1), parts=[{"count": 1}]),
        part(kind="tarot"),
        part(kind="response", epsilon="-1", delta="0"),
        part(kind="response", epsilon="1", delta="1"),
        part(kind="response", epsilon="1", delta="0", more="2"),
        part(kind="response", epsilon=1, delta="0"),
        part(kind="response", epsilon="nan", delta="0"),
        part(kind="response", epsilon="1/0", delta="0"),
        part(kind="response", epsilon="1e999999999", delta="0"),
        part(kind="normal"),
        part(kind="discrete_laplace", scale="0", shift="1"),
        part(kind="poisson", base={"kind": "normal", "square": "1"}, rate="2"),
        part(kind="poisson", base={"kind": "normal", "square": "-1"}, rate="1/2"),
        part(kind="poisson", base={"kind": "normal", "square": 1.0}, rate="1/2"),
        part(kind="poisson", base="1", rate="1/2"),
        part(kind="poisson", base="1", rate={"kind": "normal", "square": "1"}),
        changed(ZCDP(1), rho=1.0),
        changed(ZCDP(1), rho="-1"),
        changed(ZCDP(1), rho="1e999999999"),
        changed(ZCDP(1), delta="1"),
        changed(MeanConcentrated(1, 1), mean="-1"),
        changed(ShiftedZCDP(1, 1), rho="-1"),
        changed(ShiftedZCDP(1, 1), xi=None),
        changed(RDP([2], [1]), orders=["2", "3"]),
        changed(RDP([2], [1]), orders="2"),
        changed(RDP([2], [1]), values=[1.0]),
        changed(RDP([2], [1]), orders=["1"]),
    ],
)
def test_what_is_not_understood_is_refused(data: Any) -> None:
    with pytest.raises(InputError):
        from_json(data)


# what ledgers hold, as it was written when this test was; the order of parts too
STORED = [
    (
        '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "parts", "parts": [{"count": 1, '
        '"part": {"kind": "response", "epsilon": "1", "delta": "0"}}]}'
    ),
    (
        '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "parts", "parts": [{"count": 1, '
        '"part": {"kind": "response", "epsilon": "1", "delta": "1/1000000"}}]}'
    ),
    (
        '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "parts", "parts": [{"count": 1, '
        '"part": {"kind": "normal", "square": "1/4"}}]}'
    ),
    '{"version": 1, "relation": "add_remove", "unit": "user", "kind": "zcdp", "rho": "1/2", "delta": "0"}',
    '{"version": 1, "relation": "replace", "unit": "row", "kind": "zcdp", "rho": "1/8", "delta": "1/1000000"}',
    '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "shifted_zcdp", "xi": "1/10", "rho": "1/2"}',
    (
        '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "mean_concentrated", "mean": "1/4", '
        '"square": "1/2"}'
    ),
    (
        '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "rdp", "orders": ["2", "4"], '
        '"values": ["1/2", "3/4"], "delta": "0"}'
    ),
    (
        '{"version": 1, "relation": "add_remove", "unit": "row", "kind": "parts", "parts": [{"count": 1, '
        '"part": {"kind": "discrete_laplace", "scale": "2", "shift": "1"}}, {"count": 3, '
        '"part": {"kind": "discrete_normal", "variance": "9", "shift": "1"}}, {"count": 1, '
        '"part": {"kind": "normal", "square": "1/4"}}, {"count": 1, "part": {"kind": "poisson", '
        '"base": {"kind": "discrete_laplace", "scale": "3", "shift": "1"}, "rate": "1/10"}}, {"count": 1, '
        '"part": {"kind": "poisson", "base": {"kind": "normal", "square": "1"}, "rate": "1/10"}}, {"count": 1, '
        '"part": {"kind": "poisson", "base": {"kind": "response", "epsilon": "3", "delta": "0"}, "rate": "1/10"}}, '
        '{"count": 2, "part": {"kind": "response", "epsilon": "1", "delta": "0"}}]}'
    ),
    (
        '{"version": 1, "relation": "replace", "unit": "row", "kind": "parts", "parts": [{"count": 1, '
        '"part": {"kind": "poisson_replace", "square": "1", "rate": "1/10"}}, {"count": 1, '
        '"part": {"kind": "without_replacement", "base": {"kind": "response", "epsilon": "1", "delta": "0"}, '
        '"rate": "1/10"}}]}'
    ),
]


@pytest.mark.parametrize("text", STORED)
def test_what_ledgers_hold_is_read_and_written_as_it_was(text: str) -> None:
    assert json.dumps(to_json(from_json(json.loads(text)))) == text


def test_the_order_of_parts_is_that_of_ledgers() -> None:
    data = json.loads(STORED[8])
    back = from_json({**data, "parts": data["parts"][::-1]})
    assert json.dumps(to_json(back)) == STORED[8]
