"""Hostile bytes at the running server: it neither falls nor hangs, and goes on serving everybody else."""

import socket
import struct
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.wire import Raw, Served, text

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
SQL = st.one_of(
    st.text(max_size=40).map(lambda value: value.replace("\0", "")),
    st.sampled_from(
        [
            *("", ";;", "SELECT 1", "SELECT $1", "BEGIN", "ROLLBACK", "SHOW all", "SELECT count(*) FROM visits"),
            *("SELECT '", "SELECT * FROM pg_class", "SET tacit.epsilon = 0.000001", "DISCARD ALL", "EXPLAIN x"),
            *("SELECT 1; SELECT 2; x", "DEALLOCATE a", "SET tacit.intervals = on", "SELECT 1::text, null, 'a'"),
            *(
                "DECLARE a CURSOR FOR SELECT 1",
                "DECLARE a CURSOR WITH HOLD FOR SELECT relname FROM pg_class",
                "CLOSE a",
            ),
            *(
                "FETCH 2 FROM a",
                "FETCH ALL FROM a",
                "MOVE a",
                "CLOSE ALL",
                "COPY (SELECT 1) TO STDOUT",
                "COPY x TO STDOUT",
            ),
            *("COPY (SELECT $1) TO STDOUT (FORMAT binary)", "COPY (SELECT 1) TO STDOUT CSV HEADER", "DECLARE a CURSOR"),
        ]
    ),
)
NAMES = st.sampled_from(["", "a"])
COUNTS = st.sampled_from([0, 1, 2, 65535])


def packed(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack("!i", len(body) + 4) + body


shaped = st.one_of(
    SQL.map(lambda sql: packed(b"Q", text(sql))),
    st.builds(lambda name, sql: packed(b"P", text(name) + text(sql) + b"\0\0"), NAMES, SQL),
    st.builds(
        lambda portal, name, count, data: packed(
            b"B", text(portal) + text(name) + struct.pack("!HHi", 0, count, len(data)) + data + b"\0\0"
        ),
        NAMES,
        NAMES,
        COUNTS,
        st.binary(max_size=8),
    ),
    st.builds(lambda kind, name: packed(b"D", kind + text(name)), st.sampled_from([b"S", b"P", b"x"]), NAMES),
    st.builds(
        lambda name, most: packed(b"E", text(name) + struct.pack("!i", most)), NAMES, st.sampled_from([0, 1, -1])
    ),
    st.builds(lambda kind, name: packed(b"C", kind + text(name)), st.sampled_from([b"S", b"P"]), NAMES),
    st.just(packed(b"S", b"")),
    st.just(packed(b"H", b"")),
)
junk = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.builds(packed, st.binary(min_size=1, max_size=1), st.binary(max_size=30)),
    st.builds(lambda tag, size: tag + struct.pack("!i", size), st.sampled_from([b"Q", b"P", b"B"]), st.integers(-9, 3)),
)


def drained(raw: socket.socket) -> bytes:
    """Everything until the server closes, which it must."""
    raw.settimeout(20)
    found = b""
    with suppress(ConnectionError):
        while piece := raw.recv(65536):
            found += piece
    return found


@pytest.mark.parametrize("examples", [40, pytest.param(3000, marks=pytest.mark.slow)])
def test_before_anybody_came_in(served: Served, examples: int) -> None:
    first = st.one_of(
        st.binary(max_size=80),
        st.binary(max_size=60).map(lambda tail: struct.pack("!ii", len(tail) + 8, 3 << 16) + tail),
        st.just(struct.pack("!ii", 8, 80877103) * 5),
        st.binary(max_size=60).map(
            lambda tail: struct.pack("!ii", 18, 3 << 16) + b"user\0ana\0\0" + packed(b"p", b"SCRAM-SHA-256\0" + tail)
        ),
    )

    @settings(max_examples=examples, deadline=None, suppress_health_check=QUIET)
    @given(first)
    def run(data: bytes) -> None:
        with socket.create_connection(("127.0.0.1", served.port)) as raw:
            with suppress(ConnectionError):
                raw.sendall(data)
                raw.shutdown(socket.SHUT_WR)
            found = drained(raw)
        assert b"XX000" not in found

    run()
    still_serves(served)


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_after_somebody_came_in(served: Served, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=QUIET)
    @given(st.lists(st.one_of(shaped, shaped, shaped, junk), max_size=12))
    def run(messages: list[bytes]) -> None:
        with served.raw() as raw:
            with suppress(ConnectionError):
                raw.socket.sendall(b"".join(messages))
                raw.socket.shutdown(socket.SHUT_WR)
            found = drained(raw.socket)
        assert b"XX000" not in found  # which is said of what nobody foresaw

    run()
    still_serves(served)


@pytest.mark.parametrize("examples", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_whatever_is_said_in_order_is_answered_in_order(served: Served, examples: int) -> None:
    """Well-formed messages, however senseless together, leave a connection that still answers."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=QUIET)
    @given(st.lists(shaped, max_size=10))
    def run(messages: list[bytes]) -> None:
        with served.raw() as raw:
            raw.socket.sendall(b"".join(messages) + packed(b"S", b"") + packed(b"Q", text("ROLLBACK; SHOW tacit.rho")))
            try:
                answered(raw)
            except ConnectionError:  # put out, which is for messages that cannot be read alone
                assert any(message[:1] in b"BD" for message in messages)

    run()


def answered(raw: Raw) -> None:
    while (found := raw.read()) != (b"C", b"SHOW\0"):
        assert b"XX000" not in found[1]
    assert raw.until(b"Z")[-1] == (b"Z", b"I")


def still_serves(served: Served) -> None:
    with served.connect() as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
