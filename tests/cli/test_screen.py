"""Numbers as commands print them."""

from collections.abc import Callable

import pytest

from tacit.cli.screen import down, percent, up


@pytest.mark.parametrize(
    ("rounded", "value", "shown"),
    [
        (up, 6.1877287, "6.18773"),
        (down, 6.1877287, "6.18772"),
        (up, 10.000000000000018, "10"),
        (up, 10.00000001, "10.0001"),
        (down, 9.99999999, "9.99999"),
        (up, 0.0, "0"),
        (up, float("inf"), "∞"),
    ],
)
def test_numbers_are_rounded_the_honest_way(rounded: Callable[[float], str], value: float, shown: str) -> None:
    assert rounded(value) == shown


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.0%"), (1.0, "100.0%"), (0.123, "12.3%"), (0.0009765, "0.098%"), (0.001, "0.1%")]
)
def test_a_small_share_is_not_shown_as_nothing(share: float, text: str) -> None:
    assert percent(share) == text
