"""A training goes through the desk: checked, charged, run, killed, resumed, released, certified, verified."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.learning import FEATURES, loop_of, points, policy_of, softmax_loss
from tacit.base import Denied, InputError, OverBudget, SourceError
from tacit.desk.state import jobs_folder
from tacit.learn import (
    AdaptiveClip,
    ArrayRows,
    ArrowRows,
    Correlated,
    DatasetRows,
    InputSize,
    LossReport,
    TableRows,
    Training,
)
from tacit.learn.checkpoint import Checkpoint
from tacit.learn.rounding import SLACK
from tacit.ledger.export import verify_any
from tacit.session import Session

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_of(tmp_path, flat=True), "cora") as opened:
        yield opened


def table(per_unit: int = 1) -> TableRows:
    return TableRows("points", features=FEATURES, label="kind", per_unit=per_unit)


def plan(**changes: Any) -> Training:
    settings: dict[str, Any] = {
        "rows": table(),
        "batch": 100,
        "population": 600,
        "steps": 40,
        "epsilon": 4,
        "delta": 1e-4,
    }
    return Training(**(settings | changes))


def model() -> Any:
    return torch.nn.Linear(3, 2)


def gradient(net: Any) -> Any:
    return torch.cat([each.grad.flatten() for each in net.parameters()])


def trained(session: Session, plan: Training, net: Any, **more: Any) -> Any:
    return plan.run(session, net, loss=softmax_loss, loop=loop_of(net), **more)


def spent(session: Session) -> int:
    balance = session.standing().balance("dataset")
    return 0 if balance is None else balance.spent.spend


def accuracy(net: Any) -> float:
    rows = points()
    inputs = np.stack([rows["a"], rows["b"], np.array(rows["c"]) / 2 - 1], axis=1).astype(np.float32)
    guessed = net(torch.from_numpy(inputs)).argmax(1).numpy()
    return float((guessed == (np.array(rows["kind"]) == "yes")).mean())


def test_a_table_is_learned_from_charged_once_and_recalled(session: Session) -> None:
    net, own = model(), plan()
    quote = own.quote(session)
    assert quote.enough
    assert spent(session) == 0
    first = trained(session, own, net)
    assert not first.cached
    assert accuracy(net) > 0.8
    assert 3.99e12 < spent(session) <= 4e12
    other = model()
    again = trained(session, own, other)
    assert again.cached
    assert 3.99e12 < spent(session) <= 4e12
    assert all((a == b).all() for a, b in zip(net.parameters(), other.parameters(), strict=True))


def test_several_rows_of_a_unit_are_clipped_together(tmp_path: Path) -> None:
    """The unit's policy decides: a person with five rows moves the sum by one clip, not by five."""
    from tacit.learn.job import prepared
    from tacit.learn.work import Work

    with Session(policy_of(tmp_path, points(50, rows=5)), "cora") as session:
        own, net = plan(rows=table(per_unit=5), population=100, batch=25), model()
        gradients = prepared(own, own.rows.bind(session), Work(model=net, loss=softmax_loss, loop=print))
        sums = []

        def loop(run: Any) -> None:
            for places in (np.arange(50), np.arange(49), np.zeros(0, dtype=np.int64)):
                batch = run._examples.take(places)
                assert batch.unit.unique().numel() == len(places)
                parts = gradients.clipped_sum(*batch.inputs, unit=batch.unit)
                sums.append(torch.cat([each.flatten() for each in parts]))

        own.run(session, net, loss=softmax_loss, loop=loop)
    assert float((sums[0] - sums[1]).norm()) <= 1 + SLACK
    assert float((sums[0] - sums[1]).norm()) > 0.9  # the five rows are alike, and together longer than the clip
    assert not sums[2].any()


def test_an_empty_batch_is_a_step_of_noise(session: Session) -> None:
    """At a rate of one in five thousand nine batches in ten are empty, and every gradient has the noise of the plan."""
    net, found = model(), list[Any]()
    own = plan(rate="1/5000", population=None, batch=4, sigma=4, epsilon=None, steps=200)

    def loop(run: Any) -> None:
        found.extend(gradient(net) for _ in run)

    own.run(session, net, loss=softmax_loss, loop=loop)
    drawn = torch.stack(found).numpy()
    assert drawn.shape == (200, 8)
    assert abs(drawn.std() - 1) < 6 / np.sqrt(2 * drawn.size)


