"""What every mechanism is: noise, its loss, its error, and neighbours on which the claim can be checked."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.base import LossError, Number, Relation, Sensitivity
from tacit.loss import Loss
from tacit.noise import Rng

__all__ = ["Example", "Mechanism", "Pmf"]

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
    def loss(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> Loss:
        """The guarantee, when one unit moves the input by at most `sensitivity` under `relation`."""

    @abstractmethod
    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """One release of the true `value`. Without `rng` the process-wide cryptographic source is used."""

    def pmf(self, value: Any) -> Pmf:
        """Probability of each output (down to about 1e-300) when the truth is `value`, where outputs can be listed."""
        raise LossError(f"{type(self).__name__} has no list of outputs")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Neighbouring inputs, over a range of parameters, on which the claim can be checked exactly through `pmf`."""
        return ()
