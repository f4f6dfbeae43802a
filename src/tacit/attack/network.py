"""A small classifier in numpy, trained with and without privacy: the target of the attacks on models.

Private training is a stand-in for that of the product. A step scales the gradient of each example to length at most
`clip`, adds them up, rounds the sum to a lattice and adds `tacit.Gaussian` noise, exact on that lattice; everything
after is post-processing. T steps cost `T * mechanism.loss(sensitivity)`, on Poisson samples
`T * mechanism.loss(sensitivity).sampled(rate)` (Abadi et al. 2016). An example is one row, or one sequence of rows:
then what is protected is the whole sequence.

The sum is formed in double precision, so two neighbouring sums differ by at most clip plus a rounding error. For at
most ROWS rows that error is below SLACK of the clip, and rounding d coordinates to steps of g adds √d·g: the
sensitivity that is priced counts both. Not proven is that a linear-algebra library computes the gradient of a row to
the last bit the same in batches of different sizes; SLACK leaves room for it. Timing is not hidden. Good enough to
attack, not a product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from tacit.attack.population import chance
from tacit.base import InputError, Number, Relation, Sensitivity, exact, positive, whole
from tacit.loss import Loss, calibrate
from tacit.mechanism import Gaussian
from tacit.noise import Rng, coins, rng_or_default

__all__ = ["Array", "Layer", "Network", "Noise", "noisy_sum", "train"]

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


ROWS = 2**14  # rows a batch may have, for the rounding error below
SLACK = Fraction(1, 1000)  # of the clip, for the rounding of doubles: see _lengths
CANCELLED = 1e-8
SMALL = 2**17  # multiplications in one product; on a busy machine threads cost more than they save


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What makes a step private. `sigma` is the noise on the sum, `rate` the chance of an example to be in the batch.

    `batch` is what the noisy sum is divided by, fixed without looking at the data: how many examples there are is not
    public. Under the relation `replace` it is, and an example may turn its gradient round: the sensitivity doubles.
    """

    clip: Fraction
    sigma: Fraction
    batch: Fraction
    rate: Fraction = Fraction(1)
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        for name in ("clip", "sigma", "batch", "rate"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        if self.rate > 1:
            raise InputError("rate is a probability, so at most 1")
        if self.relation is Relation.REPLACE and self.rate != 1:
            raise InputError("sampled batches are priced for the relation add_remove only: take it, or rate 1")

    @property
    def mechanism(self) -> Gaussian:
        return Gaussian(sigma=self.sigma)

    def sensitivity(self, parameters: int) -> Sensitivity:
        """How far one example moves the rounded sum of clipped gradients."""
        most = self.clip * (1 + SLACK) * (2 if self.relation is Relation.REPLACE else 1)
        return self.mechanism.lattice.sensitivity(Sensitivity(l2=most, dimension=parameters), dimension=parameters)

    def loss(self, *, steps: int, parameters: int) -> Loss:
        """The loss of the whole training for one example."""
        step: Loss = self.mechanism.loss(self.sensitivity(parameters), relation=self.relation, unit="example")
        if self.rate < 1:
            step = step.sampled(self.rate)
        return whole(steps, "steps", least=1) * step

    @classmethod
    def within(
        cls,
        *,
        epsilon: Number,
        delta: Number,
        steps: int,
        parameters: int,
        batch: Number,
        clip: Number = 1,
        rate: Number = 1,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> "Noise":
        """The least noise with which `steps` steps are (ε, δ)-DP."""
        length, share, size = positive(clip, "clip"), positive(rate, "rate"), positive(batch, "batch")

        def noise(sigma: float) -> Noise:
            return cls(clip=length, sigma=exact(sigma, "sigma"), batch=size, rate=share, relation=relation)

        def loss(sigma: float) -> Loss:
            return noise(sigma).loss(steps=steps, parameters=parameters)

        return noise(calibrate(loss, epsilon=epsilon, delta=delta, accuracy=1e-3).value)


def train(
    x: Array,
    y: Array,
    *,
    classes: int,
    steps: int,
    learning_rate: float,
    hidden: tuple[int, ...] = (),
    momentum: float = 0.9,
    noise: Noise | None = None,
    seed: int = 1,
    rng: Rng | None = None,
) -> Network:
    """A network fitted by gradient descent with momentum. Without `noise` it learns from exact mean gradients.

    With `noise` it satisfies `noise.loss(steps=steps, parameters=network.parameters)`.
    """
    x, y = _checked(x, y, classes)
    source = rng_or_default(rng)
    network = Network.blank(x.shape[-1], classes, hidden=hidden, seed=seed)
    speed = [np.zeros_like(w) for w in network.weights]
    for _ in range(whole(steps, "steps", least=1)):
        if noise is None:
            gradients = [_total(layer) / max(1, len(x)) for layer in network.layers(x, y)]
        else:
            inside = slice(None) if noise.rate == 1 else coins(noise.rate, len(x), source)
            gradients = noisy_sum(network.layers(x[inside], y[inside]), noise, rng=source)
            gradients = [g / float(noise.batch) for g in gradients]
        speed = [momentum * v + g for v, g in zip(speed, gradients, strict=True)]
        network = Network(tuple(w - learning_rate * v for w, v in zip(network.weights, speed, strict=True)))
    return network


def noisy_sum(layers: list[Layer], noise: Noise, *, rng: Rng | None = None) -> list[Array]:
    """The sum of the clipped gradients of a batch, with noise; one array for each layer."""
    if layers[0].inputs[..., 0].size > ROWS:
        raise InputError(f"a private step takes at most {ROWS} rows, whose rounding errors are accounted for")
    length = _lengths(layers)
    with np.errstate(divide="ignore"):  # no gradient at all is not scaled
        scale = np.minimum(1.0, float(noise.clip) / length)
    scale = np.where(np.isfinite(length), scale, 0.0)  # a gradient that overflowed takes no part: it cannot be clipped
    sums = []
    for layer in layers:
        each = scale.reshape(scale.shape + (1,) * (layer.back.ndim - 1))
        sums.append(_total(Layer(np.where(each > 0, layer.inputs, 0.0), np.where(each > 0, layer.back, 0.0) * each)))
    flat = np.concatenate([s.ravel() for s in sums])
    mechanism = noise.mechanism
    step = float(mechanism.lattice.granularity)  # a power of two, so this is exact; halves go up, as in Lattice.round
    noisy = mechanism.sample(np.floor(flat / step + 0.5) * step, rng)
    ends = np.cumsum([s.size for s in sums])[:-1]
    return [part.reshape(s.shape) for part, s in zip(np.split(noisy, ends), sums, strict=True)]


def _lengths(layers: list[Layer]) -> Array:
    """Upper bounds on the l2 lengths of the gradients of the examples, over all layers, without forming them.

    The square for rows a_t with back-propagated b_t is Σ over s, t of (a_s·a_t)(b_s·b_t). Where rows cancel, its terms
    are far larger than their sum. So CANCELLED of the largest it could be, (Σ |a_t||b_t|)², is added: that covers the
    error of the Gram matrices, and keeps what the rows of one example add to the sum below 10⁴ clips, so that all
    errors of summing n rows are below n²·10⁴·2⁻⁵³ clips a side: under SLACK for ROWS.
    """
    square: Array = np.zeros(len(layers[0].inputs))
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is dropped by noisy_sum
        for layer in layers:
            a, b = (v if v.ndim == 3 else v[:, None, :] for v in (layer.inputs, layer.back))
            gram = (a @ a.swapaxes(1, 2)) * (b @ b.swapaxes(1, 2))
            most = (np.linalg.norm(a, axis=2) * np.linalg.norm(b, axis=2)).sum(axis=1) ** 2
            square = square + np.maximum(0.0, gram.sum(axis=(1, 2))) + CANCELLED * most
        return np.sqrt(square)


def _total(layer: Layer) -> Array:
    """The sum of the outer products of all rows, in slices too small for a library to start threads for."""
    a, b = (v.reshape(-1, v.shape[-1]) for v in (layer.inputs, layer.back))
    rows = max(16, SMALL // max(1, a.shape[1] * b.shape[1]))
    total: Array = np.zeros((a.shape[1], b.shape[1]))
    for start in range(0, len(a), rows):
        total += a[start : start + rows].T @ b[start : start + rows]
    return total


def _checked(x: Array, y: Array, classes: int) -> tuple[Array, Array]:
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim not in (2, 3) or y.shape != x.shape[:-1]:
        raise InputError("x must be (examples, features) or (examples, length, features), and y a label for each row")
    if x.dtype.kind not in "biuf" or y.dtype.kind not in "iu":
        raise InputError("x must hold numbers and y whole numbers, the index of the class")
    if not np.isfinite(x).all():
        raise InputError("x must be finite: it holds NaN or infinity")
    if len(y) and not (y.min() >= -1 and y.max() < classes):
        raise InputError(f"labels must be from 0 to {classes - 1}, or -1 for none")
    return x.astype(float), y
