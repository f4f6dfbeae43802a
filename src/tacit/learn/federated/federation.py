"""Training over many devices as a plan: rounds of one cohort, priced and charged together before any device is asked.

What a round releases is a noisy sum, and nothing else is. A round counts when it begins, on disk, before a device hears
of it: one that breaks off stays paid.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import Aborted, InputError, between, cached_property, positive, whole
from tacit.base.number import OptionalRatio, default, frozen
from tacit.base.stored import fraction_to_text
from tacit.desk import ContentRelease, OwnJob, Run
from tacit.learn.federated.cohort import Cohort
from tacit.learn.federated.encode import Floats
from tacit.learn.federated.masked_sum import Exchange, MaskedSum
from tacit.learn.weights import Arrays, arrays_from_bytes, arrays_to_bytes
from tacit.loss import Loss, calibrate
from tacit.program import Program, Step, Task

if TYPE_CHECKING:
    from tacit.desk import Quote, Spender

__all__ = ["FederatedRound", "FederatedRun", "Federation"]

DIGITS = 10**5  # parts of a sigma that is found for an epsilon
Weights = Mapping[str, Any]


@frozen
class Federation:
    """`rounds` sums of a cohort. Give `epsilon` and `delta`, and sigma is the least that keeps to them; or `sigma`.

    `registered` are the public signing keys of all clients in order, where the server may lie. `table` is the
    table of the policy that lists who may take part: their data stay where they are. `name` tells one plan from another
    of the same cohort: the same plan of the same name is the same release.
    """

    cohort: Cohort
    rounds: int
    table: str
    delta: OptionalRatio = default(None)
    epsilon: OptionalRatio = default(None)
    sigma: OptionalRatio = default(None)
    name: str = "federation"
    unit: str = "client"
    registered: tuple[bytes, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rounds", whole(self.rounds, "rounds", least=1))
        if self.delta is not None:
            put(self, "delta", between(self.delta, "delta", 0, 1))
        if (self.epsilon is None) == (self.sigma is None):
            raise InputError("give either epsilon, for the least noise that keeps to it, or sigma")
        if self.epsilon is not None:
            if self.delta is None:
                raise InputError("an epsilon needs a delta beside it: say delta=1e-6, far below one over all people")
            put(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
            put(self, "sigma", self._least_sigma(self.epsilon, self.delta))
        put(self, "sigma", positive(self.sigma, "sigma"))
        self.cohort.code(self.share)  # fits the bits, or says how many it takes
        if self.cohort.server == "lying":
            self.terms(1)

    def _least_sigma(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        found = calibrate(lambda s: self.rounds * self.cohort.loss(s), epsilon=epsilon, delta=delta)
        return Fraction(-(-Fraction(found.value) * DIGITS // 1), DIGITS)

    @property
    def share(self) -> Fraction:
        """σ of what one client adds, or the server."""
        return self.sigma or Fraction(0)

    @property
    def step(self) -> Step:
        return Step(
            name="round",
            mechanism=self.cohort.mechanism(self.share),
            sensitivity=self.cohort.sensitivity(self.share),
            times=self.rounds,
            task=Task(kind="federate"),
        )

    @cached_property
    def loss(self) -> Loss:
        """What all rounds cost one client."""
        return self.step.loss(relation=self.cohort.relation, unit=self.unit)

    @cached_property
    def program(self) -> Program:
        return Program(
            steps=(self.step,),
            tables=(self.table,),
            relation=self.cohort.relation,
            unit=self.unit,
            query={"federation": self.json()},
            delta=self.delta,
        )

    @property
    def run_name(self) -> bytes:
        """By which every client knows this plan: what is signed and masked for it fits no other."""
        return sha256(b"tacit federation 1\0" + self.program.text.encode()).digest()[:16]

    def terms(self, number: int) -> Any:
        return self.cohort.terms(run=self.run_name, round=number, registered=self.registered)

    def json(self) -> dict[str, Any]:
        """The plan as plain data."""
        stated = {
            name: None if value is None else fraction_to_text(Fraction(value), name)
            for name, value in (("sigma", self.sigma), ("epsilon", self.epsilon), ("delta", self.delta))
        }
        keys = [key.hex() for key in self.registered]
        return {"name": self.name, "cohort": self.cohort.json(), "rounds": self.rounds, **stated} | {
            "registered": keys,
            "about": dict(self.about),
        }

    def quote(self, session: "Spender") -> "Quote":
        """What it would cost, and what would be left. Free."""
        return session.quote(OwnJob(self.program, lambda run: b""))

    def run(
        self, session: "Spender", loop: "Callable[[FederatedRun], Any]", *, idempotency_key: str | None = None
    ) -> ContentRelease:
        """Charge all rounds, then drive them: `loop(run)` goes through `for round in run`, and calls `run.keep(…)` with
        the arrays that are to be released. Asked for again after a crash, it goes on behind the last round begun."""
        privacy = session.policy.privacy
        if privacy.relation is not self.cohort.relation or privacy.unit != self.unit:
            raise InputError(
                f"the policy protects one {privacy.unit} by {privacy.relation.value}, and this plan one {self.unit} by "
                f"{self.cohort.relation.value}: say Federation(unit=…), Cohort(relation=…)"
            )

        def work(run: Run) -> bytes:
            own = FederatedRun(self, run)
            loop(own)
            return own.content(run.facts)

        self.program.loss  # noqa: B018  # priced now: nothing may fail later that could be known before
        release = session.spend(OwnJob(self.program, work, kind="model"), idempotency_key=idempotency_key)
        assert isinstance(release, ContentRelease)  # as the job keeps it
        return release

    def weights_in(self, release: ContentRelease) -> dict[str, Any]:
        """The arrays that were released."""
        return _plain(arrays_from_bytes(release.content)[0])


class FederatedRun:
    """A plan at work. Iterate over it once: each turn is one round."""

    def __init__(self, plan: Federation, run: Run) -> None:
        self.plan, self._run = plan, run
        self.begun, self.weights = 0, dict[str, Any]()
        if saved := run.saved():
            stored, metadata = arrays_from_bytes(saved)
            self.begun, self.weights = int(metadata["begun"]), _plain(stored)

    def __iter__(self) -> "Iterator[FederatedRound]":
        while self.begun < self.plan.rounds:
            self.begun += 1
            state = arrays_to_bytes(_stored(self.weights), {"begun": str(self.begun)})
            self._run.save(state, self.begun / self.plan.rounds)
            yield FederatedRound(self.plan, self.begun)

    def keep(self, **arrays: Any) -> None:
        """What is to be released at the end, and is saved with every round: the model as it is now."""
        self.weights = {name: np.asarray(each, dtype=np.float64) for name, each in arrays.items()}

    def content(self, facts: Mapping[str, Any]) -> bytes:
        """The model's file."""
        told = {name: facts[name] for name in ("cost", "ledger", "dataset", "unit", "relation", "program", "time")}
        told |= {"format": "tacit federation 1", "plan": self.plan.json(), "rounds": self.begun}
        return arrays_to_bytes(_stored(self.weights), {"tacit": json.dumps(told)})


