"""Every model is checked once before it is trained, on made-up inputs and never on rows.

A model passes when its batched losses are its single ones, no example moves another's loss, no buffer changes, and the
lengths of its gradients are those of the definition. What is checked is a copy in double precision, where equal means
to 1e-10 and a wrong formula has no rounding to hide behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tacit.base import InputError
from tacit.learn.gradient.each import ROOM, LossOf, by_definition, by_vmap
from tacit.learn.gradient.layout import Layout, UnplacedError, place
from tacit.learn.gradient.made_up import Stillness, named, trial
from tacit.learn.gradient.shapes import InputShape
from tacit.learn.gradient.tape import Key, Tape, UntapedError

__all__ = ["Method", "choose"]

SIZES = (3, 5)
MANY = 64  # examples that a parameter without a gradient is tried on again
EQUAL = 1e-10
CHUNKS = (64, 512)  # examples taken at a time, at least and at most
CACHE = 2**22  # numbers that flow back in one chunk, about what a core's cache holds
Batch = tuple[Tensor, ...]


@dataclass(frozen=True)
class Method:
    """How the gradients of a model are found: by book-keeping with these layouts, or by vmap, and why."""

    layouts: dict[Key, Layout] | None
    chunk: int  # how many examples are taken at a time
    reason: str = ""


def choose(model: nn.Module, loss: LossOf, shapes: Sequence[InputShape]) -> Method:
    """The method for this model; an InputError that names the layer if there is none."""
    _refuse_known(model)
    device = next(model.parameters()).device
    batches = [tuple(each.invent(rows, torch.float64).to(device) for each in shapes) for rows in SIZES]
    with torch.enable_grad(), torch.random.fork_rng(devices=[]), Stillness():
        copied = trial(model)
        _independent(copied, loss, batches[1], shapes)
        _refuse_reentrant(copied, loss, batches[0])
        rows = list(by_definition(copied, loss, batches[1]))
        wanted = _lengths(rows)
        if not torch.isfinite(wanted).all() or not wanted.any():
            raise InputError(
                "the gradients of made-up inputs are all zero or not finite: nothing can be checked or learned"
            )
        _refuse_cut_off(copied, loss, shapes, rows)
        try:
            with named(copied):
                layouts, size = _layouts(copied, loss, batches)
                found = _taped(copied, loss, batches[1], layouts)
            if _differ(found, wanted):
                raise UntapedError("its lengths by book-keeping differ from the definition")
            return Method(layouts, min(CHUNKS[1], max(CHUNKS[0], CACHE // size)))
        except (UntapedError, UnplacedError, RuntimeError) as error:
            reason = str(error) or "a parameter is used in a way that book-keeping does not know"
        names = {name: each for name, each in copied.named_parameters() if each.requires_grad}
        with named(copied, "be differentiated for each example apart, by book-keeping or by torch.func.vmap"):
            parts = list(by_vmap(copied, loss, batches[1], names=names))
        if _differ(_lengths(row for part in parts for row in zip(*part, strict=True)), wanted):
            raise InputError("the lengths of its gradients differ from the definition, by book-keeping and by vmap")
        return Method(None, max(1, ROOM // sum(each.numel() for each in names.values())), reason)


def _refuse_known(model: nn.Module) -> None:
    for name, module in model.named_modules():
        where = f"{name or 'the model'} ({type(module).__name__})"
        if isinstance(module, torch.jit.ScriptModule):
            raise InputError(f"{where} is compiled by torch.jit, and cannot be looked into: give what it was made of")
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (module.training or module.running_mean is None):
            raise InputError(
                f"{where} mixes the examples of a batch: use GroupNorm or LayerNorm instead, or put it in eval mode"
            )
        if isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats and module.training:
            raise InputError(
                f"{where} keeps statistics of the data in buffers, without noise: set track_running_stats=False"
            )


def _independent(model: nn.Module, loss: LossOf, batch: Batch, shapes: Sequence[InputShape]) -> None:
    rows = len(batch[0])
    buffers = {name: each.clone() for name, each in model.named_buffers()}
    declared = " and ".join(map(str, shapes))
    with named(model, f"run in double precision on made-up inputs as declared ({declared})"), torch.no_grad():
        together, again = loss(model, *batch), loss(model, *batch)
        alone = [loss(model, *(each[row : row + 1] for each in batch)) for row in range(rows)]
        other = tuple(
            each.invent(rows, torch.float64, turn=1).to(had.device) for each, had in zip(shapes, batch, strict=True)
        )
        moved = [loss(model, *(_swapped(a, b, row) for a, b in zip(batch, other, strict=True))) for row in range(rows)]
    made: list[tuple[object, int]] = [(together, rows), *((each, 1) for each in alone)]
    for found, size in made:
        if not isinstance(found, Tensor) or found.shape != (size,):
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise InputError(
                f"the loss of {size} examples has shape {shape}, not ({size},): return a number for each, "
                "as with reduction='none'"
            )
    for name, each in model.named_buffers():
        if not torch.equal(each, buffers[name].to(each.dtype)):
            raise InputError(
                f"the buffer {name!r} changes with the data, without noise: keep no statistics in the model"
            )
    if not torch.equal(together, again) and not torch.isnan(together).any():
        raise InputError("the loss draws random numbers other than dropout: hand them in as an input")
    if not torch.isfinite(together).all():
        raise InputError("the losses of made-up inputs are not finite: mend the loss, or declare other shapes")
    if _differ(torch.cat(alone), together):
        raise InputError(
            f"{_culprit(model, loss, batch)} gives an example another loss alone than in a batch: examples are mixed"
        )
    for row, each in enumerate(moved):
        rest = torch.arange(rows) != row
        if _differ(each[rest], together[rest]):
            raise InputError(f"{_culprit(model, loss, batch)} lets one example move another's loss")


def _refuse_reentrant(model: nn.Module, loss: LossOf, batch: Batch) -> None:
    """Such a checkpoint hides its parameters from autograd's graph, and they would never learn. It leaves no trace
    itself where nothing that it is given needs a gradient, so inputs need one here."""
    given = (each.clone().requires_grad_().clone() if each.is_floating_point() else each for each in batch)
    try:
        losses = loss(model, *given)
    except RuntimeError:  # of a model that reads its inputs as plain numbers
        losses = loss(model, *batch)
    waiting, seen = [losses.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [each for each, _ in node.next_functions]
            if node.name().startswith("CheckpointFunction"):
                raise InputError("a checkpoint with use_reentrant=True hides its parameters: write use_reentrant=False")


def _refuse_cut_off(
    model: nn.Module, loss: LossOf, shapes: Sequence[InputShape], rows: Sequence[tuple[Tensor, ...]]
) -> None:
    """A parameter that no loss reaches would be moved by noise alone. Many more inputs are tried before it is named."""
    names = [name for name, each in model.named_parameters() if each.requires_grad]
    still = [name for name, *each in zip(names, *rows, strict=True) if not any(part.any() for part in each)]
    if not still:
        return
    wanted = [model.get_parameter(name) for name in still]
    batch = (each.invent(MANY, torch.float64, turn=2).to(wanted[0].device) for each in shapes)
    found: Sequence[Tensor | None] = torch.autograd.grad(loss(model, *batch).sum(), wanted, allow_unused=True)
    still = [name for name, each in zip(still, found, strict=True) if each is None or not each.any()]
    if still:
        shown = ", ".join(still[:5]) + (f" and {len(still) - 5} more" if len(still) > 5 else "")
        raise InputError(
            f"no loss of made-up inputs has a gradient for {shown}: noise would be all that reaches it. Call "
            "requires_grad_(False) on what is not to be learned. If it is, look for what cuts it off: a layer that is "
            "not called, detach, torch.no_grad, sign or round, a checkpoint with use_reentrant=True"
        )


def _swapped(batch: Tensor, other: Tensor, row: int) -> Tensor:
    made = batch.clone()
    made[row] = other[row]
    return made


def _culprit(model: nn.Module, loss: LossOf, batch: Batch) -> str:
    """The first module without children whose output for the first example depends on the others."""
    seen: list[tuple[str, Tensor]] = []
    hooks = []
    for name, module in model.named_modules():
        if not list(module.children()):
            kind = f"{name or 'the model'} ({type(module).__name__})"

            def note(_: nn.Module, __: object, out: object, kind: str = kind) -> None:
                if isinstance(out, Tensor) and out.dim():
                    seen.append((kind, out))

            hooks.append(module.register_forward_hook(note))
    try:
        with torch.no_grad():
            loss(model, *batch)
            together, seen = seen, []
            loss(model, *(each[:1] for each in batch))
    finally:
        for hook in hooks:
            hook.remove()
    for (kind, many), (_, one) in zip(together, seen, strict=False):
        if many.shape[1:] != one.shape[1:] or _differ(many[:1], one[:1]):
            return kind
    return "the loss"


def _layouts(model: nn.Module, loss: LossOf, batches: Sequence[Batch]) -> tuple[dict[Key, Layout], int]:
    """Where each use has its examples, and how many numbers flow back for each of them."""
    few, many = batches
    noted = [_noted(model, loss, few, row) for row in range(len(few[0]))]
    other = _noted(model, loss, many, 0)
    if any(each.keys() != other.keys() for each in noted):
        raise UnplacedError("what is done with a batch depends on its size")
    size = sum(each.numel() for uses in other.values() for each in uses) // SIZES[1]
    return {key: place([each[key] for each in noted], other[key], SIZES) for key in other}, max(1, size)


def _noted(model: nn.Module, loss: LossOf, batch: Batch, row: int) -> dict[Key, list[Tensor]]:
    """What flows back to each use of each parameter from one loss of the batch."""
    tape = Tape(_trainable(model), rows=len(batch[0]))
    with tape:
        losses = loss(model, *batch)
    tape.read(losses, only=row)
    return tape.noted


def _taped(model: nn.Module, loss: LossOf, batch: Batch, layouts: dict[Key, Layout]) -> Tensor:
    tape = Tape(_trainable(model), rows=len(batch[0]), layouts=layouts)
    with tape:
        losses = loss(model, *batch)
    squares = [part.squares() for part in tape.read(losses).values()]
    return torch.stack(squares).sum(0).sqrt() if squares else torch.zeros(len(batch[0]), dtype=torch.float64)


def _trainable(model: nn.Module) -> list[nn.Parameter]:
    return [each for each in model.parameters() if each.requires_grad]


def _lengths(rows: object) -> Tensor:
    return torch.stack([torch.cat([each.flatten() for each in row]).norm() for row in rows])  # type: ignore[attr-defined]


def _differ(found: Tensor, wanted: Tensor) -> bool:
    return found.shape != wanted.shape or not torch.allclose(found, wanted, rtol=EQUAL, atol=EQUAL * 1e-2)
