"""Every protocol has a stored form, which comes back as the same protocol or not at all."""

import json
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from typing import Any

import pytest

from tacit.base import InputError
from tacit.mechanism import mechanism_from_json, mechanism_to_json
from tacit.mechanism.registry import register_stored
from tacit.survey.direct import CoinFlip
from tacit.survey.local_hashing import LocalHashing
from tacit.survey.mean import OneBitMean
from tacit.survey.protocol import Protocol
from tacit.survey.registry import PROTOCOLS

every_protocol = pytest.mark.parametrize("kind", PROTOCOLS, ids=lambda kind: kind.__name__)


def made(kind: type[Protocol]) -> list[Any]:
    """Some of each kind; reports of local hashing cannot be listed, so it has no examples."""
    listed = [example.mechanism for example in kind.examples()]
    return listed or [LocalHashing(epsilon=Fraction(1, e), categories=100 * e) for e in (1, 3)]


def numbers(value: Any) -> Iterator[object]:
    """Whatever a stored form holds that is neither a list nor an object."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    else:
        yield value


@every_protocol
def test_every_example_round_trips(kind: type[Protocol]) -> None:
    for protocol in made(kind):
        stored = json.loads(json.dumps(mechanism_to_json(protocol)))
        back: Any = mechanism_from_json(stored)
        assert back == protocol
        assert type(back) is kind
        assert back.epsilon == protocol.epsilon
        assert not any(isinstance(part, float) for part in numbers(stored)), "fractions are text"


@every_protocol
def test_what_is_not_understood_entirely_is_refused(kind: type[Protocol]) -> None:
    stored = mechanism_to_json(made(kind)[0])
    named: Any = kind
    assert set(stored) == {"name", *(field.name for field in fields(named) if field.init)}
    with pytest.raises(InputError, match="colour"):
        mechanism_from_json({**stored, "colour": 1})
    for name in stored:
        with pytest.raises(InputError, match=name):
            mechanism_from_json({key: value for key, value in stored.items() if key != name})
        with pytest.raises(InputError, match=name):
            mechanism_from_json({**stored, name: 1.0})


def test_how_they_are_stored() -> None:
    assert mechanism_to_json(CoinFlip()) == {"name": "CoinFlip", "truth": "1/2"}
    mean = OneBitMean(epsilon=Fraction(1, 3), low=Fraction(-1, 10), high=Fraction(2), steps=8)
    stored = {"name": "OneBitMean", "epsilon": "1/3", "low": "-1/10", "high": "2", "steps": 8}
    assert mechanism_to_json(mean) == stored


def test_an_epsilon_that_the_coins_do_not_have_is_refused() -> None:
    stored = mechanism_to_json(CoinFlip())
    with pytest.raises(InputError, match="epsilon"):
        mechanism_from_json({**stored, "epsilon": "1/2"})
    with pytest.raises(InputError, match="leaves open what a stored one must say"):
        mechanism_from_json({**stored, "truth": "1/3"})  # not a multiple of 2^-64


def test_a_name_is_stored_for_one_class() -> None:
    other: Any = type("CoinFlip", (), {})
    with pytest.raises(InputError, match="stores another CoinFlip"):
        register_stored(other)
    register_stored(CoinFlip)  # again, which changes nothing
