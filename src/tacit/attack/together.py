"""What the server of a federation sees of one device in three settings, and what it makes of it: a picture, or nothing.

Every device sends the gradient of one picture, once. The server is curious: it keeps what arrives, and takes it for the
gradient that it may be. Then it divides, as in `tacit.attack.gradients`, and reads the picture.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.attack.gradients import SAME, SHOWN, SIDE, Weights, digit, from_bias, gradient, weights_of
from tacit.attack.pixels import GLYPHS
from tacit.attack.population import Array, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.attack.trained import classifier
from tacit.base import InputError, whole
from tacit.learn.federated import Client, Cohort, Federation
from tacit.learn.federated.encode import centred, rotated_back
from tacit.learn.federated.federation import FederatedRound

__all__ = ["stage"]

HIDDEN, BITS = 20, 24
SETTINGS = {
    "central": "central noise: one device's vector",
    "local": "local noise: one device's vector",
    "distributed": "a secure sum: one device's masked vector",
}
SUM = "a secure sum: the noisy sum of all devices"


def stage(
    *, seed: int = 1, devices: int = 30, epsilon: float = 8.0, delta: float = 1e-5, progress: Progress = silent
) -> Outcome:
    """One round of each setting, at the same price. What is judged as undefended is plain averaging, where the gradient
    itself arrives; as defended, a masked vector of a secure sum."""
    count = whole(devices, "devices", least=2)
    if not 0 < epsilon < 1e6:
        raise InputError("epsilon is what a round costs one device: a number above 0")
    source = chance(seed)
    network = weights_of(classifier(SIDE * SIDE, len(GLYPHS), hidden=(HIDDEN,), seed=seed))
    labels = [int(source.integers(len(GLYPHS))) for _ in range(count)]
    shown = [digit(label, source) for label in labels]
    sent = [_flat(gradient(network, x, label)) for x, label in zip(shown, labels, strict=True)]
    guesses = {"plain averaging: the gradient itself": [_guess(network, each) for each in sent]}
    sigmas = {}
    for turn, (noise, words) in enumerate(SETTINGS.items()):
        plan = Federation(
            cohort=Cohort(
                clients=count, survivors=count, clip=1, dimension=sent[0].size, bits=BITS, noise=noise  # type: ignore[arg-type]  # a key of SETTINGS
            ),
            rounds=1,
            table="phones",
            epsilon=epsilon,
            delta=delta,
        )  # fmt: skip
        sigmas[noise] = float(plan.share)
        arrived, total = _round(plan, sent)
        guesses[words] = [_guess(network, each) for each in arrived]
        if noise == "distributed":
            guesses[SUM] = [_guess(network, total)] * count
        progress((turn + 1) / len(SETTINGS))
    return _outcome(shown, guesses, sigmas, epsilon, delta)


def _flat(gradients: list[Array]) -> Array:
    return np.concatenate([each.ravel() for each in gradients])


def _round(plan: Federation, vectors: list[Array]) -> tuple[list[Array], Array]:
    """What the server takes each device's vector for, as it arrived in one round, and the noisy sum that it learns."""
    cohort, number = plan.cohort, 1
    clients = {place: Client(plan, place) for place in range(1, cohort.clients + 1)}
    arrived: dict[int, Array] = {}
    name, step = plan.terms(number).bound(), float(cohort.code(plan.share).granularity)

    def exchange(stage: str, messages: dict[int, dict[str, Any]]) -> Mapping[int, Any]:
        answers = {p: clients[p].answer(number, stage, m, vectors[p - 1]) for p, m in messages.items()}
        for place, answer in answers.items():
            if "vector" in answer:
                words = np.frombuffer(answer["vector"], dtype=cohort.letters)
                turned = centred(words, bits=cohort.bits).astype(np.float64) * step
                arrived[place] = rotated_back(turned, name=name, size=cohort.dimension)
        return answers

    total = FederatedRound(plan, number).sum(exchange)
    return [arrived[place] for place in sorted(arrived)], total


def _guess(network: Weights, vector: Array) -> Array:
    """The picture by division; brightnesses are known to lie in [0, 1]."""
    upper, lower = (each.shape for each in network)
    split = upper[0] * upper[1]
    found = from_bias(network, [vector[:split].reshape(upper), vector[split:].reshape(lower)])
    return np.clip(found.features, 0.0, 1.0)


def _outcome(
    shown: list[Array], guesses: Mapping[str, list[Array]], sigmas: Mapping[str, float], epsilon: float, delta: float
) -> Outcome:
    errors = {
        words: [float(np.mean((g - x) ** 2)) for g, x in zip(row, shown, strict=True)] for words, row in guesses.items()
    }
    recovered = {words: sum(error <= SAME for error in row) for words, row in errors.items()}
    plain, *_ = guesses
    masked = SETTINGS["distributed"]
    blank = float(np.mean([np.mean((x - np.mean(shown)) ** 2) for x in shown]))

    def draw() -> Any:
        from tacit.plot.attacks import pictures

        rows = {"the picture on the device": shown, **guesses}
        return pictures(
            {name: [x.reshape(SIDE, SIDE).tolist() for x in row[:SHOWN]] for name, row in rows.items()},
            title=("What the server of a federation can see", f"one round, ε = {epsilon:g} for each device"),
        )

    def told(words: str) -> str:
        return f"{words}: {recovered[words]} of {len(shown)} pictures, mean squared error {np.mean(errors[words]):.2g}"

    return Outcome(
        name="federated-leakage",
        headline="In a federation, what the server sees depends on where the noise is added",
        measure=f"pictures recovered from what one device sends (mean squared error at most {SAME:g})",
        chance=0.0,
        undefended=Attempt.counted(plain, recovered[plain], len(shown)),
        defended=Attempt.counted(masked, recovered[masked], len(shown)),
        remarks=(
            *(told(words) for words in guesses if words not in (plain, masked)),
            f"an even grey has a mean squared error of {blank:.2g}",
            f"the noisy sum has a standard deviation of {sigmas['central']:.3g} a number where the server adds it, "
            f"{sigmas['local'] * len(shown) ** 0.5:.3g} where each device adds all that it needs, and "
            f"{sigmas['distributed'] * len(shown) ** 0.5:.3g} in shares",
            f"each setting costs a device ε = {epsilon:g} at δ = {delta:g} towards those who see the sum; with central "
            "noise the server itself sees everything",
        ),
        facts={
            "epsilon": epsilon,
            "delta": delta,
            "sigma": dict(sigmas),
            "recovered": {words: each / len(shown) for words, each in recovered.items()},
            "mean squared error": {words: float(np.mean(row)) for words, row in errors.items()},
            "mean squared error of grey": blank,
        },
        draw=draw,
    )
