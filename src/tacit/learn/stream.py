"""Continual counting: one more noisy running count a tick, for days, at a price that is fixed before the first.

Released is y = C·x + z, x being the events of each tick, C the square root of running sums with whole coefficients of
1/2³⁰, z independent discrete Gaussian noise on that lattice: nothing is rounded. Running counts are read off y
(post-processing). One unit's events move y by at most `sensitivity`, as often and as far apart as is declared, which
the code enforces. docs/theory/streams.md has the statement.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, log2, sqrt
from operator import mul
from typing import Any

import numpy as np
from scipy.signal import lfilter

from tacit.base import InputError, Number, Relation, Sensitivity, cached_property, positive, whole
from tacit.base.number import Ratio, frozen
from tacit.base.stored import fraction_to_text
from tacit.desk import ContentRelease, Quote, Run, Spender
from tacit.learn.made_of import own_delta, table_of_data
from tacit.learn.resting import RestingJob
from tacit.learn.stream_state import StreamState
from tacit.learn.toeplitz import Floats, square_root
from tacit.loss import Loss
from tacit.mechanism import DiscreteGaussian
from tacit.noise import rng_or_default
from tacit.program import Program, Step, Task

__all__ = ["Counter", "CounterJob", "Stream", "Tick"]

FINE = 2**30  # steps of a count
NORMAL = 1.959963984540054  # 95 % of a normal law
SHOWN = 500  # ticks of a live chart


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A released running count: of ticks 0 to `step`. The truth, of events that count, is within `margin` in 95 %."""

    step: int
    count: float
    margin: float

    def __str__(self) -> str:
        return f"tick {self.step:,}: {self.count:,.1f} ± {self.margin:,.1f}"


@frozen
class Counter:
    """A plan to count units' events over `steps` ticks, with noise of `sigma`.

    One unit counts at most once a tick, in at most `times` ticks, at least `separation` ticks apart; what goes beyond
    is not counted. `name` tells one stream from another: the same plan of the same name goes on where it was.
    """

    steps: int
    sigma: Ratio
    times: int = 1
    separation: int = 1
    name: str = "stream"

    def __post_init__(self) -> None:
        for each in ("steps", "times", "separation"):
            object.__setattr__(self, each, whole(getattr(self, each), each, least=1))
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        if self.sigma * FINE < 2**13:
            raise InputError("sigma is below 2^-17: counts would be told as they are")

    # --- what it costs

    @cached_property
    def _coefficients(self) -> list[int]:
        """Of C, in steps; none negative, none larger than the one before."""
        return [int(c) for c in np.rint(square_root(self.steps) * FINE)]

    @cached_property
    def sensitivity(self) -> Fraction:
        """‖C·Δ‖ for the worst events of one unit, to the last bit rounded up: as often, as early and as near together
        as is declared."""
        turns = min(self.times, ceil(self.steps / self.separation))
        column = np.zeros(self.steps, dtype=np.int64)
        whole_column = np.array(self._coefficients, dtype=np.int64)
        for turn in range(turns):
            start = turn * self.separation
            column[start:] += whole_column[: self.steps - start]
        square = sum(map(mul, column.tolist(), column.tolist()))
        return Fraction(isqrt(square) + 1, FINE)

    def step(self, relation: Relation = Relation.ADD_REMOVE) -> Step:
        """The one step of its program: all ticks together are one Gaussian release."""
        moved = self.sensitivity * (2 if relation is Relation.REPLACE else 1)
        noise = DiscreteGaussian(sigma=self.sigma * FINE)
        return Step(name=self.name, mechanism=noise, sensitivity=Sensitivity(l2=moved * FINE), task=Task(kind="stream"))

    def loss(self, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Loss:
        """What all ticks together cost one unit."""
        return self.step(relation).loss(relation=relation, unit=unit)

    # --- how near the counts are

    @cached_property
    def _error(self) -> Floats:
        """Standard deviation of each running count."""
        c = np.array(self._coefficients) / FINE
        b = np.cumsum(_inverse(c))
        return np.asarray(float(self.sigma) * np.sqrt(np.cumsum(b * b)))

    def error(self, step: int | None = None) -> float:
        """The standard deviation of the noise in the running count of a tick, the last one if none is named."""
        return float(self._error[self.steps - 1 if step is None else step])

    @property
    def tree_error(self) -> float:
        """The same of the worst tick by a binary tree of the same price. An event is in one node of each of its levels,
        ⌊log₂ n⌋ + 1 of them, and a count adds up to ⌊log₂(n + 1)⌋ nodes. Of a unit's events the earliest are taken,
        which may not be the worst there: the tree's error is at least this."""
        turns = min(self.times, ceil(self.steps / self.separation))
        at = np.arange(turns) * self.separation
        square = sum(int((np.unique(at >> level, return_counts=True)[1] ** 2).sum()) for level in range(self._levels))
        return float(self.sigma / self.sensitivity) * sqrt(square * int(log2(self.steps + 1)))

    @property
    def _levels(self) -> int:
        return int(log2(self.steps)) + 1

    # --- the run

    def quote(self, session: Spender, *, table: str | None = None, delta: Number | None = None) -> Quote:
        """What it would cost, and what would be left. Free."""
        return session.quote(self._job(session, table, None, delta))

    def run(
        self,
        session: Spender,
        loop: "Callable[[Stream], Any]",
        *,
        table: str | None = None,
        delta: Number | None = None,
    ) -> ContentRelease | None:
        """Charge it, once, and let `loop(stream)` feed ticks: `stream.tick(units)`. When the loop returns before the
        last tick the stream rests, and goes on when this is called again; after the last, all counts are the release.
        `delta` is for accounts that are paid in ε.
        """
        return self._job(session, table, loop, delta).spent_by(session, self.name)

    def _job(
        self, session: Spender, table: str | None, loop: "Callable[[Stream], Any] | None", delta: Number | None
    ) -> "CounterJob":
        policy = session.policy
        privacy = policy.privacy
        if privacy.relation not in (Relation.ADD_REMOVE, Relation.REPLACE):
            raise InputError(f"a stream protects units under add_remove or replace, not under {privacy.relation.value}")
        if privacy.deadline is not None:
            raise InputError("this dataset tells every answer at a deadline, and a stream tells one at every tick")
        program = Program(
            steps=(self.step(privacy.relation),),
            tables=(table_of_data(policy, table),),
            relation=privacy.relation,
            unit=privacy.unit,
            query={"stream": self.json()},
            delta=own_delta(policy, delta),
        )
        return CounterJob(counter=self, loop=loop, priced=program)

    def json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "name": self.name, "steps": self.steps, "sigma": fraction_to_text(self.sigma, "sigma"),
            "times": self.times, "separation": self.separation, "coefficients": "square root of running sums, 2^-30",
        }  # fmt: skip


