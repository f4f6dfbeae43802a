"""What a model does with its parameters during one pass, written down on the way back.

While a tape is on, each call of torch with a trainable parameter that a rule knows runs on the parameter's plain value,
so that no gradient flows to the parameter itself. On the way back the rule keeps what the gradients are made of. A use
that no rule knows leaves the parameter in autograd's graph, where it is found by its gradient: no use is missed, be it
by a module, by a function, or by a weight that two modules share.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tacit.learn.gradient.layout import Layout, UnplacedError
from tacit.learn.gradient.part import Part, merge

__all__ = ["RULES", "Key", "Tape", "UntapedError", "rule", "taped", "unguarded"]

Key = tuple[int, str, int]  # parameter, rule, axes of the output
Rule = Callable[..., Any]
RULES: dict[Any, Rule] = {}


def unguarded(function: Any) -> FunctionType:
    """The same function, but that it does not hand itself over to a tape: what it calls inside is seen."""
    known = {**function.__globals__, "has_torch_function": lambda _: False}
    made = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


GRAD = unguarded(torch.autograd.grad)


def taped(function: Any, *values: Any) -> Any:
    """`function.apply`, which torch does not type."""
    return function.apply(*values)


class UntapedError(Exception):
    """A parameter was used in a way that no rule knows: the model goes by vmap instead."""


def rule(*functions: Any) -> Callable[[Rule], Rule]:
    """This rule stands for those functions of torch; it returns NotImplemented to leave a call alone."""

    def register(made: Rule) -> Rule:
        RULES.update(dict.fromkeys(functions, made))
        return made

    return register


class Tape(TorchFunctionMode):
    """One pass over one batch. Without layouts it only notes what flows back to each use, for `place`."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], *, rows: int, layouts: dict[Key, Layout] | None = None
    ) -> None:
        super().__init__()
        self.parameters = tuple(parameters)
        self.rows, self.layouts = rows, layouts
        self.anchor = torch.zeros((), requires_grad=True)  # every recorded use hangs on it, so that it is walked
        self.noted: dict[Key, list[Tensor]] = defaultdict(list)
        self._index = {id(each): number for number, each in enumerate(self.parameters)}
        self._parts: dict[int, list[Part]] = defaultdict(list)
        self._reading = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = RULES.get(func)
        if known is not None:
            taken = known(self, *args, **(kwargs or {}))
            if taken is not NotImplemented:
                return taken
        return func(*args, **(kwargs or {}))

    def number(self, value: Any) -> int | None:
        """Which trainable parameter this is, if it is one."""
        return self._index.get(id(value))

    def read(self, losses: Tensor, *, only: int | None = None) -> dict[int, Part]:
        """Walk back from the losses, or from one of them, and return the gradients of each parameter that had any."""
        try:
            if losses.requires_grad:
                self._walk(losses, only)
            return {number: merge(parts) for number, parts in self._parts.items()}
        finally:
            # autograd's graph knows the tape and the parts know the graph: a ring that Python cannot see to free
            self._parts = defaultdict(list)

    def _walk(self, losses: Tensor, only: int | None) -> None:
        self._reading = True
        wanted = (self.anchor, *self.parameters)
        asked = torch.ones_like(losses)
        if only is not None:
            asked[torch.arange(len(losses)) != only] = 0.0
        with self:  # a checkpoint runs its part of the model again
            found = GRAD(losses, wanted, asked, allow_unused=True)
        self._reading = False
        if any(each is not None for each in found[1:]):
            raise UntapedError

    def keep(self, number: int, kind: str, back: Tensor, make: Callable[[Layout], Part]) -> None:
        """A use of a parameter was walked: `back` is the gradient at its output, `make` what the parameter gets."""
        if not self._reading:
            raise UntapedError  # a loss that takes gradients itself
        key = (number, kind, back.dim())
        if self.layouts is None:
            self.noted[key].append(back)
        elif (layout := self.layouts.get(key)) is None:
            raise UnplacedError("a use that the check did not see")
        else:
            with torch._C.DisableTorchFunction():  # what a rule does itself is nobody's use of a parameter
                self._parts[number].append(make(layout))
