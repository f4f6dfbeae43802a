"""Each kind of question has its protocol, with just its ε, and every one of them is known to browsers."""

import re
from fractions import Fraction

import pytest

from support.node import MODULE
from tacit.base import InputError, PolicyError
from tacit.survey.choose import choose
from tacit.survey.question import NumberSummary, Question, QuestionKind, protocol_for
from tacit.survey.registry import PROTOCOLS
from tacit.survey.shuffle import stripped
from tacit.survey.square_wave import SquareWave

ONE = Fraction(1)


def options(count: int) -> tuple[str, ...]:
    return tuple(f"option {n}" for n in range(count))


@pytest.mark.parametrize("count", [2, 3, 10, 100, 4096])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(5)])
def test_a_choice_has_the_protocol_with_the_least_error(count: int, epsilon: Fraction) -> None:
    question = Question(ask="?", kind=QuestionKind.CHOICE, options=options(count))
    found = protocol_for(question, epsilon)
    assert found == choose(categories=count, epsilon=epsilon).protocol
    assert found.epsilon == epsilon
    assert found.in_browser
    assert found.terms()["bytes"] == found.dtype.itemsize


def test_the_other_kinds() -> None:
    several = protocol_for(Question(ask="?", kind=QuestionKind.SEVERAL, options=options(5)), ONE)
    assert several.kind == "several"
    assert several.epsilon == 1
    assert protocol_for(Question(ask="?", kind=QuestionKind.YES_NO), ONE).kind == "direct"
    assert protocol_for(Question(ask="?", kind=QuestionKind.NUMBER, range=(0, 24)), ONE).kind == "one_bit_mean"
    shaped = Question(ask="?", kind=QuestionKind.NUMBER, range=(0, 24), show=NumberSummary.DISTRIBUTION, bins=12)
    wave = protocol_for(shaped, ONE)
    assert isinstance(wave, SquareWave)
    assert wave.bins == 12
    assert [wave.low, wave.high] == [0, 24]
    text = protocol_for(Question(ask="?", kind=QuestionKind.TEXT, longest=8), ONE)
    assert text.terms()["device"]["longest"] == 8
    assert stripped(text.sample(["a", "b"])).size == 2


def test_an_epsilon_that_is_too_small_is_named() -> None:
    with pytest.raises(PolicyError, match="cannot be answered so: no protocol reports on 2 answers"):
        protocol_for(Question(ask="?", kind=QuestionKind.YES_NO), Fraction(1, 10**25))


def test_the_script_knows_what_is_listed() -> None:
    script = MODULE.read_text(encoding="utf-8")
    makers = script[script.index("const makers") :]
    assert set(re.findall(r"^  (\w+)(?=[:(])", makers, re.MULTILINE)) - {"if", "for", "else"} >= {
        kind.kind for kind in PROTOCOLS if kind.in_browser
    }


def test_large_numbers_are_two_words() -> None:
    device = protocol_for(Question(ask="?", kind=QuestionKind.YES_NO), ONE).terms()["device"]
    high, low = device["keep"]
    assert 0 <= high < 1 << 32
    assert 0 <= low < 1 << 32
    p = protocol_for(Question(ask="?", kind=QuestionKind.YES_NO), ONE)
    assert (high << 32) + low == p.law(0)[b"\x00"] * (1 << 64)


def test_what_no_browser_knows_is_refused() -> None:
    from tacit.survey.window import PiecewiseMean

    with pytest.raises(InputError, match="no browser knows"):
        PiecewiseMean(epsilon=ONE).terms()
