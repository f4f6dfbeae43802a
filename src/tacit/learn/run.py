"""A training at work: what the user's loop is given. `for step in run` leaves a noisy gradient in the model.

A step counts when it is begun. Steps are reserved in blocks, on disk, before the first of a block reads anything; what
dies in the middle of a block has spent it, and goes on behind it with fresh coins and fresh noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import InputError, SourceError
from tacit.learn.checkpoint import Checkpoint
from tacit.learn.need import need_torch
from tacit.learn.rounding import GROUP, cell_count, in_single
from tacit.learn.rows import CHANGED, ExampleBatch, Examples
from tacit.learn.sampling import GroupSampler, Indices, PoissonSampler
from tacit.learn.work import Work
from tacit.noise import rng_or_default
from tacit.noise.rng import uniform

if TYPE_CHECKING:
    from tacit.learn.gradient import Gradients
    from tacit.learn.ranks import Ranks
    from tacit.learn.training import Training

__all__ = ["Loop", "TrainingProgress", "TrainingRun"]

REPORTS = 20  # times that the price so far is worked out in a training


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """How far a training is: `step` of `steps` begun, `epsilon` those cost, and `rate` in steps a second. No batch
    sizes, no norms: nothing here depends on the data but `loss`, with the deviation of its noise. It is the mean of the
    last steps, where the plan pays for that."""

    step: int
    steps: int
    epsilon: float
    rate: float
    loss: float | None = None
    loss_deviation: float = 0.0

    def __str__(self) -> str:
        rate = f", {self.rate:,.1f} steps a second" if self.rate else ""
        loss = "" if self.loss is None else f", loss {self.loss:.3g} ± {2 * self.loss_deviation:.2g}"
        return f"step {self.step:,} of {self.steps:,}, ε = {self.epsilon:.3g} so far{loss}{rate}"


class TrainingRun:
    """Iterate over it once: each turn is one step, whose gradient, with noise, is in the model's `.grad`. `losses` are
    the noisy mean losses of the steps so far, if the plan pays for them."""

    def __init__(
        self,
        plan: "Training",
        work: Work,
        examples: Examples,
        gradients: "Gradients",
        *,
        save: Callable[[bytes, float], None] | None,
        saved: bytes | None = None,
        ranks: "Ranks | None" = None,
    ) -> None:
        self.plan, self.model, self.steps = plan, work.model, plan.steps
        self._work, self._examples, self._gradients, self._save, self._ranks = work, examples, gradients, save, ranks
        self._rng = rng_or_default(None)
        self._tracked: dict[str, Any] = {}
        self._last = Checkpoint.from_bytes(saved) if saved else None
        self._mark = examples.mark()
        if self._last is not None:
            if self._last.mark != self._mark:
                raise SourceError(CHANGED)
            self.model.load_state_dict(dict(self._last.model))
        self.step = self._begun = 0 if self._last is None else self._last.begun
        self.done = 0 if self._last is None else self._last.done
        self.clip = float(gradients.clipping.length()) if self._last is None else self._last.clip
        self._noise = plan.noise()
        self._single, self._double = gradients.sums(), gradients.sums(double=True)
        self._stream = None if plan.correlated is None else plan.correlated.stream()
        self._sampler = self._sampled()
        self._used = self.clip
        self._clock: float | None = None
        self._first, self._told = self.step, -1
        self.losses: list[float] = []
        self._reported = 0
        self._fixed = [each._version for each in self._unlearned()]
        kinds = {each.dtype for each in self.model.parameters() if each.is_floating_point()}
        self._kind = kinds.pop() if len(kinds) == 1 else None  # of a model in several, what it takes is its own affair

    def _sampled(self) -> PoissonSampler | GroupSampler:
        plan, units = self.plan, self._examples.units
        if plan.correlated is None:
            return PoissonSampler(plan.rate or Fraction(1), units)
        if self._last is not None and self._last.groups is not None:
            return GroupSampler(plan.correlated.separation, self._last.groups, plan.rate)
        return GroupSampler.draw(plan.correlated.separation, units, plan.rate, self._rng)

    def track(self, **objects: Any) -> None:
        """Save these with the weights, and put them back as they were after a crash: an optimiser, a schedule, an
        average of weights, anything with `state_dict` and `load_state_dict`. Call it before the first step."""
        for name, each in objects.items():
            if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")):
                raise InputError(f"{name} has no state_dict and load_state_dict, so it cannot be tracked")
            if self._last is not None and name in self._last.tracked:
                each.load_state_dict(self._last.tracked[name])
            self._tracked[name] = each

    def __iter__(self) -> Iterator[int]:
        while self.step < self.steps:
            if self.step >= self._begun:
                self._reserve()
            self._gradient(self.step)
            self.step += 1
            if self._clock is None:  # the first step also warms everything up
                self._clock, self._first = monotonic(), self.step
            yield self.step - 1
            self.done += 1

    def _reserve(self) -> None:
        """On disk before any of these steps begins: the weights as they are, and that the steps are spent."""
        self._begun = min(self.step + self._work.every, self.steps)
        if self._save is not None:
            self._save(self._state().to_bytes(), self._begun / self.steps)
        if self._work.report is not None and (mark := self._begun * REPORTS // self.steps) != self._told:
            self._told = mark
            self._work.report(self.progress())

    def _state(self) -> Checkpoint:
        return Checkpoint(
            begun=self._begun,
            done=self.done,
            clip=self.clip,
            mark=self._mark,
            model=self.model.state_dict(),
            tracked={name: each.state_dict() for name, each in self._tracked.items()},
            groups=self._sampler.groups if isinstance(self._sampler, GroupSampler) else None,
        )

    def progress(self) -> TrainingProgress:
        """How far it is, of what anybody may know."""
        rate = 0.0 if self._clock is None else (self.step - self._first) / max(monotonic() - self._clock, 1e-9)
        loss: dict[str, float] = {}
        if (report := self.plan.loss_report) is not None and (last := self.losses[self._reported :]):
            deviation = report.deviation(float(self.plan.sigma_in_clips), float(self.plan.batch))
            loss = {"loss": float(np.mean(last)), "loss_deviation": deviation / len(last) ** 0.5}
            self._reported = len(self.losses)
        return TrainingProgress(step=self._begun, steps=self.steps, epsilon=self.epsilon(), rate=rate, **loss)

    def noise(self) -> float:
        """The standard deviation of the noise on each number of the gradient that is in the model now. It is public."""
        return float(self.plan.sigma_in_clips) * self._used / float(self.plan.batch)

    def epsilon(self) -> float:
        """What the steps that were begun cost, at the plan's δ."""
        return self.plan.epsilon_after(self._begun)

    # --- one step

    def _gradient(self, step: int) -> None:
        torch = need_torch()
        if self._ranks is not None:
            self._ranks.start(step)
        for each in self._work.trainable.values():
            each.grad = None  # its room is free for this step's
        vector = self._sum(step)
        if self._ranks is not None:
            vector = self._ranks.add_up(vector)
        # noise is in clips, released is a share of the declared batch
        clip, batch = self.clip, float(self.plan.batch)
        if self._ranks is None or self._ranks.first:
            vector = self._noisy(vector, clip, batch)
        if self._ranks is not None:
            vector = self._ranks.share(vector)
        size = self._single.size
        beside = iter(vector[size:] * (batch / clip))
        if self.plan.adaptive is not None:
            self.clip = self.plan.adaptive.next_clip(clip, float(next(beside)), batch)
        if self.plan.loss_report is not None:
            self.losses.append(self.plan.loss_report.mean(float(next(beside)), batch))
        self._used = clip
        released, place = torch.from_numpy(vector), 0
        for each in self._work.trainable.values():
            size = each.numel()
            part = released[place : place + size].view(each.shape)
            each.grad = part.to(dtype=each.dtype, device=each.device)  # of this step's own vector
            place += size

    def _noisy(self, vector: Any, clip: float, batch: float) -> Any:
        """One draw of noise for the whole batch, however many chunks and processes it came from; over the batch."""
        if self._stream is None:
            return self._noise.add(vector, self._rng, unit=clip, factor=clip / batch, out=vector)
        noisy = self._noise.add(self._stream.spread(vector.astype(np.float64) / clip), self._rng)
        return self._stream.undo(noisy) * (clip / batch)

    def _sum(self, step: int) -> Any:
        """The sum of clipped gradients of a fresh batch as one vector."""
        places = self._sampler.batch(step, self._rng)
        adaptive, report, reported = self.plan.adaptive, self.plan.loss_report, 0
        if adaptive is not None:
            self._gradients.clipping.set(self.clip)  # type: ignore[attr-defined]  # a CountedFlat, by the job
        self._single.clear()
        self._double.clear()
        groups = self._cells(places)
        for group in groups:
            reported += self._group(group)
            if len(groups) > 1:
                self._double.take(self._single)
        if [each._version for each in self._unlearned()] != self._fixed:
            raise InputError(
                "a buffer or a frozen parameter of the model changed while it looked at rows: it would be released "
                "without noise. Use layers that keep nothing of their inputs (GroupNorm in place of BatchNorm)"
            )
        if self._double.used:
            self._double.take(self._single)
        vector = (self._double if self._double.used else self._single).vector().numpy()
        beside: list[float] = []
        if adaptive is not None:
            shorter = self._gradients.clipping.counted()  # type: ignore[attr-defined]  # as above
            beside.append(adaptive.coordinate(shorter, len(places)) * self.clip)
        if report is not None:
            beside.append(report.coordinate(reported) * self.clip)
        return np.append(vector, beside) if beside else vector

    def _losses(self, batch: ExampleBatch) -> Any:
        """The loss of each unit, the mean over its rows; NaN where something is out of its declared range."""
        torch = need_torch()
        outside = [shape.outside(each) for shape, each in zip(self._gradients.shapes, batch.inputs, strict=True)]
        bad = torch.stack(outside).any(0)
        inputs = [each.masked_fill(bad.view(-1, *[1] * (each.dim() - 1)), 0) for each in batch.inputs]
        with torch.no_grad():
            found = self._work.loss(self.model, *inputs).double().masked_fill(bad, float("nan")).cpu().numpy()
        if batch.unit is None:
            return found
        unit = batch.unit.numpy()
        return np.bincount(unit, weights=found) / np.bincount(unit)

    def _cells(self, places: Indices) -> list[list[Indices]]:
        """The units of a batch in groups of cells: each is put into one by a draw of its own, so that it moves the
        rounding of that cell alone. How many cells there are is declared."""
        count = cell_count(self.plan.batch)
        drawn = uniform(count, len(places), self._rng)
        ordered, ends = places[np.argsort(drawn, kind="stable")], np.cumsum(np.bincount(drawn, minlength=count))
        cells = np.split(ordered, ends[:-1])
        return [cells[start : start + GROUP] for start in range(0, count, GROUP)]

    def _group(self, cells: list[Indices]) -> int:
        """Each cell is walked by itself, some of its units at a time, so that no other is computed otherwise. What the
        losses come to, if they are reported."""
        sizes, chunk = [len(cell) for cell in cells], self._work.chunk
        pieces = sum(self._gradients.pieces(min(size, chunk)) * -(-size // chunk) for size in sizes)
        short = not self._examples.grouped and in_single(sizes, pieces)
        into, reported = self._single if short else self._double, 0
        for cell, size in zip(cells, sizes, strict=True):
            for start in range(0, size, chunk):
                batch = self._taken(cell[start : start + chunk])
                if self.plan.loss_report is not None:
                    reported += self.plan.loss_report.steps(self._losses(batch))
                self._gradients.clipped_sum(*batch.inputs, unit=batch.unit, cell=size, into=into)
        return reported

    def _taken(self, places: Indices) -> ExampleBatch:
        """The rows of these units, reals in the precision of the model."""
        batch = self._examples.take(places)
        if self._kind is None:
            return batch
        inputs = [each.to(self._kind) if each.is_floating_point() else each for each in batch.inputs]
        return ExampleBatch(tuple(inputs), batch.unit)

    def _unlearned(self) -> list[Any]:
        """What a model holds beside what it learns."""
        return [*self.model.buffers(), *(each for each in self.model.parameters() if not each.requires_grad)]

    def finish(self) -> None:
        """Raise unless the data are what they were."""
        if self._examples.mark() != self._mark:
            raise SourceError(CHANGED)


Loop = Callable[[TrainingRun], Any]
