"""Reports that are numbers drawn whatever the answer is, and what a k-ary coin tells of these and the answer."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np

from tacit.base import cached_property
from tacit.noise import Rng, uniform
from tacit.survey.coin import below
from tacit.survey.protocol import Array, Law, Protocol, listable

__all__ = ["KaryProtocol"]


class KaryProtocol(Protocol):
    """A report is the numbers `drawn`, which tell nothing, and one of k numbers: `_truth` of the answer and of these.

    Guarantee: pure ε between any two answers of one respondent (relation replace), since given the drawn numbers a
    report is told by a `KaryCoin`, whose p is e^ε/(e^ε + k − 1) rounded down to a multiple of 2^-64. So it holds for
    each of these numbers, and nothing is relied on about how `_truth` follows from them.

    `named` is what messages call the told number. If it is `folded`, it is one number with the last that was drawn:
    k·drawn + told. Coins: the drawn numbers in turn, then those of the `KaryCoin`.
    """

    named: ClassVar[str] = "told"
    folded: ClassVar[bool] = False

    @property
    def drawn(self) -> Mapping[str, int]:
        """The drawn numbers by name, and what each is below."""
        return {}

    @abstractmethod
    def _truth(self, value: Any, *drawn: Any) -> Any:
        """What there is to tell, of one answer; and of arrays, unless `_truths` is for these."""

    def _truths(self, values: Array, *drawn: Array) -> Any:
        return self._truth(values, *drawn)

    def _report(self, drawn: Sequence[Any], told: Any) -> Sequence[Any]:
        """The numbers of a report."""
        if not self.folded:
            return *drawn, told
        return *drawn[:-1], self._coin.answers * drawn[-1] + told

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        names, sizes = [*self.drawn][: -1 if self.folded else None], [*self.drawn.values()]
        bounds = self._report(sizes, 0 if self.folded else self._coin.answers)
        return dict(zip([*names, self.named], bounds, strict=True))

    def _draw(self, rng: Rng) -> list[int]:
        return [below(bound, rng) for bound in self.drawn.values()]

    def _one(self, value: Any, rng: Rng) -> bytes:
        drawn = self._draw(rng)
        return self._bytes(*self._report(drawn, self._coin.told(int(self._truth(value, *drawn)), rng)))

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        drawn = [uniform(bound, values.size, rng) for bound in self.drawn.values()]
        told = np.array(self._truths(values, *drawn))
        self._coin.tell(told, rng)
        numbers = self._report(drawn, told)
        for name, number in zip(self.numbers, numbers, strict=True):
            (reports[name] if reports.dtype.names else reports)[:] = number

    def law(self, value: Any) -> Law:
        listable(prod(self.numbers.values()))
        answer, each = self._answer(value), Fraction(1, prod(self.drawn.values()))
        law = {}
        for drawn in product(*map(range, self.drawn.values())):
            truth = int(self._truth(answer, *drawn))
            for told in range(self._coin.answers):
                law[self._bytes(*self._report(drawn, told))] = each * self._coin.chance(told, truth)
        return law
