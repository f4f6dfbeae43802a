"""Both doors over TLS, with a real handshake: the right authority is believed, another one and plain text are not."""

import socket
import ssl
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import tacit
from support.service import COUNT, Running, running

BODY = {"sql": COUNT, "epsilon": 0.1}


def certified(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return folder / f"{name}.pem", folder / f"{name}.key"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("tls")
    certified(found, "other")
    return found


@pytest.fixture(scope="module")
def clinic(folder: Path) -> Iterator[Running]:
    certificate, key = certified(folder, "own")
    with running(folder, wire="127.0.0.1:0", certificate=certificate, private_key=key) as found:
        yield Running(found.service, found.url.replace("http:", "https:"), found.tokens, found.wire_port)


def trusting(folder: Path, name: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=folder / f"{name}.pem")


def asked(clinic: Running, context: ssl.SSLContext) -> httpx.Response:
    headers = {"Authorization": f"Bearer {clinic.tokens['ana']}"}
    with httpx.Client(base_url=clinic.url, verify=context, trust_env=False, timeout=60, headers=headers) as client:
        return client.post("/v1/datasets/clinic/ask", json=BODY)


def test_an_answer_over_https(clinic: Running, folder: Path) -> None:
    answer = asked(clinic, trusting(folder, "own"))
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"].startswith("max-age=")
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        asked(clinic, trusting(folder, "other"))


def test_the_newest_version_is_spoken(clinic: Running, folder: Path) -> None:
    context = trusting(folder, "own")
    port = int(clinic.url.rpartition(":")[2])
    link = socket.create_connection(("127.0.0.1", port), timeout=60)
    with context.wrap_socket(link, server_hostname="127.0.0.1") as safe:
        assert safe.version() == "TLSv1.3"


def test_plain_text_is_not_answered(clinic: Running) -> None:
    port = int(clinic.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"200" not in link.recv(1000)


def test_a_handshake_that_never_ends_keeps_nobody_waiting(clinic: Running, folder: Path) -> None:
    port = int(clinic.url.rpartition(":")[2])
    links = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(30)]
    for link in links:
        link.sendall(b"\x16\x03\x01\x02")
    assert asked(clinic, trusting(folder, "own")).status_code == 200
    for link in links:
        link.close()


def test_our_own_client(clinic: Running, folder: Path) -> None:
    with tacit.connect(clinic.url, clinic.tokens["ana"], authority=str(folder / "own.pem")) as desk:
        assert desk.ask(COUNT, epsilon=0.1).rows()
    with pytest.raises(tacit.TacitError):
        tacit.connect(clinic.url, clinic.tokens["ana"], authority=str(folder / "other.pem")).left()


def told(clinic: Running, folder: Path, name: str, mode: str) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(
        host="127.0.0.1",
        port=clinic.wire_port,
        user="ana",
        password=clinic.tokens["ana"],
        dbname="clinic",
        sslmode=mode,
        sslrootcert=str(folder / f"{name}.pem"),
        autocommit=True,
        connect_timeout=60,
    )


def test_psql_over_tls(clinic: Running, folder: Path) -> None:
    with told(clinic, folder, "own", "verify-full") as connection:
        connection.execute("SET tacit.epsilon = 0.1")
        assert len(connection.execute(COUNT).fetchall()) > 1
        assert connection.pgconn.ssl_in_use
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        told(clinic, folder, "other", "verify-full")
    with pytest.raises(psycopg.OperationalError, match="TLS only"):
        told(clinic, folder, "own", "disable")


def test_bytes_before_encryption_end_it(clinic: Running) -> None:
    assert clinic.wire_port is not None
    with socket.create_connection(("127.0.0.1", clinic.wire_port), timeout=60) as stuffed:
        stuffed.sendall(struct.pack("!ii", 8, 80877103) + b"early")
        assert b"before encryption" in stuffed.recv(500)
