"""What a gradient gives away: an example from the gradient that it caused, exactly, or by matching (DLG).

`from_bias`: in a layer with a bias, the gradient of a unit's weights is the input times the gradient of its bias, so
that one division gives the input back (Phong et al. 2018; Geiping et al. 2020). `deep_leakage` (Zhu, Liu and Han 2019)
looks for an example whose gradient matches, by L-BFGS from several starts; it needs no bias and finds the label too.
Both are for a gradient of one example, as a phone sends it in federated learning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from tacit.attack.pixels import dots
from tacit.attack.population import Array, Chance, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.attack.trained import Trainer, classifier, size_of
from tacit.base import InputError, Relation, whole
from tacit.learn import ArrayRows, Training
from tacit.learn.need import need_torch
from tacit.noise import Rng

__all__ = ["Leak", "Weights", "deep_leakage", "digit", "from_bias", "gradient", "mismatch", "stage", "weights_of"]

Weights = tuple[Array, ...]
LOUD = 100  # what a sum of one is divided by, so that a plan has room for noise far above one clip


@dataclass(frozen=True, eq=False)
class Leak:
    """The example that was found: its features, its label, and what is left of the difference of the gradients."""

    features: Array
    label: int
    residual: float


ENOUGH = 1e-12  # of a squared gradient: the match is exact
HOW: dict[str, Any] = {"maxcor": 20, "ftol": 1e-16, "gtol": 1e-9, "maxfun": 10**6}


def gradient(network: Weights, x: Array, label: int) -> list[Array]:
    """What one example sends: the gradient of its loss for each matrix of weights, biases in the last row."""
    upper, lower = _layers(network)
    before = np.append(np.asarray(x, dtype=float), 1.0)
    state = np.append(expit(before @ upper), 1.0)
    back = softmax(state @ lower)
    back[label] -= 1
    pulled = (lower[:-1] @ back) * state[:-1] * (1 - state[:-1])
    return [np.outer(before, pulled), np.outer(state, back)]


def weights_of(model: Any) -> Weights:
    """The weights of a network of torch with affine layers: for each a row for each input, and a last row of biases."""
    found = [each.detach().double().numpy() for each in model.parameters()]
    return tuple(np.vstack([weight.T, bias]) for weight, bias in zip(found[::2], found[1::2], strict=True))


def from_bias(network: Weights, gradients: Sequence[Array]) -> Leak:
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
    network: Weights,
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
    size = network[0].shape[0] - 1
    source = chance(seed)
    best: tuple[float, Array] | None = None
    solve: Any = minimize  # its stub knows no such options
    length = max(float(np.sqrt(sum((g**2).sum() for g in gradients))), 1e-300)

    def judge(v: Array) -> tuple[float, Array]:
        return mismatch(network, gradients, v[:size], v[size:], biases=biases, clipped=clipped, unit=length)

    for _ in range(whole(starts, "starts", least=1)):
        begin = np.concatenate([source.random(size), source.normal(size=network[-1].shape[1]) / 10])
        found = solve(judge, begin, jac=True, method="L-BFGS-B", options=HOW | {"maxiter": steps})
        if best is None or found.fun < best[0]:
            best = float(found.fun), found.x
        if best[0] < ENOUGH:
            break
    assert best is not None  # at least one start
    value, at = best
    return Leak(at[:size], int(at[size:].argmax()), value * length**2)


def mismatch(
    network: Weights,
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
    upper, lower = network
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


def _layers(network: Weights) -> Weights:
    if len(network) != 2:
        raise InputError("this attack is written for a network with one hidden layer")
    return network


def _fits(network: Weights, gradients: Sequence[Array]) -> None:
    if [g.shape for g in gradients] != [w.shape for w in _layers(network)]:
        raise InputError("gradients must have the shapes of the network's weights: one array for each layer")
    if not all(np.isfinite(g).all() for g in gradients):
        raise InputError("gradients must be finite: they hold NaN or infinity")


SIDE = 10
SAME = 0.02  # mean squared error, of pixels in [0, 1], up to which a picture counts as recovered
SHOWN = 5
DIGITS = 10


def digit(number: int, source: Chance) -> Array:
    """A picture of the digit somewhere on a square of shades, as a vector of brightnesses in [0, 1]."""
    picture = 0.25 * source.random((SIDE, SIDE))
    top, left = source.integers(SIDE - 6), source.integers(SIDE - 4)
    picture[top : top + 7, left : left + 5] += dots(number) * source.uniform(0.55, 0.75, size=(7, 5))
    return picture.ravel()


def stage(
    *,
    seed: int = 1,
    pictures: int = 16,
    epsilons: Sequence[float] = (8.0, 1e3, 1e4, 1e5, 1e6),
    delta: float = 1e-5,
    rng: Rng | None = None,
    progress: Progress = silent,
) -> Outcome:
    """One gradient for each picture: as it is, and clipped with noise for each of `epsilons`, the first to be judged.

    The guarantee is for whom the picture was exchanged for another (local privacy). The attacker knows the network and
    takes the better of both attacks, told which that is.
    """
    if pictures < 1 or not epsilons or len(set(epsilons)) < len(epsilons):
        raise InputError("the stage needs at least one picture and one epsilon, each epsilon once")
    source = chance(seed)
    model = classifier(SIDE * SIDE, DIGITS, hidden=(40,), seed=seed)
    labels = [int(source.integers(DIGITS)) for _ in range(pictures)]
    shown = [digit(label, source) for label in labels]
    plans = [
        Training(
            rows=ArrayRows(np.stack(shown), np.array(labels), classes=DIGITS),
            batch=LOUD,
            rate=1,
            steps=1,
            epsilon=e,
            delta=delta,
            parameters=size_of(model),
            relation=Relation.REPLACE,
        )
        for e in epsilons
    ]
    guesses: list[list[Leak]] = []
    for turn, plan in enumerate([None, *plans]):
        phone = None if plan is None else Phone(model, plan, rng)
        guesses.append([_guess(weights_of(model), x, label, phone) for x, label in zip(shown, labels, strict=True)])
        progress((turn + 1) / (1 + len(plans)))
    sigmas = [float(plan.sigma_in_clips) for plan in plans]
    return _outcome(shown, labels, guesses, dict(zip(epsilons, sigmas, strict=True)), delta)


class Phone:
    """Sends the gradient of one picture as a training's first step has it: one step of plain descent shows it."""

    def __init__(self, model: Any, plan: Training, rng: Rng | None) -> None:
        self._before = weights_of(model)
        descent = partial(need_torch().optim.SGD, lr=LOUD)
        self._trainer = Trainer(model, classes=DIGITS, steps=1, optimise=descent, plan=plan, rng=rng)

    def send(self, x: Array, label: int) -> list[Array]:
        after = weights_of(self._trainer.fit(x[None, :], np.array([label])).module)
        return [old - new for old, new in zip(self._before, after, strict=True)]


