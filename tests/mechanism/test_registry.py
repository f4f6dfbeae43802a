"""A stored mechanism comes back as the same mechanism, or not at all."""

import json
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from tacit.base import InputError, Lattice, Number, Relation, Sensitivity, TacitError
from tacit.loss import Loss, Pure
from tacit.mechanism import (
    MECHANISMS,
    BoundedMean,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    NoisyMax,
    ProposeTestRelease,
    Quantiles,
    SparseVector,
    mechanism_from_json,
    mechanism_to_json,
    registry,
)
from tacit.noise import Rng

MEAN = BoundedMean(lower=Fraction(0), upper=Fraction(2), sum_noise=Laplace(scale=Fraction(3)), n=5)
MODE = ProposeTestRelease(
    statistic="mode",
    test_scale=Fraction(1),
    delta=Fraction(1, 1000),
    categories=("a", 0, True),
    relation=Relation.ADD_REMOVE,
)


def mutated(mechanism: Mechanism, **change: Any) -> dict[str, Any]:
    return {**mechanism_to_json(mechanism), **change}


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_every_example_of_every_mechanism_round_trips(kind: type[Mechanism]) -> None:
    examples = [example.mechanism for example in kind.examples()]
    assert examples
    for mechanism in examples:
        back = mechanism_from_json(json.loads(json.dumps(mechanism_to_json(mechanism))))
        assert back == mechanism
        assert type(back) is type(mechanism)


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_no_mechanism_can_be_read_with_a_field_left_out_or_a_float(kind: type[Mechanism]) -> None:
    stored = mechanism_to_json(kind.examples()[0].mechanism)
    named: Any = kind
    assert set(stored) == {"name", *(field.name for field in fields(named) if not field.metadata)}
    for name in stored:
        with pytest.raises(InputError, match=name):
            mechanism_from_json({key: value for key, value in stored.items() if key != name})
        with pytest.raises(InputError, match=name):
            mechanism_from_json({**stored, name: 1.0})


def test_how_it_is_stored() -> None:
    noise = {"name": "Laplace", "scale": "3", "granularity": "1/524288"}
    stored = {"name": "BoundedMean", "lower": "0", "upper": "2", "sum_noise": noise, "count_noise": None, "n": 5}
    assert mechanism_to_json(MEAN) == stored


