"""Sparse vector: any number of questions "is it above the threshold?", of which only the first c yeses are paid for."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb, exp
from threading import Lock
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from tacit.base import ExhaustedError, InputError, Lattice, LossError, RandomnessError, Relation, Sensitivity, Size
from tacit.base.number import Number, OptionalRatio, Ratio, between, default, frozen, positive, whole
from tacit.loss import Loss, Pure
from tacit.mechanism.additive import least_whole
from tacit.mechanism.laplace import Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.noise import Rng, discrete_laplace, rng_or_default

__all__ = ["Answer", "SparseRun", "SparseVector"]

Answer = bool | int | float | None
Floats = np.ndarray[Any, np.dtype[np.float64]]

LISTED = 1_000_000  # outputs a pmf may list
SUMMED = 1_000_000_000  # terms a pmf may sum
SMALLEST = 1e-300
REACH = 745  # exp(−REACH) is the smallest double: a pmf needs no threshold noise beyond so many scales
BLOCKS = 512  # the accuracy statement sums over the threshold noise in about so many blocks a scale


@frozen
class SparseVector(Mechanism):
    """AboveThreshold with `answers` = c positive answers, on the integers of a lattice.

    Noise of `threshold_scale` is drawn once and added to the threshold, fresh noise of `query_scale` to every query;
    the answer is yes when noisy query ≥ noisy threshold, and after c yeses it stops. With `numeric_scale` a yes comes
    as the query's value under fresh noise of that scale, and a no as `None`. All noise is discrete Laplace.

    Guarantee, when one unit moves each query by at most Δ: pure ε = Δ/threshold_scale + 2cΔ/query_scale, and
    cΔ/numeric_scale more with numbers, however many questions are answered no. If `monotone`, that is if between any
    two neighbours all queries move the same way, cΔ/query_scale takes the place of 2cΔ/query_scale. Queries may be
    chosen from earlier answers (Lyu, Su and Li 2017, Algorithm 7, Theorems 4 and 5).
    """

    theory: ClassVar[str] = "sparse-vector"

    threshold_scale: Ratio
    query_scale: Ratio
    answers: int
    numeric_scale: OptionalRatio = default(None)
    monotone: bool = False
    granularity: Ratio = default(Fraction(1))

    def __post_init__(self) -> None:
        for name in ("threshold_scale", "query_scale", "granularity"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        object.__setattr__(self, "answers", whole(self.answers, "answers", least=1))
        if self.numeric_scale is not None:
            object.__setattr__(self, "numeric_scale", positive(self.numeric_scale, "numeric_scale"))
        if not isinstance(self.monotone, bool):
            raise InputError(f"monotone must be True or False, not {self.monotone!r}")

    @property
    def lattice(self) -> Lattice:
        return Lattice(self.granularity)

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
        """The price of the whole run; `sensitivity` is how far one unit moves any single query."""
        move = Sensitivity.of(sensitivity, "linf").require("linf")
        bound = 1 / self.threshold_scale + self._sides * self.answers / self.query_scale
        if self.numeric_scale is not None:
            bound += self.answers / self.numeric_scale
        return Pure(move * bound, relation=relation, unit=unit)

    @classmethod
    def from_loss(
        cls,
        loss: Loss,
        *,
        sensitivity: Size = None,
        answers: int,
        monotone: bool = False,
        numeric_share: Number | None = None,
        granularity: Number = 1,
    ) -> Self:
        """Noise for the pure guarantee `loss`, spent exactly.

        A part `numeric_share` of ε goes to the numbers. What is left is split between threshold and queries as
        1 : (2c)^(2/3), or 1 : c^(2/3) if monotone, which minimises the variance of the comparison (Lyu, Su and Li
        2017). Any split keeps the guarantee, so the cube root may be rounded.
        """
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("sparse vector reaches a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        move = positive(Sensitivity.of(sensitivity, "linf").require("linf"), "sensitivity")
        count = whole(answers, "answers", least=1)
        share = Fraction(0) if numeric_share is None else between(numeric_share, "numeric_share", 0, 1)
        sides = count if monotone else 2 * count
        weight = Fraction(float(sides) ** (2 / 3)).limit_denominator(1000)
        rest = loss.bound * (1 - share)
        return cls(
            threshold_scale=move * (1 + weight) / rest,
            query_scale=sides * move * (1 + weight) / (rest * weight),
            answers=count,
            numeric_scale=count * move / (loss.bound * share) if share else None,
            monotone=monotone,
            granularity=positive(granularity, "granularity"),
        )

    def start(self, threshold: Number = 0, rng: Rng | None = None) -> "SparseRun":
        """An interactive run against a public `threshold`. It costs `loss` once, whatever is asked."""
        return SparseRun(self, self._steps(threshold), rng_or_default(rng))

    def sample(self, value: Any, rng: Rng | None = None) -> tuple[Answer, ...]:
        """Answers to a fixed list of true query values, up to and including the last positive answer allowed.

        `value` is (threshold, values), or values alone, which are then compared with 0.
        """
        threshold, values = self._read(value)
        run = SparseRun(self, threshold, rng_or_default(rng))
        found: list[Answer] = []
        for steps in values:
            if not run.left:
                break
            found.append(run._ask(steps))
        return tuple(found)

    def error(self, confidence: Number = 0.95, *, queries: int) -> float:
        """α such that with probability ≥ confidence every answer to `queries` questions is right up to α.

        Right means: yes only to a query ≥ threshold − α, no only to one ≤ threshold + α, and numbers within α of the
        truth. Given the threshold noise ρ, one answer is wrong only if its noise exceeds α − |ρ| on one side, whatever
        was asked before, so all are right with probability at least E[F(α − |ρ|)^queries]. The sum over |ρ| is exact
        on a coarse lattice and taken blockwise, from below, on a fine one.
        """
        allowed = float(1 - between(confidence, "confidence", 0, 1))
        count = whole(queries, "queries", least=1)
        return float(least_whole(lambda steps: self._failure(steps, count) <= allowed) * self.granularity)

    def _failure(self, alpha: int, queries: int) -> float:
        """An upper bound on the probability that some answer is off by more than `alpha` steps."""
        rate, scale = float(self.granularity / self.threshold_scale), self.threshold_scale / self.granularity
        width = max(1, int(scale) // BLOCKS)
        starts = np.arange(0, int(45 * scale) + 2 * width, width)
        at_least = np.where(starts > 0, 2 * np.exp(-rate * starts) / (1 + exp(-rate)), 1.0)  # Pr[|ρ| ≥ start]
        mass, beyond = at_least[:-1] - at_least[1:], float(at_least[-1])
        room = np.asarray(alpha + 1.0 - starts[1:], dtype=np.float64)  # what the widest ρ of each block leaves
        wrong = -np.expm1(queries * _log_less(room + 1, float(self.granularity / self.query_scale)))
        failure = float((mass * wrong).sum()) + beyond
        if self.numeric_scale is not None:
            off = Laplace(scale=self.numeric_scale, granularity=self.granularity).tail(alpha)
            failure += self.answers * off
        return failure * (1 + 1e-9)

    def pmf(self, value: Any) -> Pmf:
        """Every tuple of answers: a sum over the threshold noise of products of tails, in logarithms."""
        threshold, values = self._read(value)
        reach = REACH * self.threshold_scale / self.granularity
        if reach > LISTED:
            raise LossError("pmf would sum over too many threshold noises: declare a coarser granularity to look at it")
        rate, query_rate = float(self.granularity / self.threshold_scale), float(self.granularity / self.query_scale)
        noise = np.arange(-int(reach), int(reach) + 1, dtype=float)
        start = np.log(np.tanh(rate / 2)) - rate * np.abs(noise)
        gaps = [(threshold - steps) + noise for steps in values]  # a query's noise must reach this for a yes
        less = [_log_less(gap, query_rate) for gap in gaps]
        patterns = sum(comb(len(values), yes) for yes in range(min(self.answers, len(values)) + 1))
        if patterns * len(noise) > SUMMED:
            raise LossError("pmf would list too many outputs: pass a shorter list of queries")
        found: Pmf = {}
        for flags, logs in self._branches((), start, less, [_log_least(gap, query_rate) for gap in gaps]):
            top = float(logs.max())
            total = exp(top) * float(np.exp(logs - top).sum())
            found.update(self._spelled(flags, total, values))
        return found

    def _branches(
        self, flags: tuple[bool, ...], logs: Floats, less: list[Floats], least: list[Floats]
    ) -> Iterator[tuple[tuple[bool, ...], Floats]]:
        if len(flags) == len(less) or sum(flags) == self.answers:
            yield flags, logs
            return
        yield from self._branches((*flags, False), logs + less[len(flags)], less, least)
        yield from self._branches((*flags, True), logs + least[len(flags)], less, least)

    def _spelled(self, flags: tuple[bool, ...], probability: float, values: list[int]) -> Pmf:
        """The outputs that a pattern of yes and no stands for: itself, or with numbers in place of yes."""
        if self.numeric_scale is None:
            return {flags: probability} if probability >= SMALLEST else {}
        noise = Laplace(scale=self.numeric_scale, granularity=self.granularity)
        outputs: dict[Any, float] = {(): probability}
        for flag, steps in zip(flags, values, strict=False):
            numbers: Any = noise.pmf(self.lattice.value(steps)) if flag else {None: 1.0}
            if len(outputs) * len(numbers) > LISTED:
                raise LossError("pmf would list too many outputs: ask for fewer numeric answers or a smaller scale")
            outputs = {(*o, n): p * q for o, p in outputs.items() for n, q in numbers.items() if p * q >= SMALLEST}
        return outputs

    @property
    def _sides(self) -> int:
        """A yes pays for the query's own move and, unless all queries move one way, for the threshold's against it."""
        return 1 if self.monotone else 2

    def _read(self, value: Any) -> tuple[int, list[int]]:
        if not isinstance(value, Sequence | np.ndarray):
            raise InputError("value must be (threshold, list of query values), or that list alone")
        pair = not isinstance(value, np.ndarray) and len(value) == 2 and isinstance(value[1], Sequence | np.ndarray)
        threshold, values = value if pair else (0, value)
        return self._steps(threshold), [self._steps(v) for v in values]

    def _steps(self, value: Any) -> int:
        steps = self.lattice.steps(value)
        if not isinstance(steps, int):
            raise InputError("each query and the threshold must be one number, not an array")
        return steps

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Far above the threshold, k queries are answered no and c far below them yes.

        The noes need a huge threshold noise, where its law is a pure exponential, and the yeses a huge query noise.
        With numbers, monotone neighbours cannot attain both parts of a yes at once: that claim is not tight.
        """
        found = []
        for c, monotone, numeric, move in (
            (1, False, None, 1),
            (2, False, None, 1),
            (3, True, None, 2),
            (1, True, None, 1),
            (1, False, Fraction(3), 1),
            (1, True, Fraction(3), 1),
        ):
            m = cls(
                threshold_scale=Fraction(3),
                query_scale=Fraction(5),
                answers=c,
                numeric_scale=numeric,
                monotone=monotone,
            )
            noes, high, low = c + 4, 40, -20
            left = (0, (high,) * noes + (low,) * c)
            right = (0, (high + move,) * noes + ((low,) if monotone else (low - move,)) * c)
            claim = m.loss(sensitivity=move)
            found.append(Example(m, left, right, claim, tight=not (monotone and numeric)))
        half = cls(threshold_scale=Fraction(1), query_scale=Fraction(2), answers=1, granularity=Fraction(1, 2))
        found.append(Example(half, (1, (15, 15, 15, 15, -5)), (1, (16, 16, 16, 16, -6)), half.loss(sensitivity=1)))
        # an ordinary run, where every noise matters and the worst case is far
        near = cls(threshold_scale=Fraction(2), query_scale=Fraction(3), answers=2)
        return [*found, Example(near, (0, (-2, 1, 0, 3)), (0, (-1, 0, 1, 2)), near.loss(sensitivity=1), tight=False)]


