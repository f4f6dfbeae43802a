"""Remapping: a report moved to where people are. Post-processing, so it costs nothing and promises the same."""

from typing import Any

import numpy as np

from tacit.base import InputError, Number, positive
from tacit.place.earth import Floats, checked, offset

__all__ = ["remapped"]

MOST = 4096  # candidate places: all distances between them are held at once


def remapped(reports: Any, places: Any, *, epsilon: Number, weights: Any = None) -> Floats:
    """For each report, the public place from which the true one is expected to be nearest.

    `places` are rows of (latitude, longitude) that people are known to be at, as likely as their `weights` say before
    anything is reported; they must not come from the person who reports. Chatzikokolakis, ElSalamouny and Palamidessi
    (2017) call this optimal remapping: given the report, place x has probability ∝ weight·exp(−ε·distance), and the
    answer minimises the expected distance over the candidates.
    """
    told, known = checked(reports), checked(places)
    rate = float(positive(epsilon, "epsilon"))
    prior = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not 1 <= len(known) <= MOST:
        raise InputError(f"places must be from 1 to {MOST} candidates, not {len(known)}")
    if prior.shape != (len(known),) or not np.isfinite(prior).all() or prior.min() < 0 or not prior.any():
        raise InputError("weights must be one number for each place, none negative, not all zero")
    between = _every(known, known)
    found = np.empty(len(told), dtype=np.int64)
    for start in range(0, len(told), 1024):
        part = _every(told[start : start + 1024], known) * -rate
        part -= part.max(axis=1, keepdims=True)
        found[start : start + len(part)] = (np.exp(part) * prior @ between).argmin(axis=1)
    return known[found]


def _every(ones: Floats, others: Floats) -> Floats:
    """Metres from each of the ones to each of the others."""
    left, right = np.repeat(ones, len(others), axis=0), np.tile(others, (len(ones), 1))
    far: Floats = np.hypot(*offset(left, right).T).reshape(len(ones), len(others))
    return far
