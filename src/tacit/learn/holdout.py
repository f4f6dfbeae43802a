"""A holdout for a session: charged when it is opened, then asked again and again, by Thresholdout."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import InputError, Number, Relation, positive, whole
from tacit.base.stored import fraction_to_text
from tacit.desk import Job, Quote, Release, Run, Spender
from tacit.desk.release import release_from_bytes, release_of
from tacit.learn.made_of import table_of_data
from tacit.learn.thresholdout import FINE, Floats, RowSum, Thresholdout
from tacit.loss import Loss
from tacit.noise import rng_or_default
from tacit.policy.account import Currency
from tacit.program import Program

__all__ = ["Holdout", "HoldoutJob"]

Query = Callable[..., Any]
PROBED = 8  # training rows on which a query is asked a second time, alone


@dataclass(frozen=True, kw_only=True, eq=False)
class HoldoutJob(Job):
    """The right to ask: what is kept are the settings, and the held rows are read later, under this receipt."""

    settings: Thresholdout
    priced: Program

    @property
    def program(self) -> Program:
        return self.priced

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"any number of queries, of which {self.settings.budget} may overfit by about {self.settings.threshold}",
        )

    def run(self, run: Run) -> bytes:
        return release_of(self.priced.query["holdout"], kind="value", facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


class Holdout:
    """Rows that were held back, and may be asked as often as you like, until `budget` queries have overfitted.

    `train` and `held` are arrays, or tuples of arrays, one row each. `train` is yours to see: its means are answered as
    they are. `held` is protected and paid for when this is opened: every unit counts once (`units` says whose each held
    row is), and `size` is how many units are held, which has to be said where it is not public. A query is a function
    of these arrays that gives each row a number from 0 to 1 by that row alone, such as whether a model is right there.
    """

    def __init__(
        self,
        train: Any,
        held: Any,
        *,
        threshold: Number,
        sigma: Number,
        budget: Number,
        session: Spender,
        units: Any = None,
        size: Number | None = None,
        table: str | None = None,
        delta: Number | None = None,
    ) -> None:
        terms: dict[str, Any] = {"threshold": threshold, "sigma": sigma, "budget": budget, "units": units, "size": size}
        self.job = self._job(train, held, session=session, table=table, delta=delta, **terms)
        self.release = session.spend(self.job)
        self._run = self.settings.start(rng_or_default(None))

    @classmethod
    def quote(cls, train: Any, held: Any, *, session: Spender, **terms: Any) -> Quote:
        """What one would cost, by the same words. Free."""
        return session.quote(cls.__new__(cls)._job(train, held, session=session, **terms))

    def _job(
        self,
        train: Any,
        held: Any,
        *,
        threshold: Number,
        sigma: Number,
        budget: Number,
        session: Spender,
        units: Any = None,
        size: Number | None = None,
        table: str | None = None,
        delta: Number | None = None,
    ) -> HoldoutJob:
        self._train, self._held = _arrays(train, "train"), _arrays(held, "held")
        self._train_sum = RowSum.over(len(self._train[0]))
        self._held_sum = RowSum.over(len(self._held[0]), units)
        policy = session.policy
        privacy = policy.privacy
        if privacy.relation not in (Relation.REPLACE, Relation.ADD_REMOVE):
            raise InputError(
                f"a holdout protects units under replace or add_remove, not under {privacy.relation.value}"
            )
        if size is None and privacy.relation is not Relation.REPLACE:
            raise InputError(
                "how many units are held is a secret under add_remove: say size=, about how many there are as the "
                "public knows it (--size)"
            )
        name = table_of_data(policy, table)
        if units is None and not policy.tables[name].each_row_is_a_unit:
            raise InputError(
                f"table {name!r} may have several rows of one {privacy.unit}: pass units= (--unit), the "
                f"{policy.tables[name].unit_column} of each held row, so that a unit counts once"
            )
        self.settings = Thresholdout(
            size=self._held_sum.units if size is None else whole(size, "size", least=1),
            threshold=threshold,
            sigma=sigma,
            budget=whole(budget, "budget", least=1),
        )
        own: Any = None
        if privacy.currency is Currency.EPSILON and delta is not None:
            own = positive(delta, "delta", toward="decimal")
        told = {
            "size": self.settings.size,
            "threshold": fraction_to_text(self.settings.threshold, "threshold"),
            "sigma": fraction_to_text(self.settings.sigma, "sigma"),
            "budget": self.settings.budget,
        }
        program = Program(
            steps=self.settings.steps,
            tables=(name,),
            relation=privacy.relation,
            unit=privacy.unit,
            # its threshold is drawn once and dies with it: another one is another charge
            query={"holdout": told, "opened": rng_or_default(None).read(16).hex()},
            delta=own,
        )
        return HoldoutJob(settings=self.settings, priced=program)

    @property
    def loss(self) -> Loss:
        """What was charged, for all that may ever be asked."""
        return self.job.program.loss

    @property
    def left(self) -> int:
        """How many queries may still overfit."""
        return self._run.left

    def __repr__(self) -> str:
        return f"<Holdout of {self.settings.size:,} units, {self.left} of {self.settings.budget} left>"

    def ask(self, query: Query) -> float:
        """The mean of a query: over the training rows where the held ones agree, else over the held ones with noise."""
        values = _numbers_of(query(*self._train))
        if values.shape != self._train_sum.weights.shape:
            raise InputError("a query gives one number from 0 to 1 for each row: it gave something else")
        outside = values[~((values >= 0) & (values <= 1))]
        if len(outside):
            raise InputError(f"a query gives each row a number from 0 to 1: of a training row it gave {outside[0]:g}")
        last = len(self._train[0]) - 1
        for some in (np.array([last]), np.linspace(last, 0, min(PROBED, last + 1)).astype(np.int64)):
            alone = _numbers_of(query(*(each[some] for each in self._train)))
            if alone.shape != some.shape or not np.allclose(alone, values[some], atol=1e-6):
                raise InputError("a query looks at each row alone: of fewer rows it gave some another number")
        train = Fraction(self._train_sum.of(values), FINE * len(self._train[0]))
        answer, _ = self._run.ask(train, self._held_total(query))
        return answer

    def _held_total(self, query: Query) -> Callable[[], int]:
        def total() -> int:
            found = _numbers(query, self._held)
            if found is None:  # one row must not decide what the others count
                rows = ([each[at : at + 1] for each in self._held] for at in range(len(self._held[0])))
                alone = (_numbers(query, row) for row in rows)
                found = np.array([0.0 if each is None else each[0] for each in alone])
            return self._held_sum.of(found)

        return total

    def error(self, queries: Number, confidence: Number = 0.95) -> float:
        """How near every answer is to the mean over the population; see `Thresholdout.error`."""
        return self.settings.error(queries, confidence)


def _numbers_of(values: Any) -> Floats:
    """What a query gave of training rows, which its asker may see."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("a query gives one number from 0 to 1 for each row: it gave something else") from None


def _numbers(query: Query, rows: Any) -> Any:
    """A number for each row, or nothing where it fails or gives something else: a fact about held rows, told nobody."""
    with suppress(Exception):
        found = np.asarray(query(*rows), dtype=np.float64)
        if found.shape == (len(rows[0]),):
            return found
    return None


def _arrays(given: Any, name: str) -> tuple[Any, ...]:
    found = tuple(np.asarray(each) for each in (given if isinstance(given, tuple | list) else (given,)))
    if (
        not found
        or not all(each.ndim for each in found)
        or len({len(each) for each in found}) != 1
        or not len(found[0])
    ):
        raise InputError(f"{name} must be an array, or a tuple of arrays with one row each for every example")
    return found
