"""Sparse vector: its law, its price on the worst neighbours, its accuracy statement, and its refusals."""

import copy
import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import pytest

from support.fixed_rng import FixedRng
from tacit.base import ExhaustedError, InputError, LatticeError, LossError, RandomnessError, SensitivityError
from tacit.loss import Approx, Pure
from tacit.mechanism.mechanism import Pmf
from tacit.mechanism.sparse_vector import SparseVector


def largest_ratio(left: Pmf, right: Pmf) -> float:
    return max(abs(log(left[o] / right[o])) for o in left.keys() & right.keys())


def plain(*, answers: int = 1, monotone: bool = False, numeric: int | None = None) -> SparseVector:
    return SparseVector(
        threshold_scale=Fraction(2),
        query_scale=Fraction(3),
        answers=answers,
        monotone=monotone,
        numeric_scale=None if numeric is None else Fraction(numeric),
    )


def brute_force(values: tuple[int, ...], answers: int) -> Pmf:
    """The law of `plain` by adding up noise by noise, with none of the closed-form tails."""
    reach = 130

    def law(scale: float) -> dict[int, float]:
        raw = {z: exp(-abs(z) / scale) for z in range(-reach, reach + 1)}
        total = sum(raw.values())
        return {z: p / total for z, p in raw.items()}

    found: Pmf = {}
    query = law(3.0)
    for rho, p in law(2.0).items():
        yes = [sum(q for z, q in query.items() if v + z >= rho) for v in values]
        for flags in itertools.product((False, True), repeat=len(values)):
            end = next((i + 1 for i in range(len(flags)) if sum(flags[: i + 1]) == answers), len(flags))
            if any(flags[end:]):
                continue  # only one continuation stands for the stopped run
            mass = p
            for flag, chance in zip(flags[:end], yes[:end], strict=True):
                mass *= chance if flag else 1 - chance
            found[flags[:end]] = found.get(flags[:end], 0.0) + mass
    return found


@pytest.mark.parametrize("answers", [1, 2])
def test_pmf_is_the_sum_over_all_noises(answers: int) -> None:
    listed = plain(answers=answers).pmf((0, (1, -2, 0, 4)))
    expected = brute_force((1, -2, 0, 4), answers)
    assert listed.keys() == expected.keys()
    for output, p in expected.items():
        assert listed[output] == pytest.approx(p, rel=1e-9)


def test_pmf_with_numbers_sums_to_one_and_agrees_with_the_flags() -> None:
    values = (0, (1, -2, 3))
    numbers, flags = plain(numeric=1).pmf(values), plain().pmf(values)
    assert sum(numbers.values()) == pytest.approx(1, rel=1e-12)
    gathered: dict[object, float] = {}
    for output, p in numbers.items():
        assert isinstance(output, tuple)
        flag = tuple(a is not None for a in output)
        gathered[flag] = gathered.get(flag, 0.0) + p
    assert {k: pytest.approx(p, rel=1e-12) for k, p in flags.items()} == gathered


@pytest.mark.parametrize("index", range(len(SparseVector.examples())))
def test_claims_hold_and_are_attained(index: int) -> None:
    example = SparseVector.examples()[index]
    claim = float(example.claim.epsilon(0))
    worst = largest_ratio(example.mechanism.pmf(example.left), example.mechanism.pmf(example.right))
    assert worst <= claim * (1 + 1e-9)
    if example.tight:
        assert worst >= 0.99 * claim


@pytest.mark.parametrize(("answers", "monotone"), [(1, False), (2, False), (1, True), (2, True)])
def test_every_small_pair_of_neighbours_is_within_the_claim(answers: int, monotone: bool) -> None:
    m = plain(answers=answers, monotone=monotone)
    claim = float(m.loss(1).bound) * (1 + 1e-9)
    laws = {v: m.pmf((0, v)) for v in itertools.product((-1, 0, 1, 2), repeat=3)}
    pairs = 0
    for v, w in itertools.product(laws, repeat=2):
        moves = {b - a for a, b in zip(v, w, strict=True)}
        if moves <= ({0, 1} if monotone else {-1, 0, 1}):
            pairs += 1
            assert largest_ratio(laws[v], laws[w]) <= claim
    assert pairs > 100


def test_the_monotone_price_does_not_cover_queries_that_move_apart() -> None:
    m = plain(monotone=True)
    worst = largest_ratio(m.pmf((0, (40,) * 5 + (-20,))), m.pmf((0, (41,) * 5 + (-21,))))
    assert worst > 1.2 * float(m.loss(1).bound)


