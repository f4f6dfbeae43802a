"""Ranges and tables of two questions: chance picks a part, and the part has all of epsilon."""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.reports import (
    check_forms,
    check_impossible,
    check_private,
    check_refused,
    check_tally,
    largest_ratio,
    within,
)
from tacit.base import InputError
from tacit.survey import DirectResponse, OptimizedUnary, SubsetSelection
from tacit.survey.parts import Marginals, RangeTree
from tacit.survey.protocol import Tally

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(3)]


def tree(categories: int, branching: int = 2, epsilon: Any = 1) -> RangeTree:
    return RangeTree(epsilon=epsilon, categories=categories, branching=branching)


def tables(*sizes: int, epsilon: Any = 1) -> Marginals:
    return Marginals(epsilon=epsilon, sizes=sizes)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "protocol", [tree(2), tree(3), tree(7), tree(9, 3), tables(2, 2), tables(2, 3, 2), tables(3, 4)]
)
def test_the_exact_channel(protocol: RangeTree | Marginals, epsilon: Fraction) -> None:
    def at(value: Fraction) -> RangeTree | Marginals:
        if isinstance(protocol, RangeTree):
            return tree(protocol.categories, protocol.branching, value)
        return tables(*protocol.sizes, epsilon=value)

    values = range(protocol.categories if isinstance(protocol, RangeTree) else prod(protocol.sizes))
    check_private(at(epsilon), values)
    assert not within(largest_ratio(at(epsilon * Fraction(105, 100)), values), epsilon)


@pytest.mark.parametrize("protocol", [tree(5), tables(2, 3, 2)])
def test_both_forms_have_the_law(protocol: RangeTree | Marginals) -> None:
    check_forms(protocol, 3)


def test_the_levels_of_a_tree() -> None:
    protocol = tree(10, 3)
    assert [part.categories for part in protocol.parts] == [2, 4, 10]
    assert [protocol._of_part(np.array([0, 5, 9]), level).tolist() for level in range(3)] == [
        [0, 0, 1],
        [0, 1, 3],
        [0, 5, 9],
    ]
    assert len(tree(4, 4).parts) == 1
    near = bytes(8)
    assert tree(4).sample(3, ScriptedRng([b"\x00", near])) == b"\x00\x01".ljust(tree(4).dtype.itemsize, b"\0")


def test_codes_of_several_answers() -> None:
    protocol = tables(2, 3, 4)
    rows = np.array(list(product(range(2), range(3), range(4))))
    assert protocol.code(rows).tolist() == list(range(24))
    assert protocol.code((1, 2, 3)) == 23
    for question in range(3):
        assert np.array_equal(protocol._answer_to(np.arange(24), question), rows[:, question])
    for wrong in ([2, 0, 0], [0, -1, 0], [0, 0], [0.5, 0, 0], [[0, 0, 4]]):
        with pytest.raises(InputError):
            protocol.code(wrong)


@pytest.mark.parametrize("protocol", [tree(10, 3), tables(2, 3, 4)])
def test_domain_reports_and_tallies(protocol: RangeTree | Marginals) -> None:
    most = 10 if isinstance(protocol, RangeTree) else 24
    check_refused(protocol, [-1, most, 0.5, "a", None])
    check_tally(protocol, np.arange(90) % most)
    size = protocol.dtype["report"].itemsize
    check_impossible(protocol, [b"\x03" + bytes(size), b"\x00" + b"\xff" * size, b"\x00" + bytes(size - 1) + b"\x01"])
    one = protocol.tally(protocol.sample(np.arange(90) % most, FixedRng(1)))
    assert sum(part.reports for part in protocol.tallies(one)) == one.reports == 90


def test_wrong_declarations() -> None:
    for make in (
        lambda: tree(1),
        lambda: tree(2000),
        lambda: tree(5, 1),
        lambda: tables(2),
        lambda: tables(1, 2),
        lambda: tables(100, 100),
        lambda: tables(*[4] * 40),
    ):
        with pytest.raises(InputError):
            make()
    with pytest.raises(InputError, match="no report yet"):
        tree(8).estimate(tree(8).tally(tree(8).sample([1], FixedRng(1))))
    tally = tables(2, 3).tally(tables(2, 3).sample([1], FixedRng(1)))
    for pair in ((0, 0), (0, 2)):
        with pytest.raises(InputError, match="two different questions"):
            tables(2, 3).table(tally, *pair)
    for ends in ((3, 2), (0, 8), (-1, 2)):
        with pytest.raises(InputError):
            tree(8).between(Tally(np.zeros(1), 0), *ends)


