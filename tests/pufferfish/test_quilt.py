"""Quilts keep what they promise, on chains and networks whose laws can be listed; the published figures come out."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.pufferfish import Chain, Network, Quilt, quilt, wasserstein
from tacit.pufferfish.wasserstein import entry_pairs, network_pairs, real_cost


def two_states(stay: Any, length: int) -> Chain:
    share = Fraction(stay)
    return Chain([[share, 1 - share], [1 - share, share]], length)


def paths(chain: Chain) -> dict[tuple[int, ...], float]:
    """Every course of a short chain, with its chance."""
    start, matrix, found = chain.start(), chain.matrix, {}
    for path in product(range(chain.states), repeat=chain.length):
        chance = start[path[0]]
        for here, there in pairwise(path):
            chance *= matrix[here, there]
        found[path] = float(chance)
    return found


@pytest.mark.parametrize(
    ("stay", "exact", "rough"), [("0.7", 6.7236, 15.5724), ("0.9", 31.7378, 49.2202), ("0.95", 68.7868, 99.6529)]
)
def test_the_figures_of_the_field(stay: str, exact: float, rough: float) -> None:
    chain = two_states(stay, 100)
    assert quilt(chain, epsilon=1).scale == pytest.approx(exact, abs=1e-4)
    assert quilt(chain, epsilon=1, approximate=True).scale == pytest.approx(rough, abs=1e-4)


def brute(chain: Chain, epsilon: float, group: int = 1) -> float:
    """The scale by the definition: for each secret, of so many entries in a row, the best of all quilts of a short
    chain; leaks by listing paths."""
    law, length = paths(chain), chain.length
    worst = 0.0
    for i in range(length - group + 1):
        best, last = length / epsilon, i + group - 1
        for a, b in product([None, *range(1, i + 1)], [None, *range(1, length - last)]):
            if a is None and b is None:
                continue
            shown = [i - a] if a is not None else []
            shown += [last + b] if b is not None else []
            low, high = (i - a if a is not None else -1), (last + b if b is not None else length)
            leak = leak_of(law, (*range(i, last + 1),), tuple(shown))
            if leak < epsilon:
                best = min(best, (high - low - 1) / (epsilon - leak))
        worst = max(worst, best)
    return worst


def leak_of(law: Any, secret: tuple[int, ...], shown: tuple[int, ...]) -> float:
    """The largest log ratio of chances of what is shown, between two values of the secret, by adding up."""
    table: dict[Any, dict[Any, float]] = {}
    total: dict[Any, float] = {}
    for path, chance in law.items():
        if chance > 0:
            value = tuple(path[j] for j in secret)
            row = table.setdefault(tuple(path[j] for j in shown), {})
            row[value] = row.get(value, 0) + chance
            total[value] = total.get(value, 0) + chance
    chances = [{value: row.get(value, 0) / total[value] for value in total} for row in table.values()]
    return max(log(max(row.values()) / min(row.values())) if min(row.values()) else float("inf") for row in chances)


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
@pytest.mark.parametrize(
    "chain",
    [
        two_states("0.8", 6),
        Chain([["0.9", "0.1"], ["0.3", "0.7"]], 6),
        Chain([["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.1", "0.1", "0.8"]], 5),
        Chain([["0.9", "0.1"], ["0.3", "0.7"]], 6, initial=("0.5", "0.5")),
        Chain([["0.5", "0.5"], ["0.1", "0.9"]], 5, initial=(1, 0)),
    ],
)
def test_quilts_are_those_of_the_definition(chain: Chain, epsilon: float) -> None:
    found, wanted = quilt(chain, epsilon=epsilon).scale, brute(chain, epsilon)
    assert found >= wanted * (1 - 1e-9)
    if chain.start().min() > 0:  # else states that nobody can have been in are counted too
        assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("group", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2])
@pytest.mark.parametrize("rows", [("9 1", "3 7"), ("6 3 1", "2 5 3", "1 1 8"), ("5 5 0", "1 8 1", "0 2 8")])
def test_several_entries_in_a_row_as_one_secret(rows: tuple[str, ...], epsilon: float, group: int) -> None:
    """A day of hours: quilts of the definition, and what the noise really keeps of all values of the day."""
    for initial in (None, ("1/2", *["1/2" if len(rows) == 2 else "1/4"] * (len(rows) - 1))):
        chain = Chain([[Fraction(int(each), 10) for each in row.split()] for row in rows], 5, initial=initial)
        found, wanted = quilt(chain, epsilon=epsilon, group=group), brute(chain, epsilon, group)
        assert found.scale >= wanted * (1 - 1e-9)
        if "0" not in "".join(rows):
            assert found.scale == pytest.approx(wanted, rel=1e-6)
        law = paths(chain)
        for first in range(6 - group):
            given: dict[Any, dict[int, float]] = {}
            for path, chance in law.items():
                if chance:
                    counts = given.setdefault(path[first : first + group], {})
                    counts[sum(x == 1 for x in path)] = counts.get(sum(x == 1 for x in path), 0) + chance
            laws = [{n: p / sum(each.values()) for n, p in each.items()} for each in given.values()]
            assert real_cost(combinations(laws, 2), found.scale) <= epsilon * (1 + 1e-9)
        assert quilt(chain, epsilon=epsilon, group=group, approximate=True).scale >= found.scale * (1 - 1e-9)


def laplace_ratio(law: dict[tuple[int, ...], float], i: int, scales: list[float], states: int) -> float:
    """What releases of the count of state 1, each with its own noise, tell of entry i: exactly, by listing."""
    grid = list(product(range(-1, len(next(iter(law))) + 2), repeat=len(scales)))
    worst = 0.0
    for x, y in product(range(states), repeat=2):
        chances = {}
        for value in (x, y):
            inside = {path: p for path, p in law.items() if path[i] == value and p > 0}
            total = sum(inside.values())
            chances[value] = (
                [
                    sum(
                        p / total * exp(-sum(abs(w - sum(path)) / s for w, s in zip(point, scales, strict=True)))
                        for path, p in inside.items()
                    )
                    for point in grid
                ]
                if total
                else []
            )
        if chances[x] and chances[y]:
            worst = max(worst, *(abs(log(a / b)) for a, b in zip(chances[x], chances[y], strict=True)))
    return worst


@pytest.mark.parametrize("stay", ["0.6", "0.8", "0.95"])
def test_one_release_keeps_its_promise(stay: str) -> None:
    chain = two_states(stay, 7)
    for epsilon in (0.5, 1, 2):
        found = quilt(chain, epsilon=epsilon)
        assert max(laplace_ratio(paths(chain), i, [found.scale], 2) for i in range(7)) <= epsilon


@pytest.mark.parametrize("stay", ["0.6", "0.9"])
def test_releases_add_by_their_ordinary_cost(stay: str) -> None:
    """Two counts of a chain of seven: what both tell of an entry is within what their entry-level costs say."""
    chain = two_states(stay, 7)
    first, second = quilt(chain, epsilon=1), quilt(chain, epsilon="1/2")
    spent = first.cost + second.cost
    found = max(laplace_ratio(paths(chain), i, [first.scale, second.scale], 2) for i in range(7))
    assert found <= first.epsilon(spent)
    assert first.epsilon(spent) <= first.epsilon(first.cost) + 7 * second.cost + Fraction(1, 10**9)
    assert first.epsilon(first.cost) == pytest.approx(1, rel=1e-6)


def test_rho_adds_too() -> None:
    chain = two_states("0.9", 50)
    found = quilt(chain, epsilon=1)
    once, twice = (found.concentrated(rho).epsilon(1e-6).upper for rho in (1e-4, 2e-4))
    assert 0 < once < twice
    alone = quilt(two_states("0.9", 1), epsilon=1).concentrated("0.01")
    assert alone.epsilon(1e-6).upper > 0
    assert "pufferfish" in alone.relation


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3),
    length=st.integers(2, 40),
    epsilon=st.floats(0.2, 4),
)
def test_quilts_are_between_independence_and_one_group(rows: list[list[int]], length: int, epsilon: float) -> None:
    chain = Chain([[Fraction(x, sum(row)) for x in row] for row in rows], length)
    exact = quilt(chain, epsilon=epsilon).scale
    assert (1 - 1e-9) / epsilon <= exact <= length / epsilon * (1 + 1e-9)
    assert exact <= quilt(chain, epsilon=epsilon, approximate=True).scale * (1 + 1e-9)
    assert quilt(chain, epsilon=2 * epsilon).scale <= exact
    assert quilt(chain, epsilon=epsilon, moves=2).scale == pytest.approx(2 * exact)


def test_a_class_of_chains_is_as_bad_as_its_worst() -> None:
    chains = tuple(two_states(stay, 60) for stay in ("0.6", "0.9", "0.8"))
    every = quilt(chains, epsilon=1)
    assert every.scale == max(quilt(chain, epsilon=1).scale for chain in chains)
    assert every.epsilon("0.01") == max(quilt(chain, epsilon=1).epsilon("0.01") for chain in chains)


def test_the_approximate_form_holds_for_every_first_state() -> None:
    rough = quilt(Chain([["0.9", "0.1"], ["0.3", "0.7"]], 12), epsilon=1, approximate=True).scale
    for start in ((1, 0), (0, 1), ("1/2", "1/2")):
        chain = Chain([["0.9", "0.1"], ["0.3", "0.7"]], 12, initial=start)
        assert quilt(chain, epsilon=1).scale <= rough * (1 + 1e-9)
        assert real_cost(entry_pairs(chain, 1), Fraction(rough)) <= 1


def test_long_chains_have_the_noise_of_their_middle() -> None:
    assert quilt(two_states("0.9", 10_000), epsilon=1).scale == pytest.approx(31.7378, abs=1e-4)


def test_the_kept_law_of_rare_states_has_all_its_digits() -> None:
    """A chance of 1e-13 for a state: by subtraction it would be wrong in the fourth digit, and so would a leak be."""
    rare = Fraction(1, 10**13)
    chain = Chain([[1 - rare, rare], [Fraction(1, 2), Fraction(1, 2)]], 4)
    assert chain.kept()[1] == pytest.approx(float(rare / (rare + Fraction(1, 2))), rel=1e-14)
    three = Chain([["0.5", "0.5", 0], ["0.25", "0.25", "0.5"], [0, "0.1", "0.9"]], 4)
    assert three.kept() @ three.matrix == pytest.approx(three.kept(), rel=1e-14)


def test_reversibility_is_exact() -> None:
    """A flow round a circle of 1e-14 is one: the better bound is not taken for it."""
    little = Fraction(1, 10**14)
    third = Fraction(1, 3)
    even = Chain([[third] * 3] * 3, 4)
    turning = Chain(
        [
            [third, third + little, third - little],
            [third - little, third, third + little],
            [third + little, third - little, third],
        ],
        4,
    )
    assert even.reversible()
    assert not turning.reversible()
    assert Chain([["0.9", "0.1"], ["0.3", "0.7"]], 4).reversible()


# --- networks


def line(length: int, stay: Fraction) -> Network:
    """A chain as a network."""
    rows = [[stay, 1 - stay], [1 - stay, stay]]
    return Network([[], *([i] for i in range(length - 1))], [[["1/2", "1/2"]], *([rows] * (length - 1))])


@pytest.mark.parametrize("stay", ["0.6", "0.9"])
def test_a_chain_as_a_network_has_the_same_noise_or_less(stay: str) -> None:
    chain, network = quilt(two_states(stay, 6), epsilon=1), quilt(line(6, Fraction(stay)), epsilon=1)
    assert network.scale <= chain.scale * (1 + 1e-9)
    assert network.scale == pytest.approx(chain.scale, rel=1e-6)


def test_a_network_keeps_its_promise() -> None:
    """A parent, two children and a grandchild of both; the joint law is listed."""
    network = Network(
        [[], [0], [0], [1, 2]],
        [
            [["0.3", "0.7"]],
            [["0.8", "0.2"], ["0.4", "0.6"]],
            [["0.5", "0.5"], ["0.1", "0.9"]],
            [["0.9", "0.1"], ["0.5", "0.5"], ["0.6", "0.4"], ["0.2", "0.8"]],
        ],
    )
    joint = network.joint()
    assert joint.sum() == pytest.approx(1)
    assert joint[1, 0, 1, 1] == pytest.approx(0.7 * 0.4 * 0.9 * 0.5)
    law = {tuple(map(int, place)): float(joint[tuple(place)]) for place in np.argwhere(joint >= 0)}
    for epsilon in (0.5, 1, 2):
        found = quilt(network, epsilon=epsilon)
        assert found.scale <= 4 / epsilon * (1 + 1e-9)
        assert max(laplace_ratio(law, i, [found.scale], 2) for i in range(4)) <= epsilon


def test_an_attribute_alone_and_several_together() -> None:
    """Income follows from schooling and age; an answer adds up all three. Noise for one attribute alone, for two
    together and for all keeps what it says."""
    network = Network(
        [[], [], [0, 1]],
        [
            [["0.4", "0.6"]],
            [["0.7", "0.3"]],
            [["0.9", "0.1"], ["0.6", "0.4"], ["0.55", "0.45"], ["0.1", "0.9"]],
        ],
    )
    law = {tuple(map(int, place)): float(network.joint()[tuple(place)]) for place in np.argwhere(network.joint() > 0)}
    for secret in ((0,), (2,), (0, 1), (0, 1, 2)):
        noise = quilt(network, epsilon=3, secrets=[secret])
        pairs = network_pairs(network, secret, lambda *values: sum(values))
        assert real_cost(pairs, noise.scale) <= 3
        assert real_cost(pairs, wasserstein(pairs, epsilon=3).scale) <= 3
        assert noise.scale <= 1 + 1e-9  # all as one
    # parents are joined in their child: showing one of them leaves the other near
    leaks = [(near, leak_of(law, (2,), shown)) for near, shown in ((1, (0, 1)), (2, (0,)), (2, (1,)))]
    best = min([1.0, *(near / (3 - leak) for near, leak in leaks if leak < 3)])
    assert quilt(network, epsilon=3, secrets=[[2]]).scale == pytest.approx(best, rel=1e-6)
    every = quilt(network, epsilon=3).scale
    assert every == max(quilt(network, epsilon=3, secrets=[[each]]).scale for each in range(3))
    assert quilt(network, epsilon=3, secrets=[[0, 1, 2]]).scale == pytest.approx(1)
    wrong: Any
    for wrong in ([[3]], [[0, 0]], [[]]):
        with pytest.raises(InputError, match="a secret is"):
            quilt(network, epsilon=1, secrets=wrong)
    with pytest.raises(InputError, match="in a row"):
        quilt(two_states("0.9", 5), epsilon=1, group=6)
    with pytest.raises(InputError, match="a secret is"):
        network_pairs(network, [5], lambda *values: 0)


def test_independent_attributes_need_the_noise_of_one() -> None:
    apart = Network([[], [], []], [[["1/2", "1/2"]], [["0.1", "0.9"]], [["1/3", "1/3", "1/3"]]])
    assert quilt(apart, epsilon=1).scale == pytest.approx(1, rel=1e-6)


# --- mistakes


def test_what_is_no_model_is_refused() -> None:
    rows: Any
    for rows, words in (
        ([["0.9", "0.2"], ["0.1", "0.9"]], "add up to 1 exactly"),
        ([[1 / 3, 2 / 3], ["1/2", "1/2"]], "add up to 1 exactly"),
        ([["0.9", "0.1"]], "a square"),
        ([["1.5", "-0.5"], ["0.5", "0.5"]], "add up to 1"),
        ([], "a square"),
    ):
        with pytest.raises(InputError, match=words):
            Chain(rows, 10)
    with pytest.raises(InputError, match="not one of all states"):
        quilt(Chain([[1, 0], [0, 1]], 5), epsilon=1)
    with pytest.raises(InputError, match="length"):
        two_states("0.5", 0)
    with pytest.raises(InputError, match="never forgets"):
        quilt(Chain([[0, 1], [1, 0]], 9), epsilon=1, approximate=True)
    with pytest.raises(InputError, match="same length"):
        quilt((two_states("0.5", 3), two_states("0.5", 4)), epsilon=1)
    with pytest.raises(InputError, match="before it"):
        Network([[1], []], [[["1/2", "1/2"]], [["1/2", "1/2"]]])
    with pytest.raises(InputError, match="must have 2 rows"):
        Network([[], [0]], [[["1/2", "1/2"]], [["1/2", "1/2"]]])
    with pytest.raises(InputError, match="epsilon"):
        quilt(two_states("0.5", 3), epsilon=0)


def test_a_state_that_is_only_begun_from_leaves_no_gap() -> None:
    """Nobody comes back to state 2: what a quilt would show of it is no number, and is passed over."""
    chain = Chain([["0.5", "0.5", 0], ["0.2", "0.8", 0], ["0.5", "0.3", "0.2"]], 6, initial=("1/3", "1/3", "1/3"))
    for epsilon in (0.5, 4):
        found = quilt(chain, epsilon=epsilon)
        assert found.scale >= brute(chain, epsilon) * (1 - 1e-9)
        assert found.epsilon(found.cost) == pytest.approx(epsilon)
        assert real_cost(entry_pairs(chain, 1), Fraction(found.scale)) <= epsilon


def test_a_clock_that_never_forgets_is_one_group() -> None:
    found: Quilt = quilt(Chain([[0, 1], [1, 0]], 9), epsilon=1)
    assert found.scale == pytest.approx(9)
