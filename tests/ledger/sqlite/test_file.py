"""The notes of how far a book had come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.base import CorruptLedger
from tacit.ledger.sqlite.file import Watermark

A, B = b"a" * 32, b"b" * 32


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Watermark]:
    made = Watermark(tmp_path / "ledger.db.mark")
    yield made
    made.close()


def test_the_newest_note_of_each_account_is_read_back(mark: Watermark) -> None:
    assert mark.empty
    mark.rewrite("book", {1: (4, A)})
    assert not mark.empty
    mark.write(3, 7, B)
    mark.write(1, 5, B)
    again = Watermark(mark.path)
    assert again.read("book") == {1: (5, B), 3: (7, B)}  # nothing was noted of account 2 yet
    again.close()
    mark.rewrite("book", {2: (1, A)})
    assert mark.read("book") == {2: (1, A)}


def test_notes_of_another_ledger_and_missing_ones_are_refused(mark: Watermark) -> None:
    with pytest.raises(CorruptLedger, match="missing"):
        mark.read("book")
    mark.rewrite("book", {})
    assert mark.read("book") == {}
    with pytest.raises(CorruptLedger, match="another ledger"):
        mark.read("other")


@pytest.mark.parametrize("place", [0, 40, 63, 64, 70, 90, 127])
def test_a_changed_byte_is_noticed(mark: Watermark, place: int) -> None:
    mark.rewrite("book", {1: (4, A)})
    data = bytearray(mark.path.read_bytes())
    data[place] ^= 1
    mark.path.write_bytes(data)
    with pytest.raises(CorruptLedger):
        mark.read("book")


def test_a_note_in_the_place_of_another_is_noticed(mark: Watermark) -> None:
    mark.rewrite("book", {1: (4, A), 2: (9, B)})
    data = mark.path.read_bytes()
    mark.path.write_bytes(data[:64] + data[128:] + data[64:128])
    with pytest.raises(CorruptLedger, match="damaged"):
        mark.read("book")


def test_half_a_note_is_noticed(mark: Watermark) -> None:
    mark.rewrite("book", {1: (4, A)})
    mark.path.write_bytes(mark.path.read_bytes()[:100])
    with pytest.raises(CorruptLedger, match="damaged"):
        mark.read("book")
