"""Canary exposure: ranks by hand, candidates against brute force, and a secret that only the private model keeps."""

from math import log2

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.attack.exposure import Alphabet, candidates, exposure, stage
from tacit.attack.population import chance
from tacit.attack.trained import Trained, classifier
from tacit.base import InputError


def test_exposure_by_hand() -> None:
    losses = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 6.0, 7.0, 8.0])
    assert [exposure(losses, at).rank for at in range(4)] == [4, 1, 3, 3]
    assert exposure(losses, 1).bits == 3
    assert exposure(losses, 7).bits == 0
    assert exposure(np.ones(8), 5).bits == 0, "a model that knows nothing gives nothing away"


def test_what_was_never_seen_has_an_exposure_of_chance() -> None:
    bits = [exposure(chance(1).random(1000), at).bits for at in range(1000)]
    assert np.mean(bits) == pytest.approx(log2(np.e), abs=0.01)
    assert np.mean(np.array(bits) >= 3) == 1 / 8


def test_text_becomes_examples() -> None:
    x, y = Alphabet("ab", 2).encode(["ab", "b"])
    assert y.tolist() == [[0, 1], [1, 2]]
    assert x[0].tolist() == [[0, 0, 0, 0], [0, 0, 1, 0]]  # nothing before "a"; before "b" nothing and "a"
    assert x.shape == (2, 2, 4)


@pytest.mark.parametrize("context", [1, 2, 4])
def test_candidates_are_what_the_network_loses_on_each(context: int) -> None:
    characters = Alphabet("0123456789 x", context)
    network = Trained(classifier(12 * context, 12, hidden=(5,), seed=3))
    found = candidates(network, characters, prefix="x ", places=3)
    for number in (0, 7, 123, 999):
        x, y = characters.encode([f"x {number:03d}"])
        assert found[number] == pytest.approx(network.losses(x, y)[0, 2:].sum())
    assert found.shape == (1000,)


def test_only_the_private_model_keeps_the_secret() -> None:
    outcome = stage(lines=150, secrets=((1, 3), (4, 1)), rng=FixedRng(2))
    exposed, kept = (outcome.facts["exposure"][way] for way in ("undefended", "private"))
    assert np.mean(exposed["1"]) > 10
    assert exposed["4"][0] > 15
    assert outcome.undefended.success >= 0.6
    assert max(kept["1"]) < 10
    assert outcome.defended.success == 0
    assert 0.99 < outcome.facts["epsilon"] <= 1
    most = outcome.facts["chance of 10 bits at most"]
    assert most["1"] < 0.003
    assert most["4"] > 5 * most["1"], "four lines are a group of four"
    quality = outcome.facts["bits a character"]
    assert quality["undefended"] < quality["private"] < log2(17), "the private model has learnt something"
    assert outcome.plot() is not None


def test_bad_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="a place in it"):
        exposure(np.ones(3), 3)
    with pytest.raises(InputError, match="NaN"):
        exposure(np.array([1.0, np.nan]), 0)
    with pytest.raises(InputError, match="1 characters of the text"):
        Alphabet("ab").encode(["abc"])
    with pytest.raises(InputError, match="no text"):
        Alphabet("ab").encode([""])
    with pytest.raises(InputError, match="ten digits"):
        candidates(Trained(classifier(8, 2)), Alphabet("ab"), prefix="a")
    with pytest.raises(InputError, match="in the text once"):
        stage(secrets=((4, 1),))