@dataclass(kw_only=True, eq=False)
class CounterJob(RestingJob):
    """A stream under its charge. It may rest and go on as often as its owner likes; its code is theirs."""

    counter: Counter

    book = StreamState
    kind = "stream"

    @property
    def notes(self) -> tuple[str, ...]:
        c = self.counter
        return (f"{c.steps:,} ticks, the last count ± {NORMAL * c.error():,.3g} in 95 %",)

    def advance(self, book: StreamState, run: Run) -> Any:
        assert self.loop is not None
        stream = Stream(self.counter, book, run)
        self.loop(stream)
        told = {"counts": [tick.count for tick in stream.ticks], "margins": [tick.margin for tick in stream.ticks]}
        return None if stream.step < self.counter.steps else told


class Stream:
    """What a loop is given. `step` is the next tick, `ticks` are those that were released."""

    def __init__(self, counter: Counter, state: StreamState, run: Run) -> None:
        self.counter, self._state, self._run = counter, state, run
        self._rng = rng_or_default(None)
        self._sums: list[float] = []  # the noisy counts of single ticks, read off what was released
        self.ticks: list[Tick] = []
        for noisy in state.released():
            self._add(noisy)
        self._true = state.true_counts()
        if len(self._true) > len(self.ticks):
            self._finish()  # its events were fixed before the process died, its noise was not

    @property
    def step(self) -> int:
        return len(self.ticks)

    def tick(self, units: Iterable[Any], *, at: Number | None = None) -> Tick:
        """Count these units in the next tick, and release the running count. `at`, the tick that is meant, guards
        against feeding one a second time after a crash."""
        if self.step >= self.counter.steps:
            raise InputError(f"all {self.counter.steps:,} ticks that were paid for are released")
        if at is not None and whole(at, "at") != self.step:
            raise InputError(f"the next tick is {self.step:,}, not {at}: an earlier one was released before")
        if isinstance(units, str | bytes):
            raise InputError("units must be a list of whose events there are, not one text")
        names = [_named(unit) for unit in units]
        counter = self.counter
        self._true.append(self._state.commit(self.step, names, times=counter.times, separation=counter.separation))
        return self._finish()

    def _finish(self) -> Tick:
        """Noise for the last tick, whose events are on disk; on disk itself before anybody sees it."""
        c = self.counter._coefficients
        exact = sum(map(mul, c, reversed(self._true)))
        mechanism = self._run.program.steps[0]
        assert isinstance(mechanism, Step)
        noisy = int(mechanism.mechanism.sample(exact, self._rng))
        self._state.release(len(self.ticks), noisy)
        found = self._add(noisy)
        self._run.save(self._chart(), self.step / self.counter.steps)
        return found

    def _chart(self) -> bytes:
        """What was released, for whoever watches: at most so many ticks, the last one always."""
        shown = self.ticks[:: -(-len(self.ticks) // SHOWN)]
        shown += [self.ticks[-1]] * (shown[-1] is not self.ticks[-1])
        told = {
            "ticks": [[tick.step, tick.count, tick.margin] for tick in shown],
            "tree_margin": NORMAL * self.counter.tree_error,
        }
        return json.dumps({"chart": told}).encode()

    def _add(self, noisy: int) -> Tick:
        """(C⁻¹·y)_t = y_t − Σ_{j ≥ 1} c_j·(C⁻¹·y)_{t−j}, and the sum so far."""
        before = np.array(self._sums[::-1])
        c = np.array(self.counter._coefficients[1 : len(before) + 1]) / FINE
        self._sums.append(noisy / FINE - float(c @ before))
        step = len(self.ticks)
        tick = Tick(step=step, count=float(sum(self._sums)), margin=NORMAL * self.counter.error(step))
        self.ticks.append(tick)
        return tick


def _named(unit: Any) -> str:
    """A unit's name: 7 and 7.0 are one unit, and floats that are no whole numbers are nobody's."""
    if unit is None or isinstance(unit, bool | np.bool_):
        raise InputError("a unit of a tick is named by a whole number or a text")
    if isinstance(unit, float | np.floating):
        if not float(unit).is_integer():
            raise InputError("a unit of a tick is named by a whole number or a text, not by a float, and not by NaN")
        unit = int(unit)
    return str(unit)


def _inverse(c: Floats) -> Floats:
    impulse = np.zeros(len(c))
    impulse[0] = 1.0
    return np.asarray(lfilter([1.0], c, impulse))
