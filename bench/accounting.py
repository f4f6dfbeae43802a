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
from fractions import Fraction
from functools import cache
from hashlib import sha256
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


def _odd(index: int) -> Fraction:
    """A small number that no two parts have a lattice in common by."""
    return Fraction(index * 7919 % 10_007, 10**8 + 7)


def _by_chance(index: int) -> tuple[str, tuple[Fraction, ...], int]:
    """One of the four kinds, its scale within four orders of magnitude, its count up to a million: as dice would fall,
    the same each time."""
    first, second, third, fourth = (
        int.from_bytes(sha256(f"{index} {what}".encode()).digest()[:4]) for what in ("kind", "scale", "count", "rate")
    )
    scale = Fraction(10 ** (4 * second / 2**32)).limit_denominator(10**6)
    count, rate = int(10 ** (6 * third / 2**32)), Fraction(1 + fourth % 500, 1000)
    match first % 4:
        case 0:
            return "pure", (1 / scale,), count
        case 1:
            return "laplace", (scale,), count
        case 2:
            return "sampled", (rate, scale), count
        case _:
            return "lattice", (rate, scale, Fraction(1)), count


def _mix(name: str) -> list[tuple[str, tuple[Fraction, ...], int]]:
    """Programs of unlike parts: kind, numbers and count of each."""

    def response(
        i: int, steps: int = 40_000, base: str = "0.02", count: int = 1
    ) -> tuple[str, tuple[Fraction, ...], int]:
        return "pure", (Fraction(base) + Fraction(i, steps) + _odd(i),), count

    def sampled(i: int) -> tuple[str, tuple[Fraction, ...], int]:
        return "sampled", (Fraction(1, 100) + Fraction(i, 10**6), 1 - Fraction(i, 2000)), 10

    def lattice(i: int, rate: Fraction, shift: int, count: int) -> tuple[str, tuple[Fraction, ...], int]:
        return "lattice", (rate, Fraction(20) + Fraction(i, 40), Fraction(shift)), count

    match name:
        case "responses 50":
            return [response(i, 1000, "0.1") for i in range(50)]
        case "responses 200":
            return [response(i, 4000, "0.1") for i in range(200)]
        case "responses 1000":
            return [response(i) for i in range(1000)]
        case "laplace 20":
            return [("laplace", (1 / (Fraction(1, 5) + Fraction(i, 100) + _odd(i)),), 1) for i in range(20)]
        case "laplace 10":
            return [("laplace", (Fraction(10),), 1000)]
        case "laplace 100":
            return [("laplace", (Fraction(100),), 100_000)]
        case "lattice 20":
            return [lattice(i, Fraction(1, 100), 10, 10) for i in range(20)]
        case "sgd":
            return [("sampled", (Fraction(1, 1000), Fraction(1)), 10**6)]
        case "sampled 1000":
            return [sampled(i) for i in range(1000)]
        case "two rates":
            return [("sampled", (Fraction(rate), Fraction(3)), 10) for rate in ("0.017", "0.002")]
        case "by chance":
            return [_by_chance(i) for i in range(1000)]
        case _:
            quarter = range(250)
            return [
                *(response(i) for i in quarter),
                *(("laplace", (1 / (Fraction(1, 50) + Fraction(i, 40_000) + _odd(i)),), 20) for i in quarter),
                *(sampled(i) for i in quarter),
                *(lattice(i, Fraction(1, 50), 20, 100) for i in quarter),
            ]


def _mixed(name: str, kind: str, delta: str, known: tuple[float, float]) -> list[Case]:
    return [Case(name, "mix", (kind,), 1, delta, *known, width, most) for width, most in ((1e-4, 1.0), (1e-5, 5.0))]


