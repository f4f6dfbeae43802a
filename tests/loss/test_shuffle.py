"""Shuffling: the pairs against exact sums, the theorems against listing all reports, references, monotonicity."""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb, exp, inf, log
from time import process_time

import mpmath
import numpy as np
import pytest

from tacit.base import InputError, LossError, Relation, RelationError
from tacit.loss import PLD, Approx, Pure
from tacit.loss.labels import MARGIN, Mirrored, ShuffledPart
from tacit.loss.part import Part, part_from_json
from tacit.loss.shuffle import (
    ShuffledClones,
    ShuffledLoss,
    ShuffledReports,
    ShuffledResponse,
    shuffled,
    shuffled_closed_form,
)

Channel = list[list[float]]


def positive_part(n: int, law: list[tuple[float, float]], lift: float) -> float:
    """(1/n)·E[(W₁ + … + W_n)+]·lift, term by term over multinomial counts, in 40 digits."""
    with mpmath.workdps(40):
        rest = 1 - sum(mpmath.mpf(q) for _, q in law)
        total = mpmath.mpf(0)
        for counts in product(range(n + 1), repeat=len(law)):
            left = n - sum(counts)
            value = sum(k * w for k, (w, _) in zip(counts, law, strict=True))
            if left < 0 or value <= 0:
                continue
            weight, free = rest**left if left else mpmath.mpf(1), n
            for k, (_, q) in zip(counts, law, strict=True):
                weight *= comb(free, k) * mpmath.mpf(q) ** k
                free -= k
            total += weight * value
        return float(total * lift / n)


def exact_delta(part: ShuffledPart, epsilon: float) -> float:
    n, p, gamma = int(part.reports), exp(part.epsilon), exp(epsilon)
    ends = [p - gamma, 1 - p * gamma]
    if isinstance(part, ShuffledResponse):
        r, k = 1 / (p + float(part.categories) - 1), float(part.categories)
        return positive_part(n, [(ends[0], r), (ends[1], r), (1 - gamma, (k - 2) * r)], 1.0)
    share = 1 / (2 * p) if isinstance(part, ShuffledClones) else 1 / (p + 1)
    return positive_part(n, [(w, share) for w in ends], 1 / ((p + 1) * share))


PARTS: list[ShuffledPart] = [
    kind(Fraction(e), Fraction(n))
    for kind in (ShuffledClones, ShuffledReports)
    for e in ("1/10", 1, 4)
    for n in (1, 2, 7, 12)
] + [ShuffledResponse(Fraction(e), Fraction(n), Fraction(k)) for e in (1, 3) for n in (1, 2, 9) for k in (2, 3, 50)]


def attained_delta(part: ShuffledPart, epsilon: float) -> float:
    """Of the multiset of k-ary reports itself when all others give one answer; elsewhere that of the pair."""
    if not isinstance(part, ShuffledResponse):
        return exact_delta(part, epsilon)
    n, p, gamma, k = int(part.reports), exp(part.epsilon), exp(epsilon), float(part.categories)
    r = 1 / (p + k - 1)
    if k == 2:
        laws = [[(p - gamma, r), (1 / p - gamma, p * r)], [(1 - gamma * p, r), (1 - gamma / p, p * r)]]
        return max(positive_part(n, law, 1.0) for law in laws)
    law = [(p - gamma, r), (1 - p * gamma, r), (1 - gamma, (k - 3) * r), ((1 - gamma) / p, p * r)]
    return positive_part(n, law, 1.0)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_delta_lies_between_what_is_attained_and_the_pair(part: ShuffledPart) -> None:
    for share in (0.0, 0.1, 0.5, 0.9):
        epsilon = share * float(part.epsilon)
        attained, exact, found = attained_delta(part, epsilon), exact_delta(part, epsilon), part.delta(epsilon)
        assert attained * (1 - 1e-6) - 1e-250 <= found.lower <= attained * (1 + 1e-13)
        assert exact * (1 - 1e-13) <= found.upper <= exact * (1 + 1e-6) + 1e-250


