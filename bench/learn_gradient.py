"""What privacy costs a step: clipping and noise over a plain step, tacit beside Opacus and JAX Privacy, one thread.

Each cell runs in a process of its own. A step is forward, backward, clipping, noise on each parameter and SGD: tacit's
noise is cryptographic and on a lattice, that of the others is not. JAX is held against plain JAX. Time is processor
time, the median of steps that alternate with plain ones in the same process. Memory is how far the peak of the process
grew over what it held before its first step. Opacus is looked for in this Python, then in the one that TACIT_PEERS
names, in both its modes; the better one is shown. JAX Privacy is looked for in the one that TACIT_JAX names.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from rich.table import Table
from torch import Tensor, nn

__all__ = ["COUNT", "run"]

WAYS = ("plain", "tacit", "hooks", "ghost")
JAX = ("jax", "jax-plain")
NETWORKS = ("mlp", "cnn", "text")
BATCHES = (64, 512, 4096)
COUNT = len(NETWORKS) * len(BATCHES)
SECONDS = 1.0  # of steps in each cell, at least three of them
TARGETS = {64: 2.0, 512: 1.25, 4096: 1.25}
MEMORY = 1.2


class Text(nn.Module):
    """Tokens, places, one encoder layer, a class: without dropout, so that every way does the same work."""

    def __init__(self, words: int = 2000, length: int = 32, width: int = 64) -> None:
        super().__init__()
        self.words, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.out = nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Any:
        places = torch.arange(x.shape[1]).expand_as(x)
        return self.out(self.layer(self.words(x) + self.place(places)).mean(1))


def network(name: str) -> nn.Module:
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    if name == "cnn":
        first = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        second = (nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(1568, 10))
    return Text()


def batch(name: str, rows: int) -> tuple[Tensor, Tensor]:
    if name == "text":
        return torch.randint(2000, (rows, 32)), torch.randint(4, (rows,))
    return torch.randn(rows, *((784,) if name == "mlp" else (1, 28, 28))), torch.randint(10, (rows,))


def losses(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x), y, reduction="none")


def plain_step(model: nn.Module, x: Tensor, y: Tensor) -> Callable[[], None]:
    optimiser = torch.optim.SGD(model.parameters(), 0.01)

    def step() -> None:
        optimiser.zero_grad()
        losses(model, x, y).mean().backward()
        optimiser.step()

    return step


def tacit_step(model: nn.Module, x: Tensor, y: Tensor) -> Callable[[], None]:
    from tacit.learn.gradient import Flat, Gradients, InputShape
    from tacit.learn.noise import GradientNoise
    from tacit.learn.rounding import GROUP, cell_count
    from tacit.noise import rng_or_default

    real = x.is_floating_point()
    inputs = InputShape(tuple(x.shape[1:]), None if real else 2000)
    gradients = Gradients(model, losses, clipping=Flat(1), shapes=[inputs, InputShape((), 10 if real else 4)])
    gradients.check()
    optimiser = torch.optim.SGD(model.parameters(), 0.01)

    count = cell_count(Fraction(len(x)))
    single, double = gradients.sums(), gradients.sums(double=True)
    noise = GradientNoise(sigma=Fraction(1), dimension=single.flat.numel())

    def step() -> None:
        """As `TrainingRun` takes one, with noise."""
        single.clear()
        double.clear()
        for group in range(0, count, GROUP):
            for cell in range(group, min(group + GROUP, count)):
                rows = x[cell::count], y[cell::count]
                gradients.clipped_sum(*rows, cell=len(rows[0]), into=single)
            if count > GROUP:
                double.take(single)
        vector = (double if count > GROUP else single).vector().numpy()
        noisy = torch.from_numpy(noise.add(vector, rng_or_default(None), factor=1 / len(x)))
        place = 0
        for each in model.parameters():
            each.grad = noisy[place : place + each.numel()].view(each.shape).to(each.dtype)
            place += each.numel()
        optimiser.step()

    return step


def opacus_step(model: nn.Module, x: Tensor, y: Tensor, mode: str) -> Callable[[], None]:
    """Opacus with its own noise."""
    import opacus
    from opacus.validators import ModuleValidator
    from torch.utils.data import DataLoader, TensorDataset

    model = ModuleValidator.fix(model)
    engine = opacus.PrivacyEngine()
    wanted: Any = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "poisson_sampling": False, "grad_sample_mode": mode}
    loader = DataLoader(TensorDataset(x, y), batch_size=len(x))
    made: Any = {"module": model, "optimizer": torch.optim.SGD(model.parameters(), 0.01), "data_loader": loader}
    criterion = nn.CrossEntropyLoss()
    if mode == "ghost":
        wrapped, optimiser, criterion, _ = engine.make_private(**made, criterion=criterion, **wanted)
    else:
        wrapped, optimiser, _ = engine.make_private(**made, **wanted)

    def step() -> None:
        optimiser.zero_grad()
        criterion(wrapped(x), y).backward()
        optimiser.step()

    return step


def cell(way: str, name: str, rows: int) -> dict[str, float]:
    """Time of one step, of a plain one in between, and how far the peak of memory grew."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, y = batch(name, rows)
    steps = {"plain": plain_step, "tacit": tacit_step}
    made = network(name)
    step = steps[way](made, x, y) if way in steps else opacus_step(made, x, y, way)
    plain_step(network(name), x[:8], y[:8])()  # what torch prepares once is not the step's
    held = _resident()
    step()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - held
    other = plain_step(network(name), x, y)
    other()
    spent: tuple[list[float], list[float]] = ([], [])
    while sum(map(sum, spent)) < SECONDS or len(spent[0]) < 3:
        for work, found in zip((step, other), spent, strict=True):
            start = process_time()
            work()
            found.append(process_time() - start)
    return {"step": median(spent[0]), "plain": median(spent[1]), "memory": grown}


