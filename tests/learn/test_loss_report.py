"""A mean loss is told with noise, and paid for: one unit's part of it is bounded, and the price is in the plan."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.learning import FEATURES, policy_of, softmax_loss
from tacit.base import InputError
from tacit.learn import AdaptiveClip, Correlated, LossReport, TableRows, Training
from tacit.session import Session

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
REPORT = LossReport(most=2)


def plan(per_unit: int = 1, **changes: Any) -> Training:
    rows = TableRows("points", features=FEATURES, label="kind", per_unit=per_unit)
    settings: dict[str, Any] = {"rows": rows, "batch": 300, "population": 600, "steps": 30, "sigma": 2, "delta": 1e-4}
    return Training(**(settings | {"loss_report": REPORT} | changes))


@given(st.lists(st.floats(width=64), max_size=5), st.floats(width=64))
def test_one_unit_moves_it_by_no_more_than_its_share(losses: list[float], one: float) -> None:
    """The doubles themselves, whatever a loss is."""
    here, there = (REPORT.coordinate(REPORT.steps(each)) for each in (losses, [*losses, one]))
    assert abs(there - here) < float(REPORT.share)


def test_its_price_is_in_the_plan() -> None:
    """A quarter of a clip beside a gradient of one: noise grows by √(1 + 1/16), beside an adaptive clip √(1 + 1/8)."""
    fitted: dict[str, Any] = {"sigma": None, "epsilon": 4}
    plain = plan(loss_report=None, **fitted).sigma_in_clips
    for adaptive, square in ((None, 1 / 16), (AdaptiveClip(), 1 / 8)):
        found = plan(**fitted, adaptive=adaptive)
        assert float(found.sigma_in_clips / plain) == pytest.approx((1 + square) ** 0.5, rel=2e-3)
    both = [plan(relation=each).reach for each in ("add_remove", "replace")]
    assert both[1] == 2 * both[0]
    assert "loss_report" in plan().json()
    assert "loss_report" not in plan(loss_report=None).json()
    with pytest.raises(InputError, match="another size in each step"):
        plan(population=None, correlated=Correlated.banded(steps=30, bands=4, separation=6))


@pytest.mark.parametrize(("per_unit", "adaptive"), [(1, None), (3, AdaptiveClip())])
def test_it_is_the_mean_loss_but_for_noise(tmp_path: Path, per_unit: int, adaptive: Any) -> None:
    """The model stays as it is, so all steps tell of one number; a wrong scale would be a deviation of many."""
    from support.learning import points

    rows, told, seen = points(rows=per_unit), list[Any](), list[float]()
    net = torch.nn.Linear(3, 2)
    with Session(policy_of(tmp_path, rows), "cora") as session:

        def loop(run: Any) -> None:
            for _ in run:
                pass
            seen.extend(run.losses)

        own = plan(per_unit=per_unit, adaptive=adaptive)
        own.run(session, net, loss=softmax_loss, loop=loop, every=10, report=told.append)
    scaled = np.stack([rows["a"], rows["b"], np.array(rows["c"]) / 2 - 1], axis=1).astype(np.float32)
    labels = torch.from_numpy((np.array(rows["kind"]) == "yes").astype(np.int64))
    with torch.no_grad():
        losses = softmax_loss(net, torch.from_numpy(scaled), labels).numpy()
    each = np.minimum(losses.reshape(600, per_unit).mean(axis=1), 2)
    # of one step: its noise, and whose coins put them into its batch
    deviation = float((REPORT.deviation(2, 300) ** 2 + ((each - 1) ** 2).sum() / 4 / 300**2) ** 0.5)
    assert len(seen) == 30
    assert abs(np.mean(seen) - each.mean()) < 5 * deviation / 30**0.5
    assert 0.5 < np.std(seen) / deviation < 1.6
    assert told[0].loss is None
    assert told[1].loss == pytest.approx(np.mean(seen[:10]))
    assert told[1].loss_deviation == pytest.approx(REPORT.deviation(2, 300) / 10**0.5)
    assert f"loss {told[1].loss:.3g} ±" in str(told[1])


def test_without_it_no_loss_is_told(tmp_path: Path) -> None:
    told: list[Any] = []
    with Session(policy_of(tmp_path), "cora") as session:

        def loop(run: Any) -> None:
            assert [*run] == [*range(30)]
            assert run.losses == []

        plan(loss_report=None).run(
            session, torch.nn.Linear(3, 2), loss=softmax_loss, loop=loop, every=10, report=told.append
        )
    assert {each.loss for each in told} == {None}
    assert not any("loss" in str(each) for each in told)


@pytest.mark.parametrize("bad", [{"most": 0}, {"share": 0}, {"most": float("nan")}])
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        LossReport(**bad)
