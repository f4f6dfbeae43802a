"""Verbatim extraction: prompts and encodings by hand, and two models of which only one gives its secrets away."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.attack.extraction import ALPHABET, CONTEXT, NONE, TextModel, encode, prompted, stage
from tacit.attack.population import Array
from tacit.base import InputError

pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")


class Parrot:
    """Says the text it knows, by the two characters before."""

    def __init__(self, text: str) -> None:
        self.follows = {text[i : i + 2]: text[i + 2] for i in range(len(text) - 2)}

    def predict_proba(self, x: Array) -> Array:
        out = np.zeros((*x.shape[:-1], NONE))
        for place in np.ndindex(x.shape[:-1]):
            seen = "".join(ALPHABET[letter] for letter in x[place][-2:] if letter < NONE)
            out[(*place, ALPHABET.index(self.follows.get(seen, " ")))] = 1
        return out


def test_text_becomes_examples() -> None:
    x, y = encode(["ab", "c"])
    a, b, c = (ALPHABET.index(letter) for letter in "abc")
    assert y.tolist() == [[a, b], [c, NONE]]
    assert x.shape == (2, 2, CONTEXT)
    assert x[0, 0].tolist() == [NONE] * CONTEXT
    assert x[0, 1].tolist() == [NONE] * (CONTEXT - 1) + [a]


def test_a_prompt_is_continued_with_what_the_model_knows() -> None:
    model = TextModel(Parrot("bob code 1234."))  # type: ignore[arg-type]  # what the attack asks of a model
    assert model.continued("bob code ", 5) == "bob code 1234."
    assert prompted(model, ["bob code ", "zzz"], ["1234", "99"]) == ["1234", "  "]


def test_only_the_plain_model_writes_its_secrets() -> None:
    told: list[float] = []
    outcome = stage(lines=60, secrets=4, rng=FixedRng(4), progress=told.append)
    assert told == [0.5, 1]
    assert outcome.undefended.success >= 0.5
    assert outcome.defended.success == 0
    assert outcome.facts["written"]["undefended"][0] == outcome.facts["codes"][0]
    assert 1.99 < outcome.facts["epsilon"] <= 2
    assert 1e-4 < outcome.facts["chance of a code at most"] < 2e-3
    assert outcome.facts["bits a character"]["private"] < 4, "the private model has learnt something"
    assert outcome.plot() is not None


def test_bad_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="1 characters of the text"):
        encode(["Ä"])
    with pytest.raises(InputError, match="no text"):
        encode([""])
    with pytest.raises(InputError, match="between 1 and 16"):
        stage(secrets=17)
