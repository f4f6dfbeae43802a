"""The surveys that this worker serves, and the store that their reports go to."""

import json
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from logging import WARNING
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool

from tacit.base import PolicyError
from tacit.server.curate.sources import Folder
from tacit.server.db import Unavailable
from tacit.server.http.rate import RateLimit
from tacit.server.ops.log import event
from tacit.server.problem import HttpProblem
from tacit.server.survey.collect import Collector, delivery_of, exchange_of, uninvited, used_up
from tacit.server.survey.invited import Refusal, TokenSigner
from tacit.server.survey.store import ReportStore
from tacit.survey.invitation import Invitations, code_digest, new_codes
from tacit.survey.results import Results, results_of
from tacit.survey.survey import Survey
from tacit.survey.survey_file import load

__all__ = ["Surveys"]

COUNTED, KNOWN = (json.dumps({"counted": new}).encode() for new in (True, False))
REFUSALS = {Refusal.UNKNOWN: uninvited, Refusal.USED: used_up}
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
        if (size := _body(survey)) > self.body:
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
            for path in self._folder.files() if self._folder.changed() else ():
                if path in self._paths:
                    continue
                try:
                    self._take(path)
                except Unavailable:  # the file is not to blame: look again at the next request
                    self._folder = Folder(self.folder)
                    return
                except Exception as error:  # whatever is wrong with it, the others are served
                    self._folder.broken(path)
                    event("survey left out", level=WARNING, file=path.name, error=type(error).__name__)

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
        delivery = delivery_of(survey, body, lambda message, signature: self._genuine(survey, message, signature))
        new = await self.collector.submit(survey, delivery)
        if isinstance(new, Refusal):
            raise REFUSALS[new]()
        return COUNTED if new else KNOWN

    def _genuine(self, survey: Survey, message: bytes, signature: bytes) -> bool:
        return self._signers[survey.name].knows(message, signature)

    def terms(self, survey: Survey) -> dict[str, Any]:
        """What a device is told, with the key that its token will be signed by."""
        signer = self._signers.get(survey.name)
        return survey.terms() | ({} if signer is None else {"token_key": signer.public.text})

    def invite(self, survey: Survey, count: int) -> list[str]:
        """So many new codes. Only their digests are kept here: they are told this once."""
        if survey.invitations is Invitations.NONE:
            raise HttpProblem(
                409, "open-survey", "Anybody may answer this survey", 'write invitations = "code" in its file first'
            )
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
        refused = self.store.exchange(survey, code, sha256(hidden.encode()).digest())
        if refused is not None:
            raise REFUSALS[refused]()
        return signature

    def results(self, survey: Survey) -> Results:
        """What its reports say so far."""
        counted = self.store.counted(survey)
        return results_of(survey, counted.tallies, waiting=counted.waiting)

    def close(self) -> None:
        """Write what is waiting, and let go of the store."""
        self.collector.close()
        self.store.close()


def _body(survey: Survey) -> int:
    """How many bytes a submission has at most: names and hexadecimal digits, each with quotes and commas."""
    return 900 + sum(len(name) + 2 * size + 10 for name, size in survey.sizes.items())
