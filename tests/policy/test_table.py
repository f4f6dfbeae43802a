"""A table says whose rows they are, or is public."""

from fractions import Fraction

import pytest

from support.policies import clinic
from tacit.base import PolicyError
from tacit.policy import Column, ColumnType, Table


def test_the_unit_is_asked_for_when_a_question_needs_it() -> None:
    assert Table(unit_column="id").require_unit("COUNT(*)") == "id"
    assert Table(each_row_is_a_unit=True).require_unit("COUNT(*)") is None
    with pytest.raises(PolicyError, match=r"does not say whose rows they are, so COUNT\(\*\) has nobody to protect"):
        Table().require_unit("COUNT(*)")
    with pytest.raises(PolicyError, match="is public"):
        Table(public=True).require_unit("COUNT(*)")


def test_the_clip_of_rows_is_asked_for_when_a_question_needs_it() -> None:
    assert Table(unit_column="id", clip_rows=Fraction(3)).require_clip_rows("COUNT(*)") == 3
    assert Table(unit_column="id", clip_rows="private").require_clip_rows("COUNT(*)") == "private"
    with pytest.raises(PolicyError, match="clip_rows has not been declared"):
        Table(unit_column="id").require_clip_rows("COUNT(*)")


def test_columns_know_where_they_are() -> None:
    column = clinic().table("visits").column("ward")
    assert column.place == 'table "visits", column "ward"'


def test_columns_that_are_not_there() -> None:
    with pytest.raises(PolicyError, match=r'there is no column "wards" in the policy.* did you mean "ward"\?'):
        clinic().table("visits").column("wards", "GROUP BY wards")
    with pytest.raises(PolicyError, match=r'there is no table "visit".* did you mean "visits"\?'):
        clinic().table("visit")


def test_what_is_declared_cannot_be_changed_later() -> None:
    table = clinic().table("visits")
    with pytest.raises(TypeError):
        table.columns["new"] = Column()  # type: ignore[index]  # the point of the test


def test_per_group_bounds_need_a_number_of_groups() -> None:
    column = Column(type=ColumnType.INTEGER, per_group=(0, 5))
    assert Table(unit_column="id", max_groups=3, columns={"x": column}).columns["x"].per_group == (0, 5)
    with pytest.raises(PolicyError, match='column "x": per_group needs max_groups'):
        Table(unit_column="id", columns={"x": column})


def test_a_float_names_nobody() -> None:
    with pytest.raises(PolicyError, match='column "id": it names the people, and two of them can have the same float'):
        Table(unit_column="id", columns={"id": Column(type=ColumnType.FLOAT)})
    good = Table(unit_column="id", columns={"id": Column(type=ColumnType.DECIMAL), "x": Column(type=ColumnType.FLOAT)})
    assert good.unit_column == "id"


def test_where_each_row_is_a_unit_nothing_bounds_it() -> None:
    with pytest.raises(PolicyError, match="says nothing where each row is a unit"):
        Table(each_row_is_a_unit=True, max_rows_per_unit=2)
