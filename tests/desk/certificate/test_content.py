"""Sentences say the numbers of the program, in the units of the answer."""

from fractions import Fraction
from typing import Any

import pytest

from tacit.base import Relation, Sensitivity
from tacit.desk.certificate.content import after_words, bound_words, neighbours_words, noise_words, variant_words
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, RandomizedResponse
from tacit.program import Program, Step, Task


def test_what_is_hidden() -> None:
    assert "whether any one patient is in the data" in neighbours_words(Relation.ADD_REMOVE, "patient")
    assert "how many there are is public" in neighbours_words(Relation.REPLACE, "patient")
    told = neighbours_words(Relation.REPLACE, "patient", ["state.total"])
    assert told.endswith("NOT protected, since it was released exactly: state.total")
    other = Relation.other("pufferfish", "whether somebody was ill")
    assert neighbours_words(other, "patient") == "whether somebody was ill"


@pytest.mark.parametrize(
    ("currency", "delta", "kind", "statement"),
    [
        ("epsilon", "0", "pure differential privacy", "ε = 0.5"),
        ("epsilon", "0.1", "approximate differential privacy", "ε = 0.5, δ = 0.1"),
        ("rho", "0", "zero-concentrated differential privacy", "ρ = 0.5"),
        ("rho", "0.1", "approximate zero-concentrated differential privacy", "ρ = 0.5, δ = 0.1"),
    ],
)
def test_variants(currency: str, delta: str, kind: str, statement: str) -> None:
    assert variant_words(currency, "0.5", delta) == (kind, statement)


def program(step: Step, *measures: dict[str, Any]) -> Program:
    recipes = [{"text": "SUM(x)", "inputs": ["m1"], "function": "sum", "low": None, "high": None, "whole": False,
                "name": "s"}]  # fmt: skip
    query = {"parts": [{"ranks": [], "measures": list(measures)}], "recipes": recipes} if measures else None
    return Program(steps=(step,), tables=("t",), unit="patient", query=query)


def test_noise_in_the_units_of_the_answer() -> None:
    laplace = Step(
        name="noise",
        mechanism=DiscreteLaplace(scale=Fraction(500)),
        sensitivity=Sensitivity(l1=Fraction(100)),
        task=Task(kind="noise", clip=0, measures=("m1",)),
    )
    sums = {"name": "m1", "kind": "sum", "value": '"x"', "step": "1/100", "high": 50}
    assert noise_words(program(laplace, sums), laplace, []) == (
        "discrete Laplace noise: scale 5 in the units of the values, for SUM(x)"
    )
    counts = {**sums, "value": None}
    assert "scale 10 rows" in noise_words(program(laplace, counts), laplace, [])
    assert "scale 10 patients" in noise_words(program(laplace, {**counts, "kind": "units"}), laplace, [])
    assert "scale 500 values" in noise_words(program(laplace, {**sums, "kind": "distinct", "low": 50}), laplace, [])
    assert noise_words(program(laplace), laplace, []) == ("discrete Laplace noise: scale 500 steps of what it is for")


def test_noise_in_units_of_a_bound_that_was_chosen() -> None:
    task = Task(kind="noise", clip=0, measures=("m1",), scaled=True)
    moved = Sensitivity(l2=Fraction(1))
    step = Step(name="noise", mechanism=DiscreteGaussian(sigma=Fraction(3)), sensitivity=moved, task=task)
    counts = {"name": "m1", "kind": "sum", "value": None, "step": "1", "high": 1024}
    clips = [{"measures": ["m1"], "bound": "2048"}]
    found = noise_words(program(step, counts), step, clips)
    assert found == "discrete Gaussian noise: standard deviation 6 rows, for SUM(x)"
    assert "3 steps of what it is for" in noise_words(program(step, counts), step, [])


def test_any_other_mechanism_is_named() -> None:
    step = Step(name="an answer", mechanism=RandomizedResponse.examples()[0].mechanism)
    assert noise_words(program(step), step, []) == "RandomizedResponse, with parameters as stated"


def test_bounds_and_their_origin() -> None:
    clip = {"measures": ["m1"], "norm": "l2", "bound": "20480", "rows": 20.0, "origin": "declared"}
    assert bound_words(clip, "patient").startswith("one patient counts for at most as much as 20 rows; declared")
    assert "l2 norm of 20480 steps" in bound_words({**clip, "rows": None}, "patient")
    assert "paid for" in bound_words({**clip, "origin": "chosen privately"}, "patient")
    assert "vouches" in bound_words({**clip, "origin": "none needed"}, "patient")


def test_after_the_noise() -> None:
    laplace = Step(
        name="noise on m1", mechanism=DiscreteLaplace(scale=Fraction(500)), sensitivity=Sensitivity(l1=Fraction(100))
    )
    made = program(laplace, {"name": "m1"})
    assert after_words(made, None)[0] == "SUM(x): a noisy sum"
    assert after_words(made, "SELECT 1")[-1].endswith("as the question says")
    assert len(after_words(program(laplace), None)) == 1
