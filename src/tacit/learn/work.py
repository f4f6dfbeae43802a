"""What a user brings to a plan: a model, its loss, a loop, and how to go about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.base import InputError, whole

__all__ = ["Work"]


@dataclass(frozen=True, kw_only=True)
class Work:
    """`loss(model, *inputs)` gives a number for each example, and `loop(run)` drives the steps."""

    model: Any
    loss: Callable[..., Any]
    loop: Callable[[Any], Any]
    shapes: Any = None
    every: int = 20
    chunk: int = 1024
    report: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", whole(self.every, "every", least=1))
        object.__setattr__(self, "chunk", whole(self.chunk, "chunk", least=1))
        for name in ("loss", "loop"):
            if not callable(getattr(self, name)):
                raise InputError(f"{name} must be a function")
        if not hasattr(self.model, "named_parameters"):
            raise InputError(f"model must be a torch module, not {type(self.model).__name__}")
        for name, each in self.model.named_parameters():
            if type(each).__name__ == "UninitializedParameter":
                raise InputError(
                    f"{name} is of a lazy layer that has no size yet: call the model once on made-up inputs"
                )

    @property
    def trainable(self) -> dict[str, Any]:
        return {name: each for name, each in self.model.named_parameters() if each.requires_grad}
