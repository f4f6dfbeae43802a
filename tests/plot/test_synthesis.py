"""The picture of what a synthetic table measured together."""

from itertools import combinations

import pytest

from tacit.plot.synthesis import LABEL, JoinedPair, joined


@pytest.mark.parametrize("columns", [4, 5, 6])
def test_labels_of_lines_do_not_meet(columns: int) -> None:
    names = [f"c{place}" for place in range(columns)]
    pairs = [JoinedPair(a, b, 0.01) for a, b in combinations(names, 2)]
    spec = joined(names, pairs, title=("Pairs",)).to_dict()
    labels = [(row["mx"], row["my"]) for rows in spec["datasets"].values() for row in rows if "mx" in row]
    assert len(labels) == len(pairs)
    for (x, y), (u, v) in combinations(labels, 2):
        assert abs(x - u) >= LABEL[0] or abs(y - v) >= LABEL[1]