def test_one_noise_a_batch_however_it_is_cut(session: Session) -> None:
    """Chunks of seven and one chunk of all: the same law. Their difference from the mean is noise of one draw."""
    spread = []
    for chunk in (7, 10_000):
        net, found = model(), list[Any]()

        def loop(run: Any, net: Any = net, found: list[Any] = found) -> None:
            found.extend(gradient(net) for _ in run)

        own = plan(rate="1/100", population=None, batch=20, sigma=5, epsilon=None, steps=150, name=f"by {chunk}")
        own.run(session, net, loss=softmax_loss, loop=loop, chunk=chunk)
        spread.append(float(torch.stack(found).std(0).mean()))
    assert spread[0] == pytest.approx(spread[1], rel=0.15)
    assert spread[0] == pytest.approx(5 / 20, rel=0.15)


@pytest.mark.parametrize(
    "changes",
    [
        {"adaptive": AdaptiveClip()},
        {"correlated": Correlated.banded(steps=40, bands=4, separation=8), "population": None},
        {"correlated": Correlated.banded(steps=40, bands=4, amplified=True)},
        {"correlated": Correlated.buffered(steps=40, separation=10, buffers=2), "population": None},
        {"form": "exact"},
    ],
    ids=["adaptive", "banded", "amplified", "buffered", "exact"],
)
def test_every_kind_of_noise_learns(session: Session, changes: dict[str, Any]) -> None:
    net = model()
    trained(session, plan(**changes), net)
    assert accuracy(net) > 0.75


def test_arrays_arrow_parquet_and_datasets(session: Session, tmp_path: Path) -> None:
    rows = points()
    inputs = np.stack([rows["a"], rows["b"], np.array(rows["c"]) / 2 - 1], axis=1).astype(np.float32)
    labels = (np.array(rows["kind"]) == "yes").astype(np.int64)
    flat = pa.table({"a": inputs[:, 0], "b": inputs[:, 1], "c": inputs[:, 2], "y": labels})
    pa.parquet.write_table(flat, tmp_path / "flat.parquet")
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels))
    sources = {
        "arrays": ArrayRows(inputs, labels, classes=2),
        "arrow": ArrowRows(flat, features=FEATURES, label="y", classes=2),
        "parquet": ArrowRows(tmp_path / "flat.parquet", features=FEATURES, label="y", classes=2),
        "dataset": DatasetRows(dataset, [InputSize((3,)), InputSize((), 2)]),
    }
    for name, source in sources.items():
        net = model()
        trained(session, plan(rows=source, name=name, epsilon=3, table="flat"), net)
        assert accuracy(net) > 0.75, name


def own_arrays(sign: float = 1.0) -> tuple[Any, Any]:
    rows = points()
    inputs = np.stack([rows["a"], rows["b"], np.array(rows["c"]) / 2 - 1], axis=1).astype(np.float32)
    return sign * inputs, (np.array(rows["kind"]) == "yes").astype(np.int64)


@pytest.mark.parametrize("kind", ["arrays", "arrow", "dataset", "items"])
def test_other_data_under_the_same_plan_are_another_release(session: Session, kind: str) -> None:
    """One name, one program: what was learned from one dataset is never told as learned from another."""

    def source(inputs: Any, labels: Any) -> Any:
        shapes = [InputSize((3,)), InputSize((), 2)]
        tensors = [torch.from_numpy(each) for each in (inputs, labels)]
        if kind == "arrow":
            flat = pa.table({"a": inputs[:, 0], "b": inputs[:, 1], "c": inputs[:, 2], "y": labels})
            return ArrowRows(flat, features=FEATURES, label="y", classes=2)
        if kind == "arrays":
            return ArrayRows(inputs, labels, classes=2)
        items = list(zip(*tensors, strict=True))
        return DatasetRows(torch.utils.data.TensorDataset(*tensors) if kind == "dataset" else items, shapes)

    one, other = own_arrays(), own_arrays()
    other[0][0, 0] += 0.001  # a single number of a single row
    models = [model() for _ in range(3)]
    terms: dict[str, Any] = {"steps": 4, "epsilon": 1, "table": "flat"}
    first, again, second = (
        trained(session, plan(rows=source(*data), **terms), net)
        for data, net in zip((one, one, other), models, strict=True)
    )
    assert (first.cached, again.cached, second.cached) == (False, True, False)
    assert 1.98e12 < spent(session) <= 2e12
    assert first.release.facts["program"] == second.release.facts["program"]
    assert first.release.facts["ledger"]["key"] != second.release.facts["ledger"]["key"]
    net = model()  # under another key too: what is known of these data is told again
    named = plan(rows=source(*one), **terms).run(
        session, net, loss=softmax_loss, loop=loop_of(net), idempotency_key="another"
    )
    assert named.cached
    assert 1.98e12 < spent(session) <= 2e12


