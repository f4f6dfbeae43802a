"""The sums of the code that ships, against the definition: one example, one backward, at a time."""

import copy
import gc
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from support.networks import ZOO, Case, cross_entropy, squared
from tacit.base import InputError
from tacit.learn.gradient import Clipping, Flat, Gradients, InputShape, Normalised, PerLayer
from tacit.learn.gradient.each import by_definition
from tacit.learn.gradient.made_up import Stillness, still
from tacit.learn.gradient.part import Part
from tacit.learn.rounding import SLACK

MLP, ROWS, CLIP = ZOO[0], 7, 0.5
# torch has no batching rule for its own attention, and says so
pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")


def case(name: str) -> Case:
    (found,) = [each for each in ZOO if each.name == name]
    return found


def gradients(made: Case, clipping: Clipping | None = None, chunk: int | None = 4) -> Gradients:
    """Without dropout, so that two passes agree."""
    model = made.model()
    still(model)
    return Gradients(model, made.loss, clipping=clipping or Flat(CLIP), shapes=made.shapes, chunk=chunk)


def rows_of(made: Gradients, batch: tuple[Tensor, ...]) -> Tensor:
    """Every example's gradient as one vector, by definition."""
    with Stillness():
        found = by_definition(made.model, made.loss, batch)
        return torch.stack([torch.cat([each.flatten() for each in row]) for row in found])


