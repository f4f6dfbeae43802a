"""Which protocol to ask a question with: the least error for its answers and ε, and then the shortest report."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from tacit.base import InputError, Number, positive, show, whole
from tacit.survey.bits import OptimizedUnary, SubsetSelection, SymmetricUnary
from tacit.survey.direct import DirectResponse, HadamardResponse
from tacit.survey.frequency import LISTED, Frequency
from tacit.survey.local_hashing import LocalHashing

__all__ = ["Candidate", "Choice", "choose"]

# simplest first: of two as good, the first is taken
KINDS: tuple[Callable[..., Frequency], ...] = (
    DirectResponse,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    OptimizedUnary,
    SymmetricUnary,
)
AS_GOOD = Fraction(102, 100)  # 2 % more in T is 1 % more in error bars, which is not worth a longer report


@dataclass(frozen=True)
class Candidate:
    """A protocol that could ask the question."""

    protocol: Frequency

    @property
    def name(self) -> str:
        return self.protocol.kind.replace("_", " ")

    @property
    def total_error(self) -> float:
        return self.protocol.total_error

    @property
    def report_bytes(self) -> int:
        return self.protocol.dtype.itemsize


@dataclass(frozen=True)
class Choice(Candidate):
    """The protocol to ask with, why in words, and everything it was compared with, best error first."""

    why: str
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        best = self.candidates[0].total_error
        lines = [self.why, f"{'protocol':18}{'total error T':>16}{'of the best':>13}{'report':>14}"]
        for each in self.candidates:
            mark = " ←" if each.protocol == self.protocol else ""
            size = f"{each.report_bytes} byte" + "s" * (each.report_bytes != 1)
            lines.append(f"{each.name:18}{each.total_error:16,.2f}{each.total_error / best:12.2f}×{size:>14}{mark}")
        return "\n".join(lines)


def choose(*, categories: int, epsilon: Number, most_bytes: int | None = None) -> Choice:
    """The protocol with the least T among those whose reports have at most `most_bytes` bytes.

    T = [p(1 − p) + (k − 1)q(1 − q)]/(p − q)², n times the summed variance of all shares. Within 2 % of the least T the
    shortest report wins.
    """
    k, budget = whole(categories, "categories", least=2), positive(epsilon, "epsilon", toward="decimal")
    if k > LISTED:
        raise InputError(f"categories must be at most {LISTED}: ask for text to find the common ones among more")
    limit = None if most_bytes is None else whole(most_bytes, "most_bytes", least=1)
    found = sorted(_candidates(k, budget), key=lambda each: each.total_error)  # a stable sort keeps the simplest first
    fitting = [each for each in found if limit is None or each.report_bytes <= limit]
    if not fitting:
        least = min(each.report_bytes for each in found)
        raise InputError(f"no report on {k} answers has at most {limit} bytes: allow most_bytes={least} or more")
    as_good = [each for each in fitting if each.total_error <= float(AS_GOOD) * fitting[0].total_error]
    taken = min(as_good, key=lambda each: each.report_bytes)
    return Choice(taken.protocol, _why(taken, fitting[0], found[0], k, budget, limit), tuple(found))


def _candidates(categories: int, epsilon: Fraction) -> list[Candidate]:
    made = []
    for kind in KINDS:
        with suppress(InputError):  # too many answers for this one
            made.append(Candidate(kind(epsilon=epsilon, categories=categories)))
    if not made:
        raise InputError(f"no protocol reports on {categories} answers at epsilon {show(epsilon)}: choose a larger one")
    return made


def _why(
    taken: Candidate, best: Candidate, first: Candidate, categories: int, epsilon: Fraction, limit: int | None
) -> str:
    question = f"{categories:,} answers at ε = {show(epsilon)}"
    if taken is best:
        words = f"{taken.name} has the least error for {question}"
        words += f" in at most {limit} bytes" if first is not best else ""
    else:
        more = taken.total_error / best.total_error - 1
        words = (
            f"for {question} {taken.name} is within {more:.1%} of the least error, {best.name}'s, "
            f"and its reports have {taken.report_bytes} instead of {best.report_bytes} bytes"
        )
    if first is not best:
        words += f"; {first.name} would err {1 - (first.total_error / taken.total_error) ** 0.5:.0%} less "
        words += f"with reports of {first.report_bytes} bytes"
    return words
