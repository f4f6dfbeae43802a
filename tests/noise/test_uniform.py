"""Uniform integers: every value alike, at every width, by rejection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from support.fixed_rng import FixedRng, ScriptedRng
from support.statistics import ALARM
from tacit.base import InputError
from tacit.noise import uniform

EDGES = [1, 2, 3, 5, 127, 128, 129, 255, 256, 257, 2**16 - 1, 2**16, 2**16 + 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1]
EDGES += [2**62 + 1, 2**63 - 1, 2**63, 2**63 + 1, 10**40]


@pytest.mark.parametrize("bound", EDGES)
def test_every_sixteenth_part_is_alike(bound: int) -> None:
    sample = uniform(bound, 20_000, FixedRng(1))
    assert sample.dtype == (np.int64 if bound <= 2**63 else object)
    assert sample.min() >= 0
    assert sample.max() < bound
    parts = min(bound, 16)
    edges = [-(-bound * k // parts) for k in range(1, parts)]
    counts = np.bincount([sum(int(v) >= e for e in edges) for v in sample], minlength=parts)
    sizes = np.diff([0, *edges, bound]).astype(float) / bound * len(sample)
    assert parts == 1 or chisquare(counts, sizes).pvalue >= ALARM


def test_modulo_bias_would_be_seen() -> None:
    """Power: 16 bits folded to 40,000 values make the first 25,536 twice as likely."""
    folded = FixedRng(2).words(20_000, np.uint16) % 40_000
    fair = uniform(40_000, 20_000, FixedRng(2))
    sizes = [20_000 * 25_536 / 40_000, 20_000 * 14_464 / 40_000]
    assert chisquare([(folded < 25_536).sum(), (folded >= 25_536).sum()], sizes).pvalue < ALARM
    assert chisquare([(fair < 25_536).sum(), (fair >= 25_536).sum()], sizes).pvalue >= ALARM


def test_values_at_or_above_the_bound_are_thrown_away() -> None:
    want = int(2 * 8 / 5 * 1.02) + 16  # bytes asked for two values below 5; the top three bits of each are used
    script = bytes([7 << 5, 5 << 5, 4 << 5, 6 << 5, 3 << 5] + [0] * (want - 5))
    assert uniform(5, 2, ScriptedRng([script])).tolist() == [4, 3]


@given(st.integers(1, 2**70), st.integers(0, 50))
def test_size_and_range(bound: int, size: int) -> None:
    sample = uniform(bound, size, FixedRng(3))
    assert sample.shape == (size,)
    assert all(0 <= int(v) < bound for v in sample)


@pytest.mark.parametrize("bound", [0, -1])
def test_an_empty_range_is_refused(bound: int) -> None:
    with pytest.raises(InputError, match="bound"):
        uniform(bound, 3, FixedRng())
