"""A zoo of small networks in double precision, for tests of per-example gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tacit.learn.gradient import InputShape

__all__ = ["ZOO", "Case", "cross_entropy", "squared"]

Loss = Callable[..., Tensor]
BOOKS, VMAP = "book-keeping", "vmap"


@dataclass(frozen=True)
class Case:
    """A network, its loss, and how its gradients should be found."""

    name: str
    build: Callable[[], nn.Module]
    shapes: tuple[InputShape, ...]
    loss: Loss
    method: str = BOOKS

    def model(self) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(7)
            return self.build().double()

    def batch(self, rows: int, *, turn: int = 5, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
        return tuple(each.invent(rows, dtype, turn=turn) for each in self.shapes)


def squared(model: nn.Module, x: Tensor) -> Tensor:
    """A loss of one input that any output will do for."""
    out: Any = model(x)
    out = out[0] if isinstance(out, tuple) else out
    found: Tensor = (out.flatten(1) - 0.3).square().sum(1) + out.flatten(1).sin().sum(1)
    return found


def cross_entropy(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    out = model(x)
    if out.dim() == 2:
        return F.cross_entropy(out, y, reduction="none")
    return F.cross_entropy(out.flatten(0, 1), y.flatten(), reduction="none").view_as(y).sum(1)


class Given(nn.Module):
    """A module from parts and a function of them."""

    def __init__(self, call: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.call = call
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: Tensor) -> Any:
        return self.call(self, *inputs)


def frozen(module: nn.Module, *names: str) -> nn.Module:
    for name, each in module.named_parameters():
        if name in names:
            each.requires_grad_(False)
    return module


def lora() -> nn.Module:
    base = frozen(nn.Linear(6, 5), "weight", "bias")
    low, up = nn.Linear(6, 2, bias=False), nn.Linear(2, 5, bias=False)
    nn.init.zeros_(up.weight)
    return Given(lambda m, x: m.base(x) + 0.5 * m.up(m.low(x)), base=base, low=low, up=up)


def tied() -> nn.Module:
    table = nn.Embedding(11, 6)
    return Given(
        lambda m, x: F.linear(torch.tanh(m.inner(m.table(x))), m.table.weight), table=table, inner=nn.Linear(6, 6)
    )


def weird_positions(m: Any, x: Tensor) -> Any:
    """Positions first, and examples and positions in one axis, both ways round."""
    rows, length, width = x.shape
    here = m.a(x.reshape(rows * length, width)).view(rows, length, -1).transpose(0, 1)
    here = m.b(here.reshape(length * rows, -1)).view(length, rows, -1)
    return m.c(torch.tanh(here)).sum(0)


def checkpointed(m: Any, x: Tensor) -> Any:
    return m.last(checkpoint(m.body, torch.tanh(m.first(x)), use_reentrant=False))


def in_place(m: Any, x: Tensor) -> Any:
    here = m.a(x).mul_(2.0)
    here += m.shift
    return m.b(here.relu_())


def text_model() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.1, batch_first=True)
    parts = {
        "table": nn.Embedding(13, 8),
        "pos": nn.Parameter(torch.randn(1, 5, 8)),
        "layer": layer,
        "out": nn.Linear(8, 4),
    }
    return Given(lambda m, x: m.out(m.layer(m.table(x) + m.pos).mean(1)), **parts)


def class_token(m: Any, x: Tensor) -> Any:
    tokens = torch.cat([m.token.expand(len(x), -1, -1), x], 1)
    return m.out(m.attention(tokens, tokens, tokens, need_weights=False)[0][:, 0])


def mlp(*extra: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 9), nn.ReLU(), *extra, nn.Linear(9, 4))


def conv(kind: Any, *sizes: Any, **options: Any) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(kind(*sizes, **options), nn.Tanh(), nn.Flatten())


def bag(mode: str) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.EmbeddingBag(13, 6, mode=mode, padding_idx=3), nn.Linear(6, 4))


def attention() -> nn.Module:
    return Given(lambda m, x: m.inside(x, x, x)[0], inside=nn.MultiheadAttention(8, 2, batch_first=True))


def crossed() -> nn.Module:
    parts = {"inside": nn.MultiheadAttention(8, 2, batch_first=True), "pull": nn.Linear(8, 8)}
    return Given(lambda m, x: m.inside(x[:, :2], torch.tanh(m.pull(x)), x)[0], **parts)


REALS, LABEL = InputShape((6,)), InputShape((), below=4)
SEQUENCE, TOKENS = InputShape((5, 8)), InputShape((5,), below=13)
LINE, PICTURE, SOLID = InputShape((4, 9)), InputShape((4, 7, 6)), InputShape((2, 4, 5, 3))
ONE = (PICTURE,)
ROW = (REALS,)

ZOO = (
    Case("mlp", mlp, (REALS, LABEL), cross_entropy),
    Case("mlp with dropout", lambda: mlp(nn.Dropout(0.4)), (REALS, LABEL), cross_entropy),
    Case(
        "linear over positions",
        lambda: nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 40)),
        (SEQUENCE,),
        squared,
    ),
    Case(
        "linear by Gram",
        lambda: nn.Sequential(nn.Linear(8, 60), nn.Tanh(), nn.Linear(60, 30)),
        (InputShape((2, 8)),),
        squared,
    ),
    Case(
        "no bias, frozen weight",
        lambda: nn.Sequential(
            nn.Linear(6, 5, bias=False), frozen(nn.Linear(5, 5), "weight"), nn.Tanh(), nn.Linear(5, 2)
        ),
        ROW,
        squared,
    ),
    Case("lora", lora, ROW, squared),
    Case(
        "repeated module",
        lambda: Given(lambda m, x: m.a(torch.tanh(m.a(torch.tanh(m.a(x))))), a=nn.Linear(6, 6)),
        ROW,
        squared,
    ),
    Case("shared weight, two modules", lambda: _shared(), ROW, squared),
    Case(
        "weight used functionally too",
        lambda: Given(lambda m, x: F.linear(torch.tanh(m.a(x)), m.a.weight), a=nn.Linear(6, 6)),
        ROW,
        squared,
    ),
    Case(
        "weight transposed by hand",
        lambda: Given(lambda m, x: torch.tanh(m.a(x)) @ m.a.weight.t(), a=nn.Linear(6, 6)),
        ROW,
        squared,
        VMAP,
    ),
    Case(
        "plain matmul",
        lambda: Given(
            lambda m, x: torch.tanh(x @ m.a) @ m.b, a=nn.Parameter(torch.randn(6, 5)), b=nn.Parameter(torch.randn(5, 3))
        ),
        ROW,
        squared,
    ),
    Case(
        "scale and shift by hand",
        lambda: Given(
            lambda m, x: torch.tanh(x * m.a + m.b) * m.a, a=nn.Parameter(torch.randn(6)), b=nn.Parameter(torch.randn(6))
        ),
        ROW,
        squared,
    ),
    Case(
        "in place",
        lambda: Given(in_place, a=nn.Linear(6, 6), b=nn.Linear(6, 3), shift=nn.Parameter(torch.randn(6))),
        ROW,
        squared,
    ),
    Case(
        "a number as the scale",
        lambda: Given(lambda m, x: m.a(x) * m.t.exp(), a=nn.Linear(6, 3), t=nn.Parameter(torch.tensor(0.3))),
        ROW,
        squared,
        VMAP,
    ),
    Case("prelu", lambda: nn.Sequential(nn.Linear(6, 5), nn.PReLU(5), nn.Linear(5, 2)), ROW, squared, VMAP),
    Case(
        "odd positions",
        lambda: Given(weird_positions, a=nn.Linear(8, 7), b=nn.Linear(7, 6), c=nn.Linear(6, 3)),
        (SEQUENCE,),
        squared,
    ),
    Case(
        "checkpoint", lambda: Given(checkpointed, first=nn.Linear(6, 6), body=mlp(), last=nn.Linear(4, 2)), ROW, squared
    ),
    Case("conv1d", conv(nn.Conv1d, 4, 6, 3, stride=2, padding=1), (LINE,), squared),
    Case("conv1d, same and even", conv(nn.Conv1d, 4, 3, 4, padding="same", dilation=2), (LINE,), squared),
    Case("conv2d", conv(nn.Conv2d, 4, 6, 3, padding=1), ONE, squared),
    Case(
        "conv2d, groups, stride, dilation",
        conv(nn.Conv2d, 4, 6, (3, 2), groups=2, stride=(2, 1), dilation=(1, 2)),
        ONE,
        squared,
    ),
    Case("conv2d, depthwise", conv(nn.Conv2d, 4, 8, 3, groups=4, bias=False), ONE, squared),
    Case("conv2d, large kernel", conv(nn.Conv2d, 4, 40, (7, 5)), ONE, squared),
    Case("conv2d, large kernel, groups", conv(nn.Conv2d, 4, 40, (7, 5), groups=2), ONE, squared),
    *(
        Case(f"conv2d, {mode}", conv(nn.Conv2d, 4, 5, 3, padding=1, padding_mode=mode), ONE, squared)
        for mode in ("reflect", "replicate", "circular")
    ),
    Case("conv3d", conv(nn.Conv3d, 2, 3, (2, 3, 2), padding=(1, 0, 1)), (SOLID,), squared),
    Case(
        "conv used twice",
        lambda: Given(lambda m, x: m.a(torch.tanh(m.a(x))), a=nn.Conv2d(4, 4, 3, padding=1)),
        ONE,
        squared,
    ),
    Case(
        "frames",
        lambda: Given(lambda m, x: m.a(x.flatten(0, 1)).view(len(x), -1), a=nn.Conv2d(2, 3, 3)),
        (InputShape((3, 2, 5, 5)),),
        squared,
    ),
    Case("transposed conv", conv(nn.ConvTranspose2d, 4, 3, 3), ONE, squared, VMAP),
    Case(
        "cnn",
        lambda: nn.Sequential(
            nn.Conv2d(4, 5, 3),
            nn.GroupNorm(1, 5),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(20, 4),
        ),
        (PICTURE, LABEL),
        cross_entropy,
    ),
    Case(
        "embedding",
        lambda: nn.Sequential(nn.Embedding(13, 4, padding_idx=2), nn.Flatten(), nn.Linear(20, 4)),
        (TOKENS, LABEL),
        cross_entropy,
    ),
    Case(
        "embedding twice",
        lambda: Given(lambda m, x: torch.tanh(m.a(x)) * m.a((x + 1) % 13), a=nn.Embedding(13, 4)),
        (TOKENS,),
        squared,
    ),
    *(Case(f"bag, {mode}", bag(mode), (TOKENS, LABEL), cross_entropy) for mode in ("sum", "mean", "max")),
    Case("tied embedding and output", tied, (InputShape((5,), below=11), InputShape((5,), below=11)), cross_entropy),
    Case("layer norm", lambda: nn.Sequential(nn.Linear(8, 6), nn.LayerNorm(6), nn.Tanh()), (SEQUENCE,), squared),
    Case("layer norm of two axes", lambda: nn.LayerNorm((5, 8)), (SEQUENCE,), squared),
    Case("rms norm", lambda: nn.Sequential(nn.Linear(8, 6), nn.RMSNorm(6)), (SEQUENCE,), squared),
    Case("group norm", lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.GroupNorm(3, 6), nn.Tanh()), ONE, squared),
    Case(
        "instance norm",
        lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.InstanceNorm2d(6, affine=True), nn.Tanh()),
        ONE,
        squared,
    ),
    Case(
        "batch norm at rest",
        lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6).eval(), nn.Tanh()),
        ONE,
        squared,
    ),
    Case("attention", attention, (SEQUENCE,), squared),
    Case("attention to another", crossed, (SEQUENCE,), squared, VMAP),
    Case("encoder layer", lambda: nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), (SEQUENCE,), squared),
    Case("text model", text_model, (TOKENS, LABEL), cross_entropy),
    Case(
        "first token",
        lambda: Given(
            class_token,
            token=nn.Parameter(torch.randn(1, 1, 8)),
            attention=nn.MultiheadAttention(8, 2, batch_first=True),
            out=nn.Linear(8, 2),
        ),
        (SEQUENCE,),
        squared,
    ),
    Case("lstm", lambda: nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True, dropout=0.2), (SEQUENCE,), squared),
    Case("gru", lambda: nn.GRU(8, 5, 2, batch_first=True), (SEQUENCE,), squared),
    Case("rnn", lambda: nn.RNN(8, 5, batch_first=True, bias=False), (SEQUENCE,), squared),
    Case(
        "lstm, time first",
        lambda: Given(lambda m, x: m.a(x.transpose(0, 1))[0].transpose(0, 1), a=nn.LSTM(8, 5)),
        (SEQUENCE,),
        squared,
    ),
)


def _shared() -> nn.Module:
    first, second = nn.Linear(6, 6), nn.Linear(6, 6)
    second.weight = first.weight
    return nn.Sequential(first, nn.Tanh(), second)
