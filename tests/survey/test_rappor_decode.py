"""Candidates behind RAPPOR's bits: those that are there, with their shares; those that are not, not."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.survey.protocol import Array
from tacit.survey.rappor import Rappor, _lasso, decode

CANDIDATES = [f"site{i}.org" for i in range(60)]
SHARES = [0.4, 0.25, 0.15]
PROTOCOL = Rappor(bits=64, cohorts=16)


def crowd(size: int, seed: int) -> Array:
    """Three candidates have most of the respondents; a fifth have texts that are no candidates."""
    pick = np.random.default_rng(seed)
    which = pick.choice(4, size, p=[*SHARES, 1 - sum(SHARES)])
    others = np.array([f"other{i}" for i in range(50)])[pick.integers(0, 50, size)]
    return np.where(which < 3, np.array([*CANDIDATES[:3], ""])[which], others)


def test_what_is_there_is_found_with_its_share() -> None:
    tally = PROTOCOL.tally(PROTOCOL.sample(crowd(20_000, 1), FixedRng(1)))
    found = decode(PROTOCOL, tally, CANDIDATES, risk=1e-4, confidence=0.9999)
    assert [one.text for one in found] == CANDIDATES[:3]
    for one, share in zip(found, SHARES, strict=True):
        assert one.lower <= share <= one.upper
        assert one.standard_error < 0.03


def test_what_is_not_there_is_not_found() -> None:
    tally = PROTOCOL.tally(PROTOCOL.sample(crowd(20_000, 2), FixedRng(2)))
    assert decode(PROTOCOL, tally, CANDIDATES[10:]) == []


def test_shares_are_not_shrunk_and_intervals_hold() -> None:
    """The lasso chooses; what it chose is estimated without its penalty."""
    errors, held, false = [], 0, 0
    for seed in range(60):
        tally = PROTOCOL.tally(PROTOCOL.sample(crowd(4_000, seed), FixedRng(seed)))
        found = {one.text: one for one in decode(PROTOCOL, tally, CANDIDATES)}
        false += bool(set(found) - set(CANDIDATES[:3]))
        one = found[CANDIDATES[0]]
        errors.append((one.share - SHARES[0]) / one.standard_error)
        held += one.lower <= SHARES[0] <= one.upper
    assert abs(np.mean(errors)) < 5 / 60**0.5
    assert 0.7 < np.std(errors) < 1.3
    assert held >= 50, "of 60 at 95 %"
    assert false <= 9, "of 60 at 5 %"


def test_the_penalty_keeps_noise_out() -> None:
    """More candidates than cells: without a penalty the fit would take up many of them."""
    pick = np.random.default_rng(4)
    design = np.append(pick.random((120, 200)) < 0.2, np.full((120, 1), 0.2), axis=1).astype(float)
    noise = 0.01 * pick.standard_normal(120)
    taken = _lasso(design, 0.2 + noise, 0.01, 200)
    assert np.count_nonzero(taken[:-1]) <= 3
    assert taken[-1] == pytest.approx(1, abs=0.05)
    seen = 0.5 * design[:, 7] + 0.3 * design[:, 11] + 0.2 * 0.2 + noise
    assert {7, 11} <= set(np.flatnonzero(_lasso(design, seen, 0.01, 200) > 0.1)) <= {7, 11, 200}
    free = _lasso(design, 0.2 + noise, 0.0, 200)
    assert np.count_nonzero(free[:-1] > 0) > 10, "the check is not empty"


def test_candidates_must_be_texts_each_once() -> None:
    tally = PROTOCOL.tally(PROTOCOL.sample(crowd(500, 1), FixedRng(1)))
    for wrong in ([], ["a", "a"], [""]):
        with pytest.raises(InputError):
            decode(PROTOCOL, tally, wrong)
