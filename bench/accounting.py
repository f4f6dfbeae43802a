"""How tight and how fast accounting is: tacit beside Google's dp_accounting and Microsoft's prv-accountant.

Every answer is computed in a process of its own, which reports the processor time of the call and how much its peak
memory grew. The peers are looked for in this Python, then in the one that TACIT_PEERS names; without them only tacit's
columns are filled.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["COUNT", "run"]

PATIENCE = 180  # seconds a peer may take
MEMORY = 4 * 2**30  # bytes a process may ask for
PEERS = {"dp_accounting": "dp_accounting", "prv-accountant": "prv_accountant"}


@dataclass(frozen=True)
class Case:
    """A program, the interval its ε is known to lie in, and what is asked of tacit: relative width and seconds."""

    name: str
    kind: str
    parameters: tuple[Any, ...]
    count: int
    delta: str
    low: float
    high: float
    accuracy: float
    seconds: float


def _sgd(name: str, sampling: tuple[str, str], count: int, delta: str, known: tuple[float, float]) -> list[Case]:
    kind = "replace" if "replace" in name else "sampled"
    return [
        Case(name, kind, sampling, count, delta, *known, accuracy, seconds)
        for accuracy, seconds in ((1e-4, 0.3), (1e-5, 2.0))
    ]


CASES = [
    Case("Gaussian σ=1", "gaussian", ("1",), 1, "1e-6", 4.886554117462325, 4.886554117462325, 1e-10, 0.005),
    Case("Gaussian σ=1 × 10", "gaussian", ("1",), 10, "1e-6", 19.423656474, 19.4236564744, 1e-10, 0.005),
    Case("Gaussian σ=1 × 10,000", "gaussian", ("1",), 10_000, "1e-6", 5474.3655001945, 5474.3655001955, 1e-10, 0.005),
    *_sgd("q=256/60000 σ=1.1 × 14,063", ("256/60000", "1.1"), 14_063, "1e-5", (2.381648, 2.381691)),
    *_sgd("q=0.01 σ=1 × 10,000", ("0.01", "1"), 10_000, "1e-5", (6.187699, 6.187713)),
    *_sgd("q=0.01 σ=1 × 10,000, replace", ("0.01", "1"), 10_000, "1e-5", (10.880774, 10.880782)),
    *_sgd("q=0.08192 σ=3 × 2,500", ("0.08192", "3"), 2_500, "1e-5", (6.578892, 6.578896)),
    *_sgd("q=0.01 σ=1 × 1,000, δ=1e-20", ("0.01", "1"), 1_000, "1e-20", (6.361695, 6.361700)),
    Case("Laplace b=1 × 1,000", "laplace", (), 1_000, "1e-6", 486.29750, 486.29752, 1e-6, 0.3),
    Case("pure 0.1 × 100", "pure", ("0.1",), 100, "1e-6", 4.774567588, 4.7745675882, 1e-9, 0.3),
    Case("pure 1e-4 × 1,000,000", "pure", ("1e-4",), 10**6, "1e-6", 0.3968568865, 0.3968568875, 1e-6, 0.3),
    Case("σ for ε=1, q=0.01 × 10,000", "calibrate", ("0.01",), 10_000, "1e-5", 3.812, 3.815, 1e-4, 1.0),
    Case("shuffle ε₀=1, 10,000, clones 2021", "shuffle", ("1", "2021"), 10_000, "1e-6", 0.0529, 0.0531, 2e-3, 2.0),
    Case("shuffle ε₀=1, 10,000, 2023", "shuffle", ("1", "2023"), 10_000, "1e-6", 0.04312, 0.04328, 2e-3, 2.0),
    Case("shuffle ε₀=1, 1,000,000, 2023", "shuffle", ("1", "2023"), 10**6, "1e-6", 0.0035, 0.0036, 2e-3, 2.0),
]
COUNT = len(CASES)


@dataclass(frozen=True)
class Answer:
    """Bounds on ε (equal where only one is given), processor seconds and bytes, or why there is none."""

    low: float = 0.0
    high: float = inf
    seconds: float = inf
    memory: int = 0
    failed: str = ""


def _tacit(case: Case) -> tuple[float, float]:
    from fractions import Fraction

    from tacit.base import Relation
    from tacit.loss import GDP, PLD, DiscreteLaplacePart, Pure, calibrate, shuffled

    match case.kind, case.parameters:
        case "gaussian", (sigma,):
            loss: Any = case.count * GDP(1 / Fraction(sigma))
        case "sampled", (rate, sigma):
            loss = case.count * GDP(1 / Fraction(sigma)).sampled(Fraction(rate))
        case "replace", (rate, sigma):  # a clipped vector becomes its opposite: it moves twice its length
            moved = GDP(2 / Fraction(sigma), relation=Relation.REPLACE)
            loss = case.count * moved.sampled(Fraction(rate), clipped=True)
        case "laplace", ():
            fine = Fraction(2**40)  # steps a scale: the lattice of the product
            loss = case.count * PLD.of(((DiscreteLaplacePart(fine, fine), 1),))
        case "calibrate", (rate,):
            found = calibrate(
                lambda s: case.count * GDP(1 / Fraction(s)).sampled(Fraction(rate)), epsilon=1, delta=case.delta
            )
            return found.lower, found.upper
        case "shuffle", (local, analysis):
            loss = shuffled(local, reports=case.count, analysis=analysis)
        case _, (epsilon,):
            loss = case.count * Pure(epsilon)
    found = loss.epsilon(case.delta, accuracy=case.accuracy)
    return found.lower, found.upper


def _google(case: Case) -> tuple[float, float]:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if case.kind in ("calibrate", "shuffle"):
        raise NotImplementedError("no such question")
    numbers = [_number(x) for x in case.parameters]
    match case.kind, numbers:
        case "gaussian", [sigma]:
            one = pld.from_gaussian_mechanism(sigma)
        case "sampled", [rate, sigma]:
            one = pld.from_gaussian_mechanism(sigma, sampling_prob=rate)
        case "replace", [rate, sigma]:
            one = pld.from_gaussian_mechanism(
                sigma, sampling_prob=rate, neighboring_relation=NeighboringRelation.REPLACE_ONE
            )
        case "laplace", []:
            one = pld.from_laplace_mechanism(1.0)
        case _, [epsilon]:
            one = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, 0))
    value = float(one.self_compose(case.count).get_epsilon_for_delta(float(case.delta)))
    return value, value


def _microsoft(case: Case) -> tuple[float, float]:
    import prv_accountant as prv

    numbers = [_number(x) for x in case.parameters]
    match case.kind, numbers:
        case "gaussian", [sigma]:
            one = prv.GaussianMechanism(noise_multiplier=sigma)
        case "sampled", [rate, sigma]:
            one = prv.PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=sigma)
        case "laplace", []:
            one = prv.LaplaceMechanism(mu=1.0)
        case "pure", [epsilon]:
            one = prv.PureDPMechanism(eps=epsilon)
        case _:
            raise NotImplementedError("no such mechanism")
    delta = float(case.delta)
    accountant = prv.PRVAccountant(
        prvs=[one], max_self_compositions=[case.count], eps_error=1e-3 * case.high, delta_error=delta / 1000
    )
    low, _, high = accountant.compute_epsilon(delta=delta, num_self_compositions=[case.count])
    return float(low), float(high)


def _number(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


ANSWERS: dict[str, Callable[[Case], tuple[float, float]]] = {
    "tacit": _tacit,
    "dp_accounting": _google,
    "prv-accountant": _microsoft,
}


def _alone(library: str, index: int) -> None:
    """Compute one answer in this process and print it as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        ANSWERS[library](Case("", "gaussian", ("1",), 1, "1e-6", 4.8, 4.9, 1e-2, 1.0))  # imports and first calls
        before, start = _peak(), process_time()
        low, high = ANSWERS[library](CASES[index])
        answer = Answer(low, high, process_time() - start, _peak() - before)
    except (ArithmeticError, ValueError, RuntimeError, MemoryError, AssertionError, NotImplementedError) as error:
        answer = Answer(failed=str(error).split("\n")[0][:40] or type(error).__name__)
    print(json.dumps(answer.__dict__))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@cache
