"""Which protocol answers a question: the one with the least error for its answers and its ε that a browser knows."""

from fractions import Fraction

from tacit.base import InputError, PolicyError
from tacit.survey.choose import choose
from tacit.survey.one_bit_mean import OneBitMean
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol
from tacit.survey.question import Asked, Question, Shown
from tacit.survey.several import SeveralResponse
from tacit.survey.square_wave import SquareWave

__all__ = ["protocol_for"]

FUNCTIONS = 256  # of texts; few, so that a tally stays small


def protocol_for(question: Question, epsilon: Fraction) -> Protocol:
    """The protocol for this question at this ε; a `PolicyError` where there is none."""
    try:
        return _protocol(question, epsilon)
    except InputError as error:
        raise PolicyError(f"the question {question.ask!r} cannot be answered so: {error}") from None


def _protocol(question: Question, epsilon: Fraction) -> Protocol:
    if question.kind is Asked.SEVERAL:
        return SeveralResponse(epsilon=epsilon, options=len(question.options))
    if question.kind is Asked.TEXT:
        return PrefixText(epsilon=epsilon, longest=question.longest, functions=FUNCTIONS)
    if question.range is not None:
        low, high = question.range
        if question.show is Shown.DISTRIBUTION:
            return SquareWave(epsilon=epsilon, low=low, high=high, bins=question.bins)
        return OneBitMean(epsilon=epsilon, low=low, high=high)
    return choose(categories=max(2, len(question.options)), epsilon=epsilon).protocol
