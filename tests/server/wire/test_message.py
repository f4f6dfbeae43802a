"""The codec on its own: what is well formed is read, and whatever else comes is a Fault and nothing worse."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.wire import text
from tacit.server.problem import Fault
from tacit.server.wire.message import Bind, Cancel, Encrypt, Execute, Parse, SimpleQuery, Startup, read, read_opening


def test_what_is_well_formed_is_read() -> None:
    assert read(b"Q", b"SELECT 1\0") == SimpleQuery("SELECT 1")
    assert read(b"P", b"a\0b\0" + struct.pack("!hI", 1, 4_000_000_000)) == Parse("a", "b", (4_000_000_000,))
    assert read(b"E", b"\0" + struct.pack("!i", 7)) == Execute("", 7)
    bound = b"\0s\0" + struct.pack("!hhhiih", 1, 1, 2, -1, 0, 1) + struct.pack("!h", 1)
    assert read(b"B", bound) == Bind("", "s", (1,), (None, b""), (1,))
    assert read_opening(struct.pack("!ii4s", 80877102, 5, b"abcd")) == Cancel(5, b"abcd")
    assert read_opening(struct.pack("!i", 80877103)) == Encrypt(True)
    assert read_opening(struct.pack("!i", 3 << 16) + b"user\0ana\0_pq_.x\0y\0\0") == Startup(
        {"user": "ana"}, ("_pq_.x",)
    )


@pytest.mark.parametrize(
    ("tag", "body"),
    [
        (b"Q", b"no end"),
        (b"Q", b"\xff\0"),
        (b"Q", b"a\0more"),
        (b"B", b"\0\0" + struct.pack("!h", 30_000)),
        (b"B", b"\0\0" + struct.pack("!hhi", 0, 1, -2)),
        (b"B", b"\0\0" + struct.pack("!hhi", 0, 1, 2_000_000_000)),
        (b"D", b"X\0"),
        (b"D", b""),
        (b"E", b"\0\0"),
        (b"?", b""),
        (b"S", b"x"),
    ],
)
def test_what_is_not_is_refused(tag: bytes, body: bytes) -> None:
    with pytest.raises(Fault):
        read(tag, body)


@given(st.sampled_from([bytes([n]) for n in range(256)]), st.binary(max_size=200))
def test_no_bytes_do_anything_else(tag: bytes, body: bytes) -> None:
    with suppress(Fault):
        read(tag, body)


@given(st.one_of(st.binary(max_size=100), st.binary(max_size=50).map(lambda tail: struct.pack("!i", 3 << 16) + tail)))
def test_no_opening_does_anything_else(body: bytes) -> None:
    with suppress(Fault):
        read_opening(body)


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_texts_come_as_they_were_sent(sql: str) -> None:
    assert read(b"Q", text(sql)) == SimpleQuery(sql)
