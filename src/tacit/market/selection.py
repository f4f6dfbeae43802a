"""Selection games in which the truth is the best report, whatever others do (Nissim, Smorodinsky and Tennenholtz 2012).

With a declared chance an option is drawn uniformly, and everybody has to use it as is best for the type they reported:
a false type loses there. Otherwise one option is chosen privately, by which a false type gains little, and everybody
uses it as they like. Statement and proofs: docs/theory/market.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import atanh, expm1, inf, log1p
from typing import Any

import numpy as np

from tacit.base import InputError, between, cached_property, positive
from tacit.base.number import Number, Ratio, default, frozen
from tacit.loss import Pure
from tacit.market.choice import Choosing
from tacit.market.sale import Sale, Tell, numbers, sold
from tacit.noise import bernoulli, rng_or_default
from tacit.program import Program

__all__ = ["ImposingGap", "Selecting", "Truthful", "line_utility", "select"]

MOST_CELLS = 1_000_000
ROUNDED = 2.0**-48  # far more than a mean of numbers below 1 is rounded by


@frozen
class ImposingGap:
    """How much a false type loses on average, where an option at random is imposed on whoever reported it.

    `utility[t, s, r]`, in [0, 1], is what type t gets from option s if it reacts by r. Imposed is the reaction that is
    best for the type that was reported; left alone, everybody reacts as is best for the type they have.
    """

    utility: Any

    @cached_property
    def array(self) -> Any:
        given = np.asarray(self.utility, dtype=np.float64)
        if given.ndim != 3 or given.shape[0] < 2 or not given.size or not np.isfinite(given).all():
            raise InputError("utility is needed for each of two or more types, each option and each reaction")
        if given.size > MOST_CELLS:
            raise InputError(f"types times options times reactions must be at most {MOST_CELLS:,}, not {given.size:,}")
        if given.min() < 0 or given.max() > 1:
            raise InputError("utility must be from 0 to 1: divide by the largest")
        return given

    @cached_property
    def reactions(self) -> Any:
        """The best reaction of each type to each option."""
        return self.array.argmax(axis=2)

    @cached_property
    def imposed(self) -> Any:
        """What each type gets of each option, if it has to react as is best for each type: type, told type, option."""
        types, options, _ = self.array.shape
        return self.array[np.arange(types)[:, None, None], np.arange(options)[None, None], self.reactions[None]]

    @cached_property
    def gap(self) -> float:
        """The least loss of any type by any other report."""
        means = self.imposed.mean(axis=2)
        lost = np.diag(means)[:, None] - means
        np.fill_diagonal(lost, inf)
        least = float(lost.min()) - ROUNDED
        if least <= 0:
            raise InputError("two types react alike to every option: nothing can be imposed that tells them apart")
        return least


@frozen
class Truthful:
    """With chance `share` an option at random with its use imposed, else any ε-private choice: nobody gains by a lie.

    For that share·gap ≥ (1 − share)(e^ε − 1): what a lie may gain of the private choice, it loses where imposed.
    """

    gap: Ratio
    epsilon: Ratio
    share: Ratio = default(None)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "gap", positive(self.gap, "gap", toward="down"))
        put(self, "epsilon", positive(self.epsilon, "epsilon"))
        put(self, "share", _share(self.share, self.gap, expm1(float(self.epsilon)), self.dominant))

    def dominant(self, share: Fraction) -> float:
        """The largest ε at which the truth is a dominant strategy with this share."""
        return log1p(float(share * self.gap / (1 - share))) * (1 - 1e-12)

    @property
    def cost(self) -> float:
        """Of the welfare, in [0, 1] a person, at most this share is given up by imposing."""
        return float(self.share or 0)


def _share(given: Any, gap: Fraction, gain: float, dominant: Any) -> Fraction:
    """The chance of imposing: the least at which a lie that gains so much elsewhere gains nothing, or the given one."""
    most = Fraction(gain) * (1 + Fraction(1, 10**12))
    needed = most / (most + gap)
    if given is None:
        return Fraction(-(-needed * 10**9 // 1), 10**9)
    found = between(given, "share", 0, 1, toward="decimal")
    if found < needed:
        raise InputError(f"share must be at least {float(needed):.6g} for this ε, or ε at most {dominant(found):.4g}")
    return found


@frozen
class Selecting:
    """A plan: `utility[t, s, r]` from 0 to 1 is what a person of type t gets of option s if it reacts by r. A report is
    the number of a type.

    The private choice moves all odds between e^(−t) and e^(ε−t), so a lie gains at most tanh(ε/4) of it. Therefore a
    smaller `share` is enough than for any ε-private choice, and that is what is taken.
    """

    utility: Any
    epsilon: Ratio
    share: Ratio = default(None)
    unit: str = "agent"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        put(self, "utility", self.imposing.array.tolist())
        put(self, "share", _share(self.share, Fraction(self.imposing.gap), self.choosing.gain, self.dominant))

    @cached_property
    def imposing(self) -> ImposingGap:
        return ImposingGap(utility=self.utility)

    @cached_property
    def choosing(self) -> Choosing:
        return Choosing(options=self.imposing.array.shape[1], largest=1, epsilon=self.epsilon, unit=self.unit)

    @cached_property
    def costs(self) -> Any:
        """What each type lacks of 1 at each option; of nobody nothing, in the last row."""
        types = 1 - self.imposing.array.max(axis=2)
        return np.vstack([types, np.zeros(types.shape[1])])

    def dominant(self, share: Fraction) -> float:
        """The largest ε at which the truth is a dominant strategy with this share."""
        lost = float(share * Fraction(self.imposing.gap) / (1 - share)) if share < 1 else inf
        return 4 * atanh(lost) * (1 - 1e-12) if lost < 1 else inf

    @property
    def loss(self) -> Pure:
        return self.choosing.loss

    def program(self, table: str | None = None) -> Program:
        whole = self.choosing.program(table)
        spelled = [[list(map(repr, row)) for row in rows] for rows in self.utility]
        about = {"market": "select", "utility": spelled, "share": str(self.share)}
        return replace(whole, query=about)

    @property
    def truth(self) -> str:
        chance = float(self.share)
        return f"no lie gains anything, whatever others report; the use is imposed with a chance of {chance:.3g}"

    @property
    def absent(self) -> Any:
        return None

    def read(self, reports: Any) -> Any:
        """The type of each person; −1 for whoever reports None."""
        types = len(self.costs) - 1
        words = f"reports must be types, each a whole number from 0 to {types - 1}"
        given = numbers(reports, words)
        if given.ndim != 1 or not (np.isnan(given) | np.isin(given, np.arange(types))).all():
            raise InputError(words)
        return np.nan_to_num(given, nan=-1).astype(np.int64)

    def play(self, reports: Any, tell: Tell) -> dict[str, Any]:
        rng = rng_or_default(None)
        imposed = bernoulli(self.share, rng)
        option = rng.below(self.choosing.options) if imposed else self.choosing.draw(self.costs[reports])
        return {"imposed": imposed, "option": option}

    def advice(self, outcome: Mapping[str, Any], report: Any, agent: int) -> dict[str, Any]:
        """The reaction that is best for the type that was reported, which one has to take where it is imposed."""
        reaction = None if report < 0 else int(self.imposing.reactions[int(report), outcome["option"]])
        return {**outcome, "reaction": reaction}

    # --- for the eyes of whoever holds the reports

    def law(self, reports: Any) -> Any:
        """The chance of each option imposed, and of each one chosen."""
        options, share = self.choosing.options, float(self.share)
        chosen = self.choosing.law(self.costs[self.read(reports)])
        return np.array([np.full(options, share / options), (1 - share) * chosen])

    def expected_utility(self, reports: Any, agent: int, true: int) -> float:
        """What an agent of the type `true` expects of these reports, its own among them."""
        forced, free = self.law(reports)
        told = int(self.read(reports)[agent])
        kept = self.imposing.imposed[true, told] if told >= 0 else self.imposing.array[true].max(axis=1)
        return float(forced @ kept + free @ self.imposing.array[true].max(axis=1))

    def largest_gain(self, reports: Any, agent: int) -> float:
        """The most that an agent to whom its reported type is true gains by any other. Exact, over all lies."""
        given = list(reports)
        true, told = given[agent], []
        for lie in range(len(self.costs) - 1):
            given[agent] = lie
            told.append(self.expected_utility(given, agent, true))
        return float(max(told) - told[true])


def line_utility(points: int, count: int = 2) -> Any:
    """So many places on a line of evenly spread points, of which one goes to the nearest: 1 less the distance. Types
    are points, options all lists of places, reactions which of them one goes to."""
    at = np.arange(points) / max(points - 1, 1)
    chosen = np.array(list(product(range(points), repeat=count)))
    return 1 - np.abs(at[:, None, None] - at[chosen][None])


def select(
    types: Sequence[int | None],
    utility: Any,
    *,
    epsilon: Number,
    share: Any = None,
    session: Any = None,
    table: str | None = None,
    unit: str = "agent",
) -> Sale:
    """One option for all, drawn so that nobody gains by reporting another type than their own."""
    plan = Selecting(utility=utility, epsilon=epsilon, share=share, unit=unit)
    return sold(plan, types, session=session, table=table)
