"""The way in: encryption, a name, a token proven by SCRAM, and a dataset."""

import hmac
import shlex
import ssl
import struct
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Any

from sqlalchemy import select

from tacit.server.ask.datasets import Datasets
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.people import Identity, People
from tacit.server.auth.tokens import ITERATIONS, SALT, Keys, Verifier, random_bytes
from tacit.server.db import tokens
from tacit.server.problem import Fault
from tacit.server.wire import message as reply
from tacit.server.wire.door import WireDoor
from tacit.server.wire.link import WireLink, WireTally
from tacit.server.wire.message import Cancel, Encrypt, Startup, broken
from tacit.server.wire.setting import REPORTED, Settings

__all__ = ["Call", "enter", "first_message"]

MECHANISM = "SCRAM-SHA-256"
NONCE = 18
GS2 = ("n", "y")  # no channel binding; `y` says that the client has it and thinks that we do not, which is so


def salt_secret(people: People) -> bytes:
    """What the salts of names that do not exist are made with. It is the same in every worker and after a restart:
    a salt that changes would give such a name away. It is a hash of the oldest token's key, which nobody is shown, so
    that no salt says anything about a proof by that key."""
    oldest = select(tokens.c.stored_key).order_by(tokens.c.created, tokens.c.prefix).limit(1)
    return sha256(b"tacit salts\0" + b"".join(bytes(row.stored_key) for row in people.state.look(oldest))).digest()


def _wrong(what: str) -> Fault:
    return Fault("08P01", f"the proof of the token cannot be read: {what}", fatal=True)


class Exchange:
    """One attempt to come in under a name. `secret` makes the salt where there is no verifier."""

    def __init__(self, name: str, verifier: Verifier | None, secret: bytes) -> None:
        self._name, self._verifier, self._secret = name, verifier, secret
        self._first = self._server = self._nonce = ""
        self._header = b""

    def challenge(self, data: bytes) -> bytes:
        """The server's first message, after the client's."""
        text = _ascii(data)
        header, _, rest = text.partition(",")
        authzid, _, bare = rest.partition(",")
        if header not in GS2 or authzid:
            raise _wrong("no channel binding and no other name are supported")
        parts = bare.split(",")
        if len(parts) < 2 or not parts[0].startswith("n=") or not parts[1].startswith("r=") or len(parts[1]) < 10:
            raise _wrong("the first message has no nonce")
        self._header = f"{header},,".encode()
        self._first = bare
        self._nonce = parts[1][2:] + b64encode(random_bytes(NONCE)).decode()
        salt, rounds = hmac.digest(self._secret, self._name.encode(), "sha256")[:SALT], ITERATIONS
        if self._verifier is not None:
            salt, rounds = self._verifier.salt, self._verifier.iterations
        self._server = f"r={self._nonce},s={b64encode(salt).decode()},i={rounds}"
        return self._server.encode()

    def verify(self, data: bytes) -> tuple[bytes, Keys] | None:
        """The server's last message and the token that was proven; None if none was."""
        text = _ascii(data)
        body, found, proof = text.rpartition(",p=")
        parts = body.split(",")
        if not found or len(parts) < 2 or not parts[0].startswith("c=") or not parts[1].startswith("r="):
            raise _wrong("the last message has no proof")
        given = _base64(proof)
        if _base64(parts[0][2:]) != self._header or not hmac.compare_digest(
            parts[1][2:].encode(), self._nonce.encode()
        ):
            raise _wrong("it belongs to another conversation")
        if len(given) != sha256().digest_size:
            raise _wrong("it has a wrong length")
        message = f"{self._first},{self._server},{body}".encode()
        matched = None
        for keys in () if self._verifier is None else self._verifier.keys:
            signature = hmac.digest(keys.stored_key, message, "sha256")
            client = bytes(a ^ b for a, b in zip(given, signature, strict=True))
            if hmac.compare_digest(sha256(client).digest(), keys.stored_key):
                matched = keys
        if matched is None:
            return None
        last = hmac.digest(matched.server_key, message, "sha256")
        return b"v=" + b64encode(last), matched


