"""k, l and t against their definitions, on the published example and on random tables."""

from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from pyarrow.parquet import write_table

from tacit.attack import anonymity
from tacit.attack.anonymity import measure
from tacit.attack.population import chance
from tacit.base import InputError

CONDITIONS = ["heart"] * 2 + ["viral"] * 2 + ["cancer", "heart"] + ["viral"] * 2 + ["cancer"] * 4
INPATIENTS = pa.table(  # Machanavajjhala and others 2006, figure 2: 4-anonymous, one class all cancer
    {
        "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
        "age": ["<30"] * 4 + [">=40"] * 4 + ["30-39"] * 4,
        "condition": CONDITIONS,
    }
)
SALARIES = pa.table(  # Li, Li and Venkatasubramanian 2007, table 3: 3-diverse, salaries in thousands
    {
        "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
    }
)


def by_definition(table: pa.Table, quasi: list[str], sensitive: str, *, ordered: bool, order: int) -> dict[str, Any]:
    """Everything measured again, one class at a time."""
    rows = table.to_pylist()
    values = sorted({row[sensitive] for row in rows})
    classes: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        classes.setdefault(tuple(row[name] for name in quasi), []).append(row[sensitive])
    whole = np.array([sum(row[sensitive] == v for row in rows) for v in values]) / len(rows)
    entropies, ratios, moved = [], [], []
    for held in classes.values():
        counts = np.array([held.count(v) for v in values])
        share = counts / len(held)
        entropies.append(-sum(p * log(p) for p in share if p))
        ranked = sorted(counts[counts > 0], reverse=True)
        tail = sum(ranked[order - 1 :])
        ratios.append(ranked[0] / tail if tail else inf)
        gap = share - whole
        moved.append(np.abs(np.cumsum(gap)).sum() / max(1, len(values) - 1) if ordered else np.abs(gap).sum() / 2)
    return {
        "k": min(map(len, classes.values())),
        "classes": len(classes),
        "unique": sum(len(held) == 1 for held in classes.values()),
        "distinct": min(len(set(held)) for held in classes.values()),
        "entropy": exp(min(entropies)),
        "recursive": max(ratios),
        "t": max(moved),
    }


def test_the_published_inpatients_are_4_anonymous_and_not_diverse() -> None:
    found = measure(INPATIENTS, ["zip", "age"], "condition")
    assert (found.k, found.classes, found.distinct, found.recursive) == (4, 3, 1, inf)
    assert found.entropy == pytest.approx(1.0)
    assert found.t == pytest.approx(1 - 5 / 12)  # five of twelve have cancer, and there everybody


def test_the_published_salaries_are_this_far_from_the_whole() -> None:
    found = measure(SALARIES, ["zip", "age"], "salary", ordered=True)
    assert found.distinct == 3
    assert found.t == pytest.approx(0.375)  # the paper's distance of {3k, 4k, 5k}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("values", [1, 3, 40])
@pytest.mark.parametrize("seed", range(4))
def test_measures_agree_with_their_definitions(values: int, seed: int, ordered: bool) -> None:
    dice = chance(seed)
    table = pa.table(
        {
            "a": dice.integers(0, 4, 300),
            "b": np.array(["x", "y", "z"])[dice.integers(0, 3, 300)],
            "s": (dice.random(300) ** 2 * values).astype(np.int64) * 7 - 3,
        }
    )
    for order in (2, 3):
        found = measure(table, ["a", "b"], "s", ordered=ordered, order=order)
        for name, value in by_definition(table, ["a", "b"], "s", ordered=ordered, order=order).items():
            assert getattr(found, name) == pytest.approx(value), name
    assert measure(table, ["a", "b"]).k == measure(table, ["a", "b"], "s").k


def test_counting_by_place_and_by_sorting_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = chance(1)
    table = pa.table({"a": dice.integers(0, 50, 2000), "b": dice.integers(0, 9, 2000), "s": dice.integers(0, 30, 2000)})
    placed = measure(table, ["a", "b"], "s")
    monkeypatch.setattr(anonymity, "DENSE", 1)
    assert measure(table, ["a", "b"], "s") == placed


def test_many_wide_columns_do_not_overflow() -> None:
    rows = 3000
    table = pa.table({f"c{n}": chance(n).permutation(rows) for n in range(8)} | {"s": [0, 1] * (rows // 2)})
    doubled = pa.concat_tables([table, table])
    found = measure(doubled, [f"c{n}" for n in range(8)], "s")
    assert (found.k, found.classes, found.distinct) == (2, rows, 1)


def test_a_stated_order_is_the_one_used() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "s": ["low", "mid", "mid", "high"]})
    stated = measure(table, ["a"], "s", ordered=["low", "mid", "high"])
    assert stated.t == pytest.approx(0.25)
    assert measure(table, ["a"], "s", ordered=["mid", "low", "high"]).t != stated.t


def test_missing_values_are_a_value() -> None:
    table = pa.table({"a": [1, 1, None, None], "s": ["x", None, "x", "x"]})
    found = measure(table, ["a"], "s")
    assert (found.k, found.classes, found.distinct) == (2, 2, 1)


def test_files_are_read(tmp_path: Path) -> None:
    write_table(INPATIENTS, str(tmp_path / "t.parquet"))
    write_csv(INPATIENTS, str(tmp_path / "t.csv"))
    expected = measure(INPATIENTS, ["zip", "age"], "condition")
    assert measure(tmp_path / "t.parquet", ["zip", "age"], "condition") == expected
    assert measure(str(tmp_path / "t.csv"), ["zip", "age"], "condition") == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"quasi": ["town"]}, 'no column "town"'),
        ({"quasi": []}, "at least one"),
        ({"quasi": "zip"}, "list of columns"),
        ({"quasi": ["zip", "zip"]}, "only once"),
        ({"quasi": ["zip"], "sensitive": "illness"}, 'no column "illness"'),
        ({"quasi": ["zip"], "sensitive": "zip"}, "at once"),
        ({"quasi": ["zip"], "sensitive": "age", "order": 1}, "starts at 2"),
        ({"quasi": ["zip"], "sensitive": "age", "ordered": ["<30"]}, "once"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        measure(INPATIENTS, **arguments)


def test_nothing_to_measure_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows"):
        measure(INPATIENTS.slice(0, 0), ["zip"])
    with pytest.raises(InputError, match="no Parquet or CSV"):
        measure(tmp_path / "missing.parquet", ["zip"])
    for name in ("damaged.parquet", "empty.csv"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InputError, match="cannot be read"):
            measure(tmp_path / name, ["zip"])
    with pytest.raises(InputError, match="no place in an order"):
        measure(pa.table({"a": [1, 1], "s": [1, None]}), ["a"], "s", ordered=True)
