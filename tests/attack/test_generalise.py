"""The lattice search against trying everything, Mondrian, and what their releases must keep."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack import generalise as module
from tacit.attack.anonymity import measure
from tacit.attack.generalise import Hierarchy, any_of, covers, generalise, masked, mondrian, stretch
from tacit.attack.population import chance
from tacit.base import InputError

HIERARCHIES = {
    "zip": Hierarchy.digits(1, 2),
    "age": Hierarchy.bands(5, 10, 20),
    "job": Hierarchy.tree({"nurse": "care", "medic": "care", "clerk": "office", "judge": "office"}),
}


def people(seed: int, rows: int = 200) -> pa.Table:
    dice = chance(seed)
    return pa.table(
        {
            "zip": [str(13000 + n) for n in dice.integers(0, 30, rows)],
            "age": dice.integers(20, 60, rows),
            "job": np.array(["nurse", "medic", "clerk", "judge"])[dice.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])],
            "sick": dice.integers(0, 2, rows),
        }
    )


def best_by_trying_all(table: pa.Table, k: int, suppress: float) -> float:
    """The least loss over every combination of levels, computed from the labels alone."""
    names = list(HIERARCHIES)
    values = {name: table.column(name).to_pylist() for name in names}
    found = 1.0
    for levels in product(*(range(HIERARCHIES[name].top + 1) for name in names)):
        shown, lost = [], []
        for name, level in zip(names, levels, strict=True):
            ground = sorted(set(values[name]))
            label = dict(zip(ground, HIERARCHIES[name].labels(ground, level), strict=True))
            shown.append([label[value] for value in values[name]])
            size = {each: list(label.values()).count(each) for each in label.values()}
            lost.append([(size[label[value]] - 1) / (len(ground) - 1) for value in values[name]])
        rows = list(zip(*shown, strict=True))
        small = [rows.count(row) < k for row in rows]
        if sum(small) <= int(suppress * len(rows)):
            loss = np.mean(
                [1.0 if out else np.mean(cells) for out, cells in zip(small, zip(*lost, strict=True), strict=True)]
            )
            found = min(found, float(loss))
    return found


@pytest.mark.parametrize(
    ("seed", "k", "suppress"), [(1, 2, 0.0), (2, 3, 0.1), (3, 5, 0.02), (4, 10, 0.3), (1, 3, 0.5), (1, 8, 0.5)]
)
def test_no_combination_of_levels_loses_less(seed: int, k: int, suppress: float) -> None:
    table = people(seed)
    found = generalise(table, HIERARCHIES, k=k, suppress=suppress)
    assert found.loss == pytest.approx(best_by_trying_all(table, k, suppress))
    assert measure(found.table, list(HIERARCHIES)).k >= k
    assert table.num_rows - found.table.num_rows <= suppress * table.num_rows
    assert found.table.num_rows == found.kept.sum()
    assert found.table.column("sick").equals(table.filter(pa.array(found.kept)).column("sick"))


def test_it_stops_before_trying_everything() -> None:
    found = generalise(people(1, rows=2000), HIERARCHIES, k=2, suppress=0.05)
    assert found.looked < 4 * 5 * 3


def test_what_is_anonymous_already_stays_as_it_is() -> None:
    table = people(1)
    found = generalise(table, HIERARCHIES, k=1)
    assert found.table.equals(table)
    assert (found.loss, set(found.levels.values())) == (0.0, {0})


def test_wrong_hierarchies_are_refused() -> None:
    table = people(1)
    parting = Hierarchy.tree(
        {"nurse": "a", "medic": "a", "clerk": "b", "judge": "b"},
        {"nurse": "c", "medic": "d", "clerk": "d", "judge": "d"},
    )
    with pytest.raises(InputError, match="parts values"):
        generalise(table, {"job": parting}, k=2)
    with pytest.raises(InputError, match="lacks a group"):
        generalise(table, {"job": Hierarchy.tree({"nurse": "care"})}, k=2)
    with pytest.raises(InputError, match="whole numbers"):
        generalise(table, {"zip": Hierarchy.bands(5)}, k=2)
    with pytest.raises(InputError, match="multiple"):
        Hierarchy.bands(5, 12)
    with pytest.raises(InputError, match="more on each level"):
        Hierarchy.digits(2, 1)


def test_wrong_demands_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(1)
    for k, suppress in ((0, 0.0), (2, -0.1), (2, 1.5)):
        with pytest.raises(InputError, match="k is at least 1"):
            generalise(table, HIERARCHIES, k=k, suppress=suppress)
    with pytest.raises(InputError, match="fewer than 201 rows"):
        generalise(table, HIERARCHIES, k=201)
    monkeypatch.setattr(module, "NODES", 10)
    with pytest.raises(InputError, match="mondrian"):
        generalise(table, HIERARCHIES, k=2)


QUASI = ["zip", "age", "height"]


def crowd(rows: int) -> pa.Table:
    dice = chance(3)
    return pa.table(
        {
            "zip": [str(n) for n in dice.integers(13000, 13040, rows)],
            "age": dice.integers(20, 80, rows),
            "height": dice.normal(1.7, 0.1, rows).round(2),
            "sick": dice.integers(0, 2, rows),
        }
    )


@pytest.mark.parametrize("k", [1, 2, 7, 50])
def test_every_class_has_k_rows_and_few_have_many_more(k: int) -> None:
    table = crowd(2000)
    found = mondrian(table, QUASI, k=k)
    measured = measure(found, QUASI)
    assert measured.k >= k
    assert measured.classes >= 2000 / (4 * k)
    assert found.column("sick").equals(table.column("sick"))
    for before, after in zip(table.slice(0, 200).to_pylist(), found.slice(0, 200).to_pylist(), strict=True):
        assert all(covers(after[name], before[name]) for name in QUASI)


def test_equal_rows_stay_together() -> None:
    table = pa.table({"a": [1] * 5 + [2] * 3})
    assert mondrian(table, ["a"], k=3).column("a").to_pylist() == ["1"] * 5 + ["2"] * 3
    assert mondrian(table, ["a"], k=4).column("a").to_pylist() == ["1-2"] * 8


def test_wrong_arguments_are_refused() -> None:
    for k in (0, 11):
        with pytest.raises(InputError, match="k is"):
            mondrian(crowd(10), QUASI, k=k)
    with pytest.raises(InputError, match="missing values"):
        mondrian(pa.table({"a": np.array([1.0, 2.0]), "b": ["x", None]}), ["b"], k=1)


def test_each_level_covers_the_one_below() -> None:
    ages = Hierarchy.bands(5, 10)
    for level in range(ages.top + 1):
        for age in (0, 7, 19, 20):
            assert covers(ages.labels([age], level)[0], age)


def test_labels_are_those_of_the_level() -> None:
    assert Hierarchy.digits(1, 2).labels(["13053"], 2) == ["130**"]
    assert Hierarchy.bands(5, 10, 20).labels([28, 30], 2) == ["20-29", "30-39"]
    assert Hierarchy.tree({"judge": "office"}).labels(["judge"], 1) == ["office"]
    assert Hierarchy.tree({"judge": "office"}).labels(["judge"], 2) == ["*"]
    assert Hierarchy().labels(["judge"], 1) == ["*"]


@pytest.mark.parametrize(
    ("label", "inside", "outside"),
    [
        ("*", ["anything", 3, None], []),
        ("130**", ["13053", "13099"], ["14053", "130", "130530"]),
        ("20-29", [20, 29, "25"], [19, 30, "x"]),
        ("-5--1", [-5, -1.5], [0, 5]),
        ("<30", [29, -3], [30]),
        (">=40", [40], [39.9]),
        ("{a, b}", ["a", "b"], ["c", "a, b"]),
        ("flu", ["flu"], ["influenza"]),
        (7, [7, "7"], [8]),
    ],
)
def test_a_label_covers_what_it_says(label: object, inside: list[object], outside: list[object]) -> None:
    assert all(covers(label, value) for value in inside)
    assert not any(covers(label, value) for value in outside)


def test_what_is_written_covers_what_it_was_written_for() -> None:
    assert covers(masked("13053", 2), "13053")
    assert covers(stretch(20, 29), 24)
    assert stretch(4, 4) == "4"
    assert covers(any_of(["b", "a"]), "a")
    assert any_of(["a"]) == "a"
