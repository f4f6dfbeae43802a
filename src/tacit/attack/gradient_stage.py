"""The gradient attacks on made-up pictures: what a phone sends in federated learning, as it is and with noise."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.attack.chance import Chance, chance
from tacit.attack.gradients import Leak, deep_leakage, from_bias, gradient
from tacit.attack.network import Array, Network
from tacit.attack.noisy_training import Noise, noisy_sum
from tacit.attack.outcome import Attempt, Outcome
from tacit.base import InputError, Relation
from tacit.noise import Rng

__all__ = ["digit", "stage"]

SIDE = 10
SAME = 0.02  # mean squared error, of pixels in [0, 1], up to which a picture counts as recovered
SHOWN = 5
# rows of a letter of five by seven dots, the leftmost dot the highest bit
GLYPHS = (
    (14, 17, 19, 21, 25, 17, 14),
    (4, 12, 4, 4, 4, 4, 14),
    (14, 17, 1, 2, 4, 8, 31),
    (31, 2, 4, 2, 1, 17, 14),
    (2, 6, 10, 18, 31, 2, 2),
    (31, 16, 30, 1, 1, 17, 14),
    (6, 8, 16, 30, 17, 17, 14),
    (31, 1, 2, 4, 8, 8, 8),
    (14, 17, 17, 14, 17, 17, 14),
    (14, 17, 17, 15, 1, 2, 12),
)


def digit(number: int, source: Chance) -> Array:
    """A picture of the digit somewhere on a square of shades, as a vector of brightnesses in [0, 1]."""
    dots = np.array([[row >> (4 - column) & 1 for column in range(5)] for row in GLYPHS[number]], dtype=float)
    picture = 0.25 * source.random((SIDE, SIDE))
    top, left = source.integers(SIDE - 6), source.integers(SIDE - 4)
    picture[top : top + 7, left : left + 5] += dots * source.uniform(0.55, 0.75, size=dots.shape)
    return picture.ravel()


def stage(
    *,
    seed: int = 1,
    pictures: int = 16,
    epsilons: Sequence[float] = (8.0, 1e3, 1e4, 1e5, 1e6),
    delta: float = 1e-5,
    rng: Rng | None = None,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """One gradient for each picture: as it is, and clipped with noise for each of `epsilons`, the first to be judged.

    The guarantee is for whom the picture was exchanged for another (local privacy). The attacker knows the network and
    takes the better of both attacks, told which that is.
    """
    if pictures < 1 or not epsilons or len(set(epsilons)) < len(epsilons):
        raise InputError("the stage needs at least one picture and one epsilon, each epsilon once")
    source = chance(seed)
    network = Network.blank(SIDE * SIDE, len(GLYPHS), hidden=(40,), seed=seed)
    labels = [int(source.integers(len(GLYPHS))) for _ in range(pictures)]
    shown = [digit(label, source) for label in labels]
    size = network.parameters
    noises = [None] + [
        Noise.within(epsilon=e, delta=delta, steps=1, parameters=size, batch=1, relation=Relation.REPLACE)
        for e in epsilons
    ]
    guesses: list[list[Leak]] = []
    for turn, noise in enumerate(noises):
        guesses.append([_guess(network, x, label, noise, rng) for x, label in zip(shown, labels, strict=True)])
        if progress is not None:
            progress((turn + 1) / len(noises))
    sigmas = [float(noise.sigma) for noise in noises if noise is not None]
    return _outcome(shown, labels, guesses, dict(zip(epsilons, sigmas, strict=True)), delta)


def _guess(network: Network, x: Array, label: int, noise: Noise | None, rng: Rng | None) -> Leak:
    """The better of both attacks; brightnesses are known to lie in [0, 1]."""
    if noise is None:
        tries = [deep_leakage(network, gradient(network, x, label))]
    else:
        sent = noisy_sum(network.layers(x[None, :], np.array([label])), noise, rng=rng)
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
        from tacit.plot.pictures import pictures

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
            "the noisy gradient is a stand-in for private training: clipping, tacit's Gaussian, tacit's accounting",
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
