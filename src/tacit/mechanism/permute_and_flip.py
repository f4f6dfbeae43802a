"""Permute-and-flip: selection that is never worse than the exponential mechanism."""

from typing import Any, ClassVar

import numpy as np

from tacit.base import frozen
from tacit.mechanism.mechanism import Pmf
from tacit.mechanism.selection import Selection, listed
from tacit.noise import Rng, coins_exp_each, rng_or_default

__all__ = ["PermuteAndFlip"]


@frozen
class PermuteAndFlip(Selection):
    """Every candidate flips a coin of bias exp((score − best)/scale); one of the heads is chosen uniformly.

    That is the first head in a random order, the mechanism of McKenna and Sheldon (2020). The best candidate always
    shows heads. Guarantee: ε = 2Δ/scale, pure (Δ/scale if monotone), with an expected score never below that of the
    exponential mechanism of the same scale. It has no bounded range: its zCDP is that of pure ε.
    """

    theory: ClassVar[str] = "permute-and-flip"

    def sample(self, value: Any, rng: Rng | None = None) -> int:
        """The index of one candidate, from the scores of all."""
        source = rng_or_default(rng)
        heads = np.flatnonzero(coins_exp_each(self._gaps(value), self._unit, source))
        return int(heads[source.below(len(heads))])

    def pmf(self, value: Any) -> Pmf:
        """p_i·∫ Π_{j≠i} (1 − p_j·x) dx over x in [0, 1], the place of i in the order.

        The integrand is a polynomial of degree n − 1, on which Gauss–Legendre is exact; all terms are positive.
        """
        bias = np.exp(-self._listed_gaps(value))
        nodes, shares = np.polynomial.legendre.leggauss(len(bias) // 2 + 1)
        factors = 1 - np.outer((nodes + 1) / 2, bias)
        product = np.exp(np.log(factors).sum(axis=1))
        return listed(bias * ((shares / 2 * product) @ (1 / factors)))