def test_what_a_shuffle_of_four_categories_gives_away_lies_in_the_interval() -> None:
    """Every multiset of three reports for every answers of the other two, listed."""
    part = ShuffledResponse(Fraction(2), Fraction(3), Fraction(4))
    p = exp(2)
    law = np.full((4, 4), 1.0) + np.eye(4) * (p - 1)
    law /= law.sum(axis=1)[:, None]

    def reports(answers: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        for told in product(range(4), repeat=3):
            key = tuple(sorted(told))
            found[key] = found.get(key, 0.0) + float(np.prod([law[a, t] for a, t in zip(answers, told, strict=True)]))
        return found

    for epsilon in (0.1, 0.7, 1.5):
        worst = 0.0
        for others in product(range(4), repeat=2):
            one, two = reports((0, *others)), reports((1, *others))
            worst = max(worst, sum(max(0.0, one[key] - exp(epsilon) * two[key]) for key in one))
        found = part.delta(epsilon)
        assert found.lower <= worst * (1 + 1e-12)
        assert worst <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_the_pair_for_composition_dominates(part: ShuffledPart) -> None:
    pair = part.pair()
    assert isinstance(pair, Mirrored)
    assert float(pair.p.sum()) == pytest.approx(1, abs=1e-8)
    for share in (-0.4, 0.0, 0.1, 0.5, 0.9):
        epsilon = share * float(part.epsilon)
        forward = exact_delta(part, abs(epsilon))
        exact = (
            forward if epsilon >= 0 else 1 - exp(epsilon) + exp(epsilon) * forward
        )  # δ of (P, Q) from that of (Q, P)
        found = float(np.dot(pair.p, np.maximum(0.0, -np.expm1(epsilon - pair.losses))))
        assert exact * (1 - 1e-12) <= found <= exact * 1.01 + 1e-9


def kary(k: int, p: float) -> Channel:
    return [[(p if x == y else 1.0) / (p + k - 1) for y in range(k)] for x in range(k)]


def subset(k: int, d: int, p: float) -> Channel:
    """Subset selection: outputs that two inputs share, where the first proof of the 2023 theorem failed."""
    subsets = list(combinations(range(k), d))
    total = p * comb(k - 1, d - 1) + comb(k - 1, d)
    return [[(p if x in s else 1.0) / total for s in subsets] for x in range(k)]


def random_channel(inputs: int, outputs: int, p: float, seed: int) -> Channel:
    """A random matrix mixed with its column means until its largest ratio is p."""
    raw = np.random.default_rng(seed).dirichlet(np.full(outputs, 0.5), inputs)
    low, high = 0.0, 1.0
    for _ in range(60):  # bisection for the share of the raw matrix
        middle = (low + high) / 2
        mixed = middle * raw + (1 - middle) * raw.mean(axis=0)
        low, high = (middle, high) if (mixed.max(axis=0) / mixed.min(axis=0)).max() <= p else (low, middle)
    mixed = low * raw + (1 - low) * raw.mean(axis=0)
    return [[float(v) for v in row] for row in mixed]


def histogram(channel: Channel, data: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The law of the counts of every output: all that a shuffle shows."""
    law: dict[tuple[int, ...], float] = {(0,) * len(channel[0]): 1.0}
    for x in data:
        after: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for counts, weight in law.items():
            for y, q in enumerate(channel[x]):
                after[(*counts[:y], counts[y] + 1, *counts[y + 1 :])] += weight * q
        law = dict(after)
    return law


def worst_delta(channel: Channel, n: int, epsilons: list[float]) -> list[float]:
    """The largest hockey-stick divergence over all neighbours."""
    worst = [0.0] * len(epsilons)
    inputs = range(len(channel))
    for others in combinations_with_replacement(inputs, n - 1):
        laws = [histogram(channel, (x, *others)) for x in inputs]
        for a, b in product(laws, laws):
            for i, e in enumerate(epsilons):
                worst[i] = max(worst[i], sum(max(0.0, q - exp(e) * b[key]) for key, q in a.items()))
    return worst


CHANNELS = (
    [(kary(k, exp(e)), e, k) for k, e in ((2, 1.0), (3, 1.0), (3, 3.0), (4, 0.3))]
    + [(subset(k, d, exp(e)), e, None) for k, d, e in ((3, 2, 1.0), (3, 2, 3.0), (4, 2, 2.0), (4, 3, 1.0))]
    + [(random_channel(3, 4, exp(e), seed), e, None) for e, seed in ((0.5, 1), (1.0, 2), (2.0, 3), (4.0, 4), (2.0, 5))]
)


@pytest.mark.parametrize(("channel", "local", "categories"), CHANNELS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_no_neighbours_exceed_the_bounds(channel: Channel, local: float, categories: int | None, n: int) -> None:
    epsilons = [share * local for share in (0.0, 0.05, 0.2, 0.5, 0.8)]
    worst = worst_delta(channel, n, epsilons)
    losses = [shuffled(local, reports=n), shuffled(local, reports=n, analysis="2021")]
    if categories is not None:
        losses.append(shuffled(local, reports=n, categories=categories))
    for loss in losses:
        for epsilon, delta in zip(epsilons, worst, strict=True):
            assert delta <= loss.delta(epsilon).upper * (1 + 1e-9) + 1e-15


def test_a_single_report_is_the_local_randomiser_itself() -> None:
    for k in (2, 3, 10):
        worst = worst_delta(kary(k, exp(1)), 1, [0.3])[0]
        assert shuffled(1, reports=1, categories=k).delta(0.3).upper == pytest.approx(worst, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("local", [0.3, 1.0, 3.0])
def test_the_two_label_law_is_the_worst_of_its_family(local: float, epsilon: float) -> None:
    """The step of the proof: with α < 1/(e^ε₀ + 1) of each label and V else, δ is smaller."""
    p, gamma, n = exp(local), exp(epsilon * local), 6
    deltas = []
    for alpha in np.linspace(0.05, 1, 8) / (p + 1):
        common = (1 - alpha * (1 + p)) / p
        law = [(p - gamma, alpha), (1 - p * gamma, alpha), (p * (1 - gamma), common)]
        deltas.append(positive_part(n, law, 1.0))
    assert deltas == sorted(deltas)
    assert deltas[-1] <= ShuffledReports(Fraction(local), Fraction(n)).delta(epsilon * local).upper * (1 + 1e-9)


@pytest.mark.parametrize(("analysis", "epsilon"), [("2021", 0.0530), ("2023", 0.0432)])
def test_reference_values(analysis: str, epsilon: float) -> None:
    found = shuffled(1, reports=10**4, analysis=analysis).epsilon(1e-6)  # type: ignore[arg-type]  # parametrised literal
    assert found.upper == pytest.approx(epsilon, rel=2e-3)
    assert found.lower == pytest.approx(found.upper, rel=1e-6)


def test_reference_of_the_2021_paper() -> None:
    """Their code prints 0.16753… to 0.17279… for these."""
    found = shuffled(4, reports=10**5, analysis="2021").epsilon(1e-6)
    assert 0.16753 < found.lower <= found.upper < 0.17279


def test_a_million_reports_in_two_seconds() -> None:
    started = process_time()
    for kind in (ShuffledClones, ShuffledReports):
        found = kind(Fraction(1), Fraction(10**6)).at(1e-6)
        assert found.upper < 0.0044
        assert found.upper - found.lower < 1e-5 * found.upper
    assert process_time() - started < 4


@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-30])
@pytest.mark.parametrize(
    "part",
    [ShuffledReports(Fraction(2), Fraction(500)), ShuffledResponse(Fraction(2), Fraction(200), Fraction(5))],
    ids=repr,
)
def test_epsilon_inverts_delta(part: ShuffledPart, delta: float) -> None:
    found = part.at(delta)
    assert part.delta(found.upper).lower <= delta
    assert found.upper <= found.lower * (1.1 if isinstance(part, ShuffledResponse) else 1.01)
    if found.lower > 0:
        assert delta <= part.delta(found.lower).upper * (1 + 1e-6)
    else:
        assert part.delta(0).upper <= delta


def test_closed_form() -> None:
    for local, n, delta in ((1, 10**4, 1e-6), (0.1, 10**3, 1e-3), (4, 10**6, 1e-8), (3, 10**5, 1e-6)):
        closed = shuffled_closed_form(local, reports=n, delta=delta)
        assert closed > shuffled(local, reports=n, analysis="2021").epsilon(delta).upper
    p, n = exp(1), 10**4
    inside = 8 * (p * log(4e6)) ** 0.5 / 100 + 8 * p / n
    assert shuffled_closed_form(1, reports=n, delta=1e-6) == pytest.approx(
        log(1 + (p - 1) / (p + 1) * inside), rel=1e-12
    )


@pytest.mark.parametrize(("local", "n", "delta"), [(1, 500, 1e-6), (6, 10**4, 1e-6), (0.001, 10, 0.5)])
def test_closed_form_is_refused_outside_its_domain(local: float, n: int, delta: float) -> None:
    assert local > log(n / (16 * log(2 / delta)))
    with pytest.raises(LossError, match="closed form"):
        shuffled_closed_form(local, reports=n, delta=delta)


def test_more_reports_hide_more() -> None:
    for categories in (None, 4):
        values = [
            shuffled(1, reports=n, categories=categories).epsilon(1e-5).upper for n in (1, 2, 10, 100, 1000, 10**4)
        ]
        assert values == sorted(values, reverse=True)
        assert values[0] == pytest.approx(1, abs=1e-4)


def test_more_local_noise_hides_more() -> None:
    for categories in (None, 4):
        values = [shuffled(e, reports=300, categories=categories).epsilon(1e-5).upper for e in (0.1, 0.5, 1, 2, 4)]
        assert values == sorted(values)
        assert values[-1] <= 4


def test_more_categories_hide_more() -> None:
    values = [shuffled(2, reports=300, categories=k).epsilon(1e-5).upper for k in (2, 3, 5, 20, 100)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(shuffled(2, reports=300).epsilon(1e-5).upper, rel=1e-9)


def test_the_stronger_analysis_is_stronger() -> None:
    for local, n in ((0.2, 50), (1, 1000), (5, 10**5)):
        assert (
            shuffled(local, reports=n).epsilon(1e-6).upper
            < shuffled(local, reports=n, analysis="2021").epsilon(1e-6).upper
        )


def test_more_than_a_billion_reports_count_as_a_billion() -> None:
    many, most = ShuffledReports(Fraction(1), Fraction(10**15)), ShuffledReports(Fraction(1), Fraction(10**9))
    assert many.delta(1e-4).upper == most.delta(1e-4).upper
    assert many.delta(1e-4).lower == 0


def test_composition() -> None:
    one = shuffled(1, reports=1000)
    single, pair = one.epsilon(1e-6), PLD.of(one.parts, relation=Relation.REPLACE).epsilon(1e-6)
    assert single.lower <= pair.upper <= single.upper * 1.001
    ten = 10 * one
    assert isinstance(ten, PLD)
    assert ten.parts == ((one.part, 10),)
    assert 2 * single.upper < ten.epsilon(1e-6).upper < 10 * single.upper
    both = one + Pure(1, relation=Relation.REPLACE)
    assert single.upper < both.epsilon(1e-6).upper <= single.upper + 1 + 1e-6


def test_local_guarantee_remains() -> None:
    loss = shuffled(1, reports=1000)
    assert loss.bound == 1
    assert loss.epsilon(0).upper == pytest.approx(1)
    assert loss.delta(1).upper == 0
    assert loss.delta(0.999999).upper < 1e-100


def test_renyi_of_the_pair() -> None:
    """Σ P^α Q^(1−α) over the counts, listed."""
    n, p = 8, exp(1)
    part, total, order = ShuffledReports(Fraction(1), Fraction(n)), 0.0, 3
    for c in range(n):
        for a in range(c + 2):
            b = c + 1 - a
            weight = (
                comb(n - 1, c)
                * (2 / (p + 1)) ** c
                * ((p - 1) / (p + 1)) ** (n - 1 - c)
                * comb(c + 1, a)
                * 0.5 ** (c + 1)
            )
            x, y = 2 * (p * a + b) / (p + 1) / (c + 1), 2 * (a + p * b) / (p + 1) / (c + 1)
            total += weight * x**order * y ** (1 - order)
    exact = log(total) / (order - 1)
    assert exact * (1 - 1e-12) <= part.renyi(order) <= exact * 1.001 + 2 * MARGIN
    assert part.renyi(inf) == 1


def test_json() -> None:
    for loss in (
        shuffled(1, reports=10),
        shuffled(1, reports=10, analysis="2021"),
        shuffled(1, reports=10, categories=3),
    ):
        part = loss.parts[0][0]
        assert isinstance(part, Part)
        assert part_from_json(part.json()) == part


def test_a_local_loss_is_accepted() -> None:
    local = Pure(Fraction(1, 2), relation=Relation.REPLACE, unit="person")
    loss = shuffled(local, reports=100)
    assert loss == ShuffledLoss(ShuffledReports(Fraction(1, 2), Fraction(100)), unit="person")
    assert (loss.relation, loss.unit) == (Relation.REPLACE, "person")


def test_refusals() -> None:
    with pytest.raises(RelationError, match="replace"):
        shuffled(Pure(1), reports=100)
    with pytest.raises(LossError, match="delta"):
        shuffled(Approx(1, 1e-6, relation=Relation.REPLACE), reports=100)
    with pytest.raises(RelationError):
        shuffled(1, reports=100) + Pure(1)
    with pytest.raises(LossError, match="groups"):
        shuffled(1, reports=100).grouped(2)
    for bad in (0, -1, 51, float("nan"), inf):
        with pytest.raises(InputError, match="local"):
            shuffled(bad, reports=100)
    for count in (0, -5, 1.5):
        with pytest.raises(InputError, match="reports"):
            shuffled(1, reports=count)  # type: ignore[arg-type]  # a wrong argument on purpose
    with pytest.raises(InputError, match="categories"):
        shuffled(1, reports=10, categories=1)
    with pytest.raises(InputError, match="analysis"):
        shuffled(1, reports=10, analysis="2022")  # type: ignore[arg-type]  # a wrong argument on purpose
    for delta in (0, 1, -0.1):
        with pytest.raises(InputError, match="delta"):
            shuffled_closed_form(1, reports=10**5, delta=delta)