CASES += [
    *_mixed("50 unlike responses", "responses 50", "1e-6", (4.06551187, 4.06552798)),
    *_mixed("200 unlike responses", "responses 200", "1e-6", (9.40653106, 9.40656322)),
    *_mixed("1,000 unlike responses", "responses 1000", "1e-12", (7.62120977, 7.62123562)),
    *_mixed("20 unlike Laplace", "laplace 20", "1e-6", (5.57185092, 5.57186186)),
    *_mixed("Laplace b=10 × 1,000", "laplace 10", "1e-12", (26.021257, 26.0213452)),
    *_mixed("Laplace b=100 × 100,000", "laplace 100", "1e-6", (19.381634, 19.3817005)),
    *_mixed("20 unlike samples of discrete Gaussians × 10", "lattice 20", "1e-6", (0.0, inf)),
    *_mixed("q=0.001 σ=1 × 1,000,000", "sgd", "1e-5", (6.02612063, 6.02614185)),
    *_mixed("1,000 unlike samples of Gaussians × 10", "sampled 1000", "1e-9", (0.0, inf)),
    *_mixed("1,000 unlike parts of four kinds", "all", "1e-12", (0.0, inf)),
    *_mixed("the same at δ=1e-30", "all", "1e-30", (0.0, inf)),
    *_mixed("1,000 parts by chance, counts to 10⁶", "by chance", "1e-6", (0.0, inf)),
    *_mixed("q=0.017 and q=0.002, σ=3, × 10 each, δ=1e-30", "two rates", "1e-30", (0.0, inf)),
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
        case "mix", (name,):
            loss = PLD.of(tuple((_part(kind, numbers), count) for kind, numbers, count in _mix(name)))
        case "shuffle", (local, analysis):
            loss = shuffled(local, reports=case.count, analysis=analysis)
        case _, (epsilon,):
            loss = case.count * Pure(epsilon)
    found = loss.epsilon(case.delta, accuracy=case.accuracy)
    return found.lower, found.upper


def _part(kind: str, numbers: tuple[Fraction, ...]) -> Any:
    from tacit.loss import DiscreteLaplacePart
    from tacit.loss.part import DiscreteNormal, Normal, ResponsePart
    from tacit.loss.sampling import Poisson

    fine = Fraction(2**40)
    match kind, numbers:
        case "pure", (epsilon,):
            return ResponsePart(epsilon)
        case "laplace", (scale,):
            return DiscreteLaplacePart(fine * scale, fine)
        case "sampled", (rate, sigma):
            return Poisson(Normal(1 / sigma**2), rate)
        case _, (rate, sigma, shift):
            return Poisson(DiscreteNormal(sigma**2, shift), rate)


def _google(case: Case) -> tuple[float, float]:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if case.kind in ("calibrate", "shuffle"):
        raise NotImplementedError("no such question")
    if case.kind == "mix":
        total: Any = None
        for kind, exact, count in _mix(case.parameters[0]):
            values = [float(x) for x in exact]
            match kind, values:
                case "pure", [epsilon]:
                    part = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, 0))
                case "laplace", [scale]:
                    part = pld.from_laplace_mechanism(scale)
                case "sampled", [rate, sigma]:
                    part = pld.from_gaussian_mechanism(sigma, sampling_prob=rate)
                case _, [rate, sigma, shift]:
                    part = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=int(shift), sampling_prob=rate)
            part = part.self_compose(count) if count > 1 else part
            total = part if total is None else total.compose(part)
        value = float(total.get_epsilon_for_delta(float(case.delta)))
        return value, value
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

    if case.kind == "mix":
        mixed = [(kind, [float(x) for x in exact], count) for kind, exact, count in _mix(case.parameters[0])]
        if any(kind == "lattice" for kind, _, _ in mixed):
            raise NotImplementedError("no such mechanism")
        made = [
            prv.PureDPMechanism(eps=values[0])
            if kind == "pure"
            else prv.LaplaceMechanism(mu=1 / values[0])
            if kind == "laplace"
            else prv.PoissonSubsampledGaussianMechanism(sampling_probability=values[0], noise_multiplier=values[1])
            for kind, values, _ in mixed
        ]
        counts, delta = [count for _, _, count in mixed], float(case.delta)
        about = case.high if case.high < inf else 10.0
        accountant = prv.PRVAccountant(
            prvs=made, max_self_compositions=counts, eps_error=1e-3 * about, delta_error=delta / 1000
        )
        low, _, high = accountant.compute_epsilon(delta=delta, num_self_compositions=counts)
        return float(low), float(high)
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
