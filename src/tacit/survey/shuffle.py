"""The shuffler: reports lose their sender and their order, and leave only in batches large enough to hide in.

A batch leaves in sorted order. That order depends on nothing but which reports there are, so it says as little about
who sent what as a perfectly random one, and no random permutation has to be trusted.
"""

from fractions import Fraction

import numpy as np

from tacit.base import InputError, LossError, Number, between, positive, whole
from tacit.loss import shuffled
from tacit.loss.shuffle import WIDEST, ShuffledLoss
from tacit.survey.protocol import Array, Protocol

__all__ = ["Shuffler", "local_epsilon", "shuffled_loss", "stripped"]

STEP = Fraction(1, 1000)  # local epsilons are found to three decimals, rounded down


def stripped(reports: Array) -> Array:
    """The same reports in the order of their bytes: what is left when names and order are taken away."""
    flat = np.ascontiguousarray(reports).reshape(-1)
    order = np.argsort(flat.view(f"S{flat.dtype.itemsize}"), kind="stable")
    return flat[order]


def shuffled_loss(protocol: Protocol, *, reports: int, honest: Number = 1) -> ShuffledLoss:
    """What one respondent loses when `reports` reports of this protocol are shuffled, one of each respondent.

    Only a share `honest` of them is counted on to hide the others: someone who knows their own report can take it out.
    Direct response has an analysis of its own; every other protocol has the one for any randomiser with its epsilon.
    The coins are rounded to a law that further randomising makes out of the exact one, so the bound holds for them.
    """
    share = Fraction(1) if honest == 1 else between(honest, "honest", 0, 1, toward="down")
    hiding = max(1, int(whole(reports, "reports", least=1) * share))
    return protocol.shuffled(reports=hiding)


def local_epsilon(epsilon: Number, delta: Number, *, reports: int, categories: int | None = None) -> Fraction:
    """The largest local epsilon, to three decimals, with which shuffled reports are (`epsilon`, `delta`)-private.

    `categories=k` is for direct response over k answers; without it the result holds for every protocol.
    """
    target = positive(epsilon, "epsilon", toward="decimal")
    slack = float(between(delta, "delta", 0, 1, toward="down"))
    count = whole(reports, "reports", least=1)
    kind = categories if categories and categories > 2 else None

    def fits(steps: int) -> bool:
        local = steps * STEP
        return local <= target or shuffled(local, reports=count, categories=kind).delta(target).upper <= slack

    low, high = 0, int(WIDEST / STEP) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low:
        raise LossError("epsilon is below 0.001, the least that is looked for: allow more")
    return low * STEP


class Shuffler:
    """Collects the reports of one question and lets them go, sorted, once there are at least `minimum`.

    It is handed reports and nothing else: no name, address or time. `release` empties it; fewer than `minimum` never
    leave. Whoever runs it is trusted to do no more than this, and sees no true answer either.
    """

    def __init__(self, protocol: Protocol, *, minimum: int) -> None:
        self.protocol = protocol
        self.minimum = whole(minimum, "minimum", least=2)
        self._held: list[bytes] = []

    def __len__(self) -> int:
        return len(self._held)

    def add(self, report: bytes) -> None:
        """Take one report, whose bytes must be a possible report of the protocol."""
        if self.protocol.read(report).size != 1:
            raise InputError("a respondent sends one report: add them one at a time")
        self._held.append(bytes(report))

    @property
    def ready(self) -> bool:
        return len(self._held) >= self.minimum

    def release(self) -> Array:
        """All held reports in the order of their bytes."""
        if not self.ready:
            raise InputError(f"fewer than {self.minimum} reports are here, too few to hide in: wait for more")
        held, self._held = self._held, []
        return stripped(np.frombuffer(b"".join(held), dtype=self.protocol.dtype))

    def loss(self, *, honest: Number = 1) -> ShuffledLoss:
        """What each respondent of the smallest batch loses; a larger batch costs them less."""
        return shuffled_loss(self.protocol, reports=self.minimum, honest=honest)
