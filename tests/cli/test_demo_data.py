"""The made-up data are the same in every run and within the bounds that the tour declares."""

import numpy as np

from tacit.cli.demo_data import AGE_BANDS, AGE_LIMIT, bidders, people, smokers


def test_the_data_never_change() -> None:
    assert (people().age == people().age).all()
    assert (bidders() == bidders()).all()
    assert (smokers() == smokers()).all()


def test_the_data_keep_their_bounds() -> None:
    crowd = people()
    assert crowd.age.size == 10_000
    assert crowd.age.min() >= 0
    assert crowd.age.max() <= AGE_LIMIT
    assert bidders().max() <= 1000
    assert set(np.unique(smokers())) == {0, 1}


def test_a_person_is_in_one_cell() -> None:
    crowd = people()
    cells = crowd.cells()
    assert cells.sum() == crowd.age.size
    for position, first in enumerate(AGE_BANDS.values()):
        later = list(AGE_BANDS.values())[position + 1 :]
        below = later[0] if later else AGE_LIMIT + 1
        assert cells[position].sum() == ((crowd.age >= first) & (crowd.age < below)).sum()
