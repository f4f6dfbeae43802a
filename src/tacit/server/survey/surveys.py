"""The surveys that this worker serves, the store that their reports go to, and the keys that sign their tokens."""

import json
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from starlette.concurrency import run_in_threadpool

from tacit.base import InputError, PolicyError
from tacit.server.auth.tokens import random_bytes
from tacit.server.curate.sources import Folder
from tacit.server.db import Unavailable
from tacit.server.http.rate import RateLimit
from tacit.server.problem import HttpProblem
from tacit.server.survey.collect import Collector, delivery_of, exchange_of, refused
from tacit.server.survey.store import Delivery, Refusal, ReportStore
from tacit.survey.invitation import BITS, Invitations, PublicKey, code_digest, new_codes
from tacit.survey.plan import DEMO, simulate
from tacit.survey.results import Results, results_of
from tacit.survey.survey import Survey, load

__all__ = ["PEOPLE", "Surveys", "TokenSigner", "seeded"]

COUNTED, KNOWN = (json.dumps({"counted": new}).encode() for new in (True, False))
MOST_CODES = 100_000  # that are made at once


class Surveys:
    """Every survey's name is known to the store with what its reports mean, or it is refused.

    `files` are opened once, and one that cannot be is an error. `folder` holds further ones: those that are there now,
    and those that this or another worker adds later; one that cannot be opened is left out until it changes.
    """

    def __init__(
        self, files: Iterable[Path], where: str | Path, *, rate: int, body: int, folder: Path | None = None
    ) -> None:
        self.known: Mapping[str, Survey] = MappingProxyType({})
        self.folder, self.body = folder, body
        self._folder, self._paths, self._lock = Folder(folder), set[Path](), threading.Lock()
        self._signers: dict[str, TokenSigner] = {}
        for path in files:
            self._know(self._read(path))
        self.rate = RateLimit(rate)
        self.store = ReportStore(where)
        try:
            for survey in self.known.values():
                self._enter(survey)
            self._notice()
            self.collector = Collector(self.store)
        except BaseException:
            self.store.close()
            raise

    def _read(self, path: Path) -> Survey:
        survey = load(path)
        if survey.name in self.known:
            raise PolicyError(f'two surveys are called "{survey.name}": give one of them another name')
        self.fits(survey)
        return survey

    def _know(self, survey: Survey) -> None:
        self.known = MappingProxyType({**self.known, survey.name: survey})

    def _enter(self, survey: Survey) -> None:
        self.store.enter(survey)
        if survey.invitations is Invitations.TOKEN:
            self._signers[survey.name] = TokenSigner(self.store.token_key(survey, TokenSigner.new))

    def fits(self, survey: Survey) -> None:
        """What a respondent sends can be taken; else a `PolicyError`."""
        # at most: names and hexadecimal digits, each with quotes and commas
        size = 900 + sum(len(name) + 2 * size + 10 for name, size in survey.sizes.items())
        if size > self.body:
            raise PolicyError(
                f'what one respondent of "{survey.name}" sends has {size:,} bytes, and requests at most {self.body:,}: '
                "ask with fewer options, or set body"
            )

    def add(self, path: Path) -> None:
        """Serve one more file of the folder, from now on. It is no harm if it was noticed already."""
        with self._lock:
            if path not in self._paths:
                self._take(path)

    def _take(self, path: Path) -> None:
        survey = self._read(path)
        self._enter(survey)
        self._paths.add(path)
        self._know(survey)

    def _notice(self) -> None:
        """Take in what was saved since, here or by another worker."""
        with self._lock:  # whoever asks meanwhile waits for what is being read
            if self._folder.changed():
                self._folder.notice("survey", self._take, self._paths)

    def every(self) -> Mapping[str, Survey]:
        """All surveys by name."""
        self._notice()
        return self.known

    def named(self, name: str) -> Survey:
        """The survey of this name."""
        if name not in self.known:
            self._notice()
        if name not in self.known:
            raise HttpProblem(404, "no-survey", "There is no such survey", "there is no survey of this name here")
        return self.known[name]

    @staticmethod
    def standing(survey: Survey) -> Literal["open", "later", "closed"]:
        """Whether reports are taken now."""
        now = datetime.now(UTC)
        if survey.is_open(now):
            return "open"
        return "closed" if survey.opens is None or survey.opens <= now else "later"

    def open_now(self, survey: Survey) -> None:
        """Whether reports are taken now; else a `HttpProblem` that says since when or from when."""
        standing = self.standing(survey)
        if standing == "open":
            return
        begun = standing == "closed"
        moment = survey.closes if begun else survey.opens
        words = f"it {'closed' if begun else 'opens'} at {moment:%Y-%m-%d %H:%M} UTC"
        raise HttpProblem(403, "closed" if begun else "not-open", "The survey takes no answers now", words)

    async def take(self, name: str, body: bytes, *, address: str) -> bytes:
        """What one device sent, on disk when this returns; what it is told. Or a `HttpProblem`."""
        self.rate.take(address)
        survey = self.known.get(name)
        if survey is None:
            survey = await run_in_threadpool(self.named, name)  # which may read files
        self.open_now(survey)
        signer = self._signers.get(survey.name)
        new = await self.collector.submit(survey, delivery_of(survey, body, None if signer is None else signer.knows))
        if isinstance(new, Refusal):
            raise refused(new)
        return COUNTED if new else KNOWN

    def terms(self, survey: Survey) -> dict[str, Any]:
        """What a device is told, with the key that its token will be signed by."""
        signer = self._signers.get(survey.name)
        return survey.terms() | ({} if signer is None else {"token_key": signer.public.text})

    def invite(self, survey: Survey, count: int) -> list[str]:
        """So many new codes. Only their digests are kept here: they are told this once."""
        if survey.invitations is Invitations.NONE:
            detail = 'write invitations = "code" in its file first'
            raise HttpProblem(409, "open-survey", "Anybody may answer this survey", detail)
        if not 1 <= count <= MOST_CODES:
            raise HttpProblem(422, "input", "An argument is wrong", f"count must be 1 to {MOST_CODES:,}, not {count:,}")
        codes = new_codes(count)
        self.store.invite(survey, [digest for code in codes if (digest := code_digest(survey.name, code))])
        return codes

    def exchange(self, survey: Survey, body: bytes, *, address: str) -> str:
        """The signature on a hidden form, for a code that is used up by that. The same form may ask again."""
        self.rate.take(address)
        self.open_now(survey)
        signer = self._signers.get(survey.name)
        if signer is None:
            raise HttpProblem(409, "no-tokens", "This survey has no tokens", "send the report with its code")
        code, hidden = exchange_of(survey, body)
        signature = signer.signed(hidden)
        if signature is None:
            raise HttpProblem(422, "report", "This cannot be signed", "hidden must be a number below the survey's key")
        refusal = self.store.exchange(survey, code, sha256(hidden.encode()).digest())
        if refusal is not None:
            raise refused(refusal)
        return signature

    def results(self, survey: Survey) -> Results:
        """What its reports say so far."""
        counted = self.store.counted(survey)
        return results_of(survey, counted.tallies, waiting=counted.waiting)

    def close(self) -> None:
        """Write what is waiting, and let go of the store."""
        self.collector.close()
        self.store.close()


PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=48)


class TokenSigner:
    """A private RSA key in the form that it is stored in."""

    def __init__(self, stored: bytes) -> None:
        key = serialization.load_der_private_key(stored, password=None)
        assert isinstance(key, rsa.RSAPrivateKey), "as `new` makes it"
        self._key, self._numbers = key, key.private_numbers()
        self.public = PublicKey(self._numbers.public_numbers.n)

    @staticmethod
    def new() -> bytes:
        """A fresh key, to be stored."""
        made = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        return made.private_bytes(encoding, form, serialization.NoEncryption())

    def signed(self, blinded: str) -> str | None:
        """The signature on a hidden form; None if that is no number below the key's.

        The number is hidden once more, by a factor of our own, so that the time this takes says nothing about the key.
        """
        modulus, value = self.public.modulus, int(blinded, 16)
        if not 0 < value < modulus:
            return None
        factor = 2 + int.from_bytes(random_bytes(BITS // 8 + 16), "big") % (modulus - 3)
        found = pow(value * self.public.raised(factor), self._numbers.d, modulus) * pow(factor, -1, modulus) % modulus
        if self.public.raised(found) != value:  # a wrong signature would give the key away
            raise Unavailable("the token could not be signed: send the same again later")
        return f"{found:0{BITS // 4}x}"

    def knows(self, message: bytes, signature: bytes) -> bool:
        """Whether this key signed that message."""
        try:
            self._key.public_key().verify(signature, message, PSS, hashes.SHA384())
        except InvalidSignature:
            return False
        return True


PEOPLE, AT_ONCE, NAME = 3000, 1000, 16  # of the demo


def seeded(folder: Path, where: str | Path) -> Path:
    """The demo survey's file, written the first time, and its store with made-up reports."""
    path = folder / "survey.toml"
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(DEMO, encoding="utf-8")
        except OSError as error:
            raise InputError(f'the demo cannot be written to "{folder}": {error.strerror}') from None
    survey = load(path)
    store = ReportStore(where)
    try:
        store.enter(survey)
        if not store.size(survey):
            made = simulate(survey, answers=PEOPLE).reports
            columns = {name: np.ascontiguousarray(made[name]).tobytes() for name in survey.questions}
            for start in range(0, PEOPLE, AT_ONCE):
                places = range(start, min(PEOPLE, start + AT_ONCE))
                store.add(survey, [Delivery(random_bytes(NAME), _report(survey, columns, n)) for n in places])
    finally:
        store.close()
    return path


def _report(survey: Survey, columns: Mapping[str, bytes], place: int) -> dict[str, bytes]:
    return {name: columns[name][place * size : (place + 1) * size] for name, size in survey.sizes.items()}
