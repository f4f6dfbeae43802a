"""Tracing: the fingerprinting identity by exact integrals, the bound that follows from it, and the test's power."""

from itertools import product
from math import comb, exp, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from tacit.attack.population import chance
from tacit.attack.tracing import RULES, fewest, needed, shared, stage, trace, traceable
from tacit.base import InputError


@pytest.mark.parametrize("seed", range(4))
def test_the_fingerprinting_identity(seed: int) -> None:
    """Whatever answers stand for the rows of n people, all scores together are (answer(all) − answer(none))/π."""
    people = 4
    answers = {rows: float(chance(seed).random(16)[i]) for i, rows in enumerate(product((0, 1), repeat=people))}

    def total(share: float) -> float:
        """E[Σ (x − p)(q − p)/√(p(1 − p))] at one share, listed over all rows."""
        return sum(
            share ** sum(rows)
            * (1 - share) ** (people - sum(rows))
            * float(trace(np.array(rows)[:, None], published=[answer], population=[share]).sum())
            for rows, answer in answers.items()
        )

    # with share = sin², the density 1/(π√(p(1 − p))) is even over the quarter turn
    found, _ = quad(lambda turn: total(float(np.sin(turn)) ** 2) * 2 / pi, 0, pi / 2)
    assert found == pytest.approx((answers[1, 1, 1, 1] - answers[0, 0, 0, 0]) / pi, abs=1e-9)


def test_an_outsider_scores_nothing_on_average_and_spreads_as_the_error() -> None:
    share, answer = 0.3, 0.45
    scores = [float(trace([[x]], published=[answer], population=[share])[0]) for x in (0, 1)]
    mean = (1 - share) * scores[0] + share * scores[1]
    assert mean == pytest.approx(0, abs=1e-15)
    assert (1 - share) * scores[0] ** 2 + share * scores[1] ** 2 == pytest.approx((answer - share) ** 2)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_bound_holds_for_randomised_response_and_for_tacit(epsilon: float) -> None:
    """Both have averages of a known error; neither may do with fewer people than the bound says."""
    for attributes in (1, 10, 1_000, 100_000):
        # randomised response at ε/d for each of d bits, with its least error against the population
        for people in (1, 3, 10, 100, 10_000):
            keep = 1 / (1 + exp(-epsilon / attributes))
            noise = keep * (1 - keep) / (2 * keep - 1) ** 2
            error = sqrt((noise + 1 / 8) / people)
            if error < 0.5:
                assert people >= fewest(attributes, epsilon=epsilon, error=error)
        assert needed(attributes, epsilon=epsilon, pure=True) > fewest(attributes, epsilon=epsilon)
        if attributes <= 1_000:
            assert needed(attributes, epsilon=epsilon) > fewest(attributes, epsilon=epsilon, delta=1e-6)


def test_the_bound_grows_by_the_root_of_the_attributes_and_as_one_over_error_and_epsilon() -> None:
    assert fewest(400, epsilon=1) == pytest.approx(2 * fewest(100, epsilon=1))
    assert fewest(100, epsilon=0.001) == pytest.approx(10 * fewest(100, epsilon=0.01), rel=1e-4)
    assert fewest(100, epsilon=1, error=0.01) == pytest.approx(10 * 0.98 / 0.8 * fewest(100, epsilon=1, error=0.1))
    assert fewest(100, epsilon=1, delta=1e-4) < fewest(100, epsilon=1)
    with pytest.raises(InputError, match="between 0 and 1/2"):
        fewest(10, epsilon=1, error=0.5)


def test_what_tacit_needs_has_the_error() -> None:
    people = round(needed(100, epsilon=1, pure=True))
    # two thirds of the squared error is that of Laplace noise of scale 100, by its variance 2·100² less a twelfth or so
    assert (1 / 8) / people + 2 * 100**2 / people**2 == pytest.approx(0.01, rel=1e-3)


def test_shares_have_their_density() -> None:
    drawn = shared(200_000, chance(1))
    assert float((drawn * (1 - drawn)).mean()) == pytest.approx(1 / 8, abs=1e-3)
    assert float(np.sqrt(drawn * (1 - drawn)).mean()) == pytest.approx(1 / pi, abs=1e-3)


def test_rules_by_hand() -> None:
    sums, dice = np.array([0, 1, 2, 3, 4]), chance(1)
    assert RULES["the majority alone"](sums, 4, dice).tolist() == [0, 0, 0.5, 1, 1]
    assert RULES["rounded to a tenth"](sums, 4, dice).tolist() == [0, 0.2, 0.5, 0.8, 1]
    assert sum(comb(4, k) for k in range(5)) == 16


def test_the_stage() -> None:
    outcome = stage(people=25, attributes=800)
    assert outcome.undefended.success > 0.8
    assert outcome.defended.success < 0.2
    found = outcome.facts["found"]
    assert all(line[0] > 0.9 for name, line in found.items() if not name.startswith("tacit"))
    below, traced, ours, pure = outcome.facts["people needed"].values()
    assert all(a < b < c < d for a, b, c, d in zip(below, traced, ours, pure, strict=True))
    assert all(right < 1 / (1 + exp(-1)) for right in outcome.facts["count at 1/n"].values())
    assert traceable(100, epsilon=4) == float("inf")
    assert outcome.plot().to_dict()["hconcat"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rows": [0, 1]}, "a matrix of 0 and 1"),
        ({"rows": [[0, 2]]}, "a matrix of 0 and 1"),
        ({"published": [0.5]}, "2 finite numbers"),
        ({"published": [0.5, float("nan")]}, "2 finite numbers"),
        ({"population": [0.5, 1.0]}, "strictly between"),
    ],
)
def test_wrong_inputs_are_named(change: dict[str, object], said: str) -> None:
    given: dict[str, object] = {"rows": [[0, 1]], "published": [0.5, 0.5], "population": [0.5, 0.5], **change}
    with pytest.raises(InputError, match=said):
        trace(given.pop("rows"), **given)
