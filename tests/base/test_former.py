"""Former names of arguments work, with a warning, and not beside the new ones."""

import pytest

from tacit.base.former import former_names


@former_names(key="idempotency_key", unit="unit_column")
def ask(sql: str, *, idempotency_key: str = "", unit_column: str = "") -> str:
    """Ask."""
    return f"{sql} {idempotency_key} {unit_column}"


def test_a_former_name_is_read_with_a_warning() -> None:
    assert ask("a", idempotency_key="b", unit_column="c") == "a b c"
    with pytest.warns(FutureWarning, match="key= is now spelled idempotency_key="):
        assert ask("a", key="b") == "a b "  # type: ignore[call-arg]


def test_both_names_at_once_are_refused() -> None:
    with pytest.raises(TypeError, match="got unit_column twice"):
        ask("a", unit="b", unit_column="c")  # type: ignore[call-arg]


def test_others_are_unknown_as_ever() -> None:
    with pytest.raises(TypeError, match="unexpected"):
        ask("a", name="b")  # type: ignore[call-arg]