def test_loss_formula() -> None:
    assert plain(answers=4).loss(3).bound == Fraction(3, 2) + Fraction(2 * 4 * 3, 3)
    assert plain(answers=4, monotone=True).loss(3).bound == Fraction(3, 2) + Fraction(4 * 3, 3)
    assert plain(answers=4, numeric=5).loss(3).bound == Fraction(3, 2) + Fraction(2 * 4 * 3, 3) + Fraction(4 * 3, 5)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("share", [None, "1/4"])
def test_from_loss_spends_exactly_the_budget_in_the_best_ratio(monotone: bool, share: str | None) -> None:
    m = SparseVector.from_loss(
        Pure("0.7"), sensitivity=2, answers=5, monotone=monotone, numeric_share=share, granularity="1/4"
    )
    assert m.loss(2) == Pure("0.7")
    assert m.granularity == Fraction(1, 4)
    assert (m.numeric_scale is None) == (share is None)
    # the variance of noisy query minus noisy threshold is least at this split
    sides = 5 if monotone else 10

    def spread(part: float) -> float:
        return (1 / part) ** 2 + (sides / (1 - part)) ** 2

    rest = 0.7 if share is None else 0.7 * 0.75
    part = float(2 / m.threshold_scale) / rest
    assert spread(part) <= min(spread(part * 0.98), spread(part * 1.02))


def test_sample_follows_pmf() -> None:
    m, values, runs = plain(answers=2), (1, (2, -1, 1, 3)), 8_000
    rng = FixedRng(1)
    seen: Counter[Hashable] = Counter(m.sample(values, rng) for _ in range(runs))
    listed = m.pmf(values)
    assert sum(listed.values()) == pytest.approx(1)
    for output, p in listed.items():
        assert abs(seen[output] - runs * p) <= 6 * sqrt(runs * p * (1 - p)) + 6  # six sigma a cell
    assert seen.keys() <= listed.keys()


def test_numeric_sample_follows_pmf() -> None:
    m, runs, rng = plain(numeric=2), 8_000, FixedRng(2)
    seen: Counter[Hashable] = Counter(m.sample((0, (1, 2)), rng) for _ in range(runs))
    for output, p in m.pmf((0, (1, 2))).items():
        assert abs(seen[output] - runs * p) <= 6 * sqrt(runs * p) + 6


def test_threshold_noise_is_drawn_once() -> None:
    # with nearly exact queries all answers of one run agree, since they share the threshold
    m = SparseVector(threshold_scale=Fraction(10), query_scale=Fraction(1, 50), answers=20)
    outcomes = {m.sample((0, (0,) * 20), FixedRng(seed)) for seed in range(40)}
    assert outcomes == {(True,) * 20, (False,) * 20}


def test_a_number_has_noise_of_its_own() -> None:
    m = SparseVector(threshold_scale=Fraction(1), query_scale=Fraction(50), answers=1, numeric_scale=Fraction(1, 50))
    assert {m.sample((0, (30,)), FixedRng(seed)) for seed in range(50)} == {(30,), (None,)}


def test_interactive_run_stops_after_its_answers() -> None:
    run = plain(answers=2).start(10, rng=FixedRng(3))
    assert run.left == 2
    assert run.ask(-1000) is False
    assert run.ask(1000) is True
    assert (run.left, run.ask(1000), run.left) == (1, True, 0)
    for value in (1000, -1000):
        with pytest.raises(ExhaustedError, match="all 2 positive answers"):
            run.ask(value)


def test_a_run_is_the_same_as_a_sample() -> None:
    m, values = plain(answers=3), (7, 2, 5, 9, 1, 8)
    run = m.start(5, rng=FixedRng(4))
    answers = tuple(run.ask(value) for value in values if run.left)
    assert answers == m.sample((5, values), FixedRng(4))


def test_a_run_keeps_its_secret() -> None:
    run = plain().start(0, rng=FixedRng(5))
    assert repr(run) == "<SparseRun, 1 of 1 positive answers left>"
    leaks: tuple[Callable[[Any], Any], ...] = (copy.copy, copy.deepcopy, pickle.dumps)
    for leak in leaks:
        with pytest.raises(RandomnessError, match="copied or pickled"):
            leak(run)


