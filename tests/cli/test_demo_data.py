"""The made-up data are the same in every run and within the bounds that the tour declares."""

import numpy as np

from tacit.cli.demo_data import AGE_BANDS, AGE_LIMIT, DRUGS, WARDS, bidders, people, smokers, visits


def test_the_data_never_change() -> None:
    assert (people().age == people().age).all()
    assert (bidders() == bidders()).all()
    assert (smokers() == smokers()).all()
    assert (visits().cents == visits().cents).all()


def test_the_data_keep_their_bounds() -> None:
    crowd = people()
    assert crowd.age.size == 10_000
    assert crowd.age.min() >= 0
    assert crowd.age.max() <= AGE_LIMIT
    assert bidders().max() <= 1000
    assert set(np.unique(smokers())) == {0, 1}
    rows = visits()
    assert set(np.unique(rows.ward)) == set(range(len(WARDS)))
    assert set(np.unique(rows.drug)) == set(range(len(DRUGS)))
    assert 0 <= rows.age.min() <= rows.age.max() <= 110
    assert 0 <= rows.cents.min() <= rows.cents.max() <= 500_000


def test_a_person_is_in_one_cell() -> None:
    crowd = people()
    cells = crowd.cells()
    assert cells.sum() == crowd.age.size
    for position, first in enumerate(AGE_BANDS.values()):
        later = list(AGE_BANDS.values())[position + 1 :]
        below = later[0] if later else AGE_LIMIT + 1
        assert cells[position].sum() == ((crowd.age >= first) & (crowd.age < below)).sum()