def _resident() -> float:
    """Megabytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _python(way: str) -> str | None:
    if way in JAX:
        return os.environ.get("TACIT_JAX")
    if way not in ("hooks", "ghost") or find_spec("opacus"):
        return sys.executable
    return os.environ.get("TACIT_PEERS")


def measured(way: str, name: str, rows: int) -> dict[str, float] | None:
    """In a process of its own; None where the way does not install or does not work."""
    python = _python(way)
    if python is None or (way == "hooks" and rows > 512):  # every gradient of every example: 14 GB for the MLP at 4096
        return None
    beside = str(Path(__file__).with_name("learn_gradient_jax.py"))
    script = [beside] if way in JAX else ["-m", "bench.learn_gradient"]
    command = [python, "-W", "ignore", *script, way, name, str(rows)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return None if done.returncode else json.loads(done.stdout.splitlines()[-1])


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The table, and whether every target was met."""
    table = Table(title="A private step over a plain one (median, processor time, one thread)")
    for column in (
        "network",
        "batch",
        "plain",
        "tacit",
        "ratio",
        "memory",
        "Opacus 1.6",
        "its ratio",
        "its memory",
        "JAX Privacy 2.0",
        "met",
    ):
        table.add_column(column, justify="left" if column == "network" else "right")
    good = True
    for name in NETWORKS:
        for rows in BATCHES:
            tick(f"{name} {rows}")
            plain, ours = measured("plain", name, rows), measured("tacit", name, rows)
            if plain is None or ours is None:
                raise RuntimeError(f"{name} at {rows} does not run")
            peers = {way: found for way in ("hooks", "ghost") if (found := measured(way, name, rows)) is not None}
            ratio, grown = ours["step"] / ours["plain"], ours["memory"] / plain["memory"]
            met = ratio <= TARGETS[rows] and grown <= MEMORY
            good &= met
            times = f"{1e3 * ours['plain']:.1f} ms", f"{1e3 * ours['step']:.1f} ms", f"{ratio:.2f}×", f"{grown:.2f}×"
            table.add_row(name, f"{rows:,}", *times, *_best(peers, plain), _jax(name, rows), "yes" if met else "NO")
    table.caption = f"targets: ≤ 2× plain at 64, ≤ 1.25× at 512 and above, memory ≤ {MEMORY}×"
    return [table], good


def _jax(name: str, rows: int) -> str:
    """Its ratios to plain JAX, of time and of memory."""
    found, plain = (measured(way, name, rows) for way in JAX)
    if found is None or plain is None:
        return "—"
    return f"{found['step'] / plain['step']:.2f}×, memory {found['memory'] / max(plain['memory'], 0.1):.2f}×"


def _best(peers: dict[str, dict[str, float]], plain: dict[str, float]) -> tuple[str, str, str]:
    if not peers:
        return "—", "—", "—"
    way, found = min(peers.items(), key=lambda pair: pair[1]["step"] / pair[1]["plain"])
    ratio = found["step"] / found["plain"]
    return f"{1e3 * found['step']:.1f} ms ({way})", f"{ratio:.2f}×", f"{found['memory'] / plain['memory']:.2f}×"


if __name__ == "__main__":
    print(json.dumps(cell(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
