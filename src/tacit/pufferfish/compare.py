"""The noise that one count needs under each way of seeing dependence, side by side."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.base import positive
from tacit.base.number import Number
from tacit.pufferfish.chain import Chain
from tacit.pufferfish.quilt import quilt
from tacit.pufferfish.wasserstein import LawsUnknown, entry_pairs, real_cost, smallest_scale, wasserstein

__all__ = ["Way", "compare"]


@dataclass(frozen=True)
class Way:
    """One way to choose the noise: its `scale`, the ε that it really keeps about one entry where laws are known, and
    whether releases made so add up."""

    name: str
    words: str
    scale: Fraction
    real: float | None
    adds: bool


def compare(chain: Chain, *, epsilon: Number, state: int = 1) -> list[Way]:
    """For the count of entries in `state`, from the noise that ignores dependence to the noise that fears all of it."""
    stated = positive(epsilon, "epsilon", toward="decimal")
    try:
        pairs = entry_pairs(chain, state)
    except LawsUnknown:
        pairs = []

    def way(name: str, words: str, scale: Fraction, *, adds: bool) -> Way:
        return Way(name, words, scale, real_cost(pairs, scale) if pairs and scale else None, adds)

    found = [way("entry", "as if entries were independent", 1 / stated, adds=True)]
    if pairs:
        least, distance = smallest_scale(pairs, epsilon=stated), wasserstein(pairs, epsilon=stated).scale
        found.append(way("smallest", "the least that is valid, for one release", least, adds=False))
        found.append(way("wasserstein", "Wasserstein, for one release", distance, adds=False))
    found.append(way("quilt", "Markov quilt", Fraction(quilt(chain, epsilon=stated).scale), adds=True))
    rough = Fraction(quilt(chain, epsilon=stated, approximate=True).scale)
    found.append(way("approximate", "Markov quilt, from how fast the chain forgets", rough, adds=True))
    found.append(way("group", "as if all entries were one", chain.length / stated, adds=True))
    return found
