"""A small classifier in numpy whose gradients are written out by hand: the target of the attacks on models."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from tacit.attack.population import chance
from tacit.base import InputError, whole

__all__ = ["Array", "Layer", "Network", "descend"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Layer:
    """One layer's part in the gradients of a batch: what went in (…, inputs + 1) and what came back (…, outputs).

    The gradient that one row causes is the outer product of the two.
    """

    inputs: Array
    back: Array


@dataclass(frozen=True)
class Network:
    """A softmax over affine layers with a sigmoid between them. One layer is multinomial logistic regression.

    Each matrix has a row for each input and a last row for the bias. Rows of data are the last axis: (n, features) are
    n examples, (n, length, features) are n sequences. A label of −1 is none, and causes no gradient.
    """

    weights: tuple[Array, ...]

    @classmethod
    def blank(cls, features: int, classes: int, *, hidden: Sequence[int] = (), seed: int = 1) -> "Network":
        """A network to start from: zeros for a single layer, else small weights that `seed` fixes (no data in them)."""
        sizes = [whole(features, "features", least=1), *(whole(h, "hidden", least=1) for h in hidden)]
        sizes.append(whole(classes, "classes", least=2))
        source = chance(seed)
        weights = []
        for inputs, outputs in pairwise(sizes):
            drawn = source.normal(size=(inputs + 1, outputs)) / np.sqrt(inputs)
            weights.append(drawn if hidden else np.zeros_like(drawn))
        return cls(tuple(weights))

    @property
    def classes(self) -> int:
        return int(self.weights[-1].shape[1])

    @property
    def parameters(self) -> int:
        return sum(w.size for w in self.weights)

    def predict_proba(self, x: Array) -> Array:
        """The probability of each class, for each row."""
        return np.asarray(softmax(self._inputs(x)[-1], axis=-1))

    def losses(self, x: Array, y: Array) -> Array:
        """The cross-entropy of each row, in nats; rows without a label lose nothing."""
        chosen = np.take_along_axis(self.predict_proba(x), np.maximum(y, 0)[..., None], axis=-1)[..., 0]
        return np.where(y < 0, 0.0, -np.log(np.maximum(chosen, 1e-300)))

    def layers(self, x: Array, y: Array) -> list[Layer]:
        """Back-propagation, a row at a time: the sum of the outer products is the gradient of the summed losses."""
        *inputs, logits = self._inputs(x)
        wanted = np.asarray(np.arange(self.classes) == y[..., None], dtype=float)
        back = (softmax(logits, axis=-1) - wanted) * (y >= 0)[..., None]
        found = [Layer(inputs[-1], back)]
        for below, inner, w in zip(inputs[-2::-1], inputs[:0:-1], self.weights[:0:-1], strict=True):
            state = inner[..., :-1]
            back = (back @ w[:-1].T) * state * (1 - state)
            found.append(Layer(below, back))
        return found[::-1]

    def _inputs(self, x: Array) -> list[Array]:
        """What enters each layer, with the 1 that its bias multiplies, and last the logits."""
        if x.shape[-1] != self.weights[0].shape[0] - 1:
            raise InputError(f"the network takes {self.weights[0].shape[0] - 1} features, the data have {x.shape[-1]}")
        entered, here = [], np.asarray(x, dtype=float)
        for depth, w in enumerate(self.weights):
            here = np.concatenate([expit(here) if depth else here, np.ones((*here.shape[:-1], 1))], axis=-1)
            entered.append(here)
            here = here @ w
        return [*entered, here]


Function = Callable[[Array], tuple[float, Array]]

MEMORY = 20
STILL = 1e-8  # a relative fall in one step that is not worth another
FALL, SLOPE = 1e-4, 0.9  # the weak Wolfe conditions, as in Nocedal and Wright (2006)


def descend(function: Function, start: Array, *, steps: int, enough: float = 1e-15) -> tuple[float, Array]:
    """The least value found and where, in at most `steps` steps; a value of `enough`, or a standstill, ends it.

    `function` returns its value and its gradient.
    """
    x = np.array(start, dtype=float)
    value, gradient = function(x)
    past: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        direction = _direction(gradient, past)
        if not direction @ gradient < 0:  # rounding, or a bad memory: begin anew, downhill
            past.clear()
            direction = -gradient
        found = _search(function, x, value, gradient, direction)
        if found is None:
            if not past:
                break
            past.clear()
            continue
        moved, turned, fallen = found[0] - x, found[2] - gradient, value - found[1]
        x, value, gradient = found
        if value <= enough or fallen <= STILL * value:
            break
        bend = float(moved @ turned)
        if bend > 1e-12 * float(turned @ turned):
            past.append((moved, turned, bend))
    return value, x


def _direction(gradient: Array, past: deque[tuple[Array, Array, float]]) -> Array:
    """The two loops of Nocedal (1980)."""
    direction, shares = -gradient, []
    for moved, turned, bend in reversed(past):
        shares.append(float(moved @ direction) / bend)
        direction = direction - shares[-1] * turned
    if past:
        _, turned, bend = past[-1]
        direction = direction * (bend / float(turned @ turned))
    else:
        direction = direction / max(1.0, float(np.linalg.norm(gradient)))
    for (moved, turned, bend), share in zip(past, reversed(shares), strict=True):
        direction = direction + (share - float(turned @ direction) / bend) * moved
    return np.asarray(direction)


def _search(
    function: Function, x: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array] | None:
    """A point on the ray that meets the weak Wolfe conditions, by bisection; at worst one that is lower, or None."""
    low, high, step = 0.0, np.inf, 1.0
    slope = float(direction @ gradient)
    lower: tuple[Array, float, Array] | None = None
    for _ in range(30):
        there = x + step * direction
        found, turned = function(there)
        if not found <= value + FALL * step * slope:  # NaN too is not lower
            high = step
        else:
            lower = (there, found, turned)
            if float(direction @ turned) >= SLOPE * slope:
                return lower
            low = step
        step = (low + high) / 2 if high < np.inf else 2 * low
    return lower
