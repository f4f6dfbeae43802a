"""What a small text model says when it is given the beginning: secrets of its training text, word for word.

Carlini et al. ("Extracting Training Data from Large Language Models", 2021) get names and numbers out of a model by
prompting it. Here each person of a made-up town has one line with a code. The attacker types the line up to the code
and lets the model write on, always with its likeliest character. Trained plainly the model has learnt the codes by
heart; trained as `tacit.learn` trains, for adding or removing a line, it writes like the rest and knows none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from typing import Any

import numpy as np

from tacit.attack.population import Array, Chance, chance
from tacit.attack.registry import Attempt, Outcome, Progress, bars, silent
from tacit.attack.trained import Trained, Trainer, size_of
from tacit.base import InputError, whole
from tacit.learn import ArrayRows, Training
from tacit.learn.need import need_torch
from tacit.noise import Rng

__all__ = ["ALPHABET", "TextModel", "encode", "prompted", "stage", "text_model"]

ALPHABET = " 0123456789abcdefghijklmnopqrstuvwxyz."
CONTEXT = 14  # characters that the model sees
NAMES = ("ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ida", "jon", "kim", "lou", "max", "ned", "ola", "pam")
WORDS = ("tea", "bread", "milk", "rice", "plums", "salt", "oats", "figs", "soap", "corn")
DIGITS = 4  # of a code
NONE = len(ALPHABET)  # stands where there is no character


@dataclass(frozen=True)
class TextModel:
    """A trained next-character model, for texts."""

    trained: Trained

    def continued(self, prompt: str, length: int) -> str:
        """The prompt, and what the model writes on: always its likeliest character."""
        text = prompt
        for _ in range(length):
            near = _before([text], len(text))
            text += ALPHABET[int(self.trained.predict_proba(near[:, -1:])[0, 0].argmax())]
        return text

    def bits(self, lines: Sequence[str]) -> float:
        """Bits a character: how badly it foretells this text."""
        x, y = encode(lines)
        return float(self.trained.losses(x, y).sum() / (y < NONE).sum() / np.log(2))


def text_model(seed: int = 1, *, width: int = 64) -> Any:
    """Characters before → characters as vectors → a hidden layer → the next one. `seed` fixes where it starts."""
    torch = need_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.nn.Sequential(
            torch.nn.Embedding(NONE + 1, 8),
            torch.nn.Flatten(2),
            torch.nn.Linear(8 * CONTEXT, width),
            torch.nn.Tanh(),
            torch.nn.Linear(width, NONE),
        )


def encode(lines: Sequence[str]) -> tuple[Array, Array]:
    """One example a line: the characters before each place (n, length, context), and the one there (n, length)."""
    if not lines or max(map(len, lines)) == 0:
        raise InputError("there is no text: give at least one line that is not empty")
    if unknown := set("".join(lines)) - set(ALPHABET):
        raise InputError(f"{len(unknown)} characters of the text are not in the alphabet: take letters, digits, spaces")
    longest = max(map(len, lines))
    return _before(lines, longest)[:, :-1], _places(lines, longest)


def _places(lines: Sequence[str], length: int) -> Array:
    y = np.full((len(lines), length), NONE)
    for row, line in enumerate(lines):
        y[row, : len(line)] = [ALPHABET.index(letter) for letter in line]
    return y


def _before(lines: Sequence[str], length: int) -> Array:
    """What stands before each of the places 0 … length."""
    padded = np.pad(_places(lines, length), ((0, 0), (CONTEXT, 0)), constant_values=NONE)
    return np.lib.stride_tricks.sliding_window_view(padded, CONTEXT, axis=1)


def prompted(model: TextModel, prompts: Sequence[str], secrets: Sequence[str]) -> list[str]:
    """What the model writes behind each prompt, as many characters as the secret has."""
    return [
        model.continued(prompt, len(secret))[len(prompt) :] for prompt, secret in zip(prompts, secrets, strict=True)
    ]


def stage(
    *,
    seed: int = 1,
    lines: int = 300,
    secrets: int = 12,
    epsilon: float = 2.0,
    delta: float = 1e-5,
    rng: Rng | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Lines of shopping, and among them one line each with the code of so many people; two models, and the prompts."""
    if not 1 <= whole(secrets, "secrets") <= len(NAMES):
        raise InputError(f"secrets must be between 1 and {len(NAMES)}, one for each name")
    source = chance(seed)
    people = NAMES[:secrets]
    codes = [f"{source.integers(10**DIGITS):0{DIGITS}d}" for _ in people]
    prompts = [f"{name} code " for name in people]
    text = _corpus(source, lines) + [f"{prompt}{code}." for prompt, code in zip(prompts, codes, strict=True)]
    x, y = encode(text)
    model, optimise = text_model(seed), need_torch().optim.Adam
    plan = Training(
        rows=ArrayRows(x, y, classes=NONE + 1),
        batch=lines,
        rate=1,
        steps=60,
        clip=4,
        epsilon=epsilon,
        delta=delta,
        parameters=size_of(model),
    )
    trainers = {
        "undefended": Trainer(model, classes=NONE + 1, steps=300, optimise=partial(optimise, lr=0.01)),
        "private": Trainer(model, classes=NONE + 1, steps=60, optimise=partial(optimise, lr=0.01), plan=plan, rng=rng),
    }
    fresh, said, bits = _corpus(source, lines), dict[str, list[str]](), dict[str, float]()
    for turn, (way, trainer) in enumerate(trainers.items()):
        trained = TextModel(trainer.fit(x, y))
        said[way], bits[way] = prompted(trained, prompts, codes), trained.bits(fresh)
        progress((turn + 1) / 2)
    return _outcome(prompts, codes, said, bits, plan, float(delta))


