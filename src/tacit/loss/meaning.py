"""What a guarantee means for one person, in odds, beliefs and tests, and in one sentence.

- Odds: whatever someone knew before, seeing the release multiplies the odds of "in" against "out" by at most e^ε and at
  least e^−ε. With δ: the release is, except with probability δ, that of a mechanism for which this holds.
- Tests: whoever wrongly accuses a share α of the people outside catches at most a share
  min over ε of min(e^ε·α + δ(ε), 1 − e^−ε·(1 − δ(ε) − α)) of those inside (Wasserman and Zhou 2010;
  Kairouz, Oh and Viswanath 2015). Every ε gives a bound, so a search that stops early is only less sharp.
- Strong, moderate, weak and very weak are a rule of thumb, not a theorem, and are labelled so.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, inf, log10, tanh
from typing import Any

from tacit.base import Number, Relation, between, special, warn_of_delta
from tacit.loss.loss import Loss
from tacit.loss.pld import GDP, PLD, Approx, probability

__all__ = ["Meaning", "explain", "power"]

FALSE_POSITIVES = (0.01, 0.10)
STRENGTHS = ((1, "strong"), (2, "moderate"), (5, "weak"))


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """A guarantee in terms of what someone else can learn; every number is a bound.

    `odds` is e^ε, `posterior` where a belief of `prior` can end, `power` how many true members a membership test can
    find at 1 % and at 10 % false alarms. `overfit` bounds how much better any score in [0, 1] that is chosen from the
    release is, on average over samples, on the units themselves than on the population that they were drawn from
    independently (docs/theory/holdout.md); None where nothing is known. `strength` is a heuristic.
    """

    epsilon: float
    delta: float
    prior: float
    odds: float
    posterior: tuple[float, float]
    power: tuple[tuple[float, float], ...]
    overfit: float | None
    relation: Relation
    unit: str

    @property
    def strength(self) -> str:
        """A rule of thumb: ε ≤ 1 strong, up to 2 moderate, up to 5 weak, above very weak.

        A belief of 50 % can then end at 73 %, 88 %, 99.3 %, or beyond.
        """
        shown = self.epsilon * (1 - 1e-9)  # an upper bound a rounding above 1 is still a 1
        return next((word for most, word in STRENGTHS if shown <= most), "very weak")

    @property
    def sentence(self) -> str:
        """One sentence for someone who has never heard of ε."""
        low, high = self.posterior
        of = {
            Relation.ADD_REMOVE: f"one particular {self.unit} was in the data",
            Relation.REPLACE: f"one particular {self.unit} says one thing rather than another",
        }.get(self.relation, f"one thing rather than another is true of {self.relation.changes}")
        belief, rare = f"{self.prior * 100:.3g} %", self.delta
        but = f", except with a chance of one in {_grouped(1 / rare)}" if rare else ""
        if self.epsilon == inf:
            return f"Someone who thought it {belief} likely that {of} can become certain of it from this release."
        return (
            f"Someone who thought it {belief} likely that {of} will, after seeing this release, think it at least "
            f"{_percent(low, floor)} and at most {_percent(high, ceil)} likely{but}."
        )

    def __str__(self) -> str:
        odds = "without limit" if self.odds == inf else f"by a factor of at most {_up(self.odds)}"
        tests = [
            f"{share * 100:.0f} % false alarms finds at most {_percent(found, ceil)}" for share, found in self.power
        ]
        fitted = (
            ""
            if self.overfit is None
            else (
                f"Overfitting: a score from 0 to 1 chosen by this release is, on average, at most {_up(self.overfit)} "
                f"better on these {self.unit}s than on new ones, if they were drawn independently.\n"
            )
        )
        return (
            f"{self.sentence}\n"
            f"Odds move {odds}. A test for membership with {', one with '.join(tests)} of the true members.\n"
            f"{fitted}"
            f"Rule of thumb (a heuristic, not a theorem): epsilon = {_up(self.epsilon)} is {self.strength} protection."
        )

    def json(self) -> dict[str, Any]:
        """Plain data; an unlimited number is null."""
        return {
            "epsilon": None if self.epsilon == inf else self.epsilon,
            "delta": self.delta,
            "relation": self.relation.value,
            "unit": self.unit,
            "odds_factor": None if self.odds == inf else self.odds,
            "prior": self.prior,
            "posterior": {"lower": self.posterior[0], "upper": self.posterior[1]},
            "membership_power": [{"false_positives": share, "at_most": found} for share, found in self.power],
            "overfit_at_most": self.overfit,
            "heuristic_strength": self.strength,
            "sentence": self.sentence,
        }


def explain(loss: Loss, prior: Number = 0.5, delta: Number = 1e-6, population: int | None = None) -> Meaning:
    """What this loss means for one unit, stated at `delta` for someone who believed `prior` beforehand.

    Where a pure ε is within 0.1 % of the ε at `delta`, that is stated instead, with no exception.

    `population` is how many units there are, if that is known: a δ of 1/population or more lets a mechanism publish
    someone's data in the open, which deserves a warning.
    """
    belief, chosen = float(between(prior, "prior", 0, 1)), probability(delta)
    if population is not None:
        warn_of_delta(chosen, population, loss.unit)
    curve = _Looked(loss)
    epsilon = curve.epsilon(chosen)
    if curve.pure <= 1.001 * epsilon:  # as good without the exception, and simpler
        epsilon, chosen = curve.pure, Fraction(0)
    start = float(special.logit(belief))
    return Meaning(
        epsilon=epsilon,
        delta=float(chosen),
        prior=belief,
        odds=exp(epsilon) * (1 + 1e-15) if epsilon < 709 else inf,
        posterior=(
            max(0.0, float(special.expit(start - epsilon)) * (1 - 1e-14)),
            min(1.0, float(special.expit(start + epsilon)) * (1 + 1e-14)),
        ),
        power=tuple((share, _power(curve, share)) for share in FALSE_POSITIVES),
        overfit=_overfit(curve),
        **loss.neighbours,
    )


def power(loss: Loss, false_positives: float) -> float:
    """The largest share of members that any test with this share of false alarms can find, from above."""
    return _power(_Looked(loss), float(between(false_positives, "false_positives", 0, 1)))


class _Looked:
    """A curve with what was read off it so far; every reading is an upper bound, if a rough one."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.deltas: dict[float, float] = {}
        self.pure = self.epsilon(0.0)
        if isinstance(loss, Approx) and loss.bound < 700:
            self.deltas[float(loss.bound) * (1 + 1e-15)] = float(loss.slack)  # where the curve has its corner
        self.last = next((e for e in map(self.epsilon, (1e-4, 1e-2, 0.1, 0.5)) if e < 700), 0.0)
        self.steps = 256 if isinstance(loss, GDP) or not isinstance(loss, PLD) else 16

    def epsilon(self, delta: Number) -> float:
        return self.loss.epsilon(delta, accuracy=1e-3).upper

    def delta(self, epsilon: float) -> float:
        if epsilon not in self.deltas:
            self.deltas[epsilon] = self.loss.delta(epsilon, accuracy=1e-2).upper
        return self.deltas[epsilon]