def test_what_examples_do_not_hold() -> None:
    both = BoundedMean(
        lower=Fraction(-1, 3),
        upper=Fraction(2),
        sum_noise=Gaussian(sigma=Fraction(7, 3)),
        count_noise=DiscreteLaplace(scale=Fraction(1, 2)),
    )
    numeric = SparseVector(
        threshold_scale=Fraction(3), query_scale=Fraction(5), answers=2, numeric_scale=Fraction(1, 9)
    )
    for mechanism in (both, numeric, MODE):
        assert mechanism_from_json(json.loads(json.dumps(mechanism_to_json(mechanism)))) == mechanism
    back = mechanism_from_json(mechanism_to_json(MODE))
    assert isinstance(back, ProposeTestRelease)
    assert [type(category) for category in back.categories] == [str, int, bool]
    assert back.relation is Relation.ADD_REMOVE


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "a stored mechanism must be an object"),
        (["Laplace"], "a stored mechanism must be an object"),
        ({"scale": "1"}, "one of Laplace, .* this one's is None"),
        ({"name": "Lapllace", "scale": "1"}, "one of Laplace, .* this one's is 'Lapllace'"),
        ({"name": ["Laplace"]}, "one of Laplace"),
        ({"name": "Mechanism"}, "one of Laplace"),
        ({"name": "DiscreteLaplace", "scale": "1", "granularity": "1"}, "DiscreteLaplace has unknown 'granularity'"),
        ({"name": "DiscreteLaplace", "scale": 1}, "DiscreteLaplace.scale must be stored as an exact fraction"),
        ({"name": "DiscreteLaplace", "scale": "2/4"}, r"DiscreteLaplace.scale .* lowest terms, as '1/2'"),
        ({"name": "DiscreteLaplace", "scale": None}, "DiscreteLaplace.scale"),
        ({"name": "DiscreteLaplace", "scale": "-1"}, "scale must be greater than 0"),
        ({"name": "Laplace", "scale": "1", "granularity": None}, "Laplace leaves open"),
        (mutated(MEAN, n="5"), "BoundedMean.n must be stored as a whole number or nothing, not as '5'"),
        (mutated(MEAN, n=True), "BoundedMean.n"),
        (mutated(MEAN, n=5.0), "BoundedMean.n"),
        (mutated(MEAN, n=[10**5000]), "BoundedMean.n .* not as list too long to show"),
        (mutated(MEAN, sum_noise=None), "BoundedMean.sum_noise must be an object whose name is one of Laplace"),
        (mutated(MEAN, sum_noise="Laplace"), "BoundedMean.sum_noise"),
        (mutated(MEAN, sum_noise=mechanism_to_json(MEAN)), "BoundedMean.sum_noise .* this one's is 'BoundedMean'"),
        (mutated(MEAN, sum_noise={"name": "Laplace", "scale": "1"}), "Laplace lacks granularity"),
        (mutated(NoisyMax(scale=Fraction(1)), noise="gumbel"), "NoisyMax.noise .*'laplace' or 'exponential'"),
        (mutated(NoisyMax(scale=Fraction(1)), noise=["laplace"]), "NoisyMax.noise"),
        (mutated(NoisyMax(scale=Fraction(1)), monotone=0), "NoisyMax.monotone must be stored as true or false"),
        (mutated(MODE, relation="swap"), "ProposeTestRelease.relation .*'add_remove' or 'replace', not as 'swap'"),
        (mutated(MODE, categories="ab"), "ProposeTestRelease.categories must be stored as a list"),
        (mutated(MODE, categories=["a", 0.5]), r"ProposeTestRelease.categories\[1\]"),
        (mutated(MODE, categories=["a", ["b"]]), r"ProposeTestRelease.categories\[1\]"),
        (mutated(MODE, categories=["a", None]), r"ProposeTestRelease.categories\[1\]"),
        (mutated(MODE, statistic=3), "ProposeTestRelease.statistic must be stored as a string"),
        (mutated(Quantiles.examples()[0].mechanism, quantiles=["1/4", 0.5]), r"Quantiles.quantiles\[1\]"),
        (mutated(Quantiles.examples()[0].mechanism, quantiles={"1/4": 1}), "Quantiles.quantiles"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(data: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        mechanism_from_json(data)


def test_parameters_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(TacitError, match="categories"):
        mechanism_from_json(mutated(MODE, categories=["a"]))


@pytest.mark.parametrize("odd", [0.5, ("a", "b"), Fraction(1, 2), Relation.REPLACE, MEAN, Lattice(Fraction(1))])
def test_a_value_without_a_stored_form_is_refused_not_bent(odd: Any) -> None:
    mode = ProposeTestRelease(statistic="mode", test_scale=Fraction(1), delta=Fraction(1, 1000), categories=("a", odd))
    with pytest.raises(InputError, match=r"ProposeTestRelease.categories\[1\] of type .* has no stored form"):
        mechanism_to_json(mode)


@dataclass(frozen=True, kw_only=True)
class OnLattice(Mechanism):
    """A mechanism with a field that is itself an object."""

    theory: ClassVar[str] = "laplace"

    lattice: Lattice
    other: Lattice | None = None

    def loss(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.ADD_REMOVE,
        unit: str = "row",
    ) -> Loss:
        return Pure(1, relation=relation, unit=unit)

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        return value


def test_a_mechanism_outside_the_registry_has_no_stored_form() -> None:
    with pytest.raises(InputError, match="OnLattice has no stored form"):
        mechanism_to_json(OnLattice(lattice=Lattice(Fraction(1, 2))))
    with pytest.raises(InputError, match="'OnLattice'"):
        mechanism_from_json({"name": "OnLattice", "lattice": {"granularity": "1/2"}, "other": None})


def test_a_lattice_is_stored_by_its_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MECHANISMS", (*MECHANISMS, OnLattice))
    mechanism = OnLattice(lattice=Lattice(Fraction(1, 2)))
    stored = {"name": "OnLattice", "lattice": {"granularity": "1/2"}, "other": None}
    assert mechanism_to_json(mechanism) == stored
    assert mechanism_from_json(stored) == mechanism
    with pytest.raises(InputError, match=r"OnLattice.lattice lacks granularity"):
        mechanism_from_json({**stored, "lattice": {}})


# what ledgers hold: one of each, as it was written when this test was
STORED = [
    '{"name": "Laplace", "scale": "1", "granularity": "1"}',
    '{"name": "DiscreteLaplace", "scale": "1"}',
    '{"name": "Gaussian", "sigma": "1", "granularity": "1"}',
    '{"name": "DiscreteGaussian", "sigma": "1"}',
    '{"name": "Exponential", "scale": "1", "monotone": false, "granularity": "1"}',
    '{"name": "PermuteAndFlip", "scale": "1", "monotone": false, "granularity": "1"}',
    '{"name": "NoisyMax", "scale": "1", "monotone": false, "granularity": "1", "noise": "exponential"}',
    '{"name": "NoisyVote", "sigma": "1"}',
    (
        '{"name": "SparseVector", "threshold_scale": "3", "query_scale": "5", "answers": 1, "numeric_scale": null, '
        '"monotone": false, "granularity": "1"}'
    ),
    '{"name": "Quantile", "lower": "0", "upper": "2000", "scale": "1", "granularity": "1", "quantile": "1/2"}',
    (
        '{"name": "Quantiles", "lower": "0", "upper": "300", "scale": "1", "granularity": "1", "quantiles": ["1/4", '
        '"1/2"], "spread": 1}'
    ),
    '{"name": "BinnedQuantiles", "quantiles": ["1/2"], "scale": "4", "cells": 300, "norm": "l1", "margin": "0"}',
    (
        '{"name": "SmoothMedian", "epsilon": "1/4", "delta": "1/1000000", "lower": "0", "upper": "2", '
        '"granularity": "1", "share": "1/2"}'
    ),
    '{"name": "SmoothNoise", "epsilon": "1/4", "delta": "1/1000000", "top": 2, "share": "1/2"}',
    (
        '{"name": "ProposeTestRelease", "statistic": "median", "test_scale": "1", "delta": "1/1000", "bound": "2", '
        '"noise_scale": "3", "lower": "0", "upper": "4", "granularity": "1", "categories": [], "relation": "replace"}'
    ),
    '{"name": "PartitionSelection", "epsilon": "1", "delta": "1/100000", "strategy": "optimal", "partitions": 1}',
    '{"name": "KeySelection", "scale": "6", "delta": "1/100000", "norm": "l1", "one": 6}',
    '{"name": "KeyedCounts", "noise": {"name": "DiscreteLaplace", "scale": "3"}, "delta": "1/1000000", "most": "2"}',
    '{"name": "StableHistogram", "epsilon": "1", "delta": "1/100000", "strategy": "laplace", "partitions": 1}',
    (
        '{"name": "BoundedMean", "lower": "0", "upper": "2", "sum_noise": {"name": "DiscreteLaplace", '
        '"scale": "1/3"}, "count_noise": {"name": "DiscreteLaplace", "scale": "1/4"}, "n": null}'
    ),
    (
        '{"name": "BoundedVariance", "lower": "0", "upper": "2", "sum_noise": {"name": "DiscreteLaplace", '
        '"scale": "1/14"}, "square_noise": {"name": "DiscreteLaplace", "scale": "1/14"}, '
        '"count_noise": {"name": "DiscreteLaplace", "scale": "1/14"}, "n": null}'
    ),
    '{"name": "RandomizedResponse", "epsilon": "1/10"}',
    '{"name": "KaryResponse", "epsilon": "1/5", "categories": 2}',
    '{"name": "CoinFlipSurvey", "truth": "1/2"}',
    '{"name": "PlanarLaplace", "scale": "1/6"}',
]


@pytest.mark.parametrize("text", STORED)
def test_what_ledgers_hold_is_read_and_written_as_it_was(text: str) -> None:
    assert json.dumps(mechanism_to_json(mechanism_from_json(json.loads(text)))) == text


def test_every_mechanism_is_among_what_ledgers_hold() -> None:
    assert [json.loads(text)["name"] for text in STORED] == [kind.__name__ for kind in MECHANISMS]