@pytest.mark.parametrize("numeric", [None, 2])
def test_error_statement_holds_and_is_not_lax(numeric: int | None) -> None:
    m, queries, runs = plain(answers=3, numeric=numeric), 30, 1500
    alpha = m.error("0.9", queries=queries)
    values = [-int(alpha + 1)] * (queries - 3) + [int(alpha + 1)] * 3
    rng, right = FixedRng(6), 0
    for _ in range(runs):
        out = m.sample((0, values), rng)
        flags = [a is not None and a is not False for a in out]
        good = all(flag == (v > 0) for flag, v in zip(flags, values, strict=False))
        if numeric is not None:
            good &= all(abs(a - v) <= alpha for a, v in zip(out, values, strict=False) if a is not None)
        right += good
    assert right >= runs * 0.9 - 5 * sqrt(runs * 0.09)
    assert right <= runs * 0.97  # and the statement is not much too careful


def test_error_by_hand_and_blockwise() -> None:
    # one query, nearly exact threshold: Pr[noise > α] = r^(α+1)/(1 + r) must be at most 0.05
    m = SparseVector(threshold_scale=Fraction(1, 60), query_scale=Fraction(3), answers=1)
    r = exp(-1 / 3)
    assert m.error("0.95", queries=1) == next(a for a in range(99) if r ** (a + 1) / (1 + r) <= 0.05)
    fine = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(3), answers=1, granularity=Fraction(1, 2**20))
    middle = SparseVector(threshold_scale=Fraction(2), query_scale=Fraction(3), answers=1, granularity=Fraction(1, 128))
    assert fine.error("0.99", queries=100) == pytest.approx(middle.error("0.99", queries=100), rel=0.005)


def test_error_grows_with_the_logarithm_of_the_queries() -> None:
    few, many = (plain().error("0.95", queries=k) for k in (100, 100_000_000))
    assert 3 * log(1e6) - 3 <= many - few <= 3 * log(1e6) + 3


def test_granularity_is_only_a_change_of_units() -> None:
    coarse, fine = (
        plain(),
        SparseVector(threshold_scale=Fraction(1, 2), query_scale=Fraction(3, 4), answers=1, granularity=Fraction(1, 4)),
    )
    a, b = coarse.pmf((1, (2, -3))), fine.pmf((0.25, (0.5, -0.75)))
    assert a == {k: pytest.approx(p, rel=1e-12) for k, p in b.items()}
    with pytest.raises(LatticeError):
        fine.start(0).ask(0.3)


def test_values_alone_are_compared_with_zero() -> None:
    m = plain()
    assert m.pmf([1, 2]) == m.pmf((0, [1, 2]))
    assert m.sample([1, 2, 3], FixedRng(7)) == m.sample((0, (1, 2, 3)), FixedRng(7))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"threshold_scale": 0}, "threshold_scale"),
        ({"query_scale": float("nan")}, "query_scale"),
        ({"query_scale": float("inf")}, "query_scale"),
        ({"answers": 0}, "answers"),
        ({"answers": 1.5}, "answers"),
        ({"numeric_scale": -1}, "numeric_scale"),
        ({"granularity": 0}, "granularity"),
        ({"monotone": "yes"}, "monotone"),
    ],
)
def test_bad_parameters_are_named(wrong: dict[str, Any], name: str) -> None:
    good: dict[str, Any] = {"threshold_scale": 1, "query_scale": 1, "answers": 1}
    with pytest.raises(InputError, match=name):
        SparseVector(**(good | wrong))


def test_refusals() -> None:
    with pytest.raises(SensitivityError):
        plain().loss()
    with pytest.raises(InputError, match="pure"):
        SparseVector.from_loss(Approx(1, 1e-6), sensitivity=1, answers=1)
    with pytest.raises(InputError, match="numeric_share"):
        SparseVector.from_loss(Pure(1), sensitivity=1, answers=1, numeric_share=1)
    with pytest.raises(InputError, match="confidence"):
        plain().error(1, queries=3)
    vector: Any = [1, 2]
    with pytest.raises(InputError, match="one number"):
        plain().start(0).ask(vector)
    with pytest.raises(InputError):
        plain().start(0).ask(float("nan"))
    with pytest.raises(InputError, match="list of query values"):
        plain().sample(3)
    with pytest.raises(LossError, match="too many outputs"):
        plain(answers=20).pmf((0, (0,) * 40))
    with pytest.raises(LossError, match="too many outputs"):
        plain(answers=2, numeric=50).pmf((0, (1, 2)))
