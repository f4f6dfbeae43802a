"""The Wasserstein mechanism, the least valid noise, and the example that shows why such releases do not add."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tacit.base import InputError, KeyUsed
from tacit.pufferfish import Chain, compare, count_laws, distance, quilt, real_cost, smallest_scale, wasserstein
from tacit.pufferfish.wasserstein import LawsUnknown, entry_pairs
from tacit.session import Session

Half = Fraction(1, 2)


def two_states(stay: Any, length: int) -> Chain:
    share = Fraction(stay)
    return Chain([[share, 1 - share], [1 - share, share]], length)


@pytest.mark.parametrize(
    ("stay", "moved", "least", "entry"),
    [("0.7", 3, 2.2572, 2.0522), ("0.9", 10, 8.6404, 4.4995), ("0.95", 20, 18.1760, 5.9766)],
)
def test_the_figures_of_the_field(stay: str, moved: int, least: float, entry: float) -> None:
    pairs = entry_pairs(two_states(stay, 100), 1)
    assert wasserstein(pairs, epsilon=1).moved == moved
    assert float(smallest_scale(pairs, epsilon=1)) == pytest.approx(least, abs=1e-3)
    assert real_cost(pairs, 1) == pytest.approx(entry, abs=1e-4)  # what noise for one entry really tells


LAW = st.dictionaries(st.integers(0, 5), st.integers(1, 6), min_size=1, max_size=4)


def normal(weights: dict[int, int]) -> dict[int, Fraction]:
    total = sum(weights.values())
    return {value: Fraction(weight, total) for value, weight in weights.items()}


@settings(max_examples=60, deadline=None)
@given(first=LAW, second=LAW)
def test_the_distance_is_the_least_reach_of_any_coupling(first: dict[int, int], second: dict[int, int]) -> None:
    """A linear program looks for a coupling that moves nothing further than the distance, and for a nearer one."""
    a, b = normal(first), normal(second)
    found = distance(a, b)

    def possible(width: int) -> bool:
        cells = [(x, y) for x, y in product(a, b) if abs(x - y) <= width]
        if not cells:
            return False
        rows = [[float(cell[0] == x) for cell in cells] for x in a] + [
            [float(cell[1] == y) for cell in cells] for y in b
        ]
        wanted = [float(p) for p in (*a.values(), *b.values())]
        return bool(linprog([0.0] * len(cells), A_eq=rows, b_eq=wanted).status == 0)

    assert possible(found)
    assert found == 0 or not possible(found - 1)
    assert found == distance(b, a)


@settings(max_examples=40, deadline=None)
@given(first=LAW, second=LAW, epsilon=st.sampled_from([0.2, 1, 3]))
def test_noise_keeps_its_promise_and_the_least_is_the_least(
    first: dict[int, int], second: dict[int, int], epsilon: float
) -> None:
    pair = [(normal(first), normal(second))]
    found = wasserstein(pair, epsilon=epsilon)
    if found.scale:
        assert real_cost(pair, found.scale) <= epsilon * (1 + 1e-9)
        least = smallest_scale(pair, epsilon=epsilon)
        assert least <= found.scale * (1 + 1e-6)
        assert real_cost(pair, least) <= epsilon * (1 + 1e-9)
        if least > found.scale / 10**5:
            assert real_cost(pair, least * Fraction(99, 100)) > epsilon * (1 - 1e-3)


def test_laws_of_a_count_are_those_of_all_paths() -> None:
    chain = Chain([["0.9", "0.1"], ["0.3", "0.7"]], 5, initial=("0.5", "0.5"))
    laws = count_laws(chain, 1)
    for i, x in product(range(5), range(2)):
        counts: dict[int, float] = {}
        for path in product(range(2), repeat=5):
            chance = 0.5
            for here, there in pairwise(path):
                chance *= chain.matrix[here, there]
            if path[i] == x:
                counts[sum(path)] = counts.get(sum(path), 0) + chance
        total = sum(counts.values())
        assert laws[i][x] == pytest.approx({n: p / total for n, p in sorted(counts.items())})


def test_two_releases_without_noise_tell_the_secret() -> None:
    """X is secret, Y a fair coin of its own. Y tells nothing of X, nor does X ⊕ Y: both have W = 0, so both may go out
    as they are. Together they are X."""
    coin = {0: Half, 1: Half}
    assert wasserstein([(coin, coin)], epsilon=1).scale == 0  # Y, given X = 0 and given X = 1
    either = [{x ^ y: Half for y in (0, 1)} for x in (0, 1)]
    assert wasserstein([(either[0], either[1])], epsilon=1).scale == 0  # X ⊕ Y
    both = [{2 * y + (x ^ y): Half for y in (0, 1)} for x in (0, 1)]  # the two answers as one number
    assert wasserstein([(both[0], both[1])], epsilon=1).scale > 0
    assert {(number >> 1) ^ (number & 1) for number in both[1]} == {1}  # X


POLICY = """
[dataset]
name = "day"
[privacy]
unit = "hour"
relation = "replace"
currency = "epsilon"
budget = 2
population = 100
[tables.hours]
source = "hours.parquet"
unit_column = "hour"
clip_rows = 1
[tables.hours.columns]
hour = { type = "integer" }
walking = { type = "integer", bounds = [0, 1] }
[analysts.cora]
limit = 2
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    pq.write_table(pa.table({"hour": list(range(100)), "walking": [1, 0] * 50}), tmp_path / "hours.parquet")
    (tmp_path / "tacit.toml").write_text(POLICY)
    with Session(tmp_path / "tacit.toml", "cora") as opened:
        yield opened