def _python(module: str) -> str | None:
    """A Python that has the module."""
    for python in (sys.executable, os.environ.get("TACIT_PEERS")):
        if (
            python
            and subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
        ):
            return python
    return None


def _ask(library: str, index: int) -> Answer:
    python = sys.executable if library == "tacit" else _python(PEERS[library])
    if python is None:
        return Answer(failed="not installed")
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [python, "-W", "ignore", str(Path(__file__)), library, str(index)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **one_thread}, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer(failed=f"over {PATIENCE} s")
    if done.returncode:
        return Answer(failed=(done.stderr.strip().split("\n") or ["died"])[-1][:40])
    return Answer(**json.loads(done.stdout.split("\n")[-2]))


def _verdict(case: Case, answer: Answer) -> str:
    """Where the promised ε (the upper end) lies: below the truth it is no promise."""
    if answer.failed:
        return answer.failed
    if answer.high < case.low * (1 - 1e-9):
        return f"{answer.high:.9g} BELOW TRUTH by {1 - answer.high / case.low:.0e}"
    return f"{answer.high:.9g} (+{max(0.0, answer.high / case.high - 1):.0e})"


def run(tick: Callable[[str], None]) -> tuple[list["Table"], bool]:
    """The tables, and whether every target was met."""
    from rich.table import Table

    table = Table(title="ε of known programs (processor time of the call, growth of peak memory, one core)")
    for column in ("program", "tacit", "width", "time", "memory", "met"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for peer in PEERS:
        for column in (peer, "time", "memory", "of tacit's time"):
            table.add_column(column, justify="right")
    good = True
    for index, case in enumerate(CASES):
        tick(case.name)
        ours = _ask("tacit", index)
        width = (ours.high - ours.low) / ours.high if not ours.failed else inf
        sound = ours.low <= case.high * (1 + 1e-9) and case.low * (1 - 1e-9) <= ours.high
        met = sound and not ours.failed and width <= case.accuracy and ours.seconds <= case.seconds
        good &= met
        row = [case.name, ours.failed or f"[{ours.low:.9g}, {ours.high:.9g}]", f"{width:.0e}"]
        row += [f"{ours.seconds:.3f} s", f"{ours.memory / 2**20:.0f} MB", "yes" if met else "NO"]
        for peer in PEERS:
            theirs = _ask(peer, index)
            row.append(_verdict(case, theirs))
            if theirs.failed:
                row += ["", "", ""]
                continue
            row += [f"{theirs.seconds:.2f} s", f"{theirs.memory / 2**20:.0f} MB"]
            row.append(f"{theirs.seconds / max(ours.seconds, 1e-4):,.1f}×")
        table.add_row(*row)
    table.caption = (
        "met: the interval meets the known one, has the width asked for, within the time. Beside a peer's ε (its "
        "upper end): how far above the known value. dp_accounting: value_discretization_interval 1e-4 (its default), "
        "pessimistic. prv-accountant: eps_error ε/1000, delta_error δ/1000."
    )
    return [table], good


if __name__ == "__main__":
    _alone(sys.argv[1], int(sys.argv[2]))
