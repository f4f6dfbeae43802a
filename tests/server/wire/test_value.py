"""Values out and in: psycopg's own readers and writers are the judge."""

import math
import struct
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer

from tacit.server.problem import Fault
from tacit.server.wire.value import KINDS, decoded, encoded, kind_of, listed, literal

FORMS = (psycopg.pq.Format.TEXT, psycopg.pq.Format.BINARY)
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
texts = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
CASES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(2**63), 2**63 - 1),
    "int4": st.integers(-(2**31), 2**31 - 1),
    "oid": st.integers(0, 2**32 - 1),
    "text": texts,
    "float8": st.floats(allow_nan=False),
    "date": st.dates(),
    "timestamp": moments,
}


@given(st.sampled_from(sorted(CASES)), st.data())
def test_what_is_sent_is_what_psycopg_reads(name: str, data: st.DataObject) -> None:
    value = data.draw(CASES[name])
    for form in FORMS:
        sent = encoded(value, KINDS[name], form)
        assert Transformer().get_loader(KINDS[name].oid, form).load(sent or b"") == value


@given(st.sampled_from(["bool", "int8", "text", "float8", "date", "timestamp"]), st.data())
def test_arrays_too(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), CASES[name]), max_size=5))
    kind = KINDS[f"{name}[]"]
    for form in FORMS:
        sent = encoded(values, kind, form)
        assert Transformer().get_loader(kind.oid, form).load(sent or b"") == values


def test_what_is_not_there_and_what_is_no_number() -> None:
    assert encoded(4_000_000_000, KINDS["oid"], 1) == (4_000_000_000).to_bytes(4, "big")
    assert encoded(None, KINDS["int8"], 1) is None
    assert [encoded(x, KINDS["float8"], 0) for x in (math.nan, math.inf, -math.inf, 2.0)] == [
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"2",
    ]


def test_types_by_their_names() -> None:
    for wanted, names in {
        "int8": ("integer", "int64"),
        "float8": ("decimal", "number", "float", "double"),
        "bool": ("boolean",),
        "text": ("text", "string", "blob"),
        "date": ("date", "date32[day]"),
        "timestamp": ("timestamp", "timestamp[us]"),
        "int8[]": ("list<item: int64>",),
        "text[]": ("list<string>",),
        "float8[]": ("float[]",),
    }.items():
        assert {kind_of(name).name for name in names} == {wanted}


@given(
    st.one_of(
        st.booleans(),
        CASES["int8"],
        texts,
        st.dates(),
        moments,
        st.floats(allow_nan=False, allow_infinity=False),
        st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12),
    )
)
def test_what_psycopg_sends_is_what_is_read(value: Any) -> None:
    for form in (PyFormat.TEXT, PyFormat.BINARY):
        dumper = Transformer().get_dumper(value, form)
        sent = dumper.dump(value)
        assert sent is not None
        assert decoded(bytes(sent), dumper.oid, int(dumper.format)) == value


@given(st.lists(st.one_of(st.none(), texts.filter(lambda x: x != "")), max_size=5))
def test_lists_come_in_as_text(values: list[str | None]) -> None:
    spelled = (encoded(values, KINDS["text[]"], 0) or b"").decode()
    assert listed(spelled) == values


@given(st.integers(0, 4000), st.integers(0, 1), st.binary(max_size=40))
def test_no_parameter_does_anything_but_fail(oid: int, form: int, data: bytes) -> None:
    with suppress(Fault):
        literal(decoded(data, oid, form))


def test_a_number_with_more_digits_than_any_is_refused_before_it_is_made() -> None:
    for groups, fits in ((100, True), (401, False), (32_000, False)):
        data = struct.pack("!hhHh", groups, 0, 0, 0) + struct.pack("!h", 1) * groups
        if fits:
            assert decoded(data, 1700, 1) > 1
        else:
            with pytest.raises(Fault):
                decoded(data, 1700, 1)


def test_literals_cannot_be_left() -> None:
    assert literal("it's '' \\' x") == "'it''s '''' \\'' x'"
    assert literal(-5) == "(-5)"
    assert literal(Decimal("0.10")) == "0.10"
    assert literal(date(2023, 1, 2)) == "DATE '2023-01-02'"
    assert literal([1, None, "a'b"]) == "ARRAY[1, NULL, 'a''b']"
    for value in (math.inf, math.nan, Decimal("1e999999999"), "\0"):
        with pytest.raises(Fault):
            literal(value)