def test_the_ledger_takes_one_such_release_and_no_second(session: Session) -> None:
    """It costs an hour what its noise costs an hour, 1/10, and any other one is refused, before and after."""
    found = wasserstein(entry_pairs(two_states("0.9", 100), 1), epsilon=1)
    answer = found.release(50, session, "hours")
    assert abs(int(answer.value()) - 50) < 400
    assert session.left().epsilon == 2 - found.cost() == Fraction(19, 10)
    for other in (found, wasserstein(entry_pairs(two_states("0.7", 100), 1), epsilon=1)):
        with pytest.raises(InputError, match="promises nothing for two releases"):
            other.release(50, session, "hours")
    assert session.left().epsilon == Fraction(19, 10)
    session.ask("SELECT COUNT(*) FROM hours WHERE walking = 1", epsilon="0.1")  # by its cost for one hour
    assert session.left().epsilon == Fraction(18, 10)
    week = quilt(two_states("0.9", 100), epsilon=1)
    assert 1 < week.epsilon("0.2") < 100 * 0.2  # what both tell of an hour


def test_two_at_the_same_moment_are_refused_by_the_ledger(session: Session) -> None:
    """Both looked at an account that was empty: the ledger has one key for all such releases."""
    first, second = (wasserstein(entry_pairs(two_states(stay, 100), 1), epsilon=1) for stay in ("0.9", "0.7"))
    empty = session.standing()

    class Blind:
        def __getattr__(self, name: str) -> Any:
            return (lambda: empty) if name == "standing" else getattr(session, name)

    first.release(50, Blind(), "hours")
    with pytest.raises(KeyUsed):
        second.release(50, Blind(), "hours")


def test_what_would_go_out_without_noise_is_refused(session: Session) -> None:
    """The two answers above: W = 0 for each, so neither has a cost that adds, and no ledger takes it."""
    coin = {0: Half, 1: Half}
    bare = wasserstein([(coin, coin)], epsilon=1)
    for attempt in (lambda: bare.cost(), lambda: bare.release(1, session, "hours")):
        with pytest.raises(InputError, match="without noise"):
            attempt()
    assert session.left().epsilon == 2


def test_the_ways_in_order() -> None:
    found = {way.name: way for way in compare(two_states("0.9", 100), epsilon=1)}
    scales = [
        float(found[name].scale) for name in ("entry", "smallest", "wasserstein", "quilt", "approximate", "group")
    ]
    assert scales == sorted(scales)
    assert found["entry"].real == pytest.approx(4.4995, abs=1e-4)
    assert [name for name, way in found.items() if way.adds] == ["entry", "quilt", "approximate", "group"]
    assert all((way.real or 0) <= 1 for name, way in found.items() if name != "entry")
    assert [way.name for way in compare(two_states("0.9", 5000), epsilon=1)] == [
        "entry",
        "quilt",
        "approximate",
        "group",
    ]


def test_laws_that_are_none_are_refused() -> None:
    for law in ({}, {0: 0.5}, {0: 1.5, 1: -0.5}):
        with pytest.raises(InputError, match="add up to 1"):
            distance(law, {0: 1})
    with pytest.raises(InputError, match="at least one pair"):
        wasserstein([], epsilon=1)
    with pytest.raises(InputError, match="state must be"):
        count_laws(two_states("0.5", 4), 2)
    with pytest.raises(InputError, match="use quilts"):
        count_laws(two_states("0.5", 3000), 0)


def test_counts_too_rare_for_floats_are_refused() -> None:
    """What a float cannot hold is seen by little noise: without those counts 1.97 came out where 9.41 is right."""
    swinging = two_states("0.005", 260)
    with pytest.raises(LawsUnknown, match="below 1e-290"):
        count_laws(swinging, 1)
    assert [way.real for way in compare(swinging, epsilon=1)] == [None] * 4
    rare = Fraction(1, 10**400)
    assert real_cost([({0: rare, 1: 1 - rare}, {1: 1})], "1/1000") == pytest.approx(1000 - 400 * log(10))


def test_a_ratio_is_that_of_the_densities() -> None:
    pair = ({0: 0.5, 3: 0.5}, {1: 1.0})
    dense = [w / 50 for w in range(-200, 350)]
    seen = max(abs(logs(pair[0], w) - logs(pair[1], w)) for w in dense)
    assert real_cost([pair], 1) == pytest.approx(seen)


def logs(law: dict[int, float], w: float) -> float:
    return log(sum(p * exp(-abs(w - n)) for n, p in law.items()))