def flat(parts: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([each.flatten() for each in parts])


@pytest.mark.parametrize("made", ZOO, ids=lambda made: made.name)
def test_no_batch_is_held_when_its_sum_is_taken(made: Case) -> None:
    """A tape is part of autograd's graph: what it kept of the rows would stay for as long as the process lives."""
    found, batch = gradients(made), made.batch(ROWS)

    def held(times: int) -> int:
        for _ in range(times):
            found.clipped_sum(*batch)
        gc.collect()
        return sum(issubclass(type(each), Part) for each in gc.get_objects())

    gc.freeze()  # what other tests left is not looked at: there may be millions
    assert held(times=1) == held(times=3)  # the first checks the model, too


@pytest.mark.parametrize("made", ZOO, ids=lambda made: made.name)
def test_lengths_and_sums_are_those_of_the_definition(made: Case) -> None:
    found, batch = gradients(made), made.batch(ROWS)
    each = rows_of(found, batch)
    lengths = each.norm(dim=1)
    with Stillness():
        torch.testing.assert_close(found.norms(*batch), lengths, rtol=1e-10, atol=0)
        total = flat(found.clipped_sum(*batch))
    wanted = (CLIP / lengths).clamp(max=1) @ each
    torch.testing.assert_close(total, wanted, rtol=0, atol=1e-10)
    assert (found.method.layouts is None) == (made.method == "vmap"), found.method.reason


@pytest.mark.parametrize("made", ZOO[::3], ids=lambda made: made.name)
def test_one_example_moves_the_sum_by_at_most_the_sensitivity(made: Case) -> None:
    """In single precision, as it is trained, each example left out in turn; the clip is reached, so that it binds."""
    found = gradients(made, Flat(0.01), chunk=None)
    found.model.float()
    batch = made.batch(ROWS, dtype=torch.float32)
    with Stillness():
        whole = flat(found.clipped_sum(*batch)).double()
        for row in range(ROWS):
            rest = torch.arange(ROWS) != row
            moved = (whole - flat(found.clipped_sum(*(each[rest] for each in batch))).double()).norm()
            assert 0.005 < moved <= float(found.clipping.sensitivity())


def test_a_clip_ten_percent_too_large_is_caught() -> None:
    class Loose(Flat):
        def factors(self, squares: Tensor, layers: object) -> Tensor:
            return (1.1 * float(self.clip) / squares.sum(0).sqrt()).clamp(max=1).expand_as(squares)

    found, batch = gradients(MLP, Loose(0.01)), MLP.batch(1)
    assert flat(found.clipped_sum(*batch)).norm() > float(found.clipping.sensitivity())
    found.clipping = Flat(0.01)
    assert 0.0099 < flat(found.clipped_sum(*batch)).norm() <= 0.01


def test_many_alike_in_single_precision_stay_within_the_slack() -> None:
    """Gradients that all point one way are the worst for rounding: 4096 of them, and one less."""
    found = gradients(MLP, Flat(1), chunk=None)
    found.model.float()
    one = MLP.batch(1, dtype=torch.float32)
    most = 0.0
    for rows in (1024, 4096):
        batch = [each.expand(rows, *each.shape[1:]).contiguous() for each in one]
        fewer = [each[1:] for each in batch]
        moved = flat(found.clipped_sum(*batch)).double() - flat(found.clipped_sum(*fewer)).double()
        most = max(most, float(moved.norm()))
    assert most <= 1 + float(SLACK)


def test_chunks_add_up() -> None:
    batch = MLP.batch(23)
    sums = [flat(gradients(MLP, chunk=size).clipped_sum(*batch)) for size in (1, 4, 23, 1000)]
    for one, other in pairwise(sums):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_no_example_is_zeros() -> None:
    found = gradients(MLP)
    total = found.clipped_sum(*MLP.batch(0))
    assert [each.shape for each in total] == [each.shape for each in found.parameters.values()]
    assert not flat(total).any()
    assert found.norms(*MLP.batch(0)).shape == (0,)


@pytest.mark.parametrize("name", ["mlp", "cnn", "conv2d, large kernel", "linear by Gram", "prelu", "transposed conv"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200])
def test_an_example_that_is_not_finite_adds_nothing(name: str, value: float) -> None:
    made = case(name)
    found, batch = gradients(made), made.batch(ROWS)
    rest = torch.arange(ROWS) != 2
    wanted = flat(found.clipped_sum(*(each[rest] for each in batch)))
    batch[0][2] = value
    total = flat(found.clipped_sum(*batch))
    if torch.isfinite(found.norms(*batch)[2]):
        assert (total - wanted).norm() <= CLIP * (1 + 1e-9)
    else:
        torch.testing.assert_close(total, wanted, rtol=0, atol=1e-12)


def test_a_label_or_token_out_of_range_counts_as_absent() -> None:
    made = case("embedding")
    found, (tokens, labels) = gradients(made), made.batch(ROWS)
    rest = torch.arange(ROWS) > 1
    wanted = flat(found.clipped_sum(tokens[rest], labels[rest]))
    labels[0], tokens[1, 3] = 99, -1
    torch.testing.assert_close(flat(found.clipped_sum(tokens, labels)), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["mlp", "cnn", "conv2d, large kernel", "embedding", "tied embedding and output", "prelu", "text model"]
)
def test_the_examples_of_a_unit_are_clipped_together(name: str) -> None:
    made = case(name)
    found, batch = gradients(made, Flat(0.05)), made.batch(9)
    unit = torch.tensor([4, 1, 4, 4, 7, 1, 2, 4, 9])
    each = rows_of(found, batch)
    wanted = torch.zeros_like(each[0])
    with Stillness():
        for number in unit.unique():
            one = each[unit == number].sum(0)
            wanted += one * min(1.0, 0.05 / float(one.norm()))
        total = flat(found.clipped_sum(*batch, unit=unit))
    torch.testing.assert_close(total, wanted, rtol=0, atol=1e-10)


def test_weights_scale_what_is_clipped() -> None:
    found, batch = gradients(MLP), MLP.batch(3)
    weights = torch.tensor([1.0, 0.0, 0.25], dtype=torch.float64)
    parts = [flat(found.clipped_sum(*(each[row : row + 1] for each in batch))) for row in range(3)]
    total = flat(found.clipped_sum(*batch, weights=weights))
    torch.testing.assert_close(total, parts[0] + 0.25 * parts[2], rtol=0, atol=1e-12)
    for wrong in (weights * 1.5, weights - 0.5, weights * float("nan"), weights[:2]):
        with pytest.raises(InputError, match="weights"):
            found.clipped_sum(*batch, weights=wrong)


def test_per_layer_and_normalised() -> None:
    batch = MLP.batch(ROWS)
    whole = gradients(MLP, Normalised(0.01))
    each = rows_of(whole, batch)
    wanted = (1 / (each.norm(dim=1) + 0.01)) @ each
    torch.testing.assert_close(flat(whole.clipped_sum(*batch)), wanted, rtol=0, atol=1e-10)

    layered = gradients(MLP, PerLayer({"0": 0.3, "2": 0.4}))
    first = sum(layered.parameters[name].numel() for name in ("0.weight", "0.bias"))
    parts = [(each[:, :first], 0.3), (each[:, first:], 0.4)]
    wanted = torch.cat([(clip / part.norm(dim=1)).clamp(max=1) @ part for part, clip in parts])
    torch.testing.assert_close(flat(layered.clipped_sum(*batch)), wanted, rtol=0, atol=1e-10)


def test_half_precision_is_squared_and_summed_in_more() -> None:
    def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        return F.cross_entropy(out.float(), y, reduction="none")

    model = MLP.model().float()
    found = Gradients(model, loss, clipping=Flat(0.01), shapes=MLP.shapes)
    x, y = MLP.batch(64, dtype=torch.float32)
    total = found.clipped_sum(x, y)
    assert {each.dtype for each in total} == {torch.float32}
    for row in range(8):
        rest = torch.arange(64) != row
        moved = flat(total).double() - flat(found.clipped_sum(x[rest], y[rest])).double()
        assert 0.005 < moved.norm() <= float(found.clipping.sensitivity())


def test_autocast_around_the_step_is_for_the_loss_alone() -> None:
    """Rows that are alike round alike: in half precision their sum would be off by many clips' slack."""
    model = MLP.model().float()
    found = Gradients(model, MLP.loss, clipping=Flat(0.01), shapes=MLP.shapes)
    x, y = (each.expand(200, *each.shape[1:]) for each in MLP.batch(1, dtype=torch.float32))
    unit = torch.arange(200) // 2
    with torch.autocast("cpu", dtype=torch.bfloat16):
        alone = flat(found.clipped_sum(x[:1], y[:1])).double()
        assert (flat(found.clipped_sum(x, y)).double() - 200 * alone).norm() <= 0.01 * 0.5 * float(SLACK)
        pair = flat(found.clipped_sum(x[:2], y[:2], unit=unit[:2])).double()
        assert (flat(found.clipped_sum(x, y, unit=unit)).double() - 100 * pair).norm() <= 0.01 * 0.5 * float(SLACK)


def test_sums_in_less_than_single_precision_are_refused() -> None:
    """Told before the charge, by the check, and once more at each sum."""
    found = gradients(MLP)
    found.check()
    torch.set_float32_matmul_precision("medium")
    try:
        for work in (found.check, lambda: found.clipped_sum(*MLP.batch(2))):
            with pytest.raises(InputError, match="highest"):
                work()
    finally:
        torch.set_float32_matmul_precision("highest")
    if not torch.set_flush_denormal(True):
        return  # this processor cannot
    try:
        for work in (found.check, lambda: found.clipped_sum(*MLP.batch(2))):
            with pytest.raises(InputError, match="set_flush_denormal"):
                work()
    finally:
        torch.set_flush_denormal(False)


def test_the_model_stays_as_it_is() -> None:
    model = case("text model").model()
    before = copy.deepcopy(model.state_dict())
    kind, state = type(model), torch.random.get_rng_state()
    found = Gradients(model, cross_entropy, clipping=Flat(1), shapes=case("text model").shapes)
    found.check()
    found.clipped_sum(*case("text model").batch(4))
    assert type(model) is kind
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())
    assert all(each.grad is None for each in model.parameters())
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())
    assert model.training
    del state


