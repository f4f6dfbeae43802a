"""Rows to learn from, as arrays: which of them count, and whose they are.

A row with a number that is not finite, or with a label that was not declared, counts for nothing. It is no error: an
error that one person's row can cause would tell of that person.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.learn.estimator.bounds import Array, ColumnRange

__all__ = ["Examples", "codes_of", "column_names", "matrix", "numbers", "unit_offsets"]

NOBODY = ("nan", "None", "<NA>", "NaT")  # units that are missing


@dataclass(frozen=True, eq=False)
class Examples:
    """`features` as they were given, finite; `target` codes of classes, or numbers; `weight` from 0 to 1 for each row;
    rows of unit i are offsets[i]:offsets[i+1], and without offsets each row is a unit. Rows of a missing unit count for
    nothing."""

    features: Array
    target: Array | None
    weight: Array
    offsets: Array | None = None

    @classmethod
    def of(cls, features: Array, target: Array | None, weight: Any = None, units: Any = None) -> "Examples":
        """Rows in memory."""
        count = len(features)
        usable = np.asarray(np.isfinite(features).all(axis=1))
        if target is not None:
            usable &= np.isfinite(target) & (target >= 0 if target.dtype.kind == "i" else True)
            target = np.where(usable, target, 0)
        share = np.ones(count)
        if weight is not None:
            share = np.asarray(weight, dtype=float)
            if share.shape != (count,):
                raise InputError(f"sample_weight must have one number for each of the {count} rows")
            share = np.clip(np.where(np.isfinite(share), share, 0.0), 0.0, 1.0)
        features = np.where(usable[:, None], features, 0.0)
        share = np.where(usable, share, 0.0)
        if units is None:
            return cls(features, target, share)
        order, offsets = unit_offsets(units, count)
        share = np.where(np.isin(np.asarray(units).astype(str), NOBODY), 0.0, share)  # several may be nobody
        return cls(features[order], None if target is None else target[order], share[order], offsets)


def unit_offsets(units: Any, count: int) -> tuple[Array, Array]:
    """An order in which the rows of a unit are together, and where units begin and end."""
    named = np.asarray(units)
    if named.shape != (count,):
        raise InputError(f"units must name the unit of each of the {count} rows")
    _, codes = np.unique(named.astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return order, np.append(starts, count)


def column_names(X: Any) -> list[str] | None:  # noqa: N803 - scikit-learn's name for it
    """The names of the columns of a data frame, if it is one and all are texts."""
    names = getattr(X, "columns", None)
    if names is None:
        return None
    found = list(names)
    return found if found and all(isinstance(name, str) for name in found) else None


def matrix(X: Any, name: str = "X") -> Array:  # noqa: N803 - scikit-learn's name for it
    """Rows and columns of numbers, as doubles; what is not finite stays as it is."""
    if hasattr(X, "toarray"):
        raise TypeError(f"{name} is a sparse matrix, which these models do not take: pass {name}.toarray()")
    found = np.asarray(X)
    if found.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} must hold real numbers")
    try:
        found = found.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is no number: these models learn from numbers") from None
    if found.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {found.ndim}D array instead: {name} must have rows and columns. Reshape your data "
            "with array.reshape(-1, 1) if it has one column"
        )
    if found.shape[1] == 0:
        raise InputError(f"0 feature(s) (shape={found.shape}) while a minimum of 1 is required: {name} has no columns")
    if found.shape[0] == 0:
        raise InputError(f"Found array with 0 sample(s) (shape={found.shape}) while a minimum of 1 is required")
    return found


def numbers(y: Any, within: ColumnRange, count: int) -> Array:
    """Targets as doubles, clamped to the declared range."""
    found = column(y, count)
    try:
        found = found.astype(float)
    except (TypeError, ValueError):
        raise InputError("y holds something that is no number: a regression learns numbers") from None
    return np.asarray(np.clip(found, within.low[0], within.high[0]))


def column(y: Any, count: int) -> Array:
    """One value for each row. Of a list each stays what it is: one text among numbers makes no texts of the others."""
    found = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {found.shape} instead")
    if len(found) != count:
        raise InputError(f"y has {len(found)} values and X {count} rows: each row needs one")
    return found


def codes_of(y: Any, classes: Sequence[Any], count: int) -> Array:
    """For each row which of the declared classes it has, or −1."""
    found = column(y, count)
    codes = np.full(count, -1, dtype=np.int64)
    for code, each in enumerate(classes):
        codes[np.asarray(found == each, dtype=bool)] = code
    return codes
