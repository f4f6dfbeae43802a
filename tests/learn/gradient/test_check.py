"""Models that must be refused, each with its layer and what to use instead, and what the check would miss otherwise."""

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from support.networks import ZOO, squared
from tacit.base import InputError
from tacit.learn.gradient import Flat, Gradients, InputShape
from tacit.learn.gradient.part import Lookup, Outer
from tacit.learn.gradient.tape import RULES

PICTURE = (InputShape((4, 6, 6)),)


def refused(model: nn.Module, loss: Any = squared, shapes: Any = PICTURE) -> str:
    with pytest.raises(InputError) as caught:
        Gradients(model, loss, clipping=Flat(1), shapes=shapes).check()
    return str(caught.value)


class Centred(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


class Counting(nn.Module):
    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Linear(6, 3)
        self.register_buffer("seen", torch.zeros(6))

    def forward(self, x: Tensor) -> Any:
        self.seen = self.seen + x.mean(0).detach()
        return self.inside(x)


def test_batch_norm_is_refused_by_name() -> None:
    text = refused(nn.Sequential(nn.Conv2d(4, 5, 3), nn.BatchNorm2d(5)))
    assert text.startswith("1 (BatchNorm2d)")
    assert "GroupNorm" in text


def test_functional_batch_norm_is_refused_too() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return F.batch_norm(self.a(x), None, None, training=True)

    assert "Hidden" in refused(Hidden(), shapes=[(6,)])


def test_running_statistics_are_refused() -> None:
    text = refused(nn.Sequential(nn.Conv2d(4, 5, 3), nn.InstanceNorm2d(5, track_running_stats=True)))
    assert "track_running_stats=False" in text
    assert "'seen'" in refused(Counting(), shapes=[(6,)])


def test_who_mixes_examples_is_named() -> None:
    text = refused(nn.Sequential(nn.Linear(6, 5), Centred(), nn.Linear(5, 2)), shapes=[(6,)])
    assert text.startswith("1 (Centred)")


def test_a_loss_that_mixes_examples_is_refused() -> None:
    def loss(model: nn.Module, x: Tensor) -> Tensor:
        found = squared(model, x)
        return found / found.sum()

    assert refused(nn.Linear(6, 3), loss, [(6,)]).startswith("the loss")


@pytest.mark.parametrize("reduce", [torch.mean, torch.sum, lambda found: found[:, None], lambda found: 1.0])
def test_a_loss_is_one_number_for_each_example(reduce: Any) -> None:
    assert "reduction='none'" in refused(nn.Linear(6, 3), lambda model, x: reduce(squared(model, x)), [(6,)])


def test_chance_beside_dropout_is_refused() -> None:
    def loss(model: nn.Module, x: Tensor) -> Tensor:
        return squared(model, x + torch.randn_like(x))

    assert "hand them in as an input" in refused(nn.Linear(6, 3), loss, [(6,)])


def test_embeddings_that_look_at_the_batch_are_refused() -> None:
    tokens = [InputShape((5,), below=9)]
    for options, word in (({"max_norm": 1.0}, "max_norm"), ({"scale_grad_by_freq": True}, "scale_grad_by_freq")):
        made: Any = nn.Sequential(nn.Embedding(9, 4, **options), nn.Flatten())
        text = refused(made, shapes=tokens)
        assert word in text
        assert "0 (Embedding)" in text


def test_wrong_shapes_and_losses_that_are_not_finite() -> None:
    assert "0 (Linear)" in refused(nn.Sequential(nn.Linear(6, 3)), shapes=[(7,)])
    assert "not finite" in refused(nn.Linear(6, 3), lambda model, x: squared(model, x) / 0, [(6,)])
    assert "zero" in refused(nn.Linear(6, 3), lambda model, x: x.sum(1), [(6,)])


def test_what_was_declared_is_said_and_a_compiled_module_is_refused() -> None:
    text = refused(nn.Linear(7, 3), lambda model, x, y: F.nll_loss(model(x), y, reduction="none"),
                   [InputShape((7,)), InputShape((), below=9)])  # fmt: skip
    assert "the loss cannot run" in text
    assert "(reals of shape (7,) and a whole number below 9)" in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.jit.script(nn.Linear(6, 3))
    assert "compiled by torch.jit" in refused(made, shapes=[(6,)])


def test_projections_of_a_recurrent_layer_are_refused_by_name() -> None:
    model = nn.Sequential(nn.LSTM(8, 5, proj_size=3, batch_first=True)).double()
    with pytest.raises(InputError, match=r"0 \(LSTM\): a recurrent layer with proj_size .* nn.Linear"):
        Gradients(model, squared, clipping=Flat(1), shapes=[(5, 8)]).check()


def test_bags_by_offsets_are_refused_by_name() -> None:
    class Bags(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag = nn.EmbeddingBag(9, 4)

        def forward(self, x: Tensor) -> Any:
            return self.bag(x.flatten(), torch.arange(0, x.numel(), x.shape[1]))

    assert "bag (EmbeddingBag)" in refused(Bags(), shapes=[InputShape((5,), below=9)])


def _no_cross_terms(self: Outer) -> Tensor:
    return (self.left.square().sum(2) * self.right.square().sum(2)).sum(1)


def _no_equal_tokens(self: Lookup) -> Tensor:
    return self.value.square().sum(2).sum(1)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(
    ("kind", "wrong", "name"),
    [
        (Outer, _no_cross_terms, "linear by Gram"),
        (Outer, _no_cross_terms, "repeated module"),
        (Outer, _no_cross_terms, "conv2d, large kernel"),
        (Lookup, _no_equal_tokens, "embedding twice"),
    ],
)
def test_a_wrong_formula_is_caught_by_the_check(
    kind: Any, wrong: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutated book-keeping is not used: the model goes by vmap, whose lengths are right."""
    (made,) = [each for each in ZOO if each.name == name]
    monkeypatch.setattr(kind, "squares", wrong)
    found = Gradients(made.model(), made.loss, clipping=Flat(1), shapes=made.shapes)
    found.check()
    assert found.method.layouts is None
    assert "differ from the definition" in found.method.reason


def test_a_rule_that_sees_half_of_the_uses_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule for linear the parameter is found in autograd's graph, so that no use is missed."""
    monkeypatch.delitem(RULES, F.linear)
    made = ZOO[0]
    found = Gradients(made.model(), made.loss, clipping=Flat(1), shapes=made.shapes)
    found.check()
    assert found.method.layouts is None


CUTS = {
    "detach": lambda m, x: m.b(m.a(x).detach().relu()),
    "no_grad": lambda m, x: m.b(torch.no_grad()(m.a)(x).relu()),
    "sign": lambda m, x: m.b(m.a(x).sign()),
    "numpy": lambda m, x: m.b(torch.from_numpy(m.a(x).detach().numpy()).relu()),
    "not called": lambda m, x: m.b(x),
    "reentrant, of whole numbers": lambda m, x: m.b(
        checkpoint(lambda w: m.a(w.double()), x.long(), use_reentrant=True)
    ),
}


class Cut(nn.Module):
    def __init__(self, how: Any) -> None:
        super().__init__()
        self.a, self.b, self.how = nn.Linear(6, 6), nn.Linear(6, 3), how

    def forward(self, x: Tensor) -> Any:
        return self.how(self, x)


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_a_trainable_parameter_without_a_gradient_is_named(how: str) -> None:
    text = refused(Cut(CUTS[how]), shapes=[(6,)])
    assert "a.weight, a.bias" in text
    assert "b.weight" not in text
    assert "requires_grad_(False)" in text
    frozen = Cut(CUTS[how])
    frozen.a.requires_grad_(False)
    Gradients(frozen, squared, clipping=Flat(1), shapes=[(6,)]).check()


def test_a_parameter_that_few_inputs_reach_is_not_refused() -> None:
    class Routed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.often, self.seldom = nn.Linear(6, 3), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Any:
            return torch.where(x[:, :1] > 1.5, self.seldom(x), self.often(x))  # one in fifteen

    Gradients(Routed(), squared, clipping=Flat(1), shapes=[(6,)]).check()
