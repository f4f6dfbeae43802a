"""Sealed reports at rest: taken once, in time, by those invited; nothing is told, and nothing stays when dropped."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time
from typing import Any

import pytest

from tacit.base import InputError, TacitError
from tacit.market import book as module
from tacit.market.book import MarketBook, NotTaken
from tacit.market.rules import MarketRules

RULES = MarketRules.read({"rule": "match", "table": "people", "rho": 1, "goods": ["a = 2", "b = 3"]})


@pytest.fixture
def book(tmp_path: Path) -> MarketBook:
    return MarketBook(tmp_path / "state" / "markets.db", "people")


def opened(book: MarketBook, **more: Any) -> Any:
    return book.open("seats", RULES, ["cleo", "ada", "bob"], owner="cora", unit="agent", **more)


def test_a_report_is_taken_once_and_read_by_number(book: MarketBook) -> None:
    market = opened(book)
    assert [book.number(market, name) for name in ("ada", "bob", "cleo", "zoe")] == [0, 1, 2, None]
    assert book.submit(market, "bob", [0.5, 0.25], unit="agent")
    assert not book.submit(market, "bob", [0.5, 0.25], unit="agent")
    with pytest.raises(NotTaken, match="sealed already"):
        book.submit(market, "bob", [1.0, 1.0], unit="agent")
    with pytest.raises(InputError, match="not invited"):
        book.submit(market, "zoe", [0.5, 0.25], unit="agent")
    with pytest.raises(InputError, match="in this order: a, b"):
        book.submit(market, "ada", [0.123456], unit="agent")
    assert book.close(market, unit="agent") == [[0, 0], [0.5, 0.25], [0, 0]]
    with pytest.raises(NotTaken, match="closed"):
        book.submit(market, "ada", [0.1, 0.1], unit="agent")
    assert not book.submit(market, "bob", [0.5, 0.25], unit="agent")  # a retry that was on its way
    assert book.report(market, "ada", unit="agent") == (0, [0, 0])
    assert book.report(market, "bob", unit="agent") == (1, [0.5, 0.25])


def test_a_time_closes_it(book: MarketBook, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="in the past"):
        opened(book, closes=int(time()) - 1)
    market = opened(book, closes=int(time()) + 100)
    assert market.taking
    monkeypatch.setattr(module, "time", lambda: time() + 101)
    assert not book.find("seats").taking
    with pytest.raises(NotTaken, match="closed"):
        book.submit(market, "ada", [0.1, 0.1], unit="agent")


def test_of_two_at_the_same_moment_one_is_taken(book: MarketBook) -> None:
    market = opened(book)

    def attempt(value: int) -> bool:
        try:
            return book.submit(market, "ada", [value / 100, 0.5], unit="agent")
        except NotTaken:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(24))) == 1


def test_an_outcome_is_shown_once_and_stays(book: MarketBook) -> None:
    market = opened(book)
    book.publish(market, {"first": 1})
    book.publish(market, {"second": 2})
    assert book.find("seats").outcome == {"first": 1}


def test_a_market_that_is_dropped_leaves_no_report(book: MarketBook) -> None:
    market = opened(book)
    book.submit(market, "ada", [0.987654321, 0.5], unit="agent")
    assert b"0.987654321" in book.path.read_bytes()
    assert book.path.stat().st_mode & 0o777 == 0o600
    assert book.path.parent.stat().st_mode & 0o777 == 0o700
    book.drop(market)
    assert b"0.987654321" not in book.path.read_bytes()
    with pytest.raises(InputError, match="no market"):
        book.find("seats")
    assert book.names("ada") == []


def test_a_book_that_is_damaged_says_nothing_of_it(book: MarketBook) -> None:
    opened(book)
    book.path.write_bytes(b"secret" * 1000)
    with pytest.raises(TacitError, match="cannot be used now") as found:
        book.find("seats")
    assert found.value.__cause__ is found.value.__context__ is None


def test_markets_of_other_people_are_others(book: MarketBook) -> None:
    opened(book)
    other = MarketBook(book.path, "others")
    assert other.names("ada") == []
    with pytest.raises(InputError, match="no market"):
        other.find("seats")
    assert opened(other).sale != book.find("seats").sale
