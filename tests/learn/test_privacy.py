"""Is a training as private as it says? Laws of what its loop is given, and audits of the models that come out.

Every unit has a direction of its own, along which its gradient points and is clipped, so one number of each released
gradient is about one unit: a clip with probability the rate, and noise. Each mutant breaks the code that ships.
"""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm

from support.fixed_rng import FixedRng, drawing_from
from support.learning import policy_of
from tacit.auditor.one_run import canaries, one_run
from tacit.learn import ArrayRows, Training
from tacit.learn.noise import GradientNoise
from tacit.learn.sampling import PoissonSampler
from tacit.session import Session

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")

RARE = 1e-7
UNITS, STEPS, SIGMA, RATE, CLIP, BATCH = 400, 120, Fraction(1, 4), Fraction(1, 5), Fraction(1, 8), 80
Array = Any


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    text = (
        policy_of(tmp_path, flat=True).read_text().replace("= 20", "= 100000")
    )  # what breaks is not to be refused for its price
    (tmp_path / "tacit.toml").write_text(text)
    with Session(tmp_path / "tacit.toml", "cora") as opened:
        yield opened


def linear(net: Any, x: Any) -> Any:
    return -net(x)[:, 0]


def plan(units: int = UNITS, **changes: Any) -> Training:
    settings: dict[str, Any] = {
        "rows": ArrayRows(np.eye(units, dtype=np.float32)),
        "table": "flat",
        "batch": BATCH,
        "rate": RATE,
        "steps": STEPS,
        "sigma": SIGMA,
        "clip": CLIP,
        "delta": 1e-4,
        "parameters": units,
    }
    return Training(**(settings | changes))


def released(session: Session, own: Training, *, dies_at: int | None = None) -> Array:
    """Every gradient that the loop was given, in clips: a row for each step and a number for each unit."""
    net = torch.nn.Linear(own.parameters, 1, bias=False)
    found: list[Array] = []

    def loop(run: Any) -> None:
        for step in run:
            found.append(-net.weight.grad[0].double().numpy() * BATCH / float(CLIP))
            if step == dies_at and len(found) == step + 1:
                raise KeyError("dead")

    for _ in range(1 if dies_at is None else 2):
        with suppress(KeyError):
            own.run(session, net, loss=linear, loop=loop, every=10)
    return np.array(found)


def law(found: Array, edges: int = 40) -> float:
    """χ² of all numbers against q·N(1, σ²) + (1 − q)·N(0, σ²), as a p-value."""
    sigma, rate = float(SIGMA), float(RATE)
    points = np.linspace(-1.5 * sigma, 1 + 2.5 * sigma, edges - 1)
    inner = rate * norm.cdf(points, 1, sigma) + (1 - rate) * norm.cdf(points, 0, sigma)
    expected = np.diff(np.concatenate([[0], inner, [1]])) * found.size
    seen = np.bincount(np.searchsorted(points, found.ravel()), minlength=edges)
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), edges - 1))


def independence(found: Array) -> float:
    """χ² of how far the sums of steps scatter: independent coins and noise have N·(q(1 − q) + σ²)."""
    sums, units = found.sum(axis=1), found.shape[1]
    spread = units * (float(RATE) * (1 - float(RATE)) + float(SIGMA) ** 2)
    statistic = ((sums - units * float(RATE)) ** 2).sum() / spread
    return float(2 * min(chi2.sf(statistic, len(sums)), chi2.cdf(statistic, len(sums))))


def likeness(found: Array) -> float:
    """The largest correlation of two steps; independent ones are below 6/√N but once in millions of runs."""
    centred = found - found.mean(axis=1, keepdims=True)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return float(np.abs(np.triu(unit @ unit.T, 1)).max())