class FederatedRound:
    """One round. `number` counts from 1; `run_name` is the plan's."""

    def __init__(self, plan: Federation, number: int) -> None:
        self.plan, self.number = plan, number
        self.survivors: tuple[int, ...] = ()
        self._summed = False

    def sum(self, exchange: Exchange) -> Floats:
        """The noisy sum of all vectors of who is left. `exchange(stage, messages)` sends each client its message and
        gives back what was answered, by place. With too few left it raises `Aborted`, and nothing is known. Once: with
        fresh noise the same answers would be told twice for one price."""
        if self._summed:
            raise InputError(f"round {self.number} was summed: a round gives one sum, keep it")
        self._summed = True
        plan, cohort = self.plan, self.plan.cohort
        terms = plan.terms(self.number)
        if cohort.noise == "distributed":
            masked = MaskedSum(terms)
            words = masked.run(exchange)
            self.survivors = masked.survivors
        else:
            answers = exchange("vector", {place: {} for place in range(1, cohort.clients + 1)})
            size = terms.size * np.dtype(terms.letters).itemsize
            sent = {place: each.get("vector", b"") for place, each in sorted(answers.items())}
            vectors = {place: each for place, each in sent.items() if isinstance(each, bytes) and len(each) == size}
            if len(vectors) < cohort.survivors:
                raise Aborted(
                    f"{len(vectors)} of {cohort.clients} clients are left, and {cohort.survivors} are needed: nothing "
                    "is released"
                )
            words = np.zeros(terms.size, dtype=terms.letters)
            for each in vectors.values():
                words += np.frombuffer(each, dtype=terms.letters)
            self.survivors = tuple(vectors)
        return cohort.decode(words, sigma=plan.share, name=terms.bound())

    def mean(self, exchange: Exchange) -> Floats:
        """The noisy sum over how many are in it, which is public."""
        total = self.sum(exchange)
        return total / len(self.survivors)


def _stored(weights: Weights) -> Arrays:
    return {
        name: ("F64", each.shape, np.ascontiguousarray(each, dtype="<f8").tobytes()) for name, each in weights.items()
    }


def _plain(arrays: Arrays) -> dict[str, Any]:
    return {name: np.frombuffer(data, dtype="<f8").reshape(shape) for name, (_, shape, data) in arrays.items()}