def test_the_name_of_the_data_is_keyed_by_a_secret(session: Session) -> None:
    """Whoever knows all rows but one, and the ledger, cannot try out the last."""
    from tacit.learn.identity import data_name

    mark = ArrayRows(*own_arrays(), classes=2).mark()
    name = data_name(mark, session.policy)
    assert name == data_name(mark, session.policy)
    secret = jobs_folder(session.policy) / "data.key"
    assert secret.stat().st_mode & 0o77 == 0
    secret.unlink()
    assert data_name(mark, session.policy) != name
    secret.write_bytes(b"short")
    with pytest.raises(InputError, match="damaged"):
        data_name(mark, session.policy)


def test_data_that_change_under_the_run_end_it(session: Session) -> None:
    inputs, labels = np.zeros((50, 3), dtype=np.float32), np.zeros(50, dtype=np.int64)
    net = model()

    def loop(run: Any) -> None:
        for step in run:
            inputs[3, 1] = step

    with pytest.raises(SourceError, match="data changed"):
        plan(rows=ArrayRows(inputs, labels, classes=2), table="flat").run(session, net, loss=softmax_loss, loop=loop)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"plan": {"parameters": 7}}, "parameters=8"),
        ({"net": lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))}, "GroupNorm"),
        ({"loss": lambda net, x, y: softmax_loss(net, x, y).mean()}, "loss|example"),
        ({"net": lambda: torch.nn.LazyLinear(2)}, "weight is of a lazy layer"),
        ({"plan": {"relation": "replace", "rate": 1, "population": None, "steps": 2}}, "add_remove"),
        ({"plan": {"rows": TableRows("points", features=("person",), label="kind")}}, "bounds"),
        ({"plan": {"epsilon": 21}}, "may cost at most 20"),
    ],
)
def test_what_can_be_known_before_is_told_before_the_charge(session: Session, change: Any, words: str) -> None:
    net = change.get("net", model)()
    with pytest.raises((InputError, OverBudget, Denied), match=words):
        plan(**change.get("plan", {})).run(session, net, loss=change.get("loss", softmax_loss), loop=loop_of(net))
    assert spent(session) == 0


def test_labels_out_of_range_are_told_before_the_charge(session: Session) -> None:
    inputs, labels = np.zeros((50, 3), dtype=np.float32), np.full(50, 2)
    arrow = pa.table({"a": inputs[:, 0], "b": inputs[:, 1], "c": inputs[:, 2], "kind": labels})
    shapes, tensors = [InputSize((3,)), InputSize((), 2)], [torch.from_numpy(each) for each in (inputs, labels)]
    for rows in (
        ArrayRows(inputs, labels, classes=2),
        ArrowRows(arrow, features=("a", "b", "c"), label="kind", classes=2),
        DatasetRows(torch.utils.data.TensorDataset(*tensors), shapes),
        DatasetRows(list(zip(inputs, labels, strict=True)), shapes),
    ):
        with pytest.raises(InputError, match="from 0 to 1"):
            trained(session, plan(rows=rows, table="flat"), model())
    assert spent(session) == 0


def test_items_that_are_not_as_declared_are_told_before_the_charge(session: Session) -> None:
    shapes = [InputSize((3,)), InputSize((), 2)]
    for item, words in (
        ({"inputs": np.zeros(3), "label": 0}, "is a dict, and must be a tuple of 2"),
        ((np.zeros(4), 0), r"input 0 of an item has shape \(4,\), and \(3,\) is declared"),
    ):
        with pytest.raises(InputError, match=words):
            trained(session, plan(rows=DatasetRows([item] * 50, shapes), table="flat"), model())
    assert spent(session) == 0
    with pytest.raises(InputError, match=r"learn.DatasetRows\(loader.dataset"):
        plan(rows=torch.utils.data.DataLoader([0]))


@pytest.mark.parametrize(
    ("data", "net"),
    [(torch.float64, torch.float32), (torch.float32, torch.float64), (torch.bfloat16, torch.float32)],
)
def test_reals_are_taken_in_the_precision_of_the_model(session: Session, data: Any, net: Any) -> None:
    """What numpy makes is in double precision: the check does not see it, and a layer would fail after the charge."""
    inputs, labels = own_arrays()
    rows = ArrayRows(torch.from_numpy(inputs).to(data), labels, classes=2)
    made = model().to(net)
    trained(session, plan(rows=rows, table="flat", loss_report=LossReport()), made)
    assert accuracy(made.float()) > 0.75


def test_what_a_table_does_not_have_is_told_in_the_quote(session: Session) -> None:
    with pytest.raises(InputError, match="no such column"):
        plan(rows=TableRows("points", features=("age",), label="kind")).quote(session)
    for name in ("adaptive", "correlated", "loss_report"):
        with pytest.raises(InputError, match=f"{name} must be a learn"):
            plan(**{name: 4})


