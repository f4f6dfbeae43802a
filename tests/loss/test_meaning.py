"""What a guarantee means: bounds that are bounds, and words that say so."""

import json
import warnings
from math import exp, inf

import pytest
from scipy.stats import norm

from tacit.base import InputError, PrivacyWarning, Relation
from tacit.loss import GDP, ZCDP, Approx, Pure
from tacit.loss.meaning import explain, power


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_pure_guarantee_is_bayes_rule(epsilon: float) -> None:
    found = explain(Pure(epsilon), prior=0.2, delta=0)
    assert found.odds == pytest.approx(exp(epsilon))
    assert found.posterior[1] == pytest.approx(0.2 * exp(epsilon) / (0.2 * exp(epsilon) + 0.8))
    assert found.posterior[0] == pytest.approx(0.2 * exp(-epsilon) / (0.2 * exp(-epsilon) + 0.8))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 12.0])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.6])
def test_power_against_randomised_response_is_exact(epsilon: float, alpha: float) -> None:
    best = min(1, exp(epsilon) * alpha, 1 - exp(-epsilon) * (1 - alpha))
    assert best <= power(Pure(epsilon), alpha) <= best * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.1, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.6])
def test_power_against_gaussian_noise_is_that_of_the_best_test(mu: float, alpha: float) -> None:
    best = float(norm.sf(norm.isf(alpha) - mu))
    assert best <= power(GDP(mu), alpha) <= best * 1.001


def test_power_of_a_mixture_lies_between_its_parts_and_one() -> None:
    mixture = GDP(1) + Pure(1)
    assert power(GDP(1), 0.1) < power(mixture, 0.1) < 1
    assert power(ZCDP(0.5), 0.1) >= power(GDP(1), 0.1)


def test_a_leak_is_counted() -> None:
    assert power(Approx(0, 0.05), 0.1) == pytest.approx(0.15)


def test_strength_is_a_heuristic_and_says_so() -> None:
    found = [explain(Pure(e)).strength for e in (0.5, 1, 1.01, 2, 2.01, 5, 5.01, 10)]
    assert found == ["strong", "strong", "moderate", "moderate", "weak", "weak", "very weak", "very weak"]
    assert "heuristic, not a theorem" in str(explain(Pure(1)))


def test_the_sentence() -> None:
    assert explain(Pure(1)).sentence == (
        "Someone who thought it 50 % likely that one particular row was in the data will, after seeing this release, "
        "think it at least 26 % and at most 74 % likely."
    )
    loss = Approx(1, 1e-6, relation=Relation.REPLACE, unit="user")
    assert explain(loss, prior=0.01).sentence == (
        "Someone who thought it 1 % likely that one particular user says one thing rather than another will, after "
        "seeing this release, think it at least 0.37 % and at most 2.7 % likely, except with a chance of one in "
        "1,000,000."
    )


def test_no_guarantee_is_said_plainly() -> None:
    found = explain(GDP(1), delta=0)
    assert found.epsilon == inf
    assert found.posterior == (0, 1)
    assert "certain" in found.sentence
    assert json.loads(json.dumps(found.json(), allow_nan=False))["epsilon"] is None


def test_shown_numbers_are_rounded_against_us() -> None:
    for epsilon in (0.01, 0.5, 2.0, 6.0, 15.0):
        found = explain(Pure(epsilon))
        low, high = (
            float(word) for word in found.sentence.replace("%", "").split() if word[0].isdigit() and word != "50"
        )
        assert low <= 100 * found.posterior[0]
        assert high >= 100 * found.posterior[1] * (1 - 1e-9)


def test_a_delta_as_large_as_one_in_the_population_is_warned_about() -> None:
    with pytest.warns(PrivacyWarning, match="far below"):
        explain(GDP(1), delta=1e-3, population=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explain(GDP(1), delta=1e-6, population=1000)


def test_json_holds_every_number() -> None:
    found = explain(GDP(1)).json()
    assert found["membership_power"][0]["false_positives"] == 0.01
    assert found["membership_power"][1]["at_most"] == pytest.approx(0.3892, abs=1e-3)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize("arguments", [{"prior": 0}, {"prior": 1}, {"delta": 1}, {"delta": -1}, {"population": 0}])
def test_bad_arguments(arguments: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(arguments))):
        explain(Pure(1), **arguments)
