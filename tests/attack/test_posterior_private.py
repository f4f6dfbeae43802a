"""Private counts come from tacit, land in their cells, and are noisy."""

import numpy as np
import pyarrow as pa

from tacit.attack.posterior import private_counts


def test_counts_land_in_their_cells() -> None:
    table = pa.table({"a": ["x"] * 300 + ["y"] * 100, "b": [1] * 300 + [2] * 100, "other": [0.5] * 400})
    found = private_counts(table, {"b": (1, 2, 3), "a": ("y", "x")}, epsilon=5.0)
    assert np.abs(found - np.array([[0, 300], [100, 0], [0, 0]])).max() <= 8  # past it once in 10^16 draws


def test_every_release_has_noise_of_its_own() -> None:
    table = pa.table({"a": ["x"] * 300})
    drawn = {int(private_counts(table, {"a": ("x",)}, epsilon=0.1 + n / 1000)[0]) for n in range(6)}
    assert len(drawn) > 1
