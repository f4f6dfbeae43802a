"""What privacy costs a step: clipping and noise over a plain step, tacit beside Opacus and JAX Privacy, one thread.

Each cell runs in a process of its own. A step is forward, backward, clipping, noise of one clip on each parameter and
SGD: tacit's noise is cryptographic and on a lattice, that of the others is not. JAX is held against plain JAX. Time is
processor time, the median of steps that alternate with plain ones in the same process; ratios by the clock on the wall
stand beside. Memory is how far the peak of the process grew over what it held before its first step. Opacus is looked
for in this Python, then in the one that TACIT_PEERS names, in both its modes; the better one is shown. JAX Privacy is
looked for in the one that TACIT_JAX names. A second table has what is beside the gradient: noise alone, the loader that
tosses a coin for each unit, and the price of a plan.
"""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it
from rich.table import Table
from torch import Tensor, nn

__all__ = ["COUNT", "run"]

WAYS = ("plain", "tacit", "hooks", "ghost")
JAX = ("jax", "jax-plain")
NETWORKS = ("mlp", "cnn", "text")
BATCHES = (64, 512, 4096)
COUNT = len(NETWORKS) * len(BATCHES) + 1
SECONDS = 3.0  # of steps in each cell, at least five of each kind
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
    from tacit.learn.rounding import GROUP, cell_count, in_single
    from tacit.noise import rng_or_default
    from tacit.noise.rng import uniform

    real = x.is_floating_point()
    inputs = InputShape(tuple(x.shape[1:]), None if real else 2000)
    gradients = Gradients(model, losses, clipping=Flat(1), shapes=[inputs, InputShape((), 10 if real else 4)])
    gradients.check()
    optimiser = torch.optim.SGD(model.parameters(), 0.01)

    count, rng = cell_count(Fraction(len(x))), rng_or_default(None)
    sizes = np.bincount(uniform(count, len(x), rng), minlength=count).tolist()
    cells = list(zip(x.split(sizes), y.split(sizes), strict=True))
    single, double = gradients.sums(), gradients.sums(double=True)
    noise = GradientNoise(sigma=Fraction(1), dimension=single.size)
    noise.add(np.zeros(1), rng)  # tables that are made once

    def step() -> None:
        """As `TrainingRun` takes one, with noise."""
        for each in model.parameters():
            each.grad = None
        single.clear()
        double.clear()
        for start in range(0, count, GROUP):
            group = cells[start : start + GROUP]
            members = [len(labels) for _, labels in group]
            into = single if in_single(members, sum(map(gradients.pieces, members))) else double
            for inputs, labels in group:
                gradients.clipped_sum(inputs, labels, cell=len(labels), into=into)
            if count > GROUP:
                double.take(single)
        vector = (double if double.used else single).vector().numpy()
        noisy = torch.from_numpy(noise.add(vector, rng, factor=1 / len(x), out=vector))
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
    held = _held()
    step()
    grown = _megabytes("VmHWM") - held
    other = plain_step(network(name), x, y)
    other()
    spent: tuple[list[float], list[float]] = ([], [])
    wall: tuple[list[float], list[float]] = ([], [])
    while sum(map(sum, spent)) < SECONDS or len(spent[0]) < 5:
        for work, found, clock in zip((step, other), spent, wall, strict=True):
            start, began = process_time(), perf_counter()
            work()
            found.append(process_time() - start)
            clock.append(perf_counter() - began)
    times = {"step": median(spent[0]), "plain": median(spent[1])}
    return times | {"memory": grown, "wall": median(wall[0]) / median(wall[1])}


