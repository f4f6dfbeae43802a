"""What every mechanism is: noise, its loss, its error, and neighbours on which the claim can be checked."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NoReturn, Self

from tacit.base import InputError, LossError, Number, Relation, Size
from tacit.loss import Loss
from tacit.noise import Rng

__all__ = ["Example", "Family", "Mechanism", "Pmf", "four_digits"]

Family = Literal["gaussian", "laplace"]

Pmf = dict[Hashable, float]


@dataclass(frozen=True)
class Example:
    """A mechanism, two neighbouring inputs, and the guarantee claimed between them.

    `tight` says that these inputs attain the claim, so that a check must find a loss within 1 % of it. `pmf` of the
    mechanism gives both output distributions; tests, the auditor and the documentation all start from here.
    """

    mechanism: "Mechanism"
    left: Any
    right: Any
    claim: Loss
    tight: bool = True


class Mechanism(ABC):
    """A randomised release with a known privacy loss. Concrete ones are frozen dataclasses, one file each.

    `theory` names the page in docs/theory that holds the statement and its source.
    """

    theory: ClassVar[str]

    @abstractmethod
    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Loss:
        """The guarantee, when one unit moves the input by at most `sensitivity` under `relation`."""

    @abstractmethod
    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """One release of the true `value`. Without `rng` the process-wide cryptographic source is used."""

    def pmf(self, value: Any) -> Pmf:
        """Probability of each output (down to about 1e-300) when the truth is `value`, where outputs can be listed."""
        raise LossError(f"{type(self).__name__} has no list of outputs")

    @property
    def kind(self) -> str:
        """What it is, in words: "discrete Gaussian noise"."""
        return type(self).__name__

    @property
    def family(self) -> Family:
        """Which law its noise has, for error bars."""
        self._lacks("noise of one law")

    @property
    def magnitude(self) -> Fraction:
        """The parameter that says how much noise there is: σ, or the scale."""
        self._lacks("one size")

    def size_words(self, times: Fraction | int = 1) -> str:
        """`magnitude` in words, `times` as large: "standard deviation 3.2"."""
        return f"scale {four_digits(self.magnitude * times)}"

    def words(self, unit: str = "unit") -> str:
        """Which noise and how much of it, for a reader who knows what one `unit` is."""
        return f"{self.kind}, with parameters as stated"

    @property
    def standard_deviation(self) -> float:
        """Of the noise on one number, that of the continuous law: the lattice's is a little less."""
        self._lacks("a standard deviation")

    def half_width(self, confidence: float = 0.95) -> float:
        """How far to either side the truth may lie of an answer, by the continuous law; `error` is exact."""
        self._lacks("a half-width")

    def scaled(self, factor: Number) -> Self:
        """The same mechanism for values `factor` times as large: its loss stays if the sensitivity grows as much."""
        self._lacks("a form in other units")

    def _lacks(self, what: str) -> NoReturn:
        raise InputError(f"{type(self).__name__} has not {what}: only mechanisms that add noise to numbers do")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Neighbouring inputs, over a range of parameters, on which the claim can be checked exactly through `pmf`."""
        return ()


def four_digits(value: Fraction) -> str:
    """A size as people read it."""
    return f"{float(value):,.4g}" if value < 10_000 else f"{float(value):,.0f}"
