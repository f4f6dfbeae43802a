"""Who is slow on purpose: a byte now and then, a head without end, an answer that is never read. Nobody else waits."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import pytest

from support.service import Running, running
from support.wire import Clinic, Served
from tacit.server.http import guard
from tacit.server.wire import WireLimits

PATIENCE = 60.0


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    for name in ("HEAD", "BODY", "TAKING"):
        monkeypatch.setattr(guard, name, 0.5)
    with running(tmp_path) as found:
        yield found


def connected(clinic: Running) -> socket.socket:
    host, port = clinic.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def put_out(link: socket.socket) -> bool:
    """Whether the other side ends it, after whatever it still says."""
    try:
        while link.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


HEAD = b"POST /v1/datasets/clinic/ask HTTP/1.1\r\nhost: x\r\n"


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"G",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ",
        HEAD + b"content-length: 50\r\ncontent-type: application/json\r\n\r\n{",
        HEAD + b"transfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\n1\r\n{\r\n",
    ],
    ids=["nothing", "a letter", "a header", "a body", "chunks"],
)
def test_a_byte_now_and_then_does_not_keep_a_place(clinic: Running, begin: bytes) -> None:
    with connected(clinic) as link:
        over = threading.Event()

        def drip() -> None:
            try:
                while not over.wait(0.1):
                    link.sendall(b"a" if b"chunked" not in begin else b"1\r\na\r\n")
            except OSError:
                pass

        link.sendall(begin)
        dripping = threading.Thread(target=drip)
        if begin:
            dripping.start()
        assert put_out(link)
        over.set()
        if begin:
            dripping.join()
    assert clinic.call(None, "GET", "/healthz").status_code == 200


def test_many_slow_ones_keep_nobody_waiting(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HEAD", PATIENCE)
    links = [connected(clinic) for _ in range(100)]
    try:
        for link in links:
            link.sendall(HEAD)
        assert clinic.ask("ana").status_code == 200
    finally:
        for link in links:
            link.close()


def test_a_second_request_is_held_to_the_same(clinic: Running) -> None:
    with connected(clinic) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"200 OK" in link.recv(65_536)
        link.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert put_out(link)


def test_a_question_that_takes_long_is_not_put_out(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.server.ask.datasets import Datasets

    first = Datasets.question

    def slow(*given: object, **more: object) -> object:
        sleep(1.5)
        return first(*given, **more)  # type: ignore[arg-type]  # whatever it was given

    monkeypatch.setattr(Datasets, "question", slow)
    body = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
    assert clinic.call("ana", "POST", "/v1/datasets/clinic/quote", json=body).status_code == 200


def test_a_head_without_end_is_cut_off(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HEAD", PATIENCE)
    with connected(clinic) as link:
        try:
            link.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n")
            for _ in range(5000):
                link.sendall(b"x-more: " + b"y" * 1000 + b"\r\n")
        except OSError:
            return
        assert put_out(link)


def test_who_never_reads_is_put_out(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[guard.PatientProtocol] = []
    first = guard.PatientProtocol.pause_writing

    def noted(self: guard.PatientProtocol) -> None:
        made.append(self)
        first(self)

    monkeypatch.setattr(guard.PatientProtocol, "pause_writing", noted)
    with connected(clinic) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            for _ in range(3000):  # answers pile up
                link.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n")
        except OSError:
            pass
        end = monotonic() + PATIENCE
        while not (made and made[0].transport.is_closing()):
            assert monotonic() < end
            sleep(0.05)


def test_one_address_has_so_many_connections(tmp_path: Path) -> None:
    with running(tmp_path, connections=3) as clinic:
        links = [connected(clinic) for _ in range(3)]
        for link in links:  # all are in
            link.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"200 OK" in link.recv(65_536)
        with connected(clinic) as more:
            assert put_out(more)
        links.pop().close()
        end = monotonic() + PATIENCE
        while True:
            with connected(clinic) as again:
                again.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
                try:
                    if b"200 OK" in again.recv(65_536):
                        break
                except ConnectionResetError:
                    pass
            assert monotonic() < end
        for link in links:
            link.close()


def test_behind_a_proxy_the_proxy_counts(tmp_path: Path) -> None:
    with running(tmp_path, connections=1, behind_proxy=True) as clinic:
        links = [connected(clinic) for _ in range(3)]
        for link in links:
            link.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"200 OK" in link.recv(65_536)
            link.close()


def test_slow_ones_of_the_other_door_keep_nobody_waiting(tmp_path: Path) -> None:
    with closing(Clinic(tmp_path)) as small, Served(small, WireLimits(startup=0.5, within=0.5)) as served:
        slow = [socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) for _ in range(40)]
        for link in slow:
            link.sendall(struct.pack("!ii", 50, 3 << 16) + b"user\0")
        with served.connect() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        for link in slow:
            assert b"too long" in link.recv(500)
            link.close()


def test_one_address_has_so_many_connections_at_the_other_door(tmp_path: Path) -> None:
    with closing(Clinic(tmp_path)) as small, Served(small, WireLimits(address=2)) as served:
        links = [socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) for _ in range(2)]
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as more:
            body = b"user\0ana\0\0"
            more.sendall(struct.pack("!ii", len(body) + 8, 3 << 16) + body)
            assert b"too many connections" in more.recv(500)
        for link in links:
            link.close()
