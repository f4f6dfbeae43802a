"""Adam without the noise in its squares: by hand, where only noise is large, and put back after a crash."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.learning import FEATURES, policy_of, softmax_loss
from tacit.base import InputError
from tacit.learn import AdaptiveClip, Correlated, TableRows, Training
from tacit.session import Session

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")


def adam(parameter: Any, noise: float, **settings: Any) -> Any:
    from tacit.learn.adam import DebiasedAdam

    return DebiasedAdam([parameter], noise=lambda: noise, **settings)


def test_two_steps_by_hand() -> None:
    one = torch.nn.Parameter(torch.tensor([1.0, 1.0], dtype=torch.float64))
    optimiser = adam(one, 0.5, lr=0.1, betas=(0.9, 0.99), floor=0.01)
    wanted, mean, square = np.ones(2), np.zeros(2), np.zeros(2)
    for turn, gradient in enumerate(([2.0, 0.1], [1.0, -0.4]), start=1):
        one.grad = torch.tensor(gradient, dtype=torch.float64)
        optimiser.step()
        mean = 0.9 * mean + 0.1 * np.array(gradient)
        square = 0.99 * square + 0.01 * (np.array(gradient) ** 2 - 0.25)
        below = np.maximum(square / (1 - 0.99**turn), 0.01)
        wanted = wanted - 0.1 * mean / (1 - 0.9**turn) / np.sqrt(below)
    assert one.detach().numpy() == pytest.approx(wanted, rel=1e-12)


def test_without_noise_it_is_adam() -> None:
    ours, theirs = (torch.nn.Parameter(torch.ones(3, dtype=torch.float64)) for _ in range(2))
    optimisers = adam(ours, 0.0, lr=0.01, floor=1e-30), torch.optim.Adam([theirs], lr=0.01, eps=1e-15)
    for turn in range(5):
        for each, optimiser in zip((ours, theirs), optimisers, strict=True):
            each.grad = torch.tensor([1.0, -0.3, 0.02 * turn + 0.1], dtype=torch.float64)
            optimiser.step()
    assert ours.detach().numpy() == pytest.approx(theirs.detach().numpy(), rel=1e-9)


def test_small_gradients_in_large_noise_move_as_far_as_large_ones() -> None:
    """Adam's promise, which noise breaks: two directions whose gradients differ by ten move alike."""
    source, noise = np.random.default_rng(3), 1.0
    moved = {}
    for name in ("ours", "Adam"):
        one = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        settings: dict[str, Any] = {"lr": 0.01, "betas": (0.9, 0.9999)}
        optimiser = adam(one, noise, floor=1e-3, **settings) if name == "ours" else torch.optim.Adam([one], **settings)
        for _ in range(20_000):
            one.grad = torch.from_numpy(np.array([3.0, 0.3]) + noise * source.normal(size=2))
            optimiser.step()
        moved[name] = float((one[1] / one[0]).detach())
    assert moved["Adam"] < 0.45
    assert moved["ours"] > 0.7


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_of(tmp_path), "cora") as opened:
        yield opened


def plan(**changes: Any) -> Training:
    rows = TableRows("points", features=FEATURES, label="kind")
    settings: dict[str, Any] = {"rows": rows, "batch": 100, "population": 600, "steps": 30, "sigma": 2, "delta": 1e-4}
    return Training(**(settings | changes))


@pytest.mark.parametrize("adaptive", [None, AdaptiveClip()])
def test_a_run_says_how_large_its_noise_is(session: Session, adaptive: Any) -> None:
    from tacit.learn.adam import DebiasedAdam

    net, said = torch.nn.Linear(3, 2), list[float]()

    def loop(run: Any) -> None:
        optimiser = DebiasedAdam.of(run, lr=0.1)
        run.track(optimiser=optimiser)
        for step in run:
            said.append(run.noise())
            optimiser.step()
            if step == 14 and len(said) == 15:
                raise KeyError("dead")

    own = plan(adaptive=adaptive, clip="1/2")
    with pytest.raises(KeyError):
        own.run(session, net, loss=softmax_loss, loop=loop, every=10)
    own.run(session, net, loss=softmax_loss, loop=loop, every=10)
    assert said[0] == pytest.approx(2 * 0.5 / 100)
    assert (len(set(said)) == 1) == (adaptive is None)
    assert len(said) == 25


def test_what_does_not_go_together_is_refused(session: Session) -> None:
    from tacit.learn.adam import DebiasedAdam

    net = torch.nn.Linear(3, 2)
    bands = Correlated.banded(steps=30, bands=4, separation=6)
    with pytest.raises(InputError, match="correlated"):
        plan(correlated=bands, population=None).run(session, net, loss=softmax_loss, loop=DebiasedAdam.of)
    with pytest.raises(InputError, match="floor"):
        adam(net.weight, 1.0, floor=0)
    with pytest.raises(InputError, match="closure"):
        adam(net.weight, 1.0).step(lambda: 0)
