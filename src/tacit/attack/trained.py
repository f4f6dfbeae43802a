"""Models to attack: small ones, trained plainly by torch, and privately by the loop that `tacit.learn` trains with.

The data are made up, so nothing is charged; the plan says what it would cost. Clipping, batches, noise and price are
those of a training that is paid for.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.attack.population import Array, chance
from tacit.base import InputError, whole
from tacit.learn import ArrayRows, Training
from tacit.learn.job import prepared
from tacit.learn.need import need_torch
from tacit.learn.rows import ArrayExamples
from tacit.learn.run import TrainingRun
from tacit.learn.work import Work
from tacit.noise import Rng, rng_or_default

__all__ = ["Trained", "Trainer", "classifier", "label_losses", "size_of"]


def classifier(features: int, classes: int, *, hidden: Sequence[int] = (), seed: int = 1) -> Any:
    """A softmax over affine layers with a sigmoid between them, to start from: zeros for a single layer, else small
    weights that `seed` fixes (no data in them). In double precision."""
    torch = need_torch()
    sizes = [whole(features, "features", least=1), *(whole(each, "hidden", least=1) for each in hidden)]
    sizes.append(whole(classes, "classes", least=2))
    layers: list[Any] = []
    source = chance(seed)
    for inputs, outputs in pairwise(sizes):
        layer = torch.nn.Linear(inputs, outputs).double()
        drawn = source.normal(size=(outputs, inputs + 1)) / np.sqrt(inputs) * bool(hidden)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(drawn[:, :-1]))
            layer.bias.copy_(torch.from_numpy(drawn[:, -1]))
        layers += [layer, torch.nn.Sigmoid()]
    return torch.nn.Sequential(*layers[:-1])


def size_of(model: Any) -> int:
    """How many numbers it learns."""
    return sum(each.numel() for each in model.parameters())


def label_losses(model: Any, x: Any, y: Any) -> Any:
    """The cross-entropy of each example, over its places if it has several; a label that is no class costs nothing."""
    torch = need_torch()
    logits = model(x)
    classes = logits.shape[-1]
    each = torch.nn.functional.cross_entropy(
        logits.reshape(-1, classes), y.clamp(max=classes - 1).reshape(-1), reduction="none"
    )
    return (each.view(y.shape) * (y < classes)).reshape(len(y), -1).sum(1)


class Trained:
    """A model that was trained, for arrays."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def predict_proba(self, x: Array) -> Array:
        """The probability of each class, for each row, or for each place of each row."""
        torch = need_torch()
        with torch.no_grad():
            found: Array = torch.softmax(self.module(torch.tensor(x)), -1).numpy()
        return found

    def losses(self, x: Array, y: Array) -> Array:
        """The cross-entropy of each label, in nats."""
        given = self.predict_proba(x)
        chosen = np.take_along_axis(given, np.minimum(y, given.shape[-1] - 1)[..., None], axis=-1)[..., 0]
        return np.where(y < given.shape[-1], -np.log(np.maximum(chosen, 1e-300)), 0.0)


class Trainer:
    """Trains copies of one model: without a `plan` by exact mean gradients, with one as its own training does.

    `optimise` makes an optimiser of torch for parameters; `classes` is how many labels there may be, those that stand
    for none included.
    """

    def __init__(
        self,
        model: Any,
        *,
        classes: int,
        optimise: Callable[[Any], Any],
        steps: int,
        plan: Training | None = None,
        rng: Rng | None = None,
    ) -> None:
        self._model, self._start = deepcopy(model), deepcopy(model.state_dict())
        self._classes, self._optimise, self._plan, self._rng = classes, optimise, plan, rng
        self._steps = whole(steps, "steps", least=1)
        if plan is not None and plan.steps != self._steps:
            raise InputError(f"the plan has {plan.steps} steps, not {self._steps}")
        self._gradients: Any = None

    def fit(self, x: Array, y: Array) -> Trained:
        """A model of these examples."""
        torch, model = need_torch(), self._model
        model.load_state_dict(self._start)
        arrays = np.array(x), np.array(y)
        if self._plan is None:
            optimiser = self._optimise(model.parameters())
            tensors = [torch.from_numpy(each) for each in arrays]
            for _ in range(self._steps):
                optimiser.zero_grad()
                label_losses(model, *tensors).mean().backward()
                optimiser.step()
            model.zero_grad()
        else:
            self._private(arrays)
        return Trained(deepcopy(model))

    def _private(self, arrays: tuple[Array, Array]) -> None:
        assert self._plan is not None
        model = self._model

        def loop(run: Any) -> None:
            optimiser = self._optimise(model.parameters())
            for _ in run:
                optimiser.step()

        work, rows = Work(model=model, loss=label_losses, loop=loop), ArrayRows(*arrays, classes=self._classes)
        if self._gradients is None:
            self._gradients = prepared(self._plan, rows, work)
        examples = ArrayExamples(arrays, rows.inputs())
        run = TrainingRun(self._plan, work, examples, self._gradients, save=None)
        run._rng = rng_or_default(self._rng)  # a test's source; who trains has no such choice
        loop(run)