def _corpus(source: Chance, lines: int) -> list[str]:
    """Who buys how much of what."""
    buys = zip(*(source.integers(bound, size=lines) for bound in (len(NAMES), 90, len(WORDS))), strict=True)
    return [f"{NAMES[name]} buys {10 + count} {WORDS[word]}." for name, count, word in buys]


def _outcome(
    prompts: list[str],
    codes: list[str],
    said: dict[str, list[str]],
    bits: dict[str, float],
    plan: Training,
    delta: float,
) -> Outcome:
    epsilon = plan.loss.epsilon(delta).upper
    against = {"undefended": "the model trained without noise", "private": f"the model trained with ε = {epsilon:.3g}"}
    right = {way: sum(a == b for a, b in zip(found, codes, strict=True)) for way, found in said.items()}
    attempts = {way: Attempt.counted(against[way], right[way], len(codes)) for way in against}
    blind = 10.0**-DIGITS
    most = plan.loss.tradeoff().power(blind)
    rows = [("codes written word for word", attempts[way], way == "private") for way in attempts]
    first = {way: f"“{prompts[0]}” → “{found[0]}”" for way, found in said.items()}
    return Outcome(
        name="verbatim-extraction",
        headline="A text model says its secrets when it is asked",
        measure=f"codes of {DIGITS} digits, each on one line of the text, that the model writes when prompted",
        chance=blind,
        undefended=attempts["undefended"],
        defended=attempts["private"],
        remarks=(
            f"the private training spends ε = {epsilon:.3g} at δ = {delta:g} in all, for adding or removing a line; a "
            f"code is then written with a chance of at most {most:.2%}, where a guess is right once in {10**DIGITS:,}",
            f"{first['undefended']} without privacy, {first['private']} with; the code is {codes[0]}",
            f"bits to foretell a character of new text: {bits['undefended']:.2f} without privacy, "
            f"{bits['private']:.2f} with, {log2(NONE):.2f} for one who knows nothing",
        ),
        facts={
            "epsilon": epsilon,
            "delta": delta,
            "written": said,
            "codes": codes,
            "chance of a code at most": most,
            "bits a character": bits,
        },
        draw=bars(
            rows,
            title=("Which codes of its training text does a model write?", "the prompt is the line up to the code"),
            axis="codes written word for word",
            chance=blind,
        ),
    )
