"""How the service is set up: one TOML file, and above it the environment.

Each setting is a key of the file and a variable `TACIT_SERVER_<KEY>`; the variable wins. Paths are relative to the
file, or to the current folder where there is none. A key or a variable that is not known is an error: a setting that is
misspelled would otherwise be off, and nobody would know.
"""

import ipaddress
import os
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tacit.base import InputError
from tacit.base.private_file import private_folder
from tacit.engine.watch import Limits, size

__all__ = ["PREFIX", "Config", "on_this_machine"]

PREFIX = "TACIT_SERVER_"
MARK = "CONFIG"  # the variable that names the file


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that can be set."""

    datasets: tuple[Path, ...] = ()  # policies
    surveys: tuple[Path, ...] = ()  # survey files, answered without signing in
    survey_rate: int = 600  # reports and pages of surveys that one address gets in a minute
    listen: str = "127.0.0.1:8321"
    wire: str = ""  # where PostgreSQL's clients come in; nowhere if it is empty
    state: Path = Path("tacit-state")  # a folder
    database: str = ""  # where people and releases are kept, if not in the folder: postgresql://…
    certificate: Path | None = None  # TLS
    private_key: Path | None = None
    behind_proxy: bool = False  # a proxy on the same machine or network does TLS
    body: int = 65_536  # bytes of a request
    rate: int = 600  # requests of one person in a minute
    connections: int = 256  # open HTTP connections of one address; behind a proxy that is the proxy's to limit
    failures: int = 30  # wrong tokens and links of one address in a minute; right ones are let in at any time
    # seconds that answer times are rounded up to; None: 0.25, and 0 where only this machine can come in
    grid: float | None = None
    jobs: int = 4  # long questions that run at once
    questions_at_once: int = 4  # of one dataset, in one worker; one person has half of the places
    question_seconds: float = 600.0  # of work, for one question
    question_memory: int | None = None  # bytes, or as in "2GB"; None: half of the machine's for all questions together
    question_disk: int | None = None  # bytes of temporary files; None: a quarter of what is free, and 8 GB at most
    grace: int = 30  # seconds that are waited at the end for what is running
    workers: int = 1
    signing_key: Path | None = None  # signs certificates; None: one that is made in the state folder
    data: Path | None = None  # a folder: what lies in it can be declared in the console
    sources: tuple[str, ...] = ()  # environment variables that hold a postgresql:// address, for the same
    policies: Path | None = None  # where the console writes policies, served too; None: `policies` in the state folder
    ledger: str = "tacit.ledger"  # of datasets that are declared in the console; relative to the folder of policies
    public_url: str = ""  # what browsers write to come here; an identity provider sends them back to it
    oidc_issuer: str = ""  # an identity provider (OpenID Connect) that may sign people in; none if it is empty
    oidc_client: str = ""  # what it calls this service
    oidc_secret: Path | None = None  # a file that holds what it gave us to prove that
    oidc_claim: str = "preferred_username"  # what it says of a person that is their name here
    oidc_groups: str = "groups"  # what it says of a person that oidc_roles are about
    oidc_roles: tuple[str, ...] = ()  # "group=role": who is in the group and unknown is added with that role

    def __post_init__(self) -> None:
        host, wire = self.address[0], self.wire_address
        if wire is not None and not (on_this_machine(wire[0]) or self.tls):
            raise InputError(f"wire: {wire[0]} can be reached from elsewhere: set certificate and private_key")
        if wire is not None and self.workers > 1 and not hasattr(socket, "SO_REUSEPORT"):
            raise InputError("set workers = 1, or leave wire out: here one process alone can listen at a port")
        for name in ("body", "rate", "survey_rate", "connections", "failures", "jobs", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        self.limits  # noqa: B018 - says what is wrong with them
        if self.grace < 0 or (self.grid is not None and not 0 <= self.grid <= 60):
            raise InputError("grace must be 0 or more seconds, and grid 0 to 60")
        if (self.certificate is None) != (self.private_key is None):
            raise InputError("certificate and private_key go together: both are files in PEM")
        if not (on_this_machine(host) or self.tls or self.behind_proxy):
            raise InputError(
                f"listen: {host} can be reached from elsewhere, and tokens would cross the network in the clear: set "
                "certificate and private_key, or behind_proxy = true if a proxy in front does TLS"
            )
        # the settings of an identity provider make sense together
        if self.oidc_issuer and not (self.oidc_client and self.public_url):
            needed = "the name of this service there, and its address"
            raise InputError(f"set oidc_client and public_url beside oidc_issuer: {needed}")
        if self.public_url and not self.public_url.startswith("https://" if self.secure else ("http://", "https://")):
            raise InputError("public_url begins with https://, as browsers write it")
        for pair in self.oidc_roles:
            group, _, role = pair.rpartition("=")
            if role not in ("curator", "analyst", "auditor") or not group:
                raise InputError(f'oidc_roles: {pair!r} is not "group=role", with curator, analyst or auditor as role')

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the HTTP door."""
        return _address("listen", self.listen)

    @property
    def wire_address(self) -> tuple[str, int] | None:
        """Host and port of the door for PostgreSQL's clients, if there is one."""
        return _address("wire", self.wire) if self.wire else None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can come in. Through a proxy on it, anybody may."""
        doors = [door[0] for door in (self.address, self.wire_address) if door is not None]
        return not self.behind_proxy and all(map(on_this_machine, doors))

    @property
    def declares(self) -> bool:
        """Whether datasets can be declared in the console, or were."""
        return self.data is not None or bool(self.sources) or any(self.policy_folder.glob("*.toml"))

    @property
    def policy_folder(self) -> Path:
        """The folder that the console writes policies to."""
        return (self.state / "policies" if self.policies is None else self.policies).absolute()

    @property
    def tls(self) -> bool:
        return self.certificate is not None

    @property
    def secure(self) -> bool:
        """Whether browsers come by https."""
        return self.tls or self.behind_proxy

    @property
    def padding(self) -> float:
        """Seconds that the time of an answer from the data is rounded up to."""
        return (0.0 if self.loopback else 0.25) if self.grid is None else self.grid

    @property
    def limits(self) -> Limits:
        """Of each question. Workers and datasets share the machine."""
        return Limits(
            seconds=self.question_seconds,
            memory=self.question_memory,
            disk=self.question_disk,
            at_once=self.questions_at_once,
            shares=self.workers * max(1, len(self.datasets)),
        )

    @property
    def store(self) -> str | Path:
        """Where people and releases are kept; the folder is made if it is not there."""
        if self.database:
            return self.database
        try:
            private_folder(self.state)
        except OSError as error:
            raise InputError(f'state: the folder "{self.state}" cannot be made: {error.strerror}') from None
        return self.state / "server.db"

    @property
    def survey_store(self) -> str | Path:
        """Where reports of surveys are kept: apart from people, in a file of its own where there is no server."""
        return self.database or self.state / "surveys.db"

    @property
    def survey_folder(self) -> Path:
        """The folder that the console writes surveys to."""
        return (self.state / "surveys").absolute()

    def environment(self) -> dict[str, str]:
        """The variables that make the same config: how workers are told of it."""
        found = {}
        for name in KINDS:
            value = getattr(self, name)
            if value is None or value in ("", ()):
                continue
            parts = value if isinstance(value, tuple) else (value,)
            texts = [str(part.absolute() if isinstance(part, Path) else part) for part in parts]
            found[PREFIX + name.upper()] = ("\n" if name == "oidc_roles" else os.pathsep).join(texts)
        return found

    @classmethod
    def read(cls, file: Path | None = None, environment: Mapping[str, str] | None = None) -> "Config":
        """From a file and the environment; the file may be named by TACIT_SERVER_CONFIG."""
        given = {
            name.removeprefix(PREFIX): value
            for name, value in (os.environ if environment is None else environment).items()
            if name.startswith(PREFIX)
        }
        named = given.pop(MARK, "")
        file = Path(named) if file is None and named else file
        folder = Path.cwd() if file is None else file.absolute().parent
        values: dict[str, Any] = {}
        try:
            data = {} if file is None else tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{file} is not TOML: {error}") from None
        for name, value in data.items():
            if name not in KINDS:
                raise InputError(f'there is no setting "{name}": the settings are {", ".join(KINDS)}')
            values[name] = _value(name, value, folder)
        for name, text in given.items():
            if name.lower() not in KINDS:
                known = ", ".join(PREFIX + each.upper() for each in KINDS)
                raise InputError(f"there is no setting {PREFIX}{name}: they are {known}")
            values[name.lower()] = _spelled(name.lower(), text, Path.cwd())
        return cls(**values)


def _address(name: str, text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not host:
        raise InputError(f'{name}: "{text}" is not HOST:PORT: write 127.0.0.1:8321')
    if len(port) > 5 or int(port) > 65_535:
        raise InputError(f"{name}: {port} is no port: it is 0 to 65535")
    return host.removeprefix("[").removesuffix("]"), int(port)


def on_this_machine(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


KINDS: dict[str, Any] = {each.name: each.type for each in fields(Config)}
LISTS = {  # what is in a list, and an example of one
    "datasets": ("policies", "clinic/tacit.toml"),
    "surveys": ("files", "survey.toml"),
    "sources": ("environment variables", "WAREHOUSE_URL"),
    "oidc_roles": ("groups and their roles", "researchers=analyst"),
}
SIZES = ("question_memory", "question_disk")


def _value(name: str, value: Any, folder: Path) -> Any:
    """A value as TOML has it, of the kind that this setting needs."""
    kind = KINDS[name]
    if name in LISTS:
        good = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
        # which a policy can name as ${NAME}
        if not good or (name == "sources" and not all(each.isidentifier() and each.isascii() for each in value)):
            what, example = LISTS[name]
            raise InputError(f'{name} is a list of {what}: {name} = ["{example}"]')
        return tuple(folder / each for each in value) if kind == tuple[Path, ...] else tuple(value)
    if name in SIZES and type(value) in (int, str):
        return size(value, name)
    if kind in (float, float | None) and type(value) in (int, float):
        return float(value)
    if kind in (int, bool) and type(value) is kind:
        return value
    if kind in (str, Path, Path | None) and isinstance(value, str) and value:
        return value if kind is str else folder / value
    raise InputError(f"{name} = {value!r} is not what this setting takes")


def _spelled(name: str, text: str, folder: Path) -> Any:
    """The same from the environment, where everything is text."""
    kind = KINDS[name]
    if name in LISTS:
        parts = text.splitlines() if name == "oidc_roles" else text.split(os.pathsep)
        return _value(name, [part.strip() for part in parts if part.strip()], folder)
    try:
        if kind in (int, float, float | None):
            return int(text) if kind is int else float(text)
    except ValueError:
        raise InputError(f"{PREFIX}{name.upper()}={text} is not a number") from None
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"{PREFIX}BEHIND_PROXY is true or false, not {text}")
        return text.lower() == "true"
    return _value(name, text, folder)
