"""What people do beside plain steps: adapters, averages, schedules, half precision, recomputed layers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.learning import FEATURES, points, policy_of, softmax_loss
from tacit.learn import TableRows, Training
from tacit.session import Session

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
pytestmark = pytest.mark.filterwarnings("ignore:In CPU autocast")


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_of(tmp_path), "cora") as opened:
        yield opened


def plan(**changes: Any) -> Training:
    rows = TableRows("points", features=FEATURES, label="kind")
    settings: dict[str, Any] = {"rows": rows, "batch": 100, "population": 600, "steps": 40, "epsilon": 4, "delta": 1e-4}
    return Training(**(settings | changes))


class Adapted(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is not typed here
    """W·x + B·A·x with W frozen: a low-rank adapter (Hu et al. 2021), whose B begins at zero."""

    def __init__(self, inputs: int, outputs: int, rank: int = 2) -> None:
        super().__init__()
        self.base = torch.nn.Linear(inputs, outputs).requires_grad_(False)
        self.down = torch.nn.Linear(inputs, rank, bias=False)
        self.up = torch.nn.Linear(rank, outputs, bias=False)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, x: Any) -> Any:
        return self.base(x) + self.up(self.down(x))


def right(net: Any) -> float:
    rows = points()
    inputs = np.stack([rows["a"], rows["b"], np.array(rows["c"]) / 2 - 1], axis=1).astype(np.float32)
    guessed = net(torch.from_numpy(inputs)).argmax(1).numpy()
    return float((guessed == (np.array(rows["kind"]) == "yes")).mean())


def test_adapters_learn_and_the_frozen_weights_stay(session: Session) -> None:
    net = torch.nn.Sequential(Adapted(3, 8), torch.nn.Tanh(), Adapted(8, 2))
    before = {name: each.clone() for name, each in net.state_dict().items()}

    def loop(run: Any) -> None:
        optimiser = torch.optim.SGD([each for each in net.parameters() if each.requires_grad], lr=2.0, momentum=0.5)
        for _ in run:
            optimiser.step()

    own = plan(parameters=sum(each.numel() for each in net.parameters() if each.requires_grad))
    assert own.parameters == 3 * 2 + 2 * 8 + 8 * 2 + 2 * 2
    own.run(session, net, loss=softmax_loss, loop=loop)
    after = net.state_dict()
    assert {name for name in before if not torch.equal(before[name], after[name])} == {
        "0.down.weight", "0.up.weight", "2.down.weight", "2.up.weight"
    }  # fmt: skip
    assert right(net) > 0.75


def test_an_average_and_a_schedule_come_back_after_a_crash(session: Session) -> None:
    net, rates, dead = torch.nn.Linear(3, 2), list[float](), list[int]()
    averages: list[Any] = []

    def loop(run: Any) -> None:
        optimiser = torch.optim.AdamW(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 40)
        average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
        averages.append(average)
        run.track(optimiser=optimiser, schedule=schedule, average=average)
        for step in run:
            rates.append(schedule.get_last_lr()[0])
            if step == 25 and not dead:
                dead.append(step)
                raise KeyError("dead")
            optimiser.step()
            schedule.step()
            average.update_parameters(net)

    with pytest.raises(KeyError):
        plan().run(session, net, loss=softmax_loss, loop=loop, every=10)
    plan().run(session, net, loss=softmax_loss, loop=loop, every=10)
    assert rates[26] == rates[20], "the schedule goes on from the block that was saved"
    assert rates[26:] == sorted(rates[26:], reverse=True)
    assert int(averages[-1].n_averaged) == 30
    assert right(averages[-1]) > 0.75


def test_half_precision_and_recomputed_layers(session: Session) -> None:
    from torch.utils.checkpoint import checkpoint

    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def loss(model: Any, x: Any, y: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=x.dtype is torch.float32):
            hidden = checkpoint(model[0], x, use_reentrant=False)
            out = model[2](model[1](hidden))
        return torch.nn.functional.cross_entropy(out.to(x.dtype), y, reduction="none")

    def loop(run: Any) -> None:
        optimiser = torch.optim.SGD(net.parameters(), lr=2.0, momentum=0.5)
        for _ in run:
            optimiser.step()

    plan().run(session, net, loss=loss, loop=loop, chunk=33)
    assert net[0].weight.dtype is torch.float32
    assert right(net) > 0.75
