"""A first policy from names and types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.policy import ColumnType, blanks, parse, starter

SCHEMA = {
    "visits": {
        "id": "BIGINT",
        "cost": "DECIMAL(10,2)",
        "ward": "VARCHAR",
        "at": "TIMESTAMP",
        "x": "DOUBLE",
        "raw": "BLOB",
    },
    "wards": {"name": ""},
}


def test_a_starter_is_valid_and_says_what_to_fill() -> None:
    policy = parse(starter(SCHEMA, name="clinic", source="clinic.duckdb", unit_column="id"))
    visits = policy.table("visits")
    assert visits.unit_column == "id"
    assert visits.columns["cost"].type is ColumnType.DECIMAL
    assert str(visits.columns["cost"].step) == "1/100", "the type says it"
    assert visits.columns["raw"].hidden
    missing = {(blank.place.rpartition(" ")[2].strip('"'), blank.what.split(" ")[0]) for blank in blanks(policy)}
    assert missing == {
        ("visits", "clip_rows"), ("cost", "bounds"), ("at", "bounds"), ("x", "bounds"),
        ("wards", "unit_column"), ("name", "type"), ("[analysts]", "a"),
    }  # fmt: skip


def test_each_blank_is_a_line_marked_to_fill() -> None:
    text = starter(SCHEMA, name="clinic", unit_column="id")
    assert "source" not in text.split("[privacy]")[0].replace("# source", "")
    assert text.count("# to fill:") == 8


def test_types_that_were_read_from_a_file_are_marked() -> None:
    text = starter({"visits": {"id": "integer"}}, name="clinic", unit_column="id", texts={"visits": {"delimiter": ";"}})
    assert 'type = "integer"            # read from the file: confirm it' in text
    assert parse(text).tables["visits"].delimiter == ";"
    assert "confirm" not in starter({"visits": {"id": "integer"}}, name="clinic", unit_column="id")


def test_filling_the_blanks_makes_a_policy() -> None:
    text = starter({"visits": {"id": "BIGINT", "cost": "DECIMAL(10,2)"}}, name="clinic", unit_column="id")
    text = text.replace("# clip_rows = …", "clip_rows = 10").replace("# bounds = […, …]", "bounds = [0, 100]")
    text = text.replace("# [analysts.ana]", "[analysts.ana]")
    assert blanks(parse(text)) == []


def test_a_unit_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r'there is no column "idd": did you mean "id"\?'):
        starter(SCHEMA, name="clinic", unit_column="idd")


names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=9).filter(
    lambda text: text == text.strip()
)


@given(st.dictionaries(names, st.sampled_from(["BIGINT", "", "DOUBLE", "DATE", "VARCHAR"]), min_size=1, max_size=4))
def test_any_names_give_a_policy(columns: dict[str, str]) -> None:
    if len({name.casefold() for name in columns}) < len(columns):
        return
    if next(iter(columns.values())) == "DOUBLE":
        with pytest.raises(InputError, match="two people can have the same number"):
            starter({"t": columns}, name="x", unit_column=next(iter(columns)))
        return
    policy = parse(starter({"t": columns}, name="x", unit_column=next(iter(columns))))
    assert list(policy.table("t").columns) == list(columns)
