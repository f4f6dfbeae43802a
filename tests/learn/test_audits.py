"""Every way of learning together, audited from outside: the very code that ships is run on two neighbours, many times.

No verdict is "violated"; and each is, in the same harness, when one thing that the guarantee rests on is taken away.
"""

import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.auditor import Verdict, audit
from tacit.base import Relation
from tacit.learn import Counter, GNMax, IndividualDescent, Panel, PanelSums, Stream, Teachers, Thresholdout
from tacit.learn.federated import Client, Cohort, Federation
from tacit.learn.federated.federation import FederatedRound
from tacit.learn.individual import IndividualFilter, descended
from tacit.learn.labels import LabelJob
from tacit.learn.panel import PanelState
from tacit.learn.private_book import PrivateBook
from tacit.learn.stream_state import StreamState
from tacit.learn.teachers import part_of
from tacit.learn.thresholdout import FINE
from tacit.loss import Loss
from tacit.mechanism import SparseVector
from tacit.noise import rng_or_default
from tacit.plan.facts import Type
from tacit.program import Adaptive, Program

Broken = Callable[[pytest.MonkeyPatch], None]
SAMPLES = 500


@dataclass(frozen=True)
class Case:
    """`run` on one of a pair of neighbours gives one output; `claim` is what was charged; `broken` takes away what it
    rests on."""

    run: Callable[[Any], Any]
    claim: Loss
    pair: tuple[Any, Any]
    broken: Broken
    delta: str | None = "0.01"
    samples: int = SAMPLES

    def audited(self, *, confidence: str, times: int = 1) -> Verdict:
        def outputs(data: Any, size: int) -> Any:
            return np.array([self.run(data) for _ in range(size)], dtype=float)

        return audit(
            outputs,
            self.claim,
            delta=self.delta,
            neighbours=self.pair,
            samples=times * self.samples,
            confidence=confidence,
            bits=False,
        )


def book_in_memory(kind: type[PrivateBook]) -> Any:
    """A book that no disk keeps: what it decides is audited."""
    book = sqlite3.connect(":memory:")
    book.executescript(kind.tables)
    return kind(book, bytes(32))


# --- labels: one unit is with one teacher


class Learner:
    """Learns which label its own rows have most."""

    def fit(self, inputs: Any, labels: Any) -> None:
        self.most = int(np.bincount(labels).argmax())

    def predict(self, inputs: Any) -> Any:
        return np.full(len(inputs), self.most)


def labels() -> Case:
    """Unit 0 has fifty rows, all 1, and turns its teacher; of the others two say 0 and two say 1."""
    home, rule = part_of(0, 5), GNMax(sigma=3)
    units = list(range(1, 41))
    said = [int((part_of(unit, 5) - home) % 5 > 2) for unit in units]
    with_it = ([1] * 50 + said, [0] * 50 + units)
    limit = 2 * rule.answer_rho(1)
    program = Program(
        steps=(Adaptive(name="labels", limit=limit),), tables=("t",), relation=Relation.ADD_REMOVE, unit="row"
    )

    def run(rows: tuple[list[int], list[int]]) -> Any:
        data = np.zeros((len(rows[0]), 1)), np.array(rows[0])
        teachers = Teachers.fit(Learner, data, by=rows[1], count=5, classes=(0, 1))
        public = np.zeros((2, 1))
        job = LabelJob(
            teachers=teachers, inputs=public, rule=rule, answers=2, classes=(0, 1), priced=program, moved=1
        )  # fmt: skip
        stub: Any = SimpleNamespace(program=program, facts={})
        return job.show(job.run(stub), cached=False).value()["labels"]

    def by_row(patch: pytest.MonkeyPatch) -> None:
        """Rows are dealt by their place: one unit's are with all teachers."""
        places = count()
        patch.setattr("tacit.learn.teachers.part_of", lambda unit, size: next(places) % size)

    return Case(run, program.loss, (with_it, (said, units)), by_row, samples=2000)


# --- a round of a federation: a vector is no longer than the clip, whatever its client computed


def federated(noise: Any) -> Case:
    cohort = Cohort(clients=2, survivors=2, colluding=1, clip=1, dimension=2, bits=24, noise=noise)
    plan = Federation(cohort=cohort, rounds=1, table="phones", sigma=2)

    def run(length: float) -> Any:
        devices = {place: Client(plan, place) for place in (1, 2)}
        vectors = {1: np.array([length, 0.0]), 2: np.zeros(2)}

        def exchange(stage: str, messages: dict[int, Any]) -> dict[int, Any]:
            return {p: devices[p].answer(1, stage, message, vectors[p]) for p, message in messages.items()}

        return FederatedRound(plan, 1).sum(exchange)

    def unbounded(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Cohort, "_clipped", lambda self, vector: np.asarray(vector))
        patch.setattr("tacit.learn.federated.cohort.rounded", lambda v, longest, rng: np.rint(v).astype(np.int64))

    return Case(run, plan.loss, (8.0, 0.0), unbounded)


