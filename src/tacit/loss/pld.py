"""Losses with dominating pairs: any mix of mechanisms, and the closed forms where all are of one kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from math import expm1, inf, log1p
from operator import add

from tacit.base import InputError, LossError, Relation, RelationError, same_neighbours
from tacit.base.number import Number, between, exact, non_negative, positive, show, whole
from tacit.loss.compose import Composition
from tacit.loss.gauss import gaussian_delta, gaussian_epsilon
from tacit.loss.loss import ACCURACY, Interval, Loss
from tacit.loss.part import Normal, Part, ResponsePart
from tacit.loss.sampling import Poisson, PoissonReplace, WithoutReplacement
from tacit.loss.source import Terms

__all__ = ["GDP", "PLD", "Approx", "Pure", "composed", "directions", "probability", "total_if_known"]

Parts = tuple[tuple[Part, int], ...]

TINY = Fraction(1, 10**290)  # a δ below this is beyond the doubles that the curve is computed in


def probability(delta: Number) -> Fraction:
    """δ as an exact rational in [0, 1)."""
    value = exact(delta, "delta", toward="decimal")
    if not 0 <= value < 1:
        raise InputError(f"delta must lie in [0, 1), not {show(value)}")
    return value


def total_if_known(values: Sequence[Fraction | None]) -> Fraction | None:
    """The sum, if every one is known."""
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) if len(known) == len(values) else None


@dataclass(frozen=True, init=False)
class PLD(Loss):
    """The privacy loss of a list of mechanisms with fixed parameters, by their dominating pairs.

    `parts` holds each kind of mechanism with its count. Answers come with a lower and an upper bound, both rigorous,
    `accuracy` (relatively) apart where the grid allows.
    """

    parts: Parts

    def __init__(self, parts: Parts, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> None:
        super().__init__(relation=relation, unit=unit)
        odd = [part.kind for part, _ in parts if part.replace_only and self.relation is not Relation.REPLACE]
        if odd:
            raise RelationError(f"the loss of {odd[0]} holds for a unit that is replaced only: say relation='replace'")
        counts: dict[Part, int] = {}
        for part, count in parts:
            counts[part] = counts.get(part, 0) + count
        normal = sum((count * part.square for part, count in counts.items() if isinstance(part, Normal)), Fraction(0))
        merged = {part: count for part, count in counts.items() if not isinstance(part, Normal)}
        if normal:
            merged[Normal(normal)] = 1  # Gaussians compose in closed form
        object.__setattr__(self, "parts", tuple(sorted(merged.items(), key=repr)))

    @staticmethod
    def of(parts: Parts, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> "PLD":
        """The narrowest kind that describes all the parts."""
        moved = tuple((part, count) for part, count in parts if not isinstance(part, Normal) or part.square)
        parts = moved or ((ResponsePart(Fraction(0)), 1),)  # where nothing moves, nothing is lost
        kind: type[PLD] = PLD
        if all(part.bound is not None for part, _ in parts):
            kind = Approx if any(part.slack for part, _ in parts) else Pure
        elif all(isinstance(part, Normal) for part, _ in parts):
            kind = GDP
        loss = kind.__new__(kind)
        PLD.__init__(loss, parts, relation=relation, unit=unit)
        return loss

    @property
    def bound(self) -> Fraction:
        """Σε: what holds with probability 1 − slack."""
        bounds = [(part.bound, count) for part, count in self.parts]
        known = [bound * count for bound, count in bounds if bound is not None]
        if len(known) < len(bounds):
            raise LossError("a part of this loss has no pure epsilon: ask for epsilon(delta) with delta > 0")
        return sum(known, Fraction(0))

    @property
    def slack(self) -> Fraction:
        """Σδ beside `bound`."""
        return sum((part.slack * count for part, count in self.parts), Fraction(0))

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        """Bounds on the least ε ≥ 0 for which the whole is (ε, δ)-DP."""
        target, width = probability(delta), _width(accuracy)
        leaks = [(float(part.slack), count) for part, count in self.parts if part.slack]
        single = sum(count for _, count in leaks) <= 1
        if (single and target == self.slack) or (target < TINY and not leaks):  # nothing is left for the curve
            if all(part.bound is not None for part, _ in self.parts):
                low = sum((count * (part.reached or 0) for part, count in self.parts), Fraction(0))
                return Interval.around(float(self.bound), lower=float(low)) if self.bound else Interval(0.0, 0.0)
            return Interval(inf, inf)
        # a breach in any part is a breach: 1 − Π(1 − δ)
        if float(target) <= -expm1(sum(count * log1p(-leak) for leak, count in leaks)) * (1 + 1e-12):
            return Interval(inf, inf)
        if (gaussian := self._gaussian_but_leaks()) is not None:
            loss, least, most = gaussian
            first, last = (float(target) - least) / (1 - most), float(target) - most
            upper = loss.epsilon(last).upper if last > 0 else inf
            return Interval(loss.epsilon(min(first, 1 - 1e-16)).lower, upper)
        return self._honest(_epsilon(self.parts, float(target), width))

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        """Bounds on the least δ for which the whole is (ε, δ)-DP."""
        at = non_negative(epsilon, "epsilon", toward="down")
        if all(part.bound is not None for part, _ in self.parts) and at >= self.bound and not self.slack:
            return Interval(0.0, 0.0)
        if (gaussian := self._gaussian_but_leaks()) is not None:
            loss, low, high = gaussian
            found = loss.delta(at)
            return Interval(low + (1 - high) * found.lower, min(1.0, (high + found.upper) * (1 + 1e-15)))
        return self._honest(_delta(self.parts, float(at), _width(accuracy)))

    def _gaussian_but_leaks(self) -> "tuple[GDP, float, float] | None":
        """Where all else is a leak of some probability that happens whoever is there, the Gaussian that is left, in
        closed form, and bounds on that probability: δ(ε) is a + (1 − a) times the Gaussian's."""
        normal = [part for part, _ in self.parts if isinstance(part, Normal)]
        leaks = [(part, count) for part, count in self.parts if isinstance(part, ResponsePart) and not part.epsilon]
        if len(normal) != 1 or not leaks or len(leaks) + 1 < len(self.parts):
            return None
        loss = GDP.__new__(GDP)
        PLD.__init__(loss, ((normal[0], 1),), **self.neighbours)
        low = -expm1(sum(count * log1p(-float(part.delta)) for part, count in leaks)) * (1 - 1e-12)
        return loss, low, float(self.slack) * (1 + 1e-12)

    def curve(self, epsilons: Sequence[Number], *, accuracy: float = ACCURACY) -> list[Interval]:
        """Upper bounds only, unless all parts have an ε of their own: then it is as quick point by point."""
        if all(part.bound is not None for part, _ in self.parts):
            return super().curve(epsilons, accuracy=accuracy)
        places = [float(non_negative(epsilon, "epsilon", toward="down")) for epsilon in epsilons]
        width = _width(accuracy)
        bounds: list[list[float]] = []
        for terms in directions(self.parts):
            floor = width * min(bounds[0]) if bounds else 0.0  # the larger direction counts
            bounds.append(Composition(terms, width).above(places, floor))
        return [Interval(0.0, max(point)) for point in zip(*bounds, strict=True)]

    def _honest(self, found: Interval) -> Interval:
        """A pair that only dominates says nothing from below."""
        return found if all(part.attained for part, _ in self.parts) else Interval(0.0, found.upper)

    def grouped(self, size: int) -> "PLD":
        k = whole(size, "size", least=1)
        return PLD.of(tuple((part.grouped(k), count) for part, count in self.parts), **self.neighbours)

    def sampled(self, rate: Number, *, clipped: bool = False) -> "PLD":
        """The loss when each unit takes part with probability `rate`.

        Under add/remove: Poisson sampling of any mechanism. Under replace: Poisson sampling of a Gaussian, for units
        whose vectors are `clipped` to half the stated sensitivity, so that the worst replacement is by the opposite;
        that must be said, for nothing follows from how far two vectors are apart when both may be far from zero. For a
        fixed sample size: `sampled_without_replacement`.
        """
        q = between(rate, "rate", 0, 1, toward="up") if rate != 1 else Fraction(1)
        if q == 1:
            return self
        part = self._single("sampled")
        if self.relation is Relation.ADD_REMOVE:
            return PLD.of(((Poisson(part, q), 1),), **self.neighbours)
        if isinstance(part, Normal) and clipped:
            return PLD.of(((PoissonReplace(part.square, q), 1),), **self.neighbours)
        if isinstance(part, Normal):
            raise LossError(
                "under replace, say sampled(rate, clipped=True) if every unit's vector is clipped to half of this "
                "sensitivity (replacing one moves the sum by twice the clip norm). Values in [0, 1] move by 1 and are "
                "not clipped to 1/2: give them the sensitivity 2, or state the guarantee for add_remove"
            )
        raise LossError(
            "Poisson sampling under replace is known here for clipped vectors with Gaussian noise only: state the "
            "guarantee for add_remove, or sample a fixed number with sampled_without_replacement"
        )

    def sampled_without_replacement(self, rate: Number) -> "PLD":
        """The loss when a fixed share `rate` of the units is drawn without replacement; stated for replace."""
        q = between(rate, "rate", 0, 1, toward="up") if rate != 1 else Fraction(1)
        if self.relation is not Relation.REPLACE:
            raise LossError("sampling a fixed number belongs to relation='replace': the size is public there")
        if q == 1:
            return self
        return PLD.of(((WithoutReplacement(self._single("sampled"), q), 1),), **self.neighbours)

    def shuffled(self, reports: int, *, categories: int | None = None) -> "PLD":
        """The loss of one respondent when so many reports of this local mechanism are shuffled together.

        `categories=k` states that the mechanism is k-ary randomised response, which is hidden better.
        """
        from tacit.loss.shuffle import shuffled

        return shuffled(self, reports=reports, categories=categories)

    def allocated(self, *, steps: int, uses: int = 1) -> "PLD":
        """The loss of all `steps` steps when each unit is used in `uses` of them, chosen at random."""
        from tacit.loss.allocation import allocated

        return allocated(self, steps=steps, uses=uses)

    def _single(self, what: str) -> Part:
        if len(self.parts) != 1 or self.parts[0][1] != 1:
            raise LossError(
                f"only one mechanism can be {what}, this is a composition: sample each first, n * loss.sampled(rate)"
            )
        return self.parts[0][0]

    def _plus(self, other: Loss) -> Loss:
        if isinstance(other, PLD):
            return PLD.of(self.parts + other.parts, **self.neighbours)
        return other + self  # the other kind knows how to weaken a pair


