"""One round of a plan with made-up vectors, in one process: who is left, how near the mean is, and what it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from tacit.learn.federated.client import Client
from tacit.learn.federated.encode import Floats
from tacit.learn.federated.federation import FederatedRound, Federation
from tacit.learn.federated.masked_sum import Messages
from tacit.learn.federated.terms import ClientKey, Message
from tacit.noise import Rng, rng_or_default

__all__ = ["Rehearsal", "rehearse", "size_of"]


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What one round took: bytes and processor seconds of a client on average, and of the server; `error` is the root
    mean square of how far each number of the mean is off."""

    left: int
    error: float
    sent: float
    told: float
    client_seconds: float
    server_seconds: float


def rehearse(plan: Federation, *, lost: float = 0.0, keys: Sequence[ClientKey | None] = ()) -> Rehearsal:
    """Nothing is charged, and nobody's data are in it. At each stage each client is lost with chance `lost`; with too
    few left it raises `Aborted`, as a round does."""
    rng, clients = rng_or_default(None), plan.cohort.clients
    signing = keys or [None] * clients
    vectors = [_vector(rng, plan.cohort.dimension, float(plan.cohort.clip)) for _ in range(clients)]
    devices = {place: Client(plan, place, key=key) for place, key in enumerate(signing, start=1)}
    inside, sent, told = 0.0, 0, 0

    def exchange(stage: str, messages: Messages) -> dict[int, Message]:
        nonlocal inside, sent, told
        answers: dict[int, Message] = {}
        for place, message in messages.items():
            if _uniform(rng, 1)[0] < lost:
                devices.pop(place, None)
            if place not in devices:
                continue
            start = process_time()
            answers[place] = devices[place].answer(1, stage, message, vectors[place - 1])
            inside += process_time() - start
            sent, told = sent + size_of(answers[place]), told + size_of(message)
        return answers

    start, each = process_time(), FederatedRound(plan, 1)
    mean = each.mean(exchange)
    took = process_time() - start - inside
    off = mean - np.mean([vectors[place - 1] for place in each.survivors], axis=0)
    return Rehearsal(
        left=len(each.survivors),
        error=float(np.sqrt(np.mean(off * off))),
        sent=sent / clients,
        told=told / clients,
        client_seconds=inside / clients,
        server_seconds=took,
    )


def size_of(message: Any) -> int:
    """Bytes of numbers and byte strings, without a format around them."""
    if isinstance(message, bytes):
        return len(message)
    if isinstance(message, dict):
        return sum(map(size_of, message.values()))
    if isinstance(message, list):
        return sum(map(size_of, message))
    return 4


def _uniform(rng: Rng, size: int) -> Floats:
    return np.asarray(rng.words(size).astype(np.float64) * 2.0**-64)


def _vector(rng: Rng, size: int, length: float) -> Floats:
    """One in any direction, as long as the clip."""
    raw = _uniform(rng, size) - 0.5
    return np.asarray(raw * (length / np.linalg.norm(raw)))
