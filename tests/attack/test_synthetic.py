"""Rows learned by heart give members away; tacit's synthetic rows tell no more of members than of others."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.attack.population import chance
from tacit.attack.synthetic import made_up, row_attack, stage
from tacit.base import InputError


def table(*rows: tuple[int, int, int]) -> pa.Table:
    columns = np.array(rows).T
    return pa.table({"a": columns[0], "b": columns[1], "ill": columns[2]})


def test_what_is_counted() -> None:
    """The second member's rows disagree; the third has none; an other person happens to have a member's row."""
    shown = table((1, 1, 5), (2, 2, 6), (2, 2, 7))
    members = table((1, 1, 5), (2, 2, 6), (3, 3, 8))
    others = table((1, 1, 5), (1, 1, 9), (4, 4, 4))
    found = row_attack(shown, members, others, secret="ill")
    assert (found.found, found.alarms, found.told, found.guessed) == (2, 1, 1, 1)
    assert found.right == 2 + 2
    assert found.advantage == pytest.approx(1 / 3)


def test_mistakes_are_told() -> None:
    one = table((1, 1, 1))
    with pytest.raises(InputError, match="as many others as members"):
        row_attack(one, one, table((1, 1, 1), (2, 2, 2)), secret="ill")
    with pytest.raises(InputError, match="same columns"):
        row_attack(one.drop_columns(["b"]), one, one, secret="ill")


def test_a_copy_is_broken_and_rows_like_others_are_not() -> None:
    dice = chance(3)
    members, others, fresh = (made_up(2000, dice) for _ in range(3))
    assert row_attack(members, members, others, secret="ill").advantage > 0.9
    assert abs(row_attack(fresh, members, others, secret="ill").advantage) < 0.03


@pytest.mark.slow
def test_staged() -> None:
    found = stage(people=2000)
    assert found.undefended.low > 0.75
    assert found.defended.low < 0.5 < found.defended.high + 0.02
    assert found.facts["defended"]["told"] < 2 * found.facts["defended"]["guessed"] + 40