class SparseRun:
    """One run of sparse vector, holding its secret threshold. `ask` until `left` is 0."""

    __slots__ = ("_left", "_lock", "_mechanism", "_rng", "_threshold")

    def __init__(self, mechanism: SparseVector, threshold: int, rng: Rng) -> None:
        self._mechanism, self._rng, self._lock = mechanism, rng, Lock()
        self._left = mechanism.answers
        self._threshold = threshold + discrete_laplace(mechanism.threshold_scale / mechanism.granularity, rng)

    @property
    def left(self) -> int:
        """How many positive answers may still be given."""
        return self._left

    def ask(self, value: Number) -> Answer:
        """Whether the true query value `value` is above the threshold: True or False, or a noisy number or None.

        A noisy number may be 0, so a numeric answer is tested with `is None`.
        """
        return self._ask(self._mechanism._steps(value))

    def _ask(self, steps: int) -> Answer:
        m = self._mechanism
        with self._lock:  # two threads must not both take the last answer
            if not self._left:
                raise ExhaustedError(
                    f"all {m.answers} positive answers of this run have been given: start a new run and pay for it"
                )
            if steps + discrete_laplace(m.query_scale / m.granularity, self._rng) < self._threshold:
                return False if m.numeric_scale is None else None
            self._left -= 1
            if m.numeric_scale is None:
                return True
            # the noise of the comparison is known to have been large: the number gets noise of its own
            return m.lattice.value(steps + discrete_laplace(m.numeric_scale / m.granularity, self._rng))

    def __reduce__(self) -> NoReturn:
        raise RandomnessError("a running sparse vector cannot be copied or pickled: the copy would answer for free")

    def __repr__(self) -> str:
        return f"<SparseRun, {self._left} of {self._mechanism.answers} positive answers left>"


def _log_least(gap: Floats, rate: float) -> Floats:
    """log Pr[noise ≥ gap] for discrete Laplace noise: r^m/(1 + r) from 0 on, one minus the mirror image below."""
    above = -rate * np.maximum(gap, 0) - np.log1p(exp(-rate))
    return np.where(gap >= 0, above, np.log1p(-np.exp(-rate * np.maximum(1 - gap, 1)) / (1 + exp(-rate))))


def _log_less(gap: Floats, rate: float) -> Floats:
    """log Pr[noise < gap], by symmetry Pr[noise ≥ 1 − gap]."""
    return _log_least(1 - gap, rate)
