"""A start that is refused, by the real command: one line with the remedy, an exit code, and nothing secret before."""

import os
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support.service import clinic
from tacit.ledger import Ledger
from tacit.policy import load
from tacit.server.db import State

COMMAND = [sys.executable, "-m", "tacit", "serve"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("TACIT_SERVER_")}


@pytest.fixture(scope="module")
def taken() -> Iterator[str]:
    """An address that another program has."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield f"127.0.0.1:{found.getsockname()[1]}"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return clinic(tmp_path)


def refused(folder: Path, *words: str) -> str:
    """The only line that was said."""
    state = [] if "--state" in words else ["--state", str(folder / "state")]
    listen = [] if "--listen" in words or "--config" in words else ["--listen", "127.0.0.1:0"]
    command = [*COMMAND, *state, *listen, *words]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("tacit: ")
    assert ": " in line.removeprefix("tacit: ")  # a cause and what to do
    assert not re.search(r"signin|tacit_[0-9a-f]{12}|Traceback|[a-z]Error\b", line)
    return line


def config(folder: Path, policy: Path, **settings: str) -> list[str]:
    lines = [
        f'datasets = ["{policy}"]',
        'listen = "127.0.0.1:0"',
        *(f'{name} = "{to}"' for name, to in settings.items()),
    ]
    file = folder / "server.toml"
    file.write_text("\n".join(lines))
    return ["--config", str(file)]


def test_a_port_that_another_program_has(tmp_path: Path, policy: Path, taken: str) -> None:
    for words in (["--listen", taken], ["--wire", taken]):
        line = refused(tmp_path, "--policy", str(policy), *words)
        assert f"another program listens at {taken}: stop it, or choose another port with {words[0]} HOST:PORT" in line
    assert not (tmp_path / "state").exists() or not list((tmp_path / "state").glob("*.key"))


@pytest.mark.slow
def test_a_port_that_another_program_has_with_workers(tmp_path: Path, policy: Path, taken: str) -> None:
    assert taken in refused(tmp_path, "--policy", str(policy), "--listen", taken, "--workers", "2")


def broken_ledger(folder: Path, policy: Path) -> list[str]:
    Path(load(policy).ledger()).write_bytes(b"this is no ledger, and was never one" * 100)
    return ["--policy", str(policy)]


def newer_ledger(folder: Path, policy: Path) -> list[str]:
    place = load(policy).ledger()
    with Ledger.open(place):
        pass
    with closing(sqlite3.connect(place)) as book, book:
        book.execute("UPDATE tacit_book SET version = 99")
    return ["--policy", str(policy)]


def broken_state(folder: Path, policy: Path) -> list[str]:
    (folder / "state").mkdir()
    (folder / "state" / "server.db").write_bytes(b"this is no database, and was never one" * 100)
    return ["--policy", str(policy)]


def newer_state(folder: Path, policy: Path) -> list[str]:
    (folder / "state").mkdir()
    State(folder / "state" / "server.db").close()
    with closing(sqlite3.connect(folder / "state" / "server.db")) as base, base:
        base.execute("UPDATE tacit_schema SET version = 99")
    return ["--policy", str(policy)]


def state_is_a_file(folder: Path, policy: Path) -> list[str]:
    (folder / "state").write_text("")
    return ["--policy", str(policy)]


def no_data(folder: Path, policy: Path) -> list[str]:
    for file in folder.glob("*.parquet"):
        file.unlink()
    return ["--policy", str(policy)]


def no_certificate(folder: Path, policy: Path) -> list[str]:
    return config(folder, policy, certificate="no.pem", private_key="no.key")


def bad_certificate(folder: Path, policy: Path) -> list[str]:
    for name in ("cert.pem", "key.pem"):
        (folder / name).write_text("-----BEGIN NOTHING-----\n")
    return config(folder, policy, certificate="cert.pem", private_key="key.pem")


def no_secret(folder: Path, policy: Path) -> list[str]:
    provider = {"oidc_issuer": "https://id.example", "oidc_client": "tacit", "public_url": "http://127.0.0.1:8321"}
    return config(folder, policy, oidc_secret="secret.txt", **provider)


def no_signing_key(folder: Path, policy: Path) -> list[str]:
    return config(folder, policy, signing_key="sign.key")


def no_server(folder: Path, policy: Path) -> list[str]:
    return config(folder, policy, database="postgresql://nobody@127.0.0.1:1/nothing")


def no_config(folder: Path, policy: Path) -> list[str]:
    return ["--config", str(folder / "none.toml")]


def no_policy(folder: Path, policy: Path) -> list[str]:
    return ["--policy", str(folder / "none.toml")]


def policy_is_a_folder(folder: Path, policy: Path) -> list[str]:
    return ["--policy", str(folder)]


def bad_policy(folder: Path, policy: Path) -> list[str]:
    policy.write_text("this is = = no TOML")
    return ["--policy", str(policy)]


def no_variable(folder: Path, policy: Path) -> list[str]:
    text = policy.read_text()
    policy.write_text(re.sub(r'source = "visits\.parquet"', 'source = "${NO_SUCH_PLACE}"', text))
    return ["--policy", str(policy)]


def unknown_host(folder: Path, policy: Path) -> list[str]:
    file = config(folder, policy, behind_proxy="x")
    (folder / "server.toml").write_text(
        f'datasets = ["{policy}"]\nlisten = "no-such-host.invalid:8321"\nbehind_proxy = true\n'
    )
    return file


Case = Callable[[Path, Path], list[str]]
SOON: list[tuple[Case, str]] = [
    (broken_ledger, "ledger"),
    (bad_certificate, "belong together"),
    (newer_state, "install that release"),
]
LATER: list[tuple[Case, str]] = [
    (newer_ledger, "install a newer one"),
    (broken_state, "server.db"),
    (state_is_a_file, "state"),
    (no_data, "parquet"),
    (no_certificate, "no.pem cannot be read"),
    (no_secret, "secret.txt cannot be read"),
    (no_signing_key, "sign.key"),
    (no_server, "database"),
    (no_config, "none.toml"),
    (no_policy, "none.toml"),
    (policy_is_a_folder, "director"),
    (bad_policy, "tacit.toml"),
    (no_variable, "NO_SUCH_PLACE"),
    (unknown_host, "nobody knows a host"),
]
MARKED = [*SOON, *(pytest.param(*case, marks=pytest.mark.slow) for case in LATER)]


@pytest.mark.parametrize(("case", "named"), MARKED)
def test_what_cannot_be_served_is_one_line(case: Case, named: str, tmp_path: Path, policy: Path) -> None:
    assert named in refused(tmp_path, *case(tmp_path, policy))


@pytest.mark.slow
@pytest.mark.parametrize("case", [broken_ledger, newer_state, bad_certificate, no_signing_key, no_data])
def test_several_workers_say_it_once(case: Case, tmp_path: Path, policy: Path) -> None:
    refused(tmp_path, *case(tmp_path, policy), "--workers", "3")


@contextmanager
def started(folder: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    command = [*COMMAND, "--state", str(folder / "state"), "--listen", "127.0.0.1:0", *words]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("workers", ["1", pytest.param("3", marks=pytest.mark.slow)])
def test_whoever_is_greeted_can_come_in(workers: str, tmp_path: Path, policy: Path) -> None:
    import httpx

    words = ["--wire", "127.0.0.1:0", "--workers", workers]
    with started(tmp_path, "--policy", str(policy), *words) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.fullmatch(r"tacit serves at (http://127\.0\.0\.1:\d+)\n", first)
        assert found is not None, first
        assert httpx.get(f"{found[1]}/healthz", trust_env=False).status_code == 200  # at once, without waiting
        gate = re.search(r"-p (\d+)", process.stdout.readline())
        assert gate is not None
        socket.create_connection(("127.0.0.1", int(gate[1])), timeout=5).close()
        assert "/signin?link=" in process.stdout.readline()
