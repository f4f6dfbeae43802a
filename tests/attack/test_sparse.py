"""The scoreboard: its formula by hand, who stands out, and what is refused."""

from math import exp, log

import pyarrow as pa
import pytest

from tacit.attack.sparse import DAYS, RATING, Aux, ratings_of, stage
from tacit.base import InputError

TABLE = pa.table(
    {
        "who": ["a", "a", "b", "b", "c", "d"],
        "film": ["x", "rare", "x", "y", "x", "y"],
        "stars": [5, 4, 1, 3, 5, 2],
        "day": [10, 100, 10, 50, 400, 60],
    }
)


def test_scores_are_the_published_sum() -> None:
    book = ratings_of(TABLE, person="who", item="film", rating="stars", day="day")
    scores = dict(zip(book.people, book.scores(Aux(["x", "unheard of"], [4, 1], [10, 1])), strict=True))
    weight = 1 / log(3)
    assert scores["a"] == pytest.approx(weight * (exp(-1 / RATING) + 1))
    assert scores["b"] == pytest.approx(weight * (exp(-3 / RATING) + 1))
    assert scores["c"] == pytest.approx(weight * (exp(-1 / RATING) + exp(-390 / DAYS)))
    assert scores["d"] == 0


def test_the_one_who_fits_is_found_without_dates_too() -> None:
    book = ratings_of(TABLE, person="who", item="film", rating="stars")
    found = book.find(Aux(["x", "rare"], [5, 4]))
    assert (found.person, found.named) == ("a", True)
    assert not book.find(Aux(["x", "rare"], [5, 4]), eccentricity=100.0).named
    assert not book.find(Aux(["unheard of"], [3])).named


def test_wrong_inputs_are_named() -> None:
    book = ratings_of(TABLE, person="who", item="film", rating="stars", day="day")
    with pytest.raises(InputError, match="each item needs a rating"):
        book.scores(Aux(["x"], [1, 2]))
    with pytest.raises(InputError, match="each item needs a rating"):
        book.scores(Aux(["x"], [1], [1, 2]))
    with pytest.raises(InputError, match='"film" must hold numbers'):
        ratings_of(TABLE, person="who", item="day", rating="film")
    with pytest.raises(InputError, match='no column "when"'):
        ratings_of(TABLE, person="who", item="film", rating="stars", day="when")
    with pytest.raises(InputError, match="nobody to tell"):
        ratings_of(TABLE.slice(0, 1), person="who", item="film", rating="stars").find(Aux(["x"], [5]))


def test_records_are_found_among_rows_and_not_in_private_averages() -> None:
    shares: list[float] = []
    found = stage(people=2000, items=1000, targets=100, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert found.undefended.low > 0.8
    assert found.facts["release"][0] < found.facts["release"][-1]
    assert found.facts["false_alarms"]["release"] <= 8
    assert found.facts["private"] == [0, 0, 0, 0]
    luck = found.facts["popular"]
    assert abs(luck["inside"] - luck["outside"]) < 0.06  # what is popular is so with everybody
