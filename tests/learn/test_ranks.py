"""Two processes, one training: the same law and the same price, one noise in all."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.learning import policy_of

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
import numpy as np, torch
from pathlib import Path
torch.set_num_threads(1)
from support.learning import softmax_loss
from tacit.learn import ArrayRows, Ranks, Training
from tacit.session import Session

folder, rank = Path(sys.argv[1]), int(sys.argv[3])
torch.distributed.init_process_group("gloo", init_method=sys.argv[4], rank=rank, world_size=2)
inputs = np.ones((30 + 40 * rank, 3), dtype=np.float32) * (10 if rank else -10)
labels = np.full(len(inputs), rank)
rows = ArrayRows(inputs, labels, classes=2)
plan = Training(rows=rows, table="flat", rate=1, batch=10, steps=60, sigma=8, delta=1e-4)
model, found = torch.nn.Linear(3, 2), []
with torch.no_grad():
    model.weight.fill_(0.0 if rank == 0 else 5.0)
    model.bias.zero_()

def loop(run):
    for step in run:
        found.append(torch.cat([each.grad.flatten() for each in model.parameters()]).numpy().copy())

ranks = Ranks()
if rank == 0:
    with Session(folder / "tacit.toml", "cora") as session:
        plan.run(session, model, loss=softmax_loss, loop=loop, ranks=ranks)
else:
    plan.follow(model, loss=softmax_loss, loop=loop, ranks=ranks)
np.save(folder / f"{rank}.npy", np.stack(found))
torch.distributed.destroy_process_group()
"""


def test_two_processes_have_one_noise_and_the_sum_of_both(tmp_path: Path) -> None:
    """All rows of a rank are alike and far longer than the clip, so the sum is known: 30 clips and 70."""
    policy_of(tmp_path, flat=True)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), tests]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), f"tcp://127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True, env=os.environ
        )
        for rank in (0, 1)
    ]
    for each in ranks:
        _, err = each.communicate(timeout=300)
        assert each.returncode == 0, err
    one, two = (np.load(tmp_path / f"{rank}.npy") for rank in (0, 1))
    assert (one == two).all()  # both step by the same noisy gradient
    # logits are equal at the start, so the gradient of a row is ±½ of (x, 1) for each class: length √(301/2)
    row = np.array([-10.0, -10.0, -10.0, 1.0]) / 2
    first = np.concatenate([-row[:3], row[:3], [-row[3]], [row[3]]])
    other = np.concatenate([-row[:3], row[:3], [row[3]], [-row[3]]])
    expected = (30 * first / np.linalg.norm(first) + 70 * other / np.linalg.norm(other)) / 10
    noise = one - expected
    assert abs(noise.mean()) < 6 * 0.8 / np.sqrt(noise.size)
    assert noise.std() == pytest.approx(0.8, rel=6 / np.sqrt(2 * noise.size))
