"""A plan is a loss before it is a run: sigma keeps to epsilon, and nothing of it follows from the data."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.base import InputError, Relation, Sensitivity
from tacit.learn import AdaptiveClip, ArrayRows, Correlated, Training
from tacit.learn.noise import ENOUGH
from tacit.learn.rounding import SLACK
from tacit.mechanism import Gaussian
from tacit.noise.normal import DISTANCE
from tacit.program import Program, Step, step_from_json

DATA = (np.zeros((10, 3), dtype=np.float32), np.zeros(10, dtype=np.float32))


def plan(**changes: Any) -> Training:
    settings: dict[str, Any] = {"rows": DATA, "batch": 64, "population": 6400, "steps": 500, "delta": 1e-5}
    return Training(**(settings | {"epsilon": 2} | changes))


def test_sigma_is_the_least_that_keeps_to_epsilon() -> None:
    found = plan()
    assert found.loss.epsilon(1e-5).lower > 1.99
    assert found.loss.epsilon(1e-5) <= 2
    sigma = Fraction(found.sigma_in_clips)
    assert plan(sigma=sigma * Fraction(95, 100), epsilon=None).loss.epsilon(1e-5) > 2.05


def test_its_loss_is_that_of_the_textbook_up_to_rounding() -> None:
    found = plan(parameters=1000)
    plain = 500 * Gaussian(sigma=found.sigma_in_clips).loss(1).sampled(Fraction(1, 100))
    ours, theirs = float(found.loss.epsilon(1e-5)), float(plain.epsilon(1e-5))
    assert theirs < ours < theirs * 1.015
    assert found.loss.relation is Relation.ADD_REMOVE


@pytest.mark.parametrize("given", ["sigma", "epsilon"])
def test_the_distance_of_fast_noise_is_in_every_price(given: str) -> None:
    """A law that is off by 1e-26 in each of 1e6 numbers of 500 steps, and as much for how they are rounded: of the
    loss, the program and its stored form."""
    found = plan(parameters=10**6, **({"sigma": 2, "epsilon": None} if given == "sigma" else {"epsilon": "0.5"}))
    exact = replace(found, form="exact", sigma=found.sigma, epsilon=None)
    slack = 2 * 500 * 10**6 * DISTANCE
    (step,) = found.program().steps
    assert isinstance(step, Step)
    assert step.slack == slack
    losses: list[Any] = [found.loss, found.program().loss, Program.from_json(found.program().json()).loss, exact.loss]
    assert [each.slack for each in losses] == [slack, slack, slack, 0]
    assert found.loss.delta(12, accuracy=0.1).upper >= float(slack)


def test_a_sample_takes_nothing_from_a_slack() -> None:
    """Noise that is not of its law betrays as much in a step that a unit is not in."""
    step = Step(name="s", mechanism=Gaussian(sigma=1), sensitivity=Sensitivity(l2=1), times=3, rate=Fraction(1, 9))
    more = replace(step, slack=Fraction(1, 10**6))
    plain, found = (each.loss(relation=Relation.ADD_REMOVE, unit="row") for each in (step, more))
    assert float(found.delta(1).upper) == pytest.approx(float(plain.delta(1).upper) + 1e-6 * (1 - 0.01), rel=1e-2)
    assert found.delta(30).upper == pytest.approx(1e-6, rel=1e-6)
    assert "slack" not in step.json()
    assert step_from_json(more.json()) == more


@pytest.mark.parametrize("given", [{"sigma": 1, "epsilon": None}, {}])
def test_fast_noise_that_weighs_beside_delta_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="form='exact'"):
        plan(delta="1e-16", parameters=10**6, **given)


def test_rounding_of_many_parameters_is_in_the_price() -> None:
    for parameters in (10, 2**19, 2**22, 2**30):
        found = plan(sigma=2, epsilon=None, parameters=parameters)
        (step,) = found.program().steps
        assert isinstance(step, Step)
        assert step.sensitivity is not None
        assert found.reach < step.sensitivity.require("l2") < found.reach * (1 + ENOUGH)


def test_the_program_is_one_step_and_can_be_read_again() -> None:
    found = plan(name="my model")
    program = found.program(unit="person", model={"weight": [3, 2]})
    (step,) = program.steps
    assert isinstance(step, Step)
    assert (step.times, step.rate, step.name) == (500, Fraction(1, 100), "my model")
    assert step.task is not None
    assert step.task.kind == "train"
    again = Program.from_json(program.json())
    assert again == program
    assert float(again.loss.epsilon(1e-5)) == float(program.loss.epsilon(1e-5))
    assert program.cost.epsilon is not None
    assert program.cost.epsilon <= 2


def test_the_rate_is_declared_and_never_read_from_the_rows() -> None:
    with pytest.raises(InputError, match="population"):
        plan(population=None)
    short, long = (plan(rows=tuple(np.zeros((n, 2), dtype=np.float32) for _ in range(2))) for n in (3, 3000))
    assert (short.rate, short.sigma) == (long.rate, long.sigma)
    assert short.program() == long.program()
    assert plan(population=None, rate="0.01").rate == Fraction(1, 100)
    with pytest.raises(InputError, match="larger than the population"):
        plan(population=10)


@pytest.mark.parametrize(
    "form", [{}, {"adaptive": AdaptiveClip()}, {"adaptive": AdaptiveClip(share=2)}], ids=["plain", "quarter", "two"]
)
def test_replacing_a_unit_moves_twice_as_far(form: dict[str, Any]) -> None:
    """All of its vector, the count of the adaptive clip with it: one that was shorter may be replaced by one that was
    not."""
    one, two = (plan(population=64, steps=5, relation=each, **form).reach for each in ("add_remove", "replace"))
    assert two == 2 * one
    share = form["adaptive"].share if form else 0
    assert two**2 >= 4 * (1 + share**2)


def test_an_adaptive_clip_has_its_price_in_the_plan() -> None:
    """The count is a quarter of a clip long, so at the same price the noise has to be √(1 + 1/16) as large."""
    plain, adaptive = plan(), plan(adaptive=AdaptiveClip())
    ratio = float(adaptive.sigma_in_clips / plain.sigma_in_clips)
    assert ratio == pytest.approx((1 + 1 / 16) ** 0.5, rel=2e-3)


def test_correlated_noise_is_one_gaussian() -> None:
    form = Correlated.banded(steps=64, bands=8, separation=16)
    found = plan(steps=64, correlated=form, population=None)
    (step,) = found.program().steps
    assert isinstance(step, Step)
    assert (step.times, step.rate) == (1, None)
    sensitivity = float(form.sensitivity(64))
    mu = sensitivity * float(1 + SLACK) / float(found.sigma_in_clips)
    plain = Gaussian(sigma=1).loss(mu)
    assert float(found.loss.epsilon(1e-5)) == pytest.approx(float(plain.epsilon(1e-5)), rel=0.01)


def test_amplified_bands_pay_for_each_turn() -> None:
    form = Correlated.banded(steps=64, bands=8, amplified=True)
    found = plan(steps=64, correlated=form)
    (step,) = found.program().steps
    assert isinstance(step, Step)
    assert (step.times, step.rate) == (8, Fraction(8, 100))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": None}, "give epsilon"),
        ({"epsilon": 2, "sigma": "0.3"}, "too small for this epsilon"),
        ({"batch": 0}, "batch"),
        ({"steps": 0}, "steps"),
        ({"delta": 0}, "delta"),
        ({"clip": -1}, "clip"),
        ({"form": "quick"}, "fast"),
        ({"batch": 2, "population": 2, "epsilon": "0.001"}, "nothing would be learned"),
        ({"rows": "points"}, "TableRows"),
        ({"rows": 7}, "rows must be"),
        ({"correlated": Correlated.banded(steps=64, bands=4), "rate": 1}, "leave rate out"),
    ],
)
def test_what_is_wrong_with_a_plan_is_told(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan(**changes)


def test_labels_are_not_counted_from_the_data() -> None:
    with pytest.raises(InputError, match="classes"):
        ArrayRows(DATA[0], np.zeros(10, dtype=np.int64))


def test_a_plan_can_be_changed() -> None:
    found = plan()
    assert replace(found, name="other").sigma == found.sigma
    assert replace(found, name="other").program() != found.program()


def test_the_price_so_far_grows_to_the_price() -> None:
    found = plan()
    spent = [found.epsilon_after(steps) for steps in (0, 1, 250, 500, 501)]
    assert spent[0] == 0
    assert spent[0] < spent[1] < spent[2] < spent[3] == spent[4]
    assert spent[3] == pytest.approx(2, rel=2e-3)