def _held() -> float:
    """Megabytes that this process holds, when what it has freed is given back; its peak is counted from here."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _megabytes("VmRSS")


def _megabytes(line: str) -> float:
    """What this process holds (VmRSS), or held at most (VmHWM). `ru_maxrss` would be that of the process that began it,
    if that was larger."""
    told = Path("/proc/self/status").read_text().split(f"{line}:")[1]
    return int(told.split()[0]) / 1024


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
    """The tables, and whether every target was met."""
    load = os.getloadavg()[0]
    table = Table(title=f"A private step over a plain one (median, processor time, one thread, load {load:.0f})")
    columns = ("network", "batch", "plain", "tacit", "ratio", "by the wall", "memory")
    for column in (*columns, "Opacus", "its ratio", "its memory", "JAX Privacy", "met"):
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
            fast, small = ratio <= TARGETS[rows], grown <= MEMORY
            good &= fast and small
            times = f"{1e3 * ours['plain']:.1f} ms", f"{1e3 * ours['step']:.1f} ms", f"{ratio:.2f}×"
            memory = f"{grown:.2f}× ({ours['memory']:.0f} MB)"
            met = {(True, True): "yes", (True, False): "time", (False, True): "memory", (False, False): "no"}
            told = *times, f"{ours['wall']:.2f}×", memory, *_best(peers, plain), _jax(name, rows), met[fast, small]
            table.add_row(name, f"{rows:,}", *told)
    table.caption = f"targets: ≤ 2× plain at 64, ≤ 1.25× at 512 and above, memory ≤ {MEMORY}×"
    tick("beside")
    second, beside = _beside()
    return [table, second], good and beside


def _beside() -> tuple[Table, bool]:
    from tacit.learn import Training
    from tacit.learn.noise import GradientNoise
    from tacit.learn.rows import ArrayExamples, InputSize
    from tacit.learn.sampling import PoissonSampler
    from tacit.noise import rng_or_default

    torch.set_num_threads(1)
    rng, count = rng_or_default(None), 1 << 20
    room, zeros = torch.empty(count), np.zeros(count, np.float32)
    fast = GradientNoise(sigma=Fraction(1), dimension=count)
    lines = {"fast, with rounding": fast, "three digits": replace(fast, sigma=Fraction(20))}
    plain = _least(room.normal_)
    table, good = Table(title="Beside the gradient (least of a few runs, processor time, one thread)"), True
    for column in ("what", "measured", "target"):
        table.add_column(column, justify="left" if column == "what" else "right")
    table.add_row("torch normal_, single precision", f"{plain / count * 1e9:.2f} ns a number", "")
    for name, noise in lines.items():
        share = _least(partial(noise.add, zeros, rng)) / plain
        good &= share <= 3
        table.add_row(f"secure noise, {name}", f"{share:.2f} × normal_", "3")
    exact = _least(partial(replace(fast, form="exact").add, zeros, rng), 2) / plain
    table.add_row("secure noise, exact form", f"{exact:.1f} × normal_", "")
    arrays = np.zeros((10**6, 64), np.float32), np.zeros(10**6, np.int64)
    examples = ArrayExamples(arrays, [InputSize((64,)), InputSize((), 2)])
    for rate in (Fraction(1, 1000), Fraction(1, 100)):
        sampler = PoissonSampler(rate, 10**6)
        speed = 10**6 * float(rate) / _least(lambda sampler=sampler: examples.take(sampler.batch(0, rng))) / 1e6  # type: ignore[misc]
        good &= speed >= 1
        table.add_row(f"Poisson loader, a million units, rate {rate}", f"{speed:.1f} M examples/s", "1 M")
    start = process_time()
    plan = Training(rows=arrays[:1], table="t", batch=100, rate="1/100", steps=10_000, sigma=1, delta=1e-6)
    plan.loss.epsilon(1e-6)
    seconds = process_time() - start
    table.add_row("price of 10,000 steps", f"{seconds:.2f} s", "0.3 s")
    return table, good and seconds <= 0.3


def _least(work: Callable[[], object], times: int = 9) -> float:
    """Seconds of the quickest of a few runs, after one to warm up."""
    work()
    taken = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return min(taken)


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
