"""The schema and the shares of 2020 are whole."""

from fractions import Fraction

import pytest

from tacit.census.allocation import shares_of
from tacit.census.job import _recodes
from tacit.census.redistricting import (
    CATEGORIES,
    LEVEL_SHARES,
    LEVELS,
    RHO,
    SHARES,
    census_2020,
)  # fmt: skip
from tacit.census.schema import CellSchema
from tacit.census.spine import Spine
from tacit.loss import ZCDP


def test_the_cells() -> None:
    schema = CellSchema(categories=CATEGORIES, recodes=_recodes(census_2020()["recodes"]))
    assert schema.cells == 2016
    assert schema.shape == (8, 2, 2, 63)
    assert schema.partition("institution")[1] == 3
    assert schema.partition("hispanic*race")[1] == 126


def test_the_shares_add_up() -> None:
    assert sum(LEVEL_SHARES.values()) == 4099
    assert {level: sum(each) for level, each in SHARES.items()} == {
        "nation": 4097, "state": 4097, "county": 4097, "tract": 4102, "block_group": 4099, "block": 4097,
    }  # fmt: skip
    spine = Spine(*LEVELS, places=[("us", "s", "c", "t", "g", "b")])
    schema = CellSchema(categories=CATEGORIES, recodes=_recodes(census_2020()["recodes"]))
    shares = shares_of(spine, schema, census_2020()["queries"], census_2020()["levels"])
    assert len(shares) == 65  # eleven queries at six levels, and the nation's total is not measured
    assert shares["tract", "total"] == Fraction(687, 4099) * Fraction(1567, 4102)
    assert shares["nation", "age*hispanic*race"] == Fraction(104, 4099) * Fraction(26, 241)


def test_the_price_that_was_published() -> None:
    """ρ = 2.5562, and ε = 17.14 at δ = 1e-10 for persons."""
    assert float(RHO) == pytest.approx(2.5562, abs=1e-4)
    assert float(ZCDP(RHO).epsilon(Fraction(1, 10**10))) == pytest.approx(17.14, abs=0.01)
