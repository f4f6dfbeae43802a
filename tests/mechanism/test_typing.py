"""A user's file that passes plain numbers is well typed, and what comes back is a Fraction."""

import re
import subprocess
import sys
from pathlib import Path

from support.tree import ROOT

GOOD = """
from fractions import Fraction

from tacit.base import Lattice, Sensitivity
from tacit.loss import ZCDP, Approx, Cost, Pure
from tacit.mechanism import (
    BinnedQuantiles, BoundedMean, DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, KaryResponse, KeySelection,
    Laplace, Quantile, RandomizedResponse, SparseVector,
)

noise = Laplace(scale=2)
Laplace(scale=0.5, granularity="1/8")
DiscreteLaplace(scale="7/3")
DiscreteGaussian(sigma=3)
Gaussian(sigma=3.5, granularity=0.25)
Sensitivity(l1=1)
Sensitivity(l2=0.5, dimension=3)
Lattice(0.1)
Pure(1), ZCDP(0.5), Approx(1, 1e-6), Cost(epsilon=1, delta="1e-6")
Exponential(scale=2)
KeySelection(scale=64, delta=1e-6)
Quantile(quantile=0.5, lower=0, upper=100, scale=4)
BinnedQuantiles(quantiles=(0.5, "3/4"), scale=4, cells=10)
RandomizedResponse(epsilon=1)
KaryResponse(epsilon=1, categories=4)
SparseVector(threshold_scale=1, query_scale=2, answers=1)
BoundedMean(lower=0, upper=1, sum_noise=noise, n=10)

scale: Fraction = noise.scale
step: Fraction | None = noise.granularity
norm: Fraction | None = Sensitivity(l1=1).l1
"""
BAD = """
Laplace(scale=None)
noise.scale = Fraction(3)
wrong: str = noise.scale
"""


def test_plain_numbers_are_well_typed_and_other_things_are_not(tmp_path: Path) -> None:
    exec(GOOD, {})
    file = tmp_path / "user.py"
    file.write_text(GOOD + BAD)
    cache = str(ROOT / ".mypy_cache" / "user")  # ignored by git, and kept: what tacit imports is slow to read
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", cache, str(file)]
    found = subprocess.run(command, cwd=ROOT / "src", capture_output=True, text=True, check=False)
    wrong = {int(line) for line in re.findall(r"user\.py:(\d+): error", found.stdout)}
    first = len(GOOD.splitlines()) + 2
    assert wrong == {first, first + 1, first + 2}, found.stdout + found.stderr