def looser(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.learn.gradient.clipping import Flat

    real = Flat.factors
    monkeypatch.setattr(Flat, "factors", lambda self, *of: 1.1 * real(self, *of))


def quieter(monkeypatch: pytest.MonkeyPatch) -> None:
    real = GradientNoise._draw
    monkeypatch.setattr(GradientNoise, "_draw", lambda self, *of: np.rint(0.95 * real(self, *of)))


def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many units in each step, without replacement: what shuffled batches are."""

    def batch(self: PoissonSampler, step: int, rng: Any) -> Array:
        return np.sort(np.argsort(rng.words(self.units))[: int(self.rate * self.units)])

    monkeypatch.setattr(PoissonSampler, "batch", batch)


def partitioned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every unit once in an epoch, by its place."""
    monkeypatch.setattr(
        PoissonSampler, "batch", lambda self, step, rng: np.flatnonzero(np.arange(self.units) % 5 == step % 5)
    )


def test_what_a_loop_is_given_has_the_law_that_was_priced(session: Session) -> None:
    with drawing_from(FixedRng(1)):
        found = released(session, plan())
    assert found.shape == (STEPS, UNITS)
    assert law(found) > RARE
    assert independence(found) > RARE
    assert likeness(found) < 6 / np.sqrt(UNITS)


@pytest.mark.parametrize(("mutate", "caught"), [(looser, law), (quieter, law), (fixed, independence)])
def test_a_clip_noise_or_batch_that_is_a_little_off_is_caught(
    session: Session, monkeypatch: pytest.MonkeyPatch, mutate: Any, caught: Any
) -> None:
    mutate(monkeypatch)
    with drawing_from(FixedRng(2)):
        assert caught(released(session, plan())) < RARE


def test_batches_by_place_are_caught(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    partitioned(monkeypatch)
    with drawing_from(FixedRng(2)):
        found = released(session, plan())
    assert likeness(found) > 6 / np.sqrt(UNITS)


@pytest.mark.parametrize("replayed", [False, True])
def test_noise_is_never_replayed_after_a_resume(
    session: Session, monkeypatch: pytest.MonkeyPatch, replayed: bool
) -> None:
    """The difference of two answers with the same noise has none: after a crash steps have noise of their own."""
    own = plan(name=f"replayed {replayed}", steps=60)
    if replayed:  # a generator whose state was put back
        monkeypatch.setattr("tacit.learn.run.rng_or_default", lambda given: FixedRng(5))
        found = released(session, own, dies_at=24)
    else:
        with drawing_from(FixedRng(5)):
            found = released(session, own, dies_at=24)
    assert len(found) == 25 + 30  # of the block up to 30 that was begun, five steps are lost
    assert (likeness(found) > 6 / np.sqrt(UNITS)) == replayed


# --- models that were trained, audited with one run


def audited(session: Session, *, count: int, seed: int, name: str, **settings: Any) -> Any:
    """ε from below of one trained model: canaries are rows with a feature of their own, each in by a fair coin; the
    score is how far the model's weight at that feature has moved."""
    coins = canaries(count, FixedRng(seed))
    rows = np.eye(count, dtype=np.float32)[coins]
    own = plan(count, rows=ArrayRows(rows), batch=count // 2, name=name, **settings)
    net = torch.nn.Linear(count, 1, bias=False)
    torch.nn.init.zeros_(net.weight)

    def loop(run: Any) -> None:
        optimiser = torch.optim.SGD(net.parameters(), lr=1.0)
        for _ in run:
            optimiser.step()

    def logistic(model: Any, x: Any) -> Any:
        return torch.nn.functional.softplus(-4 * model(x)[:, 0])

    with drawing_from(FixedRng(seed + 1)):
        own.run(session, net, loss=logistic, loop=loop)
    found = one_run(net.weight[0].detach().double().numpy(), coins, delta=1e-7, confidence="0.999")
    return found, float(own.loss.epsilon(1e-7))


TRAINED: dict[str, Any] = {"sigma": None, "epsilon": 3, "delta": 1e-7, "steps": 8, "rate": "1/2"}


def test_one_run_finds_no_more_than_was_promised(session: Session) -> None:
    found, promised = audited(session, count=2000, seed=11, name="audited", **TRAINED)
    assert 0.3 < found.epsilon <= promised <= 3


@pytest.mark.parametrize("broken", ["an eighth of the noise", "everybody in every step"])
def test_one_run_finds_a_training_that_is_broken(
    session: Session, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    terms = TRAINED
    if broken == "an eighth of the noise":
        real = GradientNoise._draw
        monkeypatch.setattr(GradientNoise, "_draw", lambda self, *of: np.rint(0.125 * real(self, *of)))
    else:
        terms = TRAINED | {"rate": "1/12", "steps": 40}
        monkeypatch.setattr(PoissonSampler, "batch", lambda self, step, rng: np.arange(self.units))
    found, promised = audited(session, count=2000, seed=21, name=broken, **terms)
    assert found.epsilon > promised


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 4, 8])
@pytest.mark.parametrize("form", ["fast", "exact"])
def test_one_run_of_many_canaries_stays_below_every_promise(session: Session, epsilon: int, form: str) -> None:
    for seed in range(30, 34):
        name = f"{epsilon} {form} {seed}"
        terms = TRAINED | {"epsilon": epsilon, "form": form, "steps": 20}
        found, promised = audited(session, count=8000, seed=seed, name=name, **terms)
        assert found.epsilon <= promised
        assert found.epsilon > promised / 10
