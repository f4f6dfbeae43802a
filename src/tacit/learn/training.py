"""A training as a plan: what every step does, how much noise it has, and what all of it costs, before anything is read.

One step: each unit takes part by its own coin of `rate`; its clipped gradient is added up; noise of `sigma` clips is
added; the sum is divided by `batch`. Rate and batch are declared: how many units there are is a secret, and neither may
follow from it. docs/theory/training-noise.md says what the noise is, docs/theory/amplification.md what sampling gains.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

from tacit.base import InputError, Relation, Sensitivity, between, cached_property, positive, whole
from tacit.base.number import OptionalRatio, Ratio, default, frozen, show
from tacit.base.stored import fraction_to_text
from tacit.learn.clip import AdaptiveClip
from tacit.learn.correlated import Correlated
from tacit.learn.loss_report import LossReport
from tacit.learn.noise import Form, GradientNoise
from tacit.learn.rounding import SLACK
from tacit.learn.rows import Rows, rows_of
from tacit.learn.work import Work
from tacit.loss import Loss, calibrate
from tacit.program import Program, Step, Task

if TYPE_CHECKING:
    from tacit.desk import Quote, Spender
    from tacit.learn.model import TrainedModel
    from tacit.learn.ranks import Ranks
    from tacit.learn.run import Loop, TrainingProgress

__all__ = ["Training"]

DIGITS = 5  # significant ones of a sigma
FINE = 10**9  # parts in which a square root is rounded up


@frozen
class Training:
    """A plan for private training. Give `epsilon` and `delta`, and sigma is the least that keeps to them; or give
    `sigma`, and `loss` says what it costs.

    `rows` are a `TableRows` of the policy, or data of your own, made of its `table`, whose people they are of. `batch`
    is how many units a step has on average, and what sums are divided by; with `population`, about how many units there
    are as the public knows it, it gives the rate. `parameters` is how many trainable numbers the model may have. `name`
    tells one training from another on the same rows: the same plan of the same name is the same release. With
    `loss_report` the mean loss is told with noise as it learns, which is paid for beside the gradients.
    """

    rows: Any
    batch: Ratio
    steps: int
    delta: Ratio
    epsilon: OptionalRatio = default(None)
    sigma: OptionalRatio = default(None)
    population: int | None = None
    rate: OptionalRatio = default(None)
    clip: Any = 1
    parameters: int = 2**20
    name: str = "training"
    table: str | None = None
    unit: str = "row"
    relation: Relation = Relation.ADD_REMOVE
    form: Form = "fast"
    adaptive: AdaptiveClip | None = None
    correlated: Correlated | None = None
    loss_report: LossReport | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put, given = object.__setattr__, self.sigma is not None
        for name, kind in (("adaptive", AdaptiveClip), ("correlated", Correlated), ("loss_report", LossReport)):
            if not isinstance(found := getattr(self, name), kind | None):
                raise InputError(f"{name} must be a learn.{kind.__name__}(…), not {found!r}")
        put(self, "rows", rows_of(self.rows))
        put(self, "batch", positive(self.batch, "batch"))
        put(self, "steps", whole(self.steps, "steps", least=1))
        put(self, "delta", between(self.delta, "delta", 0, 1))
        put(self, "parameters", whole(self.parameters, "parameters", least=1))
        put(self, "relation", Relation(self.relation))
        if self.epsilon is None and self.sigma is None:
            raise InputError("give epsilon, for the least noise that keeps to it, or sigma, to see what that costs")
        if self.epsilon is not None:
            put(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        if self.population is not None:
            put(self, "population", whole(self.population, "population", least=1))
        put(self, "rate", self._rate())
        if not hasattr(self.clip, "sensitivity"):
            put(self, "clip", positive(self.clip, "clip"))
        if self.form not in ("fast", "exact"):
            raise InputError(f"form is 'fast' or 'exact', not {self.form!r}")
        if self.adaptive is not None and hasattr(self.clip, "sensitivity"):
            raise InputError("an adaptive clip starts from a number: give clip=1, say, and no other clipping beside it")
        if self.loss_report is not None and self.correlated is not None:
            raise InputError("correlated noise has another size in each step: leave loss_report out, or correlated")
        if self._distance >= self.delta / 1000:
            raise InputError("so many steps and parameters do not fit the fast noise at this delta: take form='exact'")
        put(self, "sigma", self._least_sigma() if self.sigma is None else positive(self.sigma, "sigma"))
        if given and self.epsilon is not None and not self.loss.epsilon(self.delta) <= self.epsilon:
            raise InputError(
                f"sigma = {show(self.sigma_in_clips)} is too small for this epsilon: leave one of them out"
            )
        if self.sigma_in_clips > self.batch:
            raise self._useless()

    def _rate(self) -> Fraction | None:
        if self.correlated is not None and not self.correlated.amplified:
            if self.rate is not None:
                raise InputError("correlated noise visits rows in a fixed order: leave rate out")
            return None
        if self.rate is not None:
            share = positive(self.rate, "rate", toward="decimal")
        elif self.population is not None:
            share = self.batch / self.population
            if self.correlated is not None:
                share *= self.correlated.separation
        else:
            raise InputError(
                "how many rows there are is a secret, so the rate of a batch cannot be read from them: declare "
                "population, about how many there are as the public knows it, or rate"
            )
        if share > 1:
            raise InputError(f"rate would be {show(share)}: a batch cannot be larger than the population")
        return share

    # --- the noise

    @property
    def sigma_in_clips(self) -> Fraction:
        """The standard deviation of the noise on each coordinate of a sum, in clips."""
        return self.sigma or Fraction(0)

    @property
    def dimension(self) -> int:
        """Numbers that are rounded together, over which one unit's move is spread."""
        return self._drawn if self.correlated is None else self._drawn * self.correlated.reach(self.steps)

    @property
    def _drawn(self) -> int:
        """Numbers that noise is added to in a step."""
        return self.parameters + (self.adaptive is not None) + (self.loss_report is not None)

    @property
    def _distance(self) -> Fraction:
        """The δ of all noise of the run not being quite of its law."""
        return self.noise(Fraction(1)).distance(self._drawn * self.steps)

    @property
    def reach(self) -> Fraction:
        """How far one unit moves the sums, in clips, rounding of floats included."""
        moved = 1 + SLACK
        beside = [each.share for each in (self.adaptive, self.loss_report) if each is not None]
        if beside:
            moved = _root(moved**2 + sum(share**2 for share in beside))
        if self.relation is Relation.REPLACE:  # one vector taken away and another put in, the count beside it too
            moved *= 2
        return moved if self.correlated is None else moved * self.correlated.sensitivity(self.steps)

    def noise(self, sigma: Fraction | None = None) -> GradientNoise:
        return GradientNoise(sigma=sigma or self.sigma_in_clips, dimension=self.dimension, form=self.form)

    def _step(self, sigma: Fraction) -> Step:
        times = self.steps if self.correlated is None else self.correlated.times(self.steps)
        noise = self.noise(sigma)
        return Step(
            name=self.name,
            mechanism=noise.mechanism,
            sensitivity=Sensitivity(l2=noise.moved(self.reach)),
            times=times,
            rate=None if self.rate is None or self.rate == 1 else self.rate,
            task=Task(kind="train"),
            slack=self._distance,
        )

    def _loss(self, sigma: Fraction) -> Loss:
        return self._step(sigma).loss(relation=self.relation, unit=self.unit)

    def _least_sigma(self) -> Fraction:
        target = self.epsilon or Fraction(0)
        try:
            found = calibrate(
                lambda s: self._loss(_rounded(s)),
                epsilon=target,
                delta=self.delta,
                upper=2 * self.batch,
            )
        except InputError:
            raise self._useless() from None
        return _rounded(found.value)

    def _useless(self) -> InputError:
        return InputError(
            f"sigma would be above {show(self.batch)} clips, all that a batch of so many examples can add up "
            "to: nothing would be learned. Take fewer steps, a larger batch, or a larger epsilon or delta"
        )

    @cached_property
    def loss(self) -> Loss:
        """What it costs one unit: `steps * Gaussian(sigma).loss(1).sampled(rate)`, rounding included."""
        return self._loss(self.sigma_in_clips)

    @property
    def slack(self) -> Fraction:
        """What one unit's part may be longer than the clip by, as a factor."""
        return 1 + SLACK

    def epsilon_after(self, steps: int) -> float:
        """What the first so many steps cost at delta; of correlated noise, the whole."""
        if steps <= 0:
            return 0.0
        if self.correlated is not None or steps >= self.steps:
            return float(self.loss.epsilon(self.delta, accuracy=1e-3))
        first = replace(self._step(self.sigma_in_clips), times=steps)
        return float(first.loss(relation=self.relation, unit=self.unit).epsilon(self.delta, accuracy=1e-3))

    # --- the program, its price, and the run

    def program(self, *, unit: str | None = None, model: Any = None) -> Program:
        """What is charged: one step, so many times, on fresh samples; priced as one finished mechanism at delta."""
        rows: Rows = self.rows
        return Program(
            steps=(self._step(self.sigma_in_clips),),
            tables=rows.tables or (() if self.table is None else (self.table,)),
            relation=self.relation,
            unit=unit or self.unit,
            query={"training": self.json(), "model": model},
            delta=self.delta,
        )

    def json(self) -> dict[str, Any]:
        """The plan as plain data, numbers as texts."""

        def text(value: Any) -> str | None:
            return None if value is None else fraction_to_text(Fraction(value), "a number of a plan")

        clip = text(self.clip) if not hasattr(self.clip, "sensitivity") else repr(self.clip)
        return {
            "name": self.name,
            "rows": self.rows.about(),
            "batch": text(self.batch),
            "steps": self.steps,
            "rate": text(self.rate),
            "sigma": text(self.sigma),
            "clip": clip,
            "epsilon": text(self.epsilon),
            "delta": text(self.delta),
            "parameters": self.parameters,
            "form": self.form,
            "adaptive": None if self.adaptive is None else self.adaptive.json(),
            "correlated": None if self.correlated is None else self.correlated.json(),
            **({} if self.loss_report is None else {"loss_report": self.loss_report.json()}),
            "about": dict(self.about),
        }

    def quote(self, session: "Spender") -> "Quote":
        """What it would cost, and what would be left. Free, and nothing is looked at."""
        from tacit.learn.job import PlanJob

        return session.quote(PlanJob(self, session))

    def run(
        self,
        session: "Spender",
        model: Any,
        *,
        loss: Callable[..., Any],
        loop: "Loop",
        shapes: Any = None,
        every: int = 20,
        chunk: int = 1024,
        report: "Callable[[TrainingProgress], None] | None" = None,
        idempotency_key: str | None = None,
        ranks: "Ranks | None" = None,
    ) -> "TrainedModel":
        """Train `model`: checked on made-up inputs, charged once, then run; again after a crash, it goes on.

        `loss(model, *inputs)` gives one number for each example. `loop(run)` is your own: `for step in run` gives the
        model a noisy gradient, and the loop calls its optimiser. `every` steps are reserved at a time: those that were
        begun and not saved when a process dies are spent. `chunk` units at a time are in memory; what it is changes
        nothing else. `report` is told how far the training is. With `ranks` other processes bring parts of the rows.
        """
        from tacit.learn.job import trained

        work = Work(model=model, loss=loss, loop=loop, shapes=shapes, every=every, chunk=chunk, report=report)
        return trained(self, session, work, ranks=ranks, idempotency_key=idempotency_key)

    def follow(
        self,
        model: Any,
        *,
        loss: Callable[..., Any],
        loop: "Loop",
        ranks: "Ranks",
        shapes: Any = None,
        chunk: int = 1024,
    ) -> None:
        """Take part, in another process, in a training that rank 0 runs and pays for: with rows of its own."""
        from tacit.learn.job import followed

        followed(self, Work(model=model, loss=loss, loop=loop, shapes=shapes, chunk=chunk), ranks)


def _rounded(sigma: float) -> Fraction:
    """A few significant digits, upward: what people read, and what programs store."""
    exponent = DIGITS - len(str(int(sigma))) if sigma >= 1 else DIGITS
    unit = Fraction(10) ** exponent
    scaled = Fraction(sigma) * unit
    return Fraction(-(-scaled.numerator // scaled.denominator)) / unit


def _root(square: Fraction) -> Fraction:
    """A square root, rounded up."""
    return Fraction(isqrt(int(square * FINE**2)) + 1, FINE)
