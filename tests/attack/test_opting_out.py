"""What ε does not promise: exact chances by listing every case, and the stage plays what they say."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from tacit.attack.opting_out import FairQuestion, all_or_none, dalenius, private, stage
from tacit.base import InputError
from tacit.mechanism import DiscreteLaplace


def test_dalenius_wish_fails_by_as_much_as_the_release_is_useful() -> None:
    """By a listing of its own: secret, world, what is released; with tacit's own law of the noise."""
    counts = {0: [0.5, 0.4, 0.1], 1: [0.1, 0.3, 0.6]}
    for scale in (None, Fraction(1, 2), Fraction(3)):
        laws = tuple(
            np.array(law) if scale is None else private(np.array(law), scale) for law in (counts[0], counts[1])
        )
        seen: dict[tuple[int, int], list[float]] = {}
        for secret, world in product((0, 1), repeat=2):
            for released, chance in enumerate(laws[world]):
                seen.setdefault((secret ^ world, released), [0.0, 0.0])[secret] += chance / 4
        found = dalenius((laws[0], laws[1]))
        assert found.both == pytest.approx(sum(max(pair) for pair in seen.values()), abs=1e-12)
        assert found.both == pytest.approx((1 + np.abs(laws[0] - laws[1]).sum() / 2) / 2, abs=1e-12)
        assert [found.riddle, found.release] == pytest.approx([0.5, 0.5])


def test_a_useless_release_keeps_the_wish() -> None:
    same = np.array([0.2, 0.8])
    assert dalenius((same, same)).both == pytest.approx(0.5)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_one_record_is_at_the_limit_and_k_of_them_at_theirs(epsilon: str) -> None:
    one = Fraction(epsilon)
    own = FairQuestion("", all_or_none(1), 1 / one)
    assert own.best == 1
    assert own.best_private == pytest.approx(1 / (1 + exp(-one)), abs=1e-12)
    assert own.best_private < FairQuestion("", all_or_none(3), 1 / one).best_private < 1 / (1 + exp(-3 * one))
    assert FairQuestion("", all_or_none(3), 3 / one).best_private < own.best_private


def test_noise_has_the_law_that_the_mechanism_lists() -> None:
    scale = Fraction(2)
    listed = DiscreteLaplace(scale=scale).pmf(0)
    law = private(np.array([1.0]), scale)
    reach = len(law) // 2
    for noise in (-5, 0, 1, 7):
        assert law[reach + noise] == pytest.approx(listed[noise], rel=1e-9)


def test_what_is_played_is_what_is_reckoned() -> None:
    laws = binom.pmf(np.arange(21), 20, 0.3), binom.pmf(np.arange(21), 20, 0.5)
    question = FairQuestion("", laws, Fraction(2))
    for noisy, expected in ((False, question.best), (True, question.best_private)):
        assert question.played(20_000, 1, noisy=noisy).mean() == pytest.approx(expected, abs=0.015)


def test_the_stage() -> None:
    outcome = stage(rounds=2_000)
    exact = outcome.facts["exact"]
    assert abs(exact["in"]["tacit"] - exact["out"]["tacit"]) < 1e-3, "her taking part hardly matters"
    assert min(outcome.undefended.success, outcome.defended.success) > 0.94, "and yet it is about her"
    assert exact["own"]["tacit"] == pytest.approx(1 / (1 + exp(-1)))
    assert exact["family"]["tacit"] > 0.85
    assert exact["month"]["tacit"] > 0.999
    assert max(outcome.facts["unit"].values()) < exact["own"]["tacit"]
    assert outcome.plot().to_dict()["layer"]


@pytest.mark.parametrize("wrong", [{"smokers": 1}, {"rounds": 0}, {"epsilon": 0.0}, {"epsilon": 100.0}])
def test_wrong_sizes_are_named(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        stage(**wrong)  # type: ignore[arg-type]  # wrong on purpose
