"""A copy of a model to be tried on made-up inputs: in double precision, with other weights, and without dropout."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import nn
from torch.overrides import TorchFunctionMode

from tacit.base import InputError

__all__ = ["Stillness", "named", "still", "trial"]

DROPOUTS = {
    torch.dropout,
    torch.alpha_dropout,
    torch.feature_dropout,
    torch.feature_alpha_dropout,
    F.dropout,
    F.dropout1d,
    F.dropout2d,
    F.dropout3d,
    F.alpha_dropout,
    F.feature_alpha_dropout,
}
SHAKE = 0.05  # weights that start at zero would hide what they multiply


class Stillness(TorchFunctionMode):
    """Dropout does nothing meanwhile. Its masks hold nothing of the data, so what is found without them holds with."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in DROPOUTS:
            return args[0] if args else (kwargs or {})["input"]
        if func is F.scaled_dot_product_attention:
            args, kwargs = args[:4] + ((0.0,) if len(args) > 4 else ()) + args[5:], dict(kwargs or {})
            kwargs.pop("dropout_p", None)
        return func(*args, **(kwargs or {}))


def trial(model: nn.Module) -> nn.Module:
    """The copy. The model itself, its buffers and torch's own generator stay untouched."""
    try:
        made = copy.deepcopy(model).double()
    except Exception as error:
        raise InputError(f"the model cannot be copied, so it cannot be checked: {error}") from error
    source = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for each in made.parameters():
            if each.requires_grad:
                each.add_(SHAKE * torch.randn(each.shape, generator=source, dtype=torch.float64).to(each.device))
    still(made)
    return made


def still(model: nn.Module) -> None:
    """Switch the dropout of its modules off."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
        elif isinstance(module, nn.MultiheadAttention | nn.RNNBase):
            module.dropout = 0.0


@contextmanager
def named(model: nn.Module, action: str = "") -> Iterator[None]:
    """Errors inside name the module that was entered last and not left; with no `action`, only those of tacit."""
    entered: list[str] = []
    hooks = []
    for name, module in model.named_modules():
        kind = f"{name or 'the model'} ({type(module).__name__})"
        hooks.append(module.register_forward_pre_hook(lambda *_, kind=kind: entered.append(kind)))
        hooks.append(module.register_forward_hook(lambda *_: entered.pop() and None))
    try:
        yield
    except InputError as error:
        where = f"{entered[-1]}: " if entered else ""
        raise InputError(f"{where}{error}") from error
    except Exception as error:
        if not action:
            raise
        where = entered[-1] if entered else "the loss"
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{where} cannot {action}: {first}") from error
    finally:
        for hook in hooks:
            hook.remove()