def _power(curve: _Looked, alpha: float) -> float:
    def few(epsilon: float) -> float:
        return exp(epsilon) * alpha + curve.delta(epsilon)

    def many(epsilon: float) -> float:
        return 1 - exp(-epsilon) * (1 - curve.delta(epsilon) - alpha)

    best = min([1.0, *(bound(corner) for corner in list(curve.deltas) for bound in (few, many))])
    for bound in (few, many):  # convex in e^ε and in e^−ε, so a ternary search over a grid finds about the least
        low, high, step = 0, curve.steps, curve.last / curve.steps
        while high - low > 2:
            a, b = low + (high - low) // 3, high - (high - low) // 3
            low, high = (low, b) if bound(step * a) <= bound(step * b) else (a, high)
        best = min(best, *(bound(step * k) for k in range(low, high + 1)))
    return min(1.0, best * (1 + 1e-12) + 1e-15)


def _overfit(curve: _Looked) -> float | None:
    """The largest total variation between neighbours that differ in one replaced unit, from above."""
    relation = curve.loss.relation
    if relation is Relation.REPLACE:
        return min(1.0, curve.delta(0.0))
    if relation is not Relation.ADD_REMOVE:
        return None
    readings = [(curve.pure, 0.0), *((curve.last * k / 16, curve.delta(curve.last * k / 16)) for k in range(17))]
    best = 1.0
    for epsilon, delta in readings:
        if epsilon < 300:  # two steps of (ε, δ) are one of (2ε, (1 + e^ε)·δ)
            best = min(best, tanh(epsilon) + 2 * (1 + exp(epsilon)) * delta / (1 + exp(2 * epsilon)))
    return min(1.0, best * (1 + 1e-12))


def _percent(share: float, toward: Any) -> str:
    """A percentage rounded outward, with more digits near 0 and near 100 so that it does not become either."""
    if share <= 0 or share >= 1:
        return "0 %" if share <= 0 else "100 %"
    digits = min(3, max(0, ceil(-log10(min(share, 1 - share))) - 1))
    value = toward(round(share * 100 * 10**digits, 6)) / 10**digits
    return f"{value:.{digits}f} %" if 0 < value < 100 else ("0 %" if value <= 0 else "100 %")


def _up(number: float) -> str:
    """Three significant digits, rounded up."""
    if number in (0, inf):
        return str(number)
    digits = 2 - floor(log10(number * (1 + 1e-9)))
    shown = ceil(round(number * 10.0**digits, 6)) / 10.0**digits
    return f"{shown:.{max(0, digits)}f}" if 1e-4 < shown < 1e6 else f"{shown:.3g}"


def _grouped(number: float) -> str:
    return f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"
