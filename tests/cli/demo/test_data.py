"""The made-up data are the same in every run and within the bounds that the tour declares."""

import csv
from pathlib import Path

import numpy as np

from tacit.cli.demo.data import (
    AGE_BANDS,
    AGE_LIMIT,
    BRANCHES,
    CUSTOMERS,
    DRUGS,
    WARDS,
    bidders,
    people,
    shop,
    smokers,
    visits,
)


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


def test_the_shop_is_what_a_curator_would_declare(tmp_path: Path) -> None:
    folder = shop(tmp_path / "data")
    with (folder / "shop.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["branch"] for row in rows} == set(BRANCHES)
    assert len({row["customer"] for row in rows}) == CUSTOMERS
    assert all(18 <= int(row["age"]) <= 90 and 0 <= float(row["paid"]) <= 150 for row in rows)
    assert len({(row["customer"], row["age"]) for row in rows}) == CUSTOMERS  # one age each
    assert min(row["day"] for row in rows) >= "2026-01-01"


def test_the_shop_is_written_once(tmp_path: Path) -> None:
    folder = shop(tmp_path / "data")
    (folder / "shop.csv").write_text("mine\n", encoding="utf-8")
    shop(folder)
    assert (folder / "shop.csv").read_text(encoding="utf-8") == "mine\n"