def rates(count: int, people: int) -> dict[str, tuple[float, float, float]]:
    """By question: bias in deviations, squared error over the stated one, coverage. Samples of a fixed population."""
    pick, source, found = np.random.default_rng(8), FixedRng(9), {}
    ordered, both = tree(30, 3, epsilon=2), tables(2, 3, 2, epsilon=2)
    shape = np.exp(-(((np.arange(30) - 12) / 5) ** 2))
    shape /= shape.sum()
    joint = np.array([5, 1, 2, 2, 1, 1, 1, 1, 1, 3, 1, 5]) / 24
    cube = joint.reshape(2, 3, 2)
    errors: dict[str, list[Any]] = {"range": [], "share": [], "table": [], "one": []}
    held: dict[str, list[Any]] = {name: [] for name in errors}

    def note(name: str, one: Any, true: Any) -> None:
        errors[name].append((one.value - true) / one.standard_error)
        held[name].append((one.lower <= true) & (true <= one.upper))

    for _ in range(count):
        tally = ordered.tally(ordered.sample(pick.choice(30, people, p=shape), source))
        note("range", ordered.between(tally, 5, 16), shape[5:17].sum())
        note("share", ordered.estimate(tally), shape)
        tally = both.tally(both.sample(pick.choice(12, people, p=joint), source))
        note("table", both.table(tally, 2, 0), cube.sum(axis=1).T)
        single = [cube.sum(axis=(1, 2)), cube.sum(axis=(0, 2)), cube.sum(axis=(0, 1))]
        note("one", both.estimate(tally), np.concatenate(single))
    for name, each in errors.items():
        scaled = np.array(each)
        bias = float(np.abs(scaled.mean(axis=0)).max() * count**0.5)
        found[name] = bias, float((scaled**2).mean()), float(np.mean(held[name]))
    return found


def test_estimates_are_unbiased_and_their_errors_are_as_stated() -> None:
    for name, (bias, ratio, covered) in rates(150, 3_000).items():
        assert bias < 5.5, name
        assert 0.7 < ratio < (2 if name == "table" else 1.35), name  # a table's own leaves sampling out
        assert 0.9 < covered < 0.995, name


@pytest.mark.slow
def test_coverage_over_many_surveys() -> None:
    for name, (bias, ratio, covered) in rates(2_000, 3_000).items():
        assert bias < 5.5, name
        assert 0.85 < ratio < (2 if name == "table" else 1.15), name
        assert (0.935 if name != "share" else 0.94) < covered < (0.965 if name != "share" else 0.99), name


def test_least_squares_beats_the_lowest_level_on_wide_ranges() -> None:
    protocol, source = tree(256, 4), FixedRng(2)
    tally = protocol.tally(protocol.sample(np.arange(20_000) % 256, source))
    wide, narrow = protocol.between(tally, 0, 127), protocol.between(tally, 7, 7)
    lowest = protocol.tallies(tally)[-1]
    alone = protocol.parts[-1].deviation(reports=lowest.reports) * 128**0.5
    assert wide.standard_error < alone / 3
    assert abs(wide.value - 0.5) < 5 * wide.standard_error
    assert narrow.standard_error < protocol.parts[-1].deviation(reports=lowest.reports) * 1.01
    assert protocol.estimate(tally).value.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", [DirectResponse, SubsetSelection, OptimizedUnary])
def test_the_covariance_is_about_that_of_samples(kind: Any) -> None:
    part, true = kind(epsilon=Fraction(1), categories=6), np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    pick, source = np.random.default_rng(3), FixedRng(4)
    found = [part.estimate(part.tally(part.sample(pick.choice(6, 300, p=true), source))).value for _ in range(1_500)]
    seen, said = np.cov(np.array(found).T), part.covariance(true, 300)
    half = np.array([1, 1, 1, 0, 0, 0])
    assert np.diag(seen) == pytest.approx(np.diag(said), rel=0.2)
    assert half @ seen @ half == pytest.approx(half @ said @ half, rel=0.3)
