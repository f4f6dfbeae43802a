"""A dataset that is open: its policy as the file says now, its ledger, and its engine with one question at a time.

An engine runs one query after another anyway. Here the turn also has a name, so that stopping a question can never
stop somebody else's, and progress is told to whoever's turn it is.
"""

import threading
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.base import EngineError, Exact, PrivacyWarning
from tacit.engine import Engine, open_engine
from tacit.engine.result import Result, Whole
from tacit.ledger import Ledger
from tacit.ledger.sqlite import SqliteStore
from tacit.plan.bounded import Bounded
from tacit.policy import Engine as Kind
from tacit.policy import Policy, load
from tacit.session import Session
from tacit.sql import Catalog

__all__ = ["Basis", "Opened", "Stopped", "Watch", "places_of", "read_policy", "stamp_of"]


WAIT = 0.1  # seconds between two looks whether somebody who waits for a turn still wants it


class Stopped(BaseException):  # no Exception: those are stored as the answer of a charge
    """The question was stopped on its way. As after a crash, the charge stands and the same question can be asked
    again under it: nothing was drawn that anybody saw."""


class Watch:
    """One question on its way: how far it is, whether it looked at data, and the wish to stop it."""

    def __init__(self) -> None:
        self.share: float | None = None
        self.ran = False
        self.stopped = False
        self._counter: _Counter | None = None

    def stop(self) -> None:
        """Do not begin with the data; if it is this question's turn, stop the engine. What was charged stays."""
        self.stopped = True
        counter = self._counter
        if counter is not None:
            counter.stop(self)


class _Counter:
    """Whose turn it is at an engine. The name changes under a lock, so that a stop cannot hit the next one."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self._turns, self._name = threading.Lock(), threading.Lock()
        self._now: Watch | None = None

    @contextmanager
    def turn(self, watch: Watch) -> Iterator[None]:
        while not self._turns.acquire(timeout=WAIT):
            if watch.stopped:
                raise Stopped  # while others are served
        try:
            watch.ran = True
            if watch.stopped:
                raise Stopped
            with self._name:
                self._now = watch
            try:
                yield
            except EngineError:
                if not watch.stopped:
                    raise
            finally:
                with self._name:
                    self._now = None
            if watch.stopped:
                raise Stopped
        finally:
            self._turns.release()

    def stop(self, watch: Watch) -> None:
        with self._name:
            if self._now is watch and self.engine is not None:
                self.engine.cancel()

    def told(self, share: float) -> None:
        watch = self._now
        if watch is not None:
            watch.share = share


class _Turns:
    """An engine as one question sees it."""

    def __init__(self, counter: _Counter, engine: Engine, watch: Watch) -> None:
        self._counter, self._engine, self._watch = counter, engine, watch

    def run(self, bounded: Bounded) -> Exact[Result]:
        with self._counter.turn(self._watch):
            return self._engine.run(bounded)

    def norms(self, bounded: Bounded, clip: int, edges: Sequence[int]) -> Exact[Whole]:
        with self._counter.turn(self._watch):
            return self._engine.norms(bounded, clip, edges)

    def version(self, tables: Collection[str]) -> str:
        return self._engine.version(tables)

    def columns(self, table: str) -> dict[str, str]:
        return self._engine.columns(table)

    def cancel(self) -> None:
        self._watch.stop()

    def close(self) -> None:
        pass  # the engine is everybody's


class Opened:
    """One policy with everything it names open. Sessions of any analyst are cheap: they share all of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stamp = stamp_of(path)  # before it is read: a change in between is seen at the next question
        self.policy = read_policy(path)
        self._counter = _Counter()
        self.ledger = Ledger.open(self.policy.ledger())
        try:
            self.engine = open_engine(self.policy, progress=self._counter.told)
            self._counter.engine = self.engine
            self._session = Session(self.policy, "nobody", ledger=self.ledger, engine=self.engine)
        except BaseException:
            if self._counter.engine is not None:
                self._counter.engine.close()
            self.ledger.close()
            raise

    def renewed(self, policy: Policy, stamp: Any) -> "Opened":
        """The same places under the rules as they are now."""
        fresh = copy(self)
        fresh.policy, fresh.stamp = policy, stamp
        fresh._session = Session(policy, "nobody", ledger=self.ledger, engine=self.engine)
        return fresh

    def session(self, analyst: str, catalog: Catalog, watch: Watch) -> Session:
        """A session of this analyst. It owns nothing, so nobody has to close it."""
        watch._counter = self._counter
        # names of what is not theirs mean nothing in their questions
        return self._session.for_analyst(analyst, catalog, _Turns(self._counter, self.engine, watch))

    def version(self, tables: Collection[str]) -> str:
        """A text that differs whenever the data of these tables may have changed."""
        return self.engine.version(tables)

    @property
    def inline(self) -> bool:
        """Whether a look at the account and at the version of the data is short enough for an event loop."""
        return self.policy.dataset.engine is Kind.DUCKDB and isinstance(self.ledger.store, SqliteStore)

    def places(self) -> tuple[Any, ...]:
        """What would have to be opened anew if it changed."""
        return places_of(self.policy)

    def close(self) -> None:
        self.engine.close()
        self.ledger.close()


@dataclass(frozen=True, kw_only=True)
class Basis:
    """What an answer rests on: a dataset under its rules, and the state of the data it was made from."""

    opened: Opened
    tables: Sequence[str]
    version: str

    def holds(self, opened: Opened) -> bool:
        """Whether the same question would be answered from the store now: same rules, same data."""
        return opened is self.opened and opened.version(self.tables) == self.version


def places_of(policy: Policy) -> tuple[Any, ...]:
    tables = tuple((name, policy.where(name)) for name in policy.tables)
    return policy.dataset.identity, policy.dataset.name, policy.dataset.engine, policy.ledger(), tables


def read_policy(path: Path) -> Policy:
    """The policy in a file; its warnings are `tacit check`'s to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return load(path)


def stamp_of(path: Path) -> tuple[int, ...]:
    """Differs whenever the file may have changed."""
    try:
        found = path.stat()
    except OSError:
        return ()  # reading says what is wrong
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