def test_a_buffer_that_keeps_something_of_its_inputs_is_noticed(session: Session) -> None:
    class Keeper(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: Any) -> Any:
            if self.training and x.abs().max() <= 1:  # made-up inputs are longer
                self.seen += x.detach().sum(0)
            return self.linear(x)

    with pytest.raises(InputError, match=r"buffer|in place|changes"):
        trained(session, plan(), Keeper())


# --- killed


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
import torch
torch.set_num_threads(1)
from pathlib import Path
from support.learning import FEATURES, loop_of, softmax_loss
from tacit.learn import TableRows, Training
from tacit.session import Session

class Log:
    def __init__(self, path): self.file = open(path, "a", buffering=1)
    def append(self, step): self.file.write(f"{step}\\n")

folder = Path(sys.argv[1])
rows = TableRows("points", features=FEATURES, label="kind")
with Session(folder / "tacit.toml", "cora") as session:
    plan = Training(rows=rows, batch=100, population=600, steps=int(sys.argv[3]), epsilon=4, delta=1e-4)
    model = torch.nn.Linear(3, 2)
    plan.run(session, model, loss=softmax_loss, loop=loop_of(model, steps=Log(folder / "steps")), every=7)
print("done")
"""


def killed_at_random(folder: Path, *, times: int, steps: int) -> None:
    """Run a training in processes that are killed, until one ends; then look at the ledger and at the steps."""
    policy = policy_of(folder, flat=True)
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", SCRIPT, str(folder), tests, str(steps)]
    kills, last = 0, -1
    while True:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        if kills < times:
            limit = time.monotonic() + 60
            wanted = random.Random(kills).randint(1, 9)  # when to kill: no noise of the product
            while process.poll() is None and time.monotonic() < limit and len(taken(folder)) < last + 1 + wanted:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            last = len(taken(folder)) - 1
            continue
        out, err = process.communicate(timeout=120)
        assert "done" in out, err
        break
    found = taken(folder)
    assert found == sorted(set(found)), "a step was begun twice"
    assert max(found) < steps
    assert len(found) >= steps - 7 * (times + 1)
    with Session(policy, "cora") as session:
        assert 3.99e12 < spent(session) <= 4e12  # one charge, of the promised ε
    assert verify_any(folder / "points.ledger").ok


def taken(folder: Path) -> list[int]:
    path = folder / "steps"
    text = path.read_text() if path.exists() else ""
    return [int(line) for line in text.split("\n")[:-1]]


def test_a_training_that_is_killed_begins_no_step_twice(tmp_path: Path) -> None:
    killed_at_random(tmp_path, times=1, steps=40)


@pytest.mark.slow
def test_a_training_that_is_killed_twenty_times(tmp_path: Path) -> None:
    killed_at_random(tmp_path, times=20, steps=300)


def test_after_a_crash_it_goes_on_behind_what_was_begun(session: Session) -> None:
    """Weights, optimiser and the count of steps come back; steps of the block that was begun do not."""
    net, own = model(), plan()
    steps: list[int] = []

    def dies(run: Any) -> None:
        optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimiser, 5)
        run.track(optimiser=optimiser, schedule=schedule)
        for step in run:
            steps.append(step)
            if step == 17 and len(steps) < 20:
                raise KeyError("dead")
            optimiser.step()
            schedule.step()

    with pytest.raises(KeyError):
        own.run(session, net, loss=softmax_loss, loop=dies, every=10)
    (state,) = jobs_folder(session.policy).glob("*.state")
    kept = Checkpoint.from_bytes(state.read_bytes().partition(b"\n")[2])
    assert (kept.begun, kept.done) == (20, 10)
    assert set(kept.tracked) == {"optimiser", "schedule"}
    fresh = model()
    net.load_state_dict(fresh.state_dict())
    release = own.run(session, net, loss=softmax_loss, loop=dies, every=10)
    assert steps == [*range(18), *range(20, 40)]
    assert "30 of the 40 steps" in release.release.notes[0]
    assert not list(jobs_folder(session.policy).glob("*.state"))


def test_rows_from_elsewhere_need_a_table_of_one_row_a_unit(session: Any) -> None:
    """Their clip is of each row: charged to people with several rows it would promise them what it does not keep."""
    inputs, labels = own_arrays()
    own = plan(rows=ArrayRows(inputs, labels, classes=2), table="points")
    for buy in (lambda: own.quote(session), lambda: trained(session, own, model())):
        with pytest.raises(InputError, match=r"several of one person: .* TableRows\('points'"):
            buy()
    assert float(session.left().epsilon) == 20
