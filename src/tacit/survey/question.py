"""One question of a survey: what is asked, what may be answered, and how much one answer may give away."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from tacit.base import InputError, PolicyError, Problem
from tacit.policy.declaration import Declaration, key
from tacit.policy.kind import choice, labels, number, pair, text, whole
from tacit.survey.bit_flip import SeveralResponse
from tacit.survey.choose import choose
from tacit.survey.mean import OneBitMean
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol
from tacit.survey.square_wave import SquareWave

__all__ = ["EPSILON", "NumberSummary", "Question", "QuestionKind", "plain_name", "protocol_for"]

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MOST_OPTIONS, MOST_SEVERAL, MOST_BINS, LONGEST = 4096, 60, 256, 32
EPSILON = number(above=0, most=20)


class QuestionKind(StrEnum):
    """The kinds of questions."""

    YES_NO = "yes-no"
    CHOICE = "choice"
    SEVERAL = "several"
    NUMBER = "number"
    TEXT = "text"


class NumberSummary(StrEnum):
    """What is learned about a number."""

    MEAN = "mean"
    DISTRIBUTION = "distribution"


def plain_name(value: object) -> str:
    """A name that goes into addresses and files."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise InputError("must be small letters, digits, - and _, begin with a letter, and have at most 40 of them")
    return value


@dataclass(frozen=True, kw_only=True)
class Question(Declaration):
    """What one question declares. Everybody answers every question: to leave one out would tell something."""

    ask: str = field(
        metadata=key("The question, as respondents read it.", text, example='"Did you sleep well last night?"')
    )
    kind: QuestionKind = field(
        metadata=key(
            "What is answered: yes or no, one option, any number of options, a number in a range, or a short text.",
            choice(QuestionKind),
            example='"choice"',
        )
    )
    options: tuple[str, ...] = field(
        default=(),
        metadata=key(
            f"What can be chosen: 2 to {MOST_OPTIONS:,} options, at most {MOST_SEVERAL} where several may apply. An "
            'option such as "I would rather not say" lets people pass without telling so.',
            labels,
            example='["never", "sometimes", "often"]',
        ),
    )
    range: tuple[Any, Any] | None = field(
        default=None,
        metadata=key(
            "The least and the greatest number that can be answered. From common knowledge, never from answers.",
            pair,
            example="[0, 24]",
        ),
    )
    show: NumberSummary = field(
        default=NumberSummary.MEAN,
        metadata=key(
            "What is learned about a number: its mean, or the whole distribution, which takes more answers.",
            choice(NumberSummary),
            example='"distribution"',
        ),
    )
    bins: int = field(
        default=16,
        metadata=key(f"How finely a distribution is shown: 4 to {MOST_BINS} bins of the range.", whole, example="24"),
    )
    longest: int = field(
        default=16,
        metadata=key(
            f"The most bytes that a text may have (UTF-8): 1 to {LONGEST}. Shorter texts are found with fewer answers.",
            whole,
            example="8",
        ),
    )
    epsilon: Fraction | None = field(
        default=None,
        metadata=key(
            "How much one answer may give away. Default: an even part of what the survey's `epsilon` leaves.",
            EPSILON,
            example="1",
        ),
    )

    @classmethod
    def named(cls, name: object) -> str:
        return plain_name(name)

    def contradictions(self) -> Iterator[Problem]:
        listed, ranged = self.kind in (QuestionKind.CHOICE, QuestionKind.SEVERAL), self.kind is QuestionKind.NUMBER
        most = MOST_SEVERAL if self.kind is QuestionKind.SEVERAL else MOST_OPTIONS
        if listed and not 2 <= len(self.options) <= most:
            told = f'options must be 2 to {most:,} texts for kind = "{self.kind}", not {len(self.options)}'
            yield Problem(("options",), told)
        if self.options and not listed:
            told = f'options do not go with kind = "{self.kind}": leave them out, or write kind = "choice"'
            yield Problem(("options",), told)
        if ranged and self.range is None:
            told = 'range is missing: kind = "number" needs range = [least, greatest]'
            yield Problem(("range",), told, short="is needed")
        if self.range is not None and not ranged:
            told = f'range does not go with kind = "{self.kind}": leave it out, or write kind = "number"'
            yield Problem(("range",), told)
        if ranged and self.range is not None:
            low, high = self.range
            if not (isinstance(low, Fraction) and isinstance(high, Fraction) and low < high):
                yield Problem(("range",), "range must be two numbers, [least, greatest], the second larger")
        if self.show is NumberSummary.DISTRIBUTION and not ranged:
            told = f'does not go with kind = "{self.kind}": it is for kind = "number"'
            yield Problem(("show",), f'show = "distribution" {told}', short=told)
        if not 4 <= self.bins <= MOST_BINS:
            told = f"must be 4 to {MOST_BINS}"
            yield Problem(("bins",), f"bins = {self.bins} {told}", short=told)
        if self.longest > LONGEST:
            told = f"must be 1 to {LONGEST}"
            yield Problem(("longest",), f"longest = {self.longest} {told}", short=told)

    @property
    def answers(self) -> tuple[str, ...]:
        """What its results are about, by name, where the question itself says so."""
        if self.kind is QuestionKind.NUMBER:
            return ("mean",)
        return ("no", "yes") if self.kind is QuestionKind.YES_NO else self.options

    @property
    def moved(self) -> float:
        """How far one answer that changes moves what a trusted collector would count or add up.

        One count of a yes or no, two counts of a choice, a bin or a text, every count where several apply, and the sum
        of numbers by the width of the range.
        """
        if self.range is not None and self.show is NumberSummary.MEAN:
            return float(self.range[1] - self.range[0])
        return float({QuestionKind.YES_NO: 1, QuestionKind.SEVERAL: len(self.options)}.get(self.kind, 2))

    def encoded(self, answer: Any) -> Any:
        """An answer as the protocol computes with it; anything that is no answer to this question is an `InputError`.

        A yes or no is True or False, a choice its text, several a list of texts, a number a number, a text a text.
        """
        kinds, words = ANSWERS[self.kind]
        if not isinstance(answer, kinds) or (isinstance(answer, bool) and self.kind is QuestionKind.NUMBER):
            raise InputError(f"the answer must be {words}")
        if self.kind is QuestionKind.CHOICE:
            return self._place(answer)
        if self.kind is QuestionKind.SEVERAL:
            return sum({1 << self._place(each) for each in answer})
        if self.range is not None:
            low, high = self.range
            if not low <= answer <= high:  # NaN is in no range
                raise InputError("the answer must lie in the range")
            return min(max(float(answer), float(low)), float(high))
        return int(answer) if self.kind is QuestionKind.YES_NO else answer

    def _place(self, option: Any) -> int:
        if option not in self.options:
            raise InputError(f"the answer must be one of the {len(self.options)} options, as text")
        return self.options.index(option)


