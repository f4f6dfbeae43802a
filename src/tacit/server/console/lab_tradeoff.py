"""The trade-off explorer: what (ε, δ) promises, alone and repeated, as numbers and as a curve."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import Sensitivity, TacitError
from tacit.loss import Approx, Loss, Pure, Tradeoff
from tacit.mechanism import DiscreteGaussian

__all__ = ["explored"]

POINTS = 101
READ = Fraction(1, 10**6)  # the delta at which many pure releases are stated together


def explored(epsilon: Decimal, delta: Decimal, times: int, prior: Decimal) -> dict[str, Any]:
    """Everything the page shows of `times` releases, each with (ε, δ)."""
    near: dict[str, Any] = {"unit": "person"}
    one: Loss = Approx(Fraction(epsilon), Fraction(delta), **near) if delta else Pure(Fraction(epsilon), **near)
    whole = times * one
    stated = Fraction(delta) if times == 1 else 2 * times * Fraction(delta) or READ
    meaning = whole.meaning(prior, delta=min(stated, Fraction(1, 2)))
    curves = [_curve("any mechanism with this guarantee", whole)]
    noise = _gaussian(one)
    if noise is not None:
        curves.append(_curve("Gaussian noise with this guarantee", times * noise))
    return {
        "epsilon": float(epsilon),
        "delta": float(delta),
        "times": times,
        "meaning": meaning.json(),
        "words": str(meaning).splitlines()[1:],
        "curves": curves,
    }


def _curve(label: str, loss: Loss) -> dict[str, Any]:
    """The least misses at each share of false alarms: no test gets below."""
    with np.errstate(all="ignore"):  # huge guarantees overflow in the bound from above, which is not shown
        alarms, misses, _ = Tradeoff(loss).curve(POINTS)
    return {"label": label, "alarms": alarms.tolist(), "misses": np.clip(np.nan_to_num(misses), 0, 1).tolist()}


def _gaussian(loss: Loss) -> Loss | None:
    """The loss of the least Gaussian noise that has this guarantee; a pure one it cannot have."""
    if isinstance(loss, Pure):
        return None
    size = Sensitivity.scalar(1)
    try:
        return DiscreteGaussian.from_loss(loss, sensitivity=size).loss(size, unit="person")
    except TacitError:
        return None