def test_dropout_masks_of_two_examples_differ_and_the_clip_holds() -> None:
    """A mask holds nothing of the data; given the masks, each example's gradient is a function of its own row."""
    made = case("mlp with dropout")
    model = made.model()
    found = Gradients(model, made.loss, clipping=Flat(0.01), shapes=made.shapes)
    one = made.batch(1)
    alike = [each.expand(50, *each.shape[1:]) for each in one]
    lengths = found.norms(*alike)
    assert len(lengths.unique()) > 10
    assert flat(found.clipped_sum(*one)).norm() <= 0.01 * (1 + 1e-9)


def test_a_batch_that_takes_another_way_goes_by_vmap_or_fails() -> None:
    """What the made-up inputs did not show is still clipped right."""

    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(6, 6)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.a(x)
            return out @ self.a.weight.t() if len(x) == 11 else out

    model = Turning().double()
    found = Gradients(model, squared, clipping=Flat(CLIP), shapes=[(6,)])
    found.check()
    assert found.method.layouts is not None
    batch = (MLP.batch(11)[0],)
    assert flat(found.clipped_sum(*batch)).norm() <= 11 * CLIP


def test_a_loss_that_takes_gradients_itself_goes_by_vmap_or_is_refused() -> None:
    def penalty(model: nn.Module, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(squared(model, x).sum(), x, create_graph=True)
        return slope.square().sum(1)

    found = Gradients(nn.Sequential(nn.Linear(6, 6), nn.Tanh()).double(), penalty, clipping=Flat(CLIP), shapes=[(6,)])
    with pytest.raises(InputError):
        found.check()


@pytest.mark.parametrize("ready", [lambda x: x, lambda x: x.clone().requires_grad_()], ids=["first", "later"])
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_reentrant_checkpoints_are_refused_with_the_remedy(ready: Any) -> None:
    class Again(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.b(checkpoint(self.a, ready(x), use_reentrant=True))  # type: ignore[no-any-return]

    with pytest.raises(InputError, match="use_reentrant=False"):
        Gradients(Again(), squared, clipping=Flat(1), shapes=[(6,)]).check()


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ((torch.zeros(3, 6),), "1 inputs were given, but 2"),
        ((torch.zeros(3, 6), torch.zeros(2, dtype=torch.long)), "has 2 examples"),
        ((torch.zeros(3, 6, 1), torch.zeros(3, dtype=torch.long)), "3 axes"),
        ((torch.zeros(3, 6), torch.zeros(3)), "whole numbers were declared"),
    ],
)
def test_wrong_inputs_are_named(inputs: tuple[Tensor, ...], why: str) -> None:
    with pytest.raises(InputError, match=why):
        gradients(MLP).clipped_sum(*inputs)


def test_nothing_to_learn_is_an_error() -> None:
    model = nn.Linear(6, 4).requires_grad_(False)
    with pytest.raises(InputError, match="no trainable parameter"):
        Gradients(model, squared, clipping=Flat(1), shapes=[InputShape((6,))])
