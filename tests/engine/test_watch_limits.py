"""Limits of a question: sizes as people write them, defaults that leave room, and what is refused."""

import pytest

from tacit.base import InputError
from tacit.engine.watch import GIB, MIB, Limits, size


@pytest.mark.parametrize(
    ("text", "found"),
    [("500MB", 500 * MIB), ("2GB", 2 * GIB), ("1.5 GiB", 3 * GIB // 2), ("4096", 4096), (4096, 4096), ("1k", 1024)],
)
def test_sizes_are_written_as_people_do(text: str | int, found: int) -> None:
    assert size(text, "memory") == found


@pytest.mark.parametrize("text", ["", "much", "-1GB", "1PB", True, "1,5GB", "nan"])
def test_what_is_no_size_is_refused(text: str | int) -> None:
    with pytest.raises(InputError, match="memory is a size"):
        size(text, "memory")


@pytest.mark.parametrize(
    "wrong",
    [{"seconds": 0}, {"seconds": float("nan")}, {"at_once": 0}, {"memory": 1}, {"disk": -1}],
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Limits(**wrong)  # type: ignore[arg-type]  # one of several


def test_defaults_leave_room_for_the_rest_of_the_house() -> None:
    few, many = Limits(), Limits(at_once=8)
    assert 0 < few.seconds <= 3600
    assert many.bytes_of_memory * 8 <= few.bytes_of_memory * 2
    assert many.bytes_of_disk() * 8 <= few.bytes_of_disk() * 8
    assert (few.each, many.each) == (1, 4)
    assert few.threads >= many.threads >= 1