ANSWERS: Mapping[QuestionKind, tuple[Any, str]] = {
    QuestionKind.YES_NO: (bool, "True or False"),
    QuestionKind.CHOICE: (object, "an option"),
    QuestionKind.SEVERAL: (list | tuple | set | frozenset, "a list of options, which may be empty"),
    QuestionKind.NUMBER: (int | float | Fraction, "a number"),
    QuestionKind.TEXT: (str, "text"),
}
FUNCTIONS = 256  # of texts; few, so that a tally stays small


def protocol_for(question: Question, epsilon: Fraction) -> Protocol:
    """The protocol for this question at this ε; a `PolicyError` where there is none."""
    try:
        return _protocol(question, epsilon)
    except InputError as error:
        raise PolicyError(f"the question {question.ask!r} cannot be answered so: {error}") from None


def _protocol(question: Question, epsilon: Fraction) -> Protocol:
    if question.kind is QuestionKind.SEVERAL:
        return SeveralResponse(epsilon=epsilon, options=len(question.options))
    if question.kind is QuestionKind.TEXT:
        return PrefixText(epsilon=epsilon, longest=question.longest, functions=FUNCTIONS)
    if question.range is not None:
        low, high = question.range
        if question.show is NumberSummary.DISTRIBUTION:
            return SquareWave(epsilon=epsilon, low=low, high=high, bins=question.bins)
        return OneBitMean(epsilon=epsilon, low=low, high=high)
    return choose(categories=max(2, len(question.options)), epsilon=epsilon).protocol
