"""Statements told apart, and $1 found only where it is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.server.problem import Fault
from tacit.server.wire.lex import filled, pieces, places, split, unqualified


def test_semicolons_and_places_count_outside_of_strings_names_and_comments_only() -> None:
    sql = "SELECT ';$1', \"a;$2\", $3 /* ; /* $4 */ ; */ -- ; $5\n, $tag$ ; $6 $tag$, E'\\';$7', $8; SELECT 2 ;; -- end"
    first, second = split(sql)
    assert second == " SELECT 2 "
    assert places(first) == 8
    assert filled(first, [f"<{n}>" for n in range(1, 9)]).count("<") == 2


@pytest.mark.parametrize("sql", ["'open", '"open', "/* open", "/* /* */", "$x$ open", "E'\\'"])
def test_what_is_not_closed_is_refused(sql: str) -> None:
    with pytest.raises(Fault):
        split(sql)


@given(st.text(alphabet="a1$;'\"\\/*-. \nE", max_size=60))
def test_pieces_are_the_text(sql: str) -> None:
    try:
        found = list(pieces(sql))
    except Fault:
        return
    assert "".join(piece.text for piece in found) == sql
    assert all(piece.text for piece in found)


def test_a_parameter_that_was_not_bound_is_named() -> None:
    with pytest.raises(Fault, match=r"\$2"):
        filled("SELECT $1, $2", ["1"])


def test_public_before_a_name_is_left_out() -> None:
    sql = "SELECT public.visits.ward, 'public.x', a.public.b FROM \"public\".visits, publicx.y"
    wanted = "SELECT visits.ward, 'public.x', a.public.b FROM visits, publicx.y"
    assert unqualified(sql) == wanted
