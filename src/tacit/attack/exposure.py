"""Has a model learnt a secret by heart? Canary exposure (Carlini et al. 2019) of a next-character model.

A secret number is put into the training text. The attacker ranks every number it could have been by how likely the
model finds it. Exposure is log2 of how many there are, less log2 of the rank of the true one: about 1.4 bits for a
number that was never seen, all of its bits for one that the model would write by itself. The private model is trained
as `tacit.learn` trains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from typing import Any

import numpy as np

from tacit.attack.population import Array, Chance, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.attack.trained import Trained, Trainer, classifier, size_of
from tacit.base import InputError, whole
from tacit.learn import ArrayRows, Training
from tacit.learn.need import need_torch
from tacit.loss import Loss
from tacit.noise import Rng

__all__ = ["Alphabet", "Exposure", "candidates", "exposure", "stage"]

DIGITS = "0123456789"
ALPHABET = f" {DIGITS}aemnst"
WORDS = np.array(["mast", "seat", "team", "mean", "name", "same", "neat", "meat", "sane", "tame"])
PLACES = 6  # digits of a secret
PREFIX = "sesame "
FAR = 10  # bits: the secret is among the first thousandth of the candidates


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Where the secret stands among `size` candidates; rank 1 is the one that the model likes best."""

    rank: int
    size: int

    @property
    def bits(self) -> float:
        return log2(self.size) - log2(self.rank)


def exposure(losses: Array, secret: int) -> Exposure:
    """The exposure of candidate number `secret`, given the model's loss on each. Ties count as ahead of it."""
    losses = np.asarray(losses, dtype=float)
    if losses.ndim != 1 or not 0 <= secret < losses.size:
        raise InputError("losses must be a list with one number for each candidate, and secret a place in it")
    if np.isnan(losses).any():
        raise InputError("losses hold NaN: a candidate without a loss has no rank")
    return Exposure(rank=int((losses <= losses[secret]).sum()), size=losses.size)


@dataclass(frozen=True)
class Alphabet:
    """How text becomes examples: each character is to be told from the `context` characters before it."""

    alphabet: str
    context: int = 4

    def encode(self, lines: Sequence[str]) -> tuple[Array, Array]:
        """One example a line: what stood before each character (n, length, features), and which it was (n, length)."""
        if not lines or max(map(len, lines)) == 0:
            raise InputError("there is no text: give at least one line that is not empty")
        if unknown := set("".join(lines)) - set(self.alphabet):
            raise InputError(f"{len(unknown)} characters of the text are not in the alphabet: add them to it")
        place = {letter: i for i, letter in enumerate(self.alphabet)}
        y = np.full((len(lines), max(map(len, lines))), len(self.alphabet))  # beyond the last: none
        for row, line in enumerate(lines):
            y[row, : len(line)] = [place[letter] for letter in line]
        before = np.pad(y, ((0, 0), (self.context, 0)), constant_values=len(self.alphabet))
        near = np.stack([before[:, back : back + y.shape[1]] for back in range(self.context)], axis=2)
        return self.one_hot(near), y

    def one_hot(self, near: Array) -> Array:
        """What the model is shown for `context` characters, as their places in the alphabet; beyond it is none."""
        shown: Array = near[..., None] == np.arange(len(self.alphabet))
        return shown.reshape(*near.shape[:-1], self.context * len(self.alphabet)).astype(float)

    def loss(self, model: Trained, lines: Sequence[str]) -> float:
        """Bits a character: how badly the model foretells this text."""
        x, y = self.encode(lines)
        return float(model.losses(x, y).sum() / (y < len(self.alphabet)).sum() / np.log(2))


def candidates(model: Trained, characters: Alphabet, *, prefix: str, places: int = PLACES) -> Array:
    """The loss of the model on each number of so many digits after `prefix`, in the order of the numbers."""
    if not set(DIGITS + prefix) <= set(characters.alphabet):
        raise InputError("the alphabet must have the ten digits and every character of the prefix")
    width, digits = characters.context, [characters.alphabet.index(digit) for digit in DIGITS]
    start = np.array(
        [len(characters.alphabet)] * width + [characters.alphabet.index(letter) for letter in prefix], dtype=int
    )
    total: Array = np.zeros(1)
    for place in range(whole(places, "places", least=1)):
        # only the digits inside the context matter: one loss for each of their combinations
        seen = min(place, width)
        tails = np.array(digits)[np.indices((10,) * seen).reshape(seen, 10**seen).T]
        before = np.hstack([np.broadcast_to(start, (len(tails), start.size)), tails])[:, -width:]
        each = -np.log(np.maximum(model.predict_proba(characters.one_hot(before))[:, digits], 1e-300))
        total = (total.reshape(-1, 10**seen, 1) + each).ravel()
    return total