# --- a holdout: comparisons have noise, and the threshold its own


def holdout() -> Case:
    settings = Thresholdout(size=4, threshold="0.25", sigma="0.5", budget=1)

    def run(total: int) -> Any:
        asked, answer, paid = settings.start(rng_or_default(None)), 0.0, False
        for turn in range(4):
            answer, paid = asked.ask(Fraction(3, 4), lambda: total)
            if paid:
                return turn, answer
        return 9, answer

    def quiet(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(
            Thresholdout,
            "comparison",
            property(
                lambda self: SparseVector(
                    threshold_scale=self.sigma / 16, query_scale=self.sigma / 16, answers=1, granularity=self.step
                )
            ),
        )

    return Case(run, settings.loss(), (2 * FINE, 1 * FINE), quiet, delta=None, samples=2000)


# --- a panel and a descent: nobody goes on when their own budget is spent


def panel() -> Case:
    plan = Panel(table="t", rho="1/8", sigma=8, sums=32)
    facts = {"x": SimpleNamespace(type=Type.NUMBER)}
    scan = SimpleNamespace(unit_name="who", schema=facts)
    session = SimpleNamespace(
        scan=lambda table, columns: scan, policy=SimpleNamespace(tables={"t": SimpleNamespace(unit_column="who")})
    )

    def run(values: list[float]) -> Any:
        rows = SimpleNamespace(
            offsets=np.arange(len(values) + 1),
            columns={"who": pa.array(range(len(values))), "x": pa.array(values)},
        )
        stub: Any = SimpleNamespace(
            open=nullcontext,
            engine=SimpleNamespace(rows=lambda scan, watch: rows),
            watch=None,
            save=lambda *told: None,
        )
        sums = PanelSums(plan, book_in_memory(PanelState), stub, session)
        return sum(sums.sum("x").value for _ in range(plan.sums))

    def forgetful(patch: pytest.MonkeyPatch) -> None:
        real = PanelState.take

        def take(self: Any, number: int, asked: str, values: Any, cap: int) -> int:
            self.book.execute("DELETE FROM spent")
            return real(self, number, asked, values, cap)

        patch.setattr(PanelState, "take", take)

    return Case(run, plan.loss(), ([1.0, 4.0], [1.0]), forgetful)


def descent() -> Case:
    plan = IndividualDescent(mu="1/2", steps=32, sigma=1, rate=0.01, size=1)
    inputs, labels = np.array([[1.0], [1.0]]), np.array([0, 1])

    def run(rows: int) -> Any:
        weights, _ = descended(plan, inputs[:rows], labels[:rows], (0, 1), rng_or_default(None))
        return (weights[:, 1] - weights[:, 0]).sum()

    def forgetful(patch: pytest.MonkeyPatch) -> None:
        real = IndividualFilter.take

        def take(self: Any, vectors: Any, clip: float, at: slice = slice(None)) -> Any:
            self.spent[:] = 0
            return real(self, vectors, clip, at)

        patch.setattr(IndividualFilter, "take", take)

    return Case(run, plan.loss(), (2, 1), forgetful)


# --- a stream: a unit counts as often as was declared


def stream() -> Case:
    counter = Counter(steps=16, sigma=2, times=1)
    program = Program(steps=(counter.step(),), tables=("t",), relation=Relation.ADD_REMOVE, unit="row")

    def run(present: bool) -> Any:
        stub: Any = SimpleNamespace(program=program, save=lambda *told: None)
        own = Stream(counter, book_in_memory(StreamState), stub)
        return [own.tick(["anna"] if present else []).count for _ in range(counter.steps)]

    def unlimited(patch: pytest.MonkeyPatch) -> None:
        real = StreamState.commit
        patch.setattr(
            StreamState, "commit", lambda self, step, units, **of: real(self, step, units, times=99, separation=1)
        )

    return Case(run, counter.loss(), (True, False), unlimited)


CASES = {
    "labels": labels,
    "a secure sum": lambda: federated("distributed"),
    "noise of a server": lambda: federated("central"),
    "noise of a client": lambda: federated("local"),
    "a holdout": holdout,
    "a panel": panel,
    "a descent": descent,
    "a stream": stream,
}


@pytest.mark.parametrize("name", CASES)
def test_what_ships_keeps_its_claim(name: str) -> None:
    verdict = CASES[name]().audited(confidence="0.999999")
    assert verdict.status != "violated", verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_it_keeps_it_at_many_more_samples(name: str) -> None:
    verdict = CASES[name]().audited(confidence="0.999999", times=20)
    assert verdict.status == "pass", verdict


@pytest.mark.parametrize("name", CASES)
def test_without_what_it_rests_on_it_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]()
    case.broken(monkeypatch)
    verdict = case.audited(confidence="0.95")
    assert verdict.status == "violated", verdict
