"""Adam for noisy gradients: the noise that is known to be in the second moments is taken off them.

A number of a private gradient has noise of a known variance, and so Adam's average of squares is that much too large:
where gradients are small it is all noise, and Adam becomes descent with momentum. Without it the steps are Adam's again
(Tang and Lécuyer 2023, arXiv 2312.14334). It works on what was released, so it costs nothing.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from tacit.base import InputError

if TYPE_CHECKING:
    from tacit.learn.run import TrainingRun

__all__ = ["DebiasedAdam"]


class DebiasedAdam(torch.optim.Optimizer):
    """m̂ / √max(v̂ − s², floor): `noise` gives the standard deviation s of the noise on a number of the last gradient.

    `DebiasedAdam.of(run)` takes it from a run, also where its clip follows the gradients.
    """

    def __init__(
        self,
        params: Iterable[Any],
        *,
        noise: Callable[[], float],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        floor: float = 1e-8,
    ) -> None:
        if not (lr > 0 and floor > 0 and 0 <= betas[0] < 1 and 0 <= betas[1] < 1):
            raise InputError("lr and floor must be above 0, and betas between 0 and 1")
        super().__init__(params, {"lr": lr, "betas": betas, "floor": floor})
        self._noise = noise

    @classmethod
    def of(cls, run: "TrainingRun", **settings: Any) -> "DebiasedAdam":
        """For the model of a run."""
        if run.plan.correlated is not None:
            raise InputError("correlated noise has another size in each step: take torch.optim.Adam, or SGD")
        return cls((each for each in run.model.parameters() if each.requires_grad), noise=run.noise, **settings)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # a private gradient is not computed again
        """One step with the gradients that are there."""
        if closure is not None:
            raise InputError("a private gradient is drawn once: call step() without a closure")
        noise = float(self._noise()) ** 2
        for group in self.param_groups:
            (first, second), floor = group["betas"], group["floor"]
            for each in group["params"]:
                if each.grad is None:
                    continue
                state = self.state[each]
                if not state:
                    state.update(step=0, mean=torch.zeros_like(each), square=torch.zeros_like(each))
                state["step"] += 1
                # each square has the noise of its own step taken off, before it is averaged: clips may differ
                state["mean"].lerp_(each.grad, 1 - first)
                state["square"].mul_(second).add_(each.grad.square() - noise, alpha=1 - second)
                mean = state["mean"] / (1 - first ** state["step"])
                square = state["square"] / (1 - second ** state["step"])
                each.sub_(group["lr"] * mean / square.clamp(min=floor).sqrt())
