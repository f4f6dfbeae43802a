"""What is special about noisy votes: who pays how much, ties, accuracy, and the bounds that depend on the votes."""

from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest
from scipy.special import logsumexp

from support.fixed_rng import FixedRng
from tacit.auditor.exact import exact
from tacit.base import InputError, LossError, Relation, Sensitivity
from tacit.loss import ZCDP, Approx, Pure
from tacit.loss.mu import lattice_mu_squared
from tacit.loss.pate import gnmax_given_votes
from tacit.mechanism import NoisyVote, mechanism_from_json, mechanism_to_json

REPLACE = Relation.REPLACE


def test_one_answer_costs_one_over_sigma_squared() -> None:
    vote = NoisyVote(sigma=40)
    square = 2 * lattice_mu_squared(Fraction(1600))
    assert vote.loss(unit="patient") == ZCDP(Fraction(1, 1600), mu_squared=square, unit="patient")
    assert vote.loss(3) == ZCDP(Fraction(9, 1600), mu_squared=9 * square)
    both = ZCDP(Fraction(4, 1600), mu_squared=4 * square, relation=REPLACE)
    assert vote.loss(relation=REPLACE) == both  # the old teacher and the new one
    assert vote.loss(1, relation=REPLACE) == ZCDP(Fraction(1, 1600), mu_squared=square, relation=REPLACE)
    assert (500 * vote.loss()).cost().rho == Fraction(500, 1600)
    for wrong in (0, Fraction(1, 2), Sensitivity(l2=1)):
        with pytest.raises(InputError, match="sensitivity"):
            vote.loss(wrong)


def test_how_it_is_stored() -> None:
    stored = {"name": "NoisyVote", "sigma": "40"}
    assert mechanism_to_json(NoisyVote(sigma=40)) == stored
    assert mechanism_from_json(stored) == NoisyVote(sigma=40)


@pytest.mark.parametrize("relation", [*Relation])
def test_noise_for_a_loss_spends_it(relation: Relation) -> None:
    for sensitivity in (None, 2):
        wanted = ZCDP("0.37", relation=relation)
        made = NoisyVote.from_loss(wanted, sensitivity=sensitivity).loss(sensitivity, relation=relation)
        assert wanted.rho * Fraction(999_999, 10**6) < made.rho <= wanted.rho
    wanted_at = Approx(2, "1e-6", relation=relation)
    found = NoisyVote.from_loss(wanted_at).loss(relation=relation).epsilon("1e-6").upper
    assert 1.999 < found <= 2 * (1 + 1e-9)
    for wrong in (Pure(1), ZCDP(0), ZCDP(1, delta="1e-6"), Approx(0, "1e-6")):
        with pytest.raises(InputError, match="ZCDP"):
            NoisyVote.from_loss(wrong)


@pytest.mark.parametrize("sigma", ["1/2", 1, "5/3"])
def test_no_moved_vote_tells_more_than_the_claim(sigma: int | str) -> None:
    vote = NoisyVote(sigma=Fraction(sigma))
    for votes in ([3, 3, 0], [4, 1, 2, 0], [2, 5]):
        for old, new in permutations(range(len(votes)), 2):
            if votes[old]:
                moved = [count + (i == new) - (i == old) for i, count in enumerate(votes)]
                p, q = vote.pmf(votes), vote.pmf(moved)
                left, right = (np.log([law[i] for i in range(len(votes))]) for law in (p, q))
                for order in (1.1, 2, 8, 64):
                    divergence = logsumexp(order * left + (1 - order) * right) / (order - 1)
                    assert divergence <= float(vote.loss().rho) * order
                assert exact(p, q).divergence(0.5) <= vote.loss().delta(0.5).upper


def test_equals_are_equally_likely_and_more_votes_never_hurt() -> None:
    vote = NoisyVote(sigma=Fraction(3))
    assert vote.pmf([5, 5, 5]) == pytest.approx(dict.fromkeys(range(3), 1 / 3), rel=1e-12)
    ahead = [vote.pmf([more, 4, 4])[0] for more in range(20)]
    assert ahead == sorted(ahead)
    assert NoisyVote(sigma=Fraction(1, 40)).sample([3, 9, 8], FixedRng(1)) == 1
    assert vote.pmf([10**15, 0])[0] == 1.0
    assert vote.sample([10**15, 0], FixedRng(1)) == 0


def test_the_winner_is_rarely_further_behind_than_the_error() -> None:
    vote = NoisyVote(sigma=Fraction(4))
    error = vote.error(0.9, classes=5)
    assert error == pytest.approx(8 * np.sqrt(np.log(40)))
    behind = int(error) + 1
    wins = vote.pmf([30, *[30 - behind] * 4])
    assert 1 - wins[0] < 0.1
    assert NoisyVote.from_error(error, classes=5, confidence=0.9).error(0.9, classes=5) == pytest.approx(error)
    assert NoisyVote.from_error(error, classes=5, confidence=0.9).sigma <= 4
    with pytest.raises(InputError, match="classes"):
        vote.error(classes=1)


def test_the_bound_on_a_loss_of_the_plurality_holds_on_the_lattice() -> None:
    """The q from which the costs that depend on the votes follow (`lattice=True`)."""
    for sigma in ("1/2", 2, 6):
        for votes in ([20, 5, 3], [9, 8], [40, 10, 10, 10]):
            q = sum(exp(-(((votes[0] - count) / (2 * Fraction(sigma))) ** 2)) for count in votes[1:])
            law = NoisyVote(sigma=Fraction(sigma)).pmf(votes)
            assert sum(law[i] for i in range(1, len(votes))) <= q
    dependent = gnmax_given_votes([200, 5, 5], 20, lattice=True).curve.at(4)
    assert dependent < NoisyVote(sigma=20).loss().rho * 4


@pytest.mark.parametrize("votes", [[], [3], [[1, 2], [3, 4]], [1.5, 2], [-1, 2], ["a", "b"], [2**61, 0], 7])
def test_what_is_no_count_of_votes_is_refused(votes: object) -> None:
    for look in (NoisyVote(sigma=1).sample, NoisyVote(sigma=1).pmf):
        with pytest.raises(InputError, match="votes"):
            look(votes)


def test_what_is_too_long_to_list_is_refused() -> None:
    with pytest.raises(LossError, match="classes"):
        NoisyVote(sigma=1).pmf([1] * 1001)
    with pytest.raises(LossError, match="too many terms"):
        NoisyVote(sigma=1000).pmf([1] * 300)
    with pytest.raises(InputError, match="sigma"):
        NoisyVote(sigma=0)
