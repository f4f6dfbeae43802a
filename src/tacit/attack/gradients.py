"""What a gradient gives away: an example from the gradient that it caused, exactly, or by matching (DLG).

`from_bias`: in a layer with a bias, the gradient of a unit's weights is the input times the gradient of its bias, so
that one division gives the input back (Phong et al. 2018; Geiping et al. 2020). `deep_leakage` (Zhu, Liu and Han 2019)
looks for an example whose gradient matches, by L-BFGS from several starts; it needs no bias and finds the label too.
Both are for a gradient of one example, as a phone sends it in federated learning.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from tacit.attack.chance import chance
from tacit.attack.descent import descend
from tacit.attack.network import Array, Network
from tacit.base import InputError, whole

__all__ = ["Leak", "deep_leakage", "from_bias", "gradient", "mismatch"]


@dataclass(frozen=True, eq=False)
class Leak:
    """The example that was found: its features, its label, and what is left of the difference of the gradients."""

    features: Array
    label: int
    residual: float


def gradient(network: Network, x: Array, label: int) -> list[Array]:
    """What one example sends: the gradient of its loss for each matrix of weights, biases in the last row."""
    layers = network.layers(np.asarray(x, dtype=float)[None, :], np.array([label]))
    return [layer.inputs.T @ layer.back for layer in layers]


def from_bias(network: Network, gradients: Sequence[Array]) -> Leak:
    """The example by division; exact for a gradient without noise. The label is the output that is pulled upward."""
    _fits(network, gradients)
    first, last = gradients[0], gradients[-1]
    bias = first[-1]
    weight = float((bias**2).sum())
    if not weight:
        raise InputError("the gradient of the first biases is zero: it holds nothing to divide by")
    # every unit gives the same answer; with noise, least squares over all of them
    features = first[:-1] @ bias / weight
    label = int(last.sum(axis=0).argmin())  # what enters the last layer is positive, so that all rows agree
    rest = gradient(network, features, label)
    return Leak(features, label, float(sum(((a - b) ** 2).sum() for a, b in zip(rest, gradients, strict=True)) / 2))


def deep_leakage(
    network: Network,
    gradients: Sequence[Array],
    *,
    starts: int = 5,
    steps: int = 500,
    seed: int = 1,
    biases: bool = False,
    clipped: bool = False,
) -> Leak:
    """The example whose gradient comes nearest to `gradients`, from the best of several random starts.

    The network has one hidden layer. Without `biases` their gradients are not looked at: the harder task. `clipped`
    says that the length of the gradient was changed, so that only its direction is to be matched.
    """
    _fits(network, gradients)
    size = network.weights[0].shape[0] - 1
    source = chance(seed)
    best: tuple[float, Array] | None = None
    length = max(float(np.sqrt(sum((g**2).sum() for g in gradients))), 1e-300)

    def judge(v: Array) -> tuple[float, Array]:
        return mismatch(network, gradients, v[:size], v[size:], biases=biases, clipped=clipped, unit=length)

    for _ in range(whole(starts, "starts", least=1)):
        begin = np.concatenate([source.random(size), source.normal(size=network.classes) / 10])
        found = descend(judge, begin, steps=steps)
        if best is None or found[0] < best[0]:
            best = found
        if best[0] < 1e-12:
            break
    assert best is not None  # at least one start
    value, at = best
    return Leak(at[:size], int(at[size:].argmax()), value * length**2)


def mismatch(
    network: Network,
    gradients: Sequence[Array],
    x: Array,
    leaning: Array,
    *,
    biases: bool = False,
    clipped: bool = False,
    unit: float = 1.0,
) -> tuple[float, Array]:
    """½‖∇W(x, y) − g‖², in squares of `unit`, for the soft label y = softmax(leaning), and its gradient in both.

    With `clipped` it is ½‖c·∇W(x, y) − g‖² at the best c ≥ 0. Written out by hand for one hidden layer of sigmoids:
    reverse mode through the back-propagation itself.
    """
    upper, lower = network.weights
    y = softmax(leaning)
    a0 = np.append(x, 1.0)
    s = expit(a0 @ upper)
    a1 = np.append(s, 1.0)
    p = softmax(a1 @ lower)
    slope = s * (1 - s)
    back2 = p - y
    pulled = lower[:-1] @ back2
    back1 = pulled * slope
    matched = [np.outer(a0, back1), np.outer(a1, back2)]
    rows = slice(None) if biases else slice(-1)
    times = 1.0
    if clipped:
        square = sum((m[rows] ** 2).sum() for m in matched)
        times = max(0.0, sum((m[rows] * g[rows]).sum() for m, g in zip(matched, gradients, strict=True)) / square)
    # times is the best there is, so that its own change has no effect
    off0, off1 = (times * m - g for m, g in zip(matched, gradients, strict=True))
    if not biases:
        off0[-1], off1[-1] = 0.0, 0.0
    value = float((off0**2).sum() + (off1**2).sum()) / 2
    off0, off1 = times * off0, times * off1
    # adjoints, from the end: of back1 and a0, of back2 and a1, then down to x and the label
    to_back1, to_a0 = off0.T @ a0, off0 @ back1
    to_a1, to_back2 = off1 @ back2, off1.T @ a1 + lower[:-1].T @ (to_back1 * slope)
    to_logits = p * (to_back2 - to_back2 @ p)
    to_s = (to_a1 + lower @ to_logits)[:-1] + to_back1 * pulled * (1 - 2 * s)
    to_x = (to_a0 + upper @ (to_s * slope))[:-1]
    to_leaning = -y * (to_back2 - to_back2 @ y)
    return value / unit**2, np.concatenate([to_x, to_leaning]) / unit**2


def _fits(network: Network, gradients: Sequence[Array]) -> None:
    if len(network.weights) != 2:
        raise InputError("this attack is written for a network with one hidden layer")
    if [g.shape for g in gradients] != [w.shape for w in network.weights]:
        raise InputError("gradients must have the shapes of the network's weights: one array for each layer")
    if not all(np.isfinite(g).all() for g in gradients):
        raise InputError("gradients must be finite: they hold NaN or infinity")
