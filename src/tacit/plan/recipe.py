"""How an aggregate is made of noisy measures: post-processing, as data."""

from dataclasses import dataclass, field
from fractions import Fraction

from tacit.plan.node import UNSAID

__all__ = ["Recipe"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The aggregate `name` is `function` of noisy measures, in the part of the plan numbered `part`.

    A moment measure of x is in steps of `step`, so many that `half` of them are half of x's range: rows count `half`
    each, and values are taken from `middle`. So avg = middle + step·half·(first/count), and so on.
    """

    name: str
    function: str
    part: int = 0
    inputs: tuple[str, ...] = ()
    step: Fraction = Fraction(1)
    half: int = 1
    middle: Fraction = Fraction(0)
    other_step: Fraction = Fraction(1)  # of the second argument of a covariance
    other_middle: Fraction = Fraction(0)
    low: Fraction | None = None  # the answer is within these, whatever the noise says
    high: Fraction | None = None
    fraction: Fraction | None = None  # of a quantile
    top: int | None = None  # of a mode
    discrete: bool = False
    whole: bool = False  # the truth is a whole number
    text: str = ""  # in the one form that aggregates of the same meaning have
    asked: str = field(default="", metadata=UNSAID)  # as the analyst wrote it
