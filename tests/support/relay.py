"""A way to a service that loses things: between a client and the real thing, or in place of it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

__all__ = ["Relay", "canned", "relay"]

Act = Callable[[bytes], bytes | None]  # from the true answer, to what is sent on; None closes without a word


def canned(status: str, kind: str, body: bytes, *more: str) -> bytes:
    """An answer as bytes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Relay:
    """Passes requests on to `port` (none: an empty answer) and what comes back through the next act, if any is left.

    Only questions that are paid for take an act, unless `every`.
    """

    port: int | None
    url: str = ""
    every: bool = False
    acts: list[Act] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list, repr=False)  # they hold tokens

    def headers(self, name: str) -> list[str]:
        """A header of every question that came."""
        found = []
        for request in self.seen:
            lines = request.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
            values = [line.partition(": ")[2] for line in lines if line.lower().startswith(name.lower() + ":")]
            found.append(values[0] if values else "")
        return found

    def serve(self, client: socket.socket) -> None:
        request = _read(client)
        if not request:
            return
        act: Act | None = None
        if self.every or b"/ask HTTP/" in request.split(b"\r\n")[0]:
            self.seen.append(request)
            act = self.acts.pop(0) if self.acts else None
        answer = b"" if self.port is None else _answered(self.port, request)
        sent = answer if act is None else act(answer)
        if sent is not None:
            client.sendall(sent)


def _read(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while len(body) < int(lengths[0] if lengths else 0):
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


def _answered(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as service:
        service.sendall(request)
        data = b""
        while piece := service.recv(65536):  # clients ask for the connection to be closed after each answer
            data += piece
    return data


@contextmanager
def relay(port: int | None = None, *acts: Act, every: bool = False) -> Iterator[Relay]:
    """A relay on a loopback port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        found = Relay(port, f"http://127.0.0.1:{door.getsockname()[1]}", every, list(acts))

        def work() -> None:
            while True:
                client, _ = door.accept()
                with client:
                    if stopped.is_set():
                        return
                    with suppress(OSError):
                        found.serve(client)

        stopped = threading.Event()
        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield found
        finally:
            stopped.set()
            socket.create_connection(door.getsockname()).close()
            thread.join()
