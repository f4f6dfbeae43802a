"""The server with the clients people have: psycopg, TLS, cancelling, limits."""

import socket
import ssl
import struct
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.seats import endless
from support.wire import SIZE, Clinic, Served, text
from tacit.server.wire import WireLimits
from tacit.server.wire.lex import split

COUNT = "SELECT count(*) AS n FROM visits"


def spent(served: Served, name: str = "ana") -> float:
    with served.connect(name) as connection:
        rows = connection.execute("SHOW tacit.budget").fetchall()
    return next((row[3] for row in rows if row[0] == f"analyst:{name}"), 0.0)


def test_an_answer_costs_what_was_set_and_the_same_again_is_free(served: Served) -> None:
    before = spent(served)
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        first = connection.execute(f"{COUNT} WHERE age >= 0").fetchall()
        again = connection.execute(f"{COUNT} WHERE age >= 0").fetchall()
    assert first == again
    assert abs(first[0][0] - SIZE) < 100
    assert spent(served) - before == pytest.approx(0.5)


def test_what_was_released_is_on_the_shelf_of_whoever_asked(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        ((answer,),) = connection.execute(f"{COUNT} WHERE age >= 1").fetchall()
    who = served.clinic.people.named("ana")
    assert who is not None
    newest = served.clinic.shelf.listed(who, after=None, limit=1)[0]
    assert newest.sql == f"{COUNT} WHERE age >= 1"
    assert newest.release.value() == answer


def test_without_a_price_nothing_is_asked(served: Served) -> None:
    before = spent(served)
    with served.connect() as connection, pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
        connection.execute(COUNT)
    assert "SET tacit.epsilon" in (caught.value.diag.message_hint or "")
    assert spent(served) == before


def test_describing_neither_runs_nor_charges(served: Served) -> None:
    before = spent(served)
    sql = "SELECT ward, avg(cost) AS c FROM visits WHERE age < $1 GROUP BY ward"
    with served.raw(options="-c tacit.epsilon=0.25") as raw:
        parse = b"P", text("p") + text(sql) + struct.pack("!hi", 1, 23)
        said = raw.said(parse, (b"D", b"S" + text("p")), (b"S", b""))
        bind = b"B", text("") + text("p") + struct.pack("!hhi2sh", 0, 1, 2, b"30", 0)
        bound = raw.said(bind, (b"D", b"P" + text("")), (b"S", b""))
    assert [tag for tag, _ in said] == [b"1", b"t", b"T", b"Z"]
    assert said[1][1] == struct.pack("!hi", 1, 23)
    row = struct.pack("!h", 2)
    row += (
        b"ward\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0) + b"c\0" + struct.pack("!ihihih", 0, 0, 701, 8, -1, 0)
    )
    assert said[2][1] == row
    assert bound[1] == (b"T", row)
    assert spent(served) == before


def test_binary_and_text_say_the_same(served: Served) -> None:
    sql = "SELECT ward, urgent, count(*) AS n, avg(cost) AS c, median(age) AS m FROM visits GROUP BY ward, urgent"
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 1")
        answers = [connection.cursor(binary=binary).execute(sql).fetchall() for binary in (False, True)]
    assert answers[0] == answers[1]
    assert {type(value) for value in answers[0][0]} >= {str, bool, int, float}


def test_dates_and_lists_come_as_such(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 1")
        for binary in (False, True):
            cursor = connection.cursor(binary=binary)
            ((counts,),) = cursor.execute("SELECT histogram(ward) FROM visits").fetchall()
            assert isinstance(counts, list)
            assert all(isinstance(count, int) for count in counts)
            rows = cursor.execute("SELECT day, count(*) FROM visits GROUP BY day ORDER BY day LIMIT 2").fetchall()
            assert [str(row[0]) for row in rows] == ["2023-01-01", "2023-01-02"]


def test_parameters_of_every_kind(served: Served) -> None:
    from datetime import date
    from decimal import Decimal

    sql = f"{COUNT} WHERE age < %s AND ward = %s AND cost < %s AND day >= %s AND urgent = %s"
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 2")
        values = (200, "ea'st", Decimal("99.5"), date(2023, 1, 1), True)
        ((none,),) = connection.execute(sql, values).fetchall()
        ((some,),) = connection.execute(sql, (200, "east", Decimal("99.5"), date(2023, 1, 1), False)).fetchall()
    assert none < 50
    assert some > SIZE / 3


def test_parameters_whose_type_is_left_to_us_are_described(served: Served) -> None:
    """As JDBC sends dates: without a type, and with a zone after them."""
    sql = "SELECT count(*) AS n FROM visits WHERE day >= $1 AND ward = $2"
    before = spent(served)
    with served.raw() as raw:
        said = raw.said(
            (b"P", text("") + text(sql) + b"\0\0"),
            (b"D", b"S" + text("")),
            (b"S", b""),
        )
        assert b"".join(tag for tag, _ in said) == b"1tTZ"
        raw.said((b"Q", text("SET tacit.epsilon = 0.5")))
        values = [b"2023-06-01 +02", b"east"]
        bound = b"".join(struct.pack("!i", len(value)) + value for value in values)
        said = raw.said(
            (b"B", text("") + text("") + struct.pack("!hh", 0, 2) + bound + struct.pack("!h", 0)),
            (b"E", text("") + struct.pack("!i", 0)),
            (b"S", b""),
        )
        assert b"".join(tag for tag, _ in said if tag != b"N") == b"2DCZ"
        refused = raw.said(
            (b"P", text("x") + text("SELECT $1 FROM visits") + b"\0\0"), (b"D", b"S" + text("x")), (b"S", b"")
        )
        assert b"".join(tag for tag, _ in refused) == b"1EZ"
    assert spent(served) == pytest.approx(before + 0.5)


def test_intervals_come_as_columns_beside_the_numbers(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        connection.execute("SET tacit.intervals = on")
        cursor = connection.execute("SELECT ward, count(*) AS n FROM visits GROUP BY ward ORDER BY ward")
        assert [column.name for column in cursor.description or ()] == ["ward", "n", "n_low", "n_high", "n_covers"]
        assert all(low <= n <= high and covers == "least" for _, n, low, high, covers in cursor.fetchall())


def test_a_prepared_statement_whose_columns_change_is_refused_before_it_is_charged(served: Served) -> None:
    before = spent(served)
    with served.raw(options="-c tacit.epsilon=0.25") as raw:
        parse = b"P", text("q") + text("SELECT count(*) AS n FROM visits WHERE age < 77") + b"\0\0"
        raw.said(parse, (b"D", b"S" + text("q")), (b"S", b""))
        raw.said((b"Q", text("SET tacit.intervals = on")))
        said = raw.said((b"B", text("") + text("q") + bytes(6)), (b"E", text("") + bytes(4)), (b"S", b""))
    assert [tag for tag, _ in said] == [b"2", b"E", b"Z"]
    assert b"prepare it again" in said[1][1]
    assert spent(served) == before


def test_explain_is_the_quote_and_free(served: Served) -> None:
    before = spent(served)
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        lines = [row[0] for row in connection.execute(f"EXPLAIN {COUNT}")]
        assert lines[0].startswith("costs epsilon 0.5")
        assert any(line.startswith("n: ±") for line in lines)
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute(f"EXPLAIN ANALYZE {COUNT}")
    assert spent(served) == before


def test_over_budget_has_a_state_and_a_hint(served: Served) -> None:
    with served.connect("bob") as connection:
        connection.execute("SET tacit.epsilon = 0.4")
        connection.execute(COUNT).fetchall()
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded) as caught:
            connection.execute(f"{COUNT} WHERE age < 5")
        assert "SHOW tacit.budget" in (caught.value.diag.message_hint or "")
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("SELECT count(* FROM visits")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM visits")
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_transactions_are_kept_as_clients_expect(served: Served) -> None:
    with served.connect(autocommit=False) as connection:
        connection.execute("SELECT 1")
        assert connection.info.transaction_status.name == "INTRANS"
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nothing FROM nowhere")
        assert connection.info.transaction_status.name == "INERROR"
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        with connection.transaction():
            assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_who_may_come_in(served: Served) -> None:
    for name, token in (("ana", "wrong"), ("nobody", "wrong"), ("ana", served.clinic.tokens["bob"].text)):
        with pytest.raises(psycopg.OperationalError, match="the user or the token is wrong"):
            psycopg.connect(host="127.0.0.1", port=served.port, user=name, password=token, dbname="clinic")
    with pytest.raises(psycopg.OperationalError, match="no dataset"):
        served.connect("eve")
    with pytest.raises(psycopg.OperationalError, match="no dataset"):
        served.connect(dbname="elsewhere")
    with served.connect(dbname="ana") as connection:
        assert connection.execute("SELECT current_database()").fetchall() == [("clinic",)]


def test_a_revoked_token_ends_its_connections(served: Served) -> None:
    people = served.clinic.people
    token = people.issue("ana")
    with served.connect(password=token.text) as connection:
        connection.execute("SELECT 1")
        people.revoke(token.prefix)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        assert connection.broken
    with pytest.raises(psycopg.OperationalError):
        served.connect(password=token.text)


def test_options_set_the_price_at_the_start(served: Served) -> None:
    with served.connect(options="-c tacit.epsilon=0.125 -c extra_float_digits=3") as connection:
        assert connection.execute("SHOW tacit.epsilon").fetchall() == [("0.125",)]
    with pytest.raises(psycopg.OperationalError):
        served.connect(options="-c tacit.epsilon=much")


def test_portals_give_so_many_rows_at_a_time(served: Served) -> None:
    sql = "SELECT column_name FROM information_schema.columns"
    with served.raw() as raw:
        said = raw.said(
            (b"P", text("") + text(sql) + b"\0\0"),
            (b"B", text("x") + text("") + bytes(6)),
            (b"E", text("x") + struct.pack("!i", 3)),
            (b"E", text("x") + struct.pack("!i", 3)),
            (b"E", text("x") + struct.pack("!i", 3)),
            (b"C", b"P" + text("x")),
            (b"E", text("x") + struct.pack("!i", 3)),
            (b"S", b""),
        )
    assert b"".join(tag for tag, _ in said) == b"12" + b"DDDs" + b"DDDs" + b"DC" + b"3" + b"E" + b"Z"


def test_a_cancel_request_reaches_the_question(clinic: Clinic, served: Served) -> None:
    """The engine is busy; the request to stop comes by its own connection and ends it with the right state."""
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.25")
        with endless(clinic.datasets._opened["clinic"].engine) as begun:

            def stopping() -> None:
                begun.acquire(timeout=20)
                connection.cancel_safe()

            helper = threading.Thread(target=stopping)
            helper.start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(f"{COUNT} WHERE age < 33")
            helper.join()
        before = spent(served)
        assert connection.execute(f"{COUNT} WHERE age < 33").fetchall()
    assert spent(served) == before  # it was charged when it began, and is not charged again


def test_a_cancel_request_with_a_wrong_secret_does_nothing(served: Served) -> None:
    with served.connect() as connection:
        number = connection.pgconn.backend_pid
        with socket.create_connection(("127.0.0.1", served.port)) as other:
            other.sendall(struct.pack("!iii4s", 16, 80877102, number, b"nope"))
            assert other.recv(10) == b""
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*made, "-keyout", key, "-out", cert, *subject], check=True, capture_output=True)
    return cert, key


