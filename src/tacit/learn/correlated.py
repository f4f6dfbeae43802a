"""Noise that is taken back later: the noise of one step is partly cancelled by that of the next ones.

Released is y_t = (C·G)_t + z_t with independent z, where row t of G is the sum of step t and C is lower triangular and
Toeplitz with coefficients c; the optimiser is given C⁻¹y. Each y_t is an ordinary release, and one unit moves all of
them together by at most `sensitivity`, on every path, so the whole is one Gaussian of that sensitivity. Everything
after y is post-processing. Which steps a unit takes part in is bounded by the loader: at most once in `separation`
steps. Statement, proofs and numbers: docs/theory/correlated-noise.md.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, nextafter
from typing import Any

import numpy as np

from tacit.base import InputError, whole
from tacit.learn.toeplitz import Buffers, Floats, banded, buffered, running_error, running_sensitivity, square_root

__all__ = ["Correlated"]


@dataclass(frozen=True, kw_only=True)
class Correlated:
    """Coefficients of C, c₀ = 1, none negative and none larger than the one before; or the `buffers` they come from.

    `separation`: a unit takes part in every `separation`-th step only, in one group of that many, drawn for it alone.
    With `amplified` it takes part in its group's steps by a coin of the plan's rate; then C has at most `separation`
    coefficients, so that what one turn of a unit moves is over before the next.
    """

    coefficients: tuple[float, ...]
    separation: int
    amplified: bool = False
    buffers: Buffers | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "separation", whole(self.separation, "separation", least=1))
        object.__setattr__(self, "coefficients", tuple(float(c) for c in self.coefficients))
        c = np.array(self.coefficients)
        if not len(c) or c[0] != 1 or not np.isfinite(c).all() or (c < 0).any() or (np.diff(c) > 0).any():
            raise InputError("coefficients must begin with 1, and none may be negative or larger than the one before")
        if self.amplified and len(c) > self.separation:
            raise InputError(
                f"an amplified form has at most as many coefficients as the separation: {len(c)} are more than "
                f"{self.separation}"
            )

    @classmethod
    def square_root(cls, *, steps: int, separation: int) -> "Correlated":
        """c_k = C(2k, k)/4^k, the square root of running sums: near the least error, and memory for every step."""
        return cls(coefficients=tuple(square_root(steps)), separation=separation)

    @classmethod
    def banded(cls, *, steps: int, bands: int, separation: int | None = None, amplified: bool = False) -> "Correlated":
        """The best `bands` coefficients for the mean square error of running sums: memory for so many steps."""
        return cls(coefficients=tuple(banded(steps, bands)), separation=separation or bands, amplified=amplified)

    @classmethod
    def buffered(cls, *, steps: int, separation: int, buffers: int = 4) -> "Correlated":
        """c_t = Σ α_j λ_j^(t−1): memory for a few buffers, whatever the number of steps (Dvijotham et al. 2024)."""
        found = buffered(steps, buffers)
        return cls(coefficients=tuple(found.coefficients(steps)), separation=separation, buffers=found)

    # --- what it costs

    def participations(self, steps: int) -> int:
        """How often one unit takes part at most."""
        return ceil(steps / self.separation)

    def sensitivity(self, steps: int) -> Fraction:
        """How far one unit of one clip moves all y together, over its turns; of an amplified form, over one turn."""
        turns = 1 if self.amplified else self.participations(steps)
        found = running_sensitivity(np.array(self.coefficients[:steps]), steps, self.separation, turns)
        return Fraction(nextafter(found * (1 + 1e-12), inf))

    def times(self, steps: int) -> int:
        """How often that is paid for: once, or for each turn of an amplified form."""
        return self.participations(steps) if self.amplified else 1

    def reach(self, steps: int) -> int:
        """Steps in which one unit moves something, each of which rounds."""
        bands = min(len(self.coefficients), steps)
        return bands if self.amplified else min(steps, bands * self.participations(steps))

    def error(self, steps: int) -> float:
        """Root of the mean square of the noise in running sums, for σ = 1 on each y."""
        c = np.zeros(steps)
        c[: len(self.coefficients)] = self.coefficients[:steps]
        return running_error(c)

    def stream(self) -> "CorrelatedStream":
        """A fresh start: no step has been seen."""
        return CorrelatedStream(self)

    def json(self) -> dict[str, Any]:
        shown = None if self.buffers is None else self.buffers.json()
        few = [repr(c) for c in self.coefficients] if shown is None else []
        return {
            "coefficients": few, "buffers": shown, "separation": self.separation, "amplified": self.amplified
        }  # fmt: skip


class CorrelatedStream:
    """C and C⁻¹, a step at a time. `spread` sees true sums and `undo` released ones only.

    True sums of earlier steps stay in memory and are saved nowhere: after a crash a stream starts afresh, which moves
    no y by more than going on would have, since no coefficient is negative.
    """

    def __init__(self, form: Correlated) -> None:
        self._before, self._after = (_memory(form) for _ in range(2))

    def spread(self, sums: Floats) -> Floats:
        """(C·G)_t from G_t."""
        out = sums + self._before.tail(sums)
        self._before.push(sums)
        return out

    def undo(self, noisy: Floats) -> Floats:
        """(C⁻¹·y)_t from y_t."""
        out = noisy - self._after.tail(noisy)
        self._after.push(out)
        return out


class _Window:
    """Σ_{j≥1} c_j·x_{t−j}, from the last steps themselves."""

    def __init__(self, coefficients: tuple[float, ...]) -> None:
        self._c, self._last = coefficients[1:], list[Floats]()

    def tail(self, like: Floats) -> Floats:
        out = np.zeros_like(like)
        for c, x in zip(self._c, self._last, strict=False):
            out += c * x
        return out

    def push(self, x: Floats) -> None:
        self._last.insert(0, x.copy())
        del self._last[len(self._c) :]


class _Buffered:
    """The same from one buffer for each λ: s ← λ·s + x."""

    def __init__(self, buffers: Buffers) -> None:
        self._buffers, self._sums = buffers, list[Floats]()

    def tail(self, like: Floats) -> Floats:
        out = np.zeros_like(like)
        for alpha, s in zip(self._buffers.alphas, self._sums, strict=False):
            out += alpha * s
        return out

    def push(self, x: Floats) -> None:
        if not self._sums:
            self._sums = [np.zeros_like(x) for _ in self._buffers.alphas]
        for rate, s in zip(self._buffers.rates, self._sums, strict=True):
            s *= rate
            s += x


def _memory(form: Correlated) -> _Window | _Buffered:
    return _Window(form.coefficients) if form.buffers is None else _Buffered(form.buffers)