def _ascii(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise _wrong("it is not text") from None
    if "\0" in text:
        raise _wrong("it holds a NUL")
    return text


def _base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        raise _wrong("it is not base64") from None


Call = Callable[[Callable[[], Any]], Awaitable[Any]]
SASL = 4096  # the largest message of an authentication
ITSELF = ("user", "database", "options", "replication")


async def first_message(link: WireLink, context: ssl.SSLContext | None) -> Startup | Cancel:
    """The first message that is not about encryption. Where there is TLS, nothing else is spoken."""
    encrypted = False
    for _ in range(3):
        first = await link.opening()
        if isinstance(first, Encrypt):
            if first.tls and context is not None and not encrypted:
                await link.encrypt(context)
                encrypted = True
            else:
                link.refuse_encryption()
            continue
        if context is not None and not encrypted and isinstance(first, Startup):
            raise Fault("28000", "this server speaks TLS only", "connect with sslmode=require or better", fatal=True)
        return first
    raise broken("encryption was asked for again and again")


async def enter(
    link: WireLink, startup: Startup, datasets: Datasets, people: People, shelf: Shelf, tally: WireTally, call: Call
) -> tuple[WireDoor, str]:
    """Authenticate, choose the dataset, and tell the client what it needs to know; also the prefix of the token."""
    asked = startup.parameters
    name = asked.get("user", "")
    if not name:
        raise Fault("28000", "no user was named", "the user is the analyst's name, the password a token", fatal=True)
    if asked.get("replication", "false").lower() not in ("false", "off", "no", "0"):
        raise Fault("0A000", "there is nothing to replicate here", fatal=True)
    if startup.newer or startup.minor:
        link.put(reply.negotiate(startup.newer))
    token = await _authenticate(link, name, people, tally, call)
    who: Identity | None = await call(lambda: people.named(name))
    if who is None:
        raise Fault("28000", "this account is blocked: ask a curator", fatal=True)
    dataset = _chosen(asked.get("database") or name, name, await call(lambda: datasets.names(who)))
    settings = _settings(name, asked)
    link.put(reply.authentication(0))
    for key, spelled in REPORTED.items():
        link.put(reply.parameter_status(spelled, settings.show(key)))
    return WireDoor(datasets, who, dataset, settings, shelf), token


async def _authenticate(link: WireLink, name: str, people: People, tally: WireTally, call: Call) -> str:
    exchange: Exchange = await call(lambda: Exchange(name, people.scram(name), salt_secret(people)))
    link.put(reply.authentication(10, MECHANISM.encode() + b"\0\0"))
    mechanism, _, rest = (await _password(link)).partition(b"\0")
    if mechanism != MECHANISM.encode() or len(rest) < 4 or struct.unpack("!i", rest[:4])[0] != len(rest) - 4:
        raise broken(f"{MECHANISM} is the only way to authenticate")
    link.put(reply.authentication(11, exchange.challenge(rest[4:])))
    proven = exchange.verify(await _password(link))
    if proven is None:
        await call(partial(tally.refused, link.address))
        hint = "the user is the analyst's name, and the password a token that is still valid"
        raise Fault("28P01", "the user or the token is wrong", hint, fatal=True)
    last, keys = proven
    link.put(reply.authentication(12, last))
    return keys.token


async def _password(link: WireLink) -> bytes:
    await link.flush()
    tag, data = await link.frame(SASL)
    if tag != b"p":
        raise broken("the proof of a token was expected")
    return data


def _chosen(database: str, name: str, datasets: list[str]) -> str:
    """The dataset of that name. psql takes the user's name where none is given: then the only one there is."""
    if database in datasets:
        return database
    if database == name and len(datasets) == 1:
        return datasets[0]
    hint = f"yours are {', '.join(datasets)}" if datasets else "no policy names you yet"
    raise Fault("3D000", f'there is no dataset "{database[:100]}" for you', hint, fatal=True)


def _settings(name: str, asked: dict[str, str]) -> Settings:
    settings = Settings(name)
    wanted = [(key, value) for key, value in asked.items() if key not in ITSELF]
    try:
        wanted += _options(asked.get("options", ""))
        for key, value in wanted:
            settings.set(key, value)
    except Fault as fault:
        raise Fault(fault.state, fault.message, fault.hint, fatal=True) from None
    return settings


def _options(text: str) -> list[tuple[str, str]]:
    """The settings in `-c name=value --name=value`, as PGOPTIONS has them."""
    try:
        words = iter(shlex.split(text))
    except ValueError:
        raise Fault("22023", "the options cannot be read") from None
    found = []
    for word in words:
        if not word.startswith(("-c", "--")):
            raise Fault("22023", "options are written as -c name=value")
        inside = word[2:].replace("-", "_") if word.startswith("--") else word[2:] or next(words, "")
        key, _, value = inside.partition("=")
        found.append((key, value))
    return found