class Approx(PLD):
    """(ε, δ)-DP: `bound` is the ε and `slack` the δ that hold together.

    Composition is optimal: the worst such mechanism leaks with probability δ and otherwise answers by randomised
    response (Kairouz, Oh and Viswanath 2015), so the other points of the curve are computed from those.
    """

    def __init__(
        self, epsilon: Number, delta: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> None:
        part = ResponsePart(non_negative(epsilon, "epsilon", toward="decimal"), probability(delta))
        super().__init__(((part, 1),), relation=relation, unit=unit)

    def __repr__(self) -> str:
        return f"Approx(epsilon={show(self.bound)}, delta={show(self.slack)}{_about(self)})"


class Pure(Approx):
    """ε-DP: no event is more than e^ε times as likely under one neighbour as under the other."""

    def __init__(self, epsilon: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> None:
        super().__init__(epsilon, 0, relation=relation, unit=unit)

    def __repr__(self) -> str:
        return f"Pure(epsilon={show(self.bound)}{_about(self)})"


class GDP(PLD):
    """μ-Gaussian DP: no easier to tell apart than N(0, 1) and N(μ, 1) (Dong, Roth and Su 2022). Σμ² adds."""

    def __init__(self, mu: Number, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> None:
        super().__init__(((Normal(positive(mu, "mu") ** 2), 1),), relation=relation, unit=unit)

    @property
    def mu(self) -> float:
        part = self.parts[0][0]
        assert isinstance(part, Normal)
        return part.mu

    def curve(self, epsilons: Sequence[Number], *, accuracy: float = ACCURACY) -> list[Interval]:
        return Loss.curve(self, epsilons, accuracy=accuracy)

    def epsilon(self, delta: Number, *, accuracy: float = ACCURACY) -> Interval:
        target = float(probability(delta))
        if not target:
            return Interval(inf, inf)
        value = gaussian_epsilon(self.mu, target)
        return Interval.around(value * (1 + 1e-12), lower=value * (1 - 1e-12)) if value else Interval(0.0, 0.0)

    def delta(self, epsilon: Number, *, accuracy: float = ACCURACY) -> Interval:
        at = float(non_negative(epsilon, "epsilon", toward="down"))
        value, far = gaussian_delta(self.mu, at), at / self.mu + self.mu / 2
        # e^(−a²/2) is off by a times the error of a, which is a difference of numbers up to `far`
        error = 1e-12 + 1e-15 * far * abs(at / self.mu - self.mu / 2)
        return Interval.around(value * (1 + error), lower=value * (1 - error))

    def __repr__(self) -> str:
        return f"GDP(mu={self.mu:.12g}{_about(self)})"


def composed(losses: Iterable[Loss]) -> Loss:
    """The sum of one or more losses. Those of pairs are added at once, as each sum sorts its parts anew."""
    given = list(losses)
    for loss in given:
        same_neighbours((given[0].relation, given[0].unit), (loss.relation, loss.unit))
    pairs = [loss for loss in given if isinstance(loss, PLD)]
    rest = [loss for loss in given if not isinstance(loss, PLD)]
    if len(pairs) > 1:
        rest.append(PLD.of(tuple(part for loss in pairs for part in loss.parts), **pairs[0].neighbours))
    else:
        rest += pairs
    return reduce(add, rest)


def _width(accuracy: float) -> float:
    return float(between(accuracy, "accuracy", 0, 1))


def _about(loss: Loss) -> str:
    relation = "" if loss.relation is Relation.ADD_REMOVE else f", relation={loss.relation.value!r}"
    return relation + ("" if loss.unit == "row" else f", unit={loss.unit!r}")


def directions(parts: Parts) -> list[Terms]:
    """Both orders of the neighbours: with and without the unit. One suffices where every pair is symmetric."""
    forward = [(times, part.pair()) for part, times in parts]
    if all(pair.symmetric for _, pair in forward):
        return [forward]
    return [forward, [(count, pair.swapped) for count, pair in forward]]


def _worse(bounds: "list[Interval]") -> Interval:
    return Interval(max(b.lower for b in bounds), max(b.upper for b in bounds))


@lru_cache(maxsize=1024)
def _epsilon(parts: Parts, delta: float, accuracy: float) -> Interval:
    found: list[Interval] = []
    for terms in directions(parts):
        composition = Composition(terms, accuracy)
        if found and composition.beyond(found[0].lower, delta):
            continue  # the second direction is often the easier one
        found.append(composition.epsilon(delta))
    return _worse(found)


@lru_cache(maxsize=1024)
def _delta(parts: Parts, epsilon: float, accuracy: float) -> Interval:
    found: list[Interval] = []
    for terms in directions(parts):
        composition = Composition(terms, accuracy)
        if found and found[0].lower > 0 and composition.beyond(epsilon, found[0].lower):
            continue
        found.append(composition.delta(epsilon))
    return _worse(found)
