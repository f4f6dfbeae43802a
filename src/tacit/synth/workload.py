"""What the table is to be right about: sets of columns with weights, and what follows for what may be measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from typing import Any, Literal

from tacit.base import InputError, positive
from tacit.synth.domain import Domain
from tacit.synth.tree import Clique, clique_of

__all__ = ["Pairs", "Workload", "workload_of"]

Pairs = Literal["all"] | Sequence[Sequence[str]] | Mapping[tuple[str, ...], Any]


@dataclass(frozen=True)
class Workload:
    """Sets of columns, each with a weight."""

    weights: Mapping[Clique, Fraction]

    def candidates(self) -> dict[Clique, int]:
        """Every subset of a set, with w_r = Σ_s c_s·|r ∩ s| as the least whole numbers in proportion."""
        closed = {
            each for clique in self.weights for size in range(1, len(clique) + 1) for each in combinations(clique, size)
        }
        raw = {
            each: sum((c * len(set(each) & set(s)) for s, c in self.weights.items()), Fraction(0))
            for each in sorted(closed, key=lambda clique: (len(clique), clique))
        }
        under = lcm(*(weight.denominator for weight in raw.values()))
        over = gcd(*(int(weight * under) for weight in raw.values()))
        return {each: int(weight * under) // over for each, weight in raw.items()}

    def json(self) -> list[Any]:
        return [[list(clique), str(weight)] for clique, weight in sorted(self.weights.items())]


def workload_of(pairs: Pairs, domain: Domain) -> Workload:
    """All pairs; or the sets of columns that somebody names, of any size, a mapping with their weights."""
    if isinstance(pairs, str):
        if pairs != "all":
            raise InputError(f'pairs is "all", or a list such as [("age", "income")], not {pairs!r}')
        places = range(len(domain.columns))
        size = min(2, len(domain.columns))
        return Workload({each: Fraction(1) for each in combinations(places, size)})
    found: dict[Clique, Fraction] = {}
    given = pairs.items() if isinstance(pairs, Mapping) else [(each, 1) for each in pairs]
    for names, weight in given:
        if isinstance(names, str) or not names:
            raise InputError(f"one of pairs is {names!r}: each is a list of columns, such as ('age', 'income')")
        clique = clique_of(domain.place(name) for name in names)
        found[clique] = found.get(clique, Fraction(0)) + positive(weight, "weight of a pair", toward="decimal")
    if not found:
        raise InputError('pairs is empty: say "all", or which columns the table is to be right about')
    for place in range(len(domain.columns)):
        found.setdefault((place,), Fraction(1, 1000)) if not any(place in each for each in found) else None
    return Workload(found)