def _guess(network: Weights, x: Array, label: int, phone: Phone | None) -> Leak:
    """The better of both attacks; brightnesses are known to lie in [0, 1]."""
    if phone is None:
        tries = [deep_leakage(network, gradient(network, x, label))]
    else:
        sent = phone.send(x, label)
        tries = [from_bias(network, sent), deep_leakage(network, sent, biases=True, clipped=True, starts=2, steps=200)]
    seen = [replace(leak, features=np.clip(leak.features, 0.0, 1.0)) for leak in tries]
    # the label comes from the division: the sum over a layer bears noise better than a search
    return replace(min(seen, key=lambda leak: _error(leak.features, x)), label=tries[0].label)


def _error(guess: Array, x: Array) -> float:
    return float(np.mean((guess - x) ** 2))


def _outcome(
    shown: list[Array], labels: list[int], guesses: list[list[Leak]], sigmas: dict[float, float], delta: float
) -> Outcome:
    epsilons = list(sigmas)
    errors = [[_error(guess.features, x) for guess, x in zip(row, shown, strict=True)] for row in guesses]
    counts = [sum(error <= SAME for error in row) for row in errors]
    read = [sum(guess.label == label for guess, label in zip(row, labels, strict=True)) for row in guesses]
    blank = float(np.mean([_error(np.full_like(x, np.mean(shown)), x) for x in shown]))
    first = f"a gradient with ε = {epsilons[0]:g}"

    def draw() -> Any:
        from tacit.plot.attacks import pictures

        rows = {"the picture": shown} | {"from its gradient": [guess.features for guess in guesses[0]]}
        for epsilon, row in sorted(zip(epsilons, guesses[1:], strict=True), key=lambda pair: -pair[0]):
            rows[f"with noise, ε = {epsilon:,.0f}"] = [guess.features for guess in row]
        return pictures(
            {name: [x.reshape(SIDE, SIDE).tolist() for x in row[:SHOWN]] for name, row in rows.items()},
            title=("What the gradient of one picture gives away", "the better of two attacks: division, and DLG"),
        )

    return Outcome(
        name="gradient-leakage",
        headline="A gradient is a picture of what caused it",
        measure=f"pictures recovered from the gradient of one example (mean squared error at most {SAME:g})",
        chance=0.0,
        undefended=Attempt.counted("the gradient as it is", counts[0], len(shown)),
        defended=Attempt.counted(first, counts[1], len(shown)),
        remarks=(
            f"each noisy gradient costs its sender the ε that is shown, at δ = {delta:g}, for exchanging the picture",
            f"mean squared error: {np.mean(errors[0]):.1e} without noise, {np.mean(errors[1]):.2f} at "
            f"ε = {epsilons[0]:g}; an even grey has {blank:.2f}",
            f"labels read off {len(shown)} gradients: {read[0]} without noise, "
            + ", ".join(f"{count} at ε = {e:,.0f}" for e, count in zip(epsilons, read[1:], strict=True)),
            "that pictures are safe at a large ε is seen, not promised: other attacks may know more of pictures",
        ),
        facts={
            "delta": delta,
            "sigma": {f"{e:g}": sigma for e, sigma in sigmas.items()},
            "recovered": {f"{e:g}": count / len(shown) for e, count in zip(epsilons, counts[1:], strict=True)},
            "mean squared error": {
                name: float(np.mean(row))
                for name, row in zip(("none", *(f"{e:g}" for e in epsilons)), errors, strict=True)
            },
            "mean squared error of grey": blank,
            "labels read": dict(zip(("none", *(f"{e:g}" for e in epsilons)), read, strict=True)),
        },
        draw=draw,
    )
