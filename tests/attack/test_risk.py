"""The risk report: a copy from shuffled columns, half a copy in between, and strangers at no risk."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.population import chance
from tacit.attack.risk import Risk, people, risk_report, shuffled, stage
from tacit.base import InputError

KINDS = ("singling_out", "linkability", "inference")


def mixed(count: int, seed: int) -> pa.Table:
    """Numbers and text."""
    dice = chance(seed)
    age = dice.integers(18, 80, count)
    return pa.table(
        {
            "age": age,
            "town": np.array([f"town {n}" for n in range(20)])[dice.integers(0, 20, count)],
            "income": (age * 300 + dice.gamma(2, 5000, count)).round(-1),
            "sick": np.array(["yes", "no"])[dice.integers(0, 2, count)],
        }
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_copy_is_told_from_shuffled_columns_by_every_risk(seed: int) -> None:
    dice = chance(seed)
    original, control = people(1500, dice), people(1500, dice)
    copy = risk_report(original, original, control, attempts=300, seed=seed)
    loose = risk_report(shuffled(original, dice), original, control, attempts=300, seed=seed)
    for kind in KINDS:
        risky, harmless = getattr(copy, kind), getattr(loose, kind)
        assert risky.low > 0.9
        assert harmless.low <= 0.01
        assert harmless.high < 0.25
        assert harmless.high < risky.low


def test_half_a_copy_is_half_a_risk() -> None:
    original, control, others = mixed(1000, 1), mixed(1000, 2), mixed(1000, 3)
    half = pa.concat_tables([original.slice(0, 500), others.slice(0, 500)])
    found = risk_report(half, original, control, attempts=500)
    assert found.linkability.low < 0.5 < found.linkability.high
    assert 0.3 < found.singling_out.value < 0.6
    assert 0.3 < found.inference.value < 0.6


def test_another_sample_of_the_population_is_no_risk() -> None:
    found = risk_report(mixed(1000, 3), mixed(1000, 1), mixed(1000, 2), attempts=500)
    for kind in KINDS:
        risk = getattr(found, kind)
        assert risk.low <= 0.01
        assert risk.value < 0.1


def test_guessing_what_everybody_could_is_not_a_risk() -> None:
    """A secret that follows from the rest is inferred of strangers as well."""
    table, control = (pa.table({"a": chance(n).integers(0, 9, 400)}) for n in (1, 2))
    table, control = (each.append_column("b", each.column("a")) for each in (table, control))
    found = risk_report(table, table, control, attempts=200, secrets=["b"])
    assert found.inference.attacked == found.inference.control == 1
    assert (found.inference.value, found.inference.low, found.inference.high) == (0, 0, 1)
    assert list(found.secrets) == ["b"]


def test_nearly_copied_numbers_are_found_too() -> None:
    original, control = mixed(600, 1), mixed(600, 2)
    moved = original.set_column(2, "income", pa.array(original.column("income").to_numpy() + 0.5))
    found = risk_report(moved, original, control, attempts=300)
    assert found.singling_out.low > 0.8
    assert found.inference.low > 0.8


def test_the_interval_covers_the_risk() -> None:
    dice = chance(5)
    covered = 0
    for _ in range(400):
        risk = Risk.counted(int(dice.binomial(200, 0.5)), int(dice.binomial(200, 0.2)), 200)
        covered += risk.low <= 0.375 <= risk.high
    assert covered >= 380


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"control": mixed(99, 2)}, "at least as many rows"),
        ({"control": mixed(100, 2).select(["age", "town"])}, "same columns"),
        ({"released": pa.table({"age": ["x"], "town": ["y"], "income": [1.0], "sick": ["no"]})}, "another type"),
        ({"secrets": ["name"]}, 'no column "name"'),
        ({"linked": (["age"], ["age", "town"])}, "must not share"),
        ({"attempts": 0}, "at least 1"),
        ({"tolerance": 1.0}, "below 1"),
    ],
)
def test_wrong_arguments_are_named(changes: dict[str, Any], said: str) -> None:
    arguments: dict[str, Any] = {"released": mixed(100, 1), "original": mixed(100, 1), "control": mixed(100, 2)}
    with pytest.raises(InputError, match=said):
        risk_report(**(arguments | changes))


def test_missing_numbers_and_lone_columns_are_refused() -> None:
    lone = mixed(100, 1).select(["age"])
    with pytest.raises(InputError, match="released table itself"):
        risk_report(mixed(50, 1), mixed(50, 2), mixed(50, 1))
    with pytest.raises(InputError, match="at least two"):
        risk_report(lone, lone, lone)
    holes = pa.table({"a": [1.0, None], "b": ["x", "y"]})
    with pytest.raises(InputError, match="missing or infinite"):
        risk_report(holes, holes, holes)


def test_the_copy_is_risky_and_the_private_table_is_not() -> None:
    shares: list[float] = []
    found = stage(count=1000, attempts=250, progress=shares.append)
    assert shares == [1 / 3, 2 / 3, 1.0]
    copy, loose, private = list(found.facts.values())[3:]
    for kind in ("singling out", "linking", "inferring"):
        assert copy[kind][1] > 0.9
        for other in (loose, private):
            assert other[kind][2] < 0.3
            assert other[kind][1] <= 0.02
    assert found.defended.high < found.undefended.low
