"""Everything that one worker of the service holds open, and whether it can do its work.

Anybody may ask for its health, so what is told is a few fixed words without names, and it is found out seldom: one look
at a time, in a thread of its own, however many ask.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from time import monotonic

from tacit.ledger.checkpoint import Signer
from tacit.server.ask.datasets import Datasets
from tacit.server.ask.jobs import Jobs, QuestionPool
from tacit.server.ask.running import RunningQuestions
from tacit.server.ask.shelf import Shelf
from tacit.server.auth.oidc import Provider
from tacit.server.auth.people import People
from tacit.server.curate.checks import Checks
from tacit.server.curate.requests import Requests
from tacit.server.curate.save import Curation, Journal
from tacit.server.db import State
from tacit.server.http.rate import RateLimit, SharedRateLimit
from tacit.server.ops.config import Config
from tacit.server.ops.log import Metrics, event
from tacit.server.survey.surveys import Surveys

__all__ = ["Health", "Service"]

FRESH = 5.0  # seconds that a look is good for
PATIENCE = 2.0  # seconds that whoever asks waits for a new one
LATE = 30.0  # seconds after which a look that does not end is a finding of its own


class Health:
    """What is wrong: "database"; of a dataset its "rules", "engine" or "ledger"; "slow" if finding that out does not
    end."""

    def __init__(self, state: State, datasets: Datasets) -> None:
        self._state, self._datasets, self._lock = state, datasets, threading.Lock()
        self._found: tuple[str, ...] = ("slow",)  # until it is known
        self._at = float("-inf")
        self._begun: float | None = None  # when a look began that has not ended

    async def reasons(self) -> tuple[str, ...]:
        """Why this worker cannot do its work; none if it can."""
        end = monotonic() + PATIENCE
        while not self._known() and monotonic() < end:
            await asyncio.sleep(0.02)
        with self._lock:
            late = self._begun is not None and monotonic() - self._begun > LATE
            return ("slow",) if late else self._found

    def _known(self) -> bool:
        """Whether it was looked at lately; if not, have somebody look."""
        with self._lock:
            if monotonic() - self._at < FRESH:
                return True
            if self._begun is None:
                self._begun = monotonic()
                threading.Thread(target=self._look, name="tacit-health", daemon=True).start()
            return False

    def _look(self) -> None:
        found: tuple[str, ...] = ("slow",)
        try:
            found = tuple(dict.fromkeys(self._wrong()))
        finally:
            with self._lock:
                if found != self._found and found:
                    event("unhealthy", level=logging.WARNING, reasons=list(found))
                self._found, self._at, self._begun = found, monotonic(), None

    def _wrong(self) -> Iterator[str]:
        if not self._state.ready():
            yield "database"
        for name, opened in self._datasets.every().items():
            parts = {} if opened is None else {"engine": opened.engine.ready, "ledger": opened.ledger.ready}
            reason = next((part for part, ready in parts.items() if _fails(ready)), "") if parts else "rules"
            if reason:
                event("dataset cannot be asked", level=logging.WARNING, dataset=name, reason=reason)
                yield reason


def _fails(action: Callable[[], None]) -> bool:
    with suppress(Exception):
        action()
        return False
    return True


WRONG = "at most {} wrong tokens or links a minute from one address; right ones are let in at any time"


class Service:
    """Opened once, used by every request, closed at the end."""

    def __init__(self, config: Config) -> None:
        self.config, self.oidc = config, Provider.of(config)
        with ExitStack() as opened:
            self.state = state = opened.enter_context(closing(State(config.store)))
            self.signer = _signer(config)
            # a store of their own: reports have no business near people. No address of a respondent is written down, so
            # their limit is not counted in a database but shared out
            rate, files = max(1, config.survey_rate // config.workers), (config.surveys, config.survey_store)
            self.surveys = Surveys(*files, rate=rate, body=config.body, folder=config.survey_folder)
            opened.enter_context(closing(self.surveys))
            self.running = RunningQuestions(state)
            self.datasets = Datasets(
                config.datasets,
                padding=config.padding,
                folder=config.policy_folder,
                limits=config.limits,
                running=self.running,
            )
            opened.pop_all()  # all of it works: it stays open
        self.people, self.shelf, self.requests, self.checks = (
            People(state),
            Shelf(state),
            Requests(state),
            Checks(state),
        )
        self.jobs = Jobs(state, at_once=config.jobs, tells=not config.padding)
        self.curation = Curation(config, self.datasets, Journal(state))
        self.health, self.metrics, self.pool = Health(state, self.datasets), Metrics(), QuestionPool()
        self.rate = self._limit("requests", config.rate, "at most {} requests of one person a minute")
        self.failures = self._limit("failures", config.failures, WRONG)

    def _limit(self, what: str, per_minute: int, told: str) -> RateLimit:
        """A limit of the whole service: in memory where it is one process, else in the database that all share."""
        if self.config.workers > 1 or self.config.database:
            return SharedRateLimit(self.state, what, per_minute, told=told)
        return RateLimit(per_minute, told=told)

    def close(self) -> None:
        """Wait for what is running, as long as the config says, and let go of everything."""
        self.jobs.close(self.config.grace)
        for each in (self.checks, self.surveys, self.datasets, self.pool, self.running, self.state):
            each.close()


def _signer(config: Config) -> Signer | None:
    """The key of certificates that was set, which must be there; or our own, made at the first start. With a database
    several machines may serve, so there it has to be set."""
    if config.signing_key is not None:
        return Signer(config.signing_key)
    return None if config.database else Signer.at(config.state / "signing.key")