def stage(
    *,
    seed: int = 1,
    lines: int = 250,
    secrets: Sequence[tuple[int, int]] = ((1, 8), (4, 2), (16, 2)),
    epsilon: float = 1.0,
    delta: float = 1e-5,
    rng: Rng | None = None,
    progress: Progress = silent,
) -> Outcome:
    """A next-character model on made-up lines with a secret among them, trained privately and not.

    `secrets` says how often a secret stands in the text, the first time once, and how many secrets are tried so.
    """
    if not secrets or secrets[0][0] != 1:
        raise InputError("secrets must begin with those that stand in the text once, for example ((1, 8), (16, 3))")
    source, characters = chance(seed), Alphabet(ALPHABET)
    model = classifier(characters.context * len(ALPHABET), len(ALPHABET))
    fresh = _corpus(source, lines)
    plan = Training(
        rows=ArrayRows(*characters.encode(fresh), classes=len(ALPHABET) + 1),
        batch=lines,
        rate=1,
        steps=20,
        clip=2,
        epsilon=epsilon,
        delta=delta,
        parameters=size_of(model),
    )
    descend, classes = need_torch().optim.SGD, len(ALPHABET) + 1
    plain = Trainer(model, classes=classes, steps=40, optimise=partial(descend, lr=0.5, momentum=0.9))
    private = Trainer(
        model, classes=classes, steps=20, optimise=partial(descend, lr=0.2, momentum=0.9), plan=plan, rng=rng
    )
    bits: dict[str, dict[int, list[float]]] = {"undefended": {}, "private": {}}
    quality: dict[str, list[float]] = {"undefended": [], "private": []}
    done, whole_work = 0, sum(count for _, count in secrets)
    for times, count in secrets:
        for _ in range(count):
            secret = int(source.integers(10**PLACES))
            text = _corpus(source, lines) + [f"{PREFIX}{secret:0{PLACES}d}"] * times
            x, y = characters.encode(text)
            for way, trainer in (("undefended", plain), ("private", private)):
                trained = trainer.fit(x, y)
                found = exposure(candidates(trained, characters, prefix=PREFIX), secret)
                bits[way].setdefault(times, []).append(found.bits)
                quality[way].append(characters.loss(trained, fresh))
            done += 1
            progress(done / whole_work)
    return _outcome(bits, quality, plan.loss, delta)


def _corpus(source: Chance, lines: int) -> list[str]:
    """Two words and a number of two digits a line."""
    words = WORDS[source.integers(len(WORDS), size=(lines, 2))]
    return [f"{a} {b} {n}" for (a, b), n in zip(words, source.integers(10, 100, size=lines), strict=True)]


def _outcome(
    bits: dict[str, dict[int, list[float]]], quality: dict[str, list[float]], loss: Loss, delta: float
) -> Outcome:
    epsilon, tries = loss.epsilon(delta).upper, len(bits["private"][1])
    against = {"undefended": "the model trained without noise", "private": f"the model trained with ε = {epsilon:.3g}"}
    attempts = {way: Attempt.counted(against[way], sum(b >= FAR for b in bits[way][1]), tries) for way in against}
    mean = {way: {times: float(np.mean(found)) for times, found in by.items()} for way, by in bits.items()}
    most = {times: loss.grouped(times).tradeoff().power(2.0**-FAR) for times in bits["private"]}
    bad = {way: float(np.mean(found)) for way, found in quality.items()}

    def draw() -> Any:
        from tacit.plot import LabelledCurve, curves

        lines = [
            LabelledCurve(
                against[way], [*by], [*mean[way].values()], [*map(min, by.values())], [*map(max, by.values())]
            )
            for way, by in bits.items()
        ]
        return curves(
            lines,
            title=(
                f"How much of a {PLACES}-digit secret is in the model?",
                f"exposure in bits of {log2(10**PLACES):.1f}: mean and range; 1.4 bits is a secret never seen",
            ),
            axes=("times that the secret stands in the training text", "exposure (bits)"),
            chance=log2(np.e),
            logarithmic=True,
            domain=(0, 21),
        )

    return Outcome(
        name="canary-exposure",
        headline="A model learns secrets by heart",
        measure="secrets written once that the model ranks among the first thousandth of all candidates",
        chance=2.0**-FAR,
        undefended=attempts["undefended"],
        defended=attempts["private"],
        remarks=(
            f"the private training spends ε = {epsilon:.3g} at δ = {delta:g} in all, for adding or removing a line; a "
            f"secret on one line then comes so far up with a chance of at most {most[1]:.2%}",
            *(
                f"on {times} lines the guarantee is that of a group of {times}: at most {bound:.1%}"
                for times, bound in most.items()
                if times > 1
            ),
            f"bits to foretell a character of new text: {bad['undefended']:.2f} without privacy, {bad['private']:.2f} "
            f"with, {log2(len(ALPHABET)):.2f} for one who knows nothing",
        ),
        facts={
            "epsilon": epsilon,
            "delta": delta,
            "exposure": {way: {str(times): found for times, found in by.items()} for way, by in bits.items()},
            "chance of 10 bits at most": {str(times): bound for times, bound in most.items()},
            "bits a character": bad,
        },
        draw=draw,
    )