def test_tls_is_the_only_way_in_where_there_is_tls(clinic: Clinic, certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with Served(clinic, context=context) as served:
        with served.connect(sslmode="verify-full", sslrootcert=str(certificate[0])) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
        with pytest.raises(psycopg.OperationalError, match="TLS only"):
            served.connect(sslmode="disable")
        with socket.create_connection(("127.0.0.1", served.port)) as stuffed:
            stuffed.sendall(struct.pack("!ii", 8, 80877103) + b"early")
            assert b"before encryption" in stuffed.recv(500)


def patiently(served: Served) -> "psycopg.Connection[Any]":
    """A connection, once those before are counted out."""
    for _ in range(200):
        with suppress(psycopg.OperationalError):
            return served.connect()
        time.sleep(0.05)
    raise AssertionError("no place became free")


def test_who_is_slow_is_put_out(clinic: Clinic) -> None:
    with Served(clinic, WireLimits(startup=0.2)) as served:
        for sent in (b"", b"\0\0", struct.pack("!ii", 8, 80877103), struct.pack("!ii", 50, 3 << 16) + b"user\0"):
            with socket.create_connection(("127.0.0.1", served.port), timeout=20) as slow:
                slow.sendall(sent)
                found = slow.recv(500).removeprefix(b"N") or slow.recv(500)
                assert b"too long" in found
    with Served(clinic, WireLimits(within=0.2)) as served, served.raw() as raw:
        raw.socket.sendall(b"Q" + struct.pack("!i", 100) + b"SELECT")
        assert b"too long" in raw.read()[1]


def test_limits_on_size_and_number(clinic: Clinic) -> None:
    limits = WireLimits(message=20_000, connections=2, statements=3)
    with Served(clinic, limits) as served:
        with served.connect() as connection, pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT '" + "x" * 30_000 + "'")
        with served.raw() as raw:
            for number in range(3):
                assert raw.said((b"P", text(f"s{number}") + text("SELECT 1") + b"\0\0"), (b"S", b""))[0][0] == b"1"
            assert b"too many" in raw.said((b"P", text("s3") + text("SELECT 1") + b"\0\0"), (b"S", b""))[0][1]
            with patiently(served), pytest.raises(psycopg.OperationalError, match="too many"):
                served.connect()


def test_nobody_takes_all_the_places(clinic: Clinic) -> None:
    with Served(clinic, WireLimits(each=1)) as served, served.raw():
        with pytest.raises(psycopg.OperationalError, match="you have 1 open"):
            served.connect()
        with served.connect("bob") as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_text_that_is_not_utf8_is_answered_and_the_connection_goes_on(served: Served) -> None:
    with served.raw() as raw:
        assert [tag for tag, _ in raw.said((b"Q", b"SELECT '\xff'\0"))] == [b"E", b"Z"]
        said = raw.said((b"P", b"\xff\0\0\0\0"), (b"Q", b"SELECT 1\0"), (b"E", b"\0\0\0\0\0"), (b"S", b""))
        assert [tag for tag, _ in said] == [b"E", b"Z"]  # all that follows a fault is left out, up to Sync
        assert [tag for tag, _ in raw.said((b"Q", b"SELECT 1\0"))] == [b"T", b"D", b"C", b"Z"]
        assert [tag for tag, _ in raw.said((b"Q", b" ; \0"))] == [b"I", b"Z"]


def test_several_statements_in_one_query_end_at_the_first_fault(served: Served) -> None:
    with served.raw() as raw:
        said = raw.said((b"Q", text("SELECT 1; SHOW tacit.epsilon; DROP TABLE x; SELECT 2")))
    assert b"".join(tag for tag, _ in said) == b"TDCTDCEZ"


def test_what_fails_inside_is_told_without_what_it_was(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("row 17 of the secret file")

    monkeypatch.setattr(served.clinic.datasets, "answer", broken)
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.1")
        with pytest.raises(psycopg.errors.InternalError_) as caught:
            connection.execute(COUNT)
        assert "secret" not in str(caught.value)
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_no_text_however_long_holds_up_the_others(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million characters take a second to tell apart: not in the thread that serves everybody."""
    threads = set()

    def seen(sql: str) -> list[str]:
        threads.add(threading.current_thread().name.partition("_")[0])
        return split(sql)

    monkeypatch.setattr("tacit.server.wire.conversation.split", seen)
    with served.raw() as raw:
        assert [tag for tag, _ in raw.said((b"Q", text("SELECT 1")))] == [b"T", b"D", b"C", b"Z"]
        assert raw.said((b"P", text("") + text("SELECT 1") + b"\0\0"), (b"S", b""))[0][0] == b"1"
    assert threads == {"tacit-wire"}


def test_a_server_that_stops_says_so(clinic: Clinic) -> None:
    with Served(clinic) as served:
        connection = served.connect()
    with pytest.raises(psycopg.errors.AdminShutdown):
        connection.execute("SELECT 1")
    connection.close()
