"""What stands behind every door: each dataset is opened once, and everybody asks through it.

Whoever asks sees the datasets whose policy names them, and in those the tables they may ask; a dataset that is not
theirs does not exist for them. A policy is read again when its file changes, and if that fails nobody is answered.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from time import monotonic, sleep
from typing import Unpack

from tacit.base import Denied, InputError, PolicyError, TacitError
from tacit.desk import IdempotencyKey, Job, Release
from tacit.engine import Limits, Stopped, Watch, open_engine
from tacit.ledger import Ledger, Standing
from tacit.loss import Cost
from tacit.policy import Analyst, Policy, Table
from tacit.policy.account import DATASET, analyst_holder, group_holder
from tacit.policy.decide import askable_tables
from tacit.policy.privacy import ANYBODY
from tacit.policy.read import PolicyFile, quietly
from tacit.server.ask.running import RunningQuestions
from tacit.server.auth.people import Identity
from tacit.server.curate.sources import Folder
from tacit.server.db import Unavailable
from tacit.session import Quote, Session, TableRelease
from tacit.sql import Catalog, lower, parse
from tacit.sql.explain import Explanation
from tacit.sql.job import Query
from tacit.sql.offer import OfferTerms

__all__ = ["Cancelled", "Datasets", "NoDataset", "OpenDataset", "PricedQuestion", "read_quietly", "tables_of"]

PATIENCE = 10.0  # seconds that closing waits for questions to stop
AT_ONCE = 4  # questions of one dataset


class NoDataset(Denied):
    """There is no such dataset, or not for whoever asks; which of the two is not told."""


class Cancelled(TacitError):  # noqa: N818 - says what is the case, as Denied does
    """The question was stopped. What was charged for it stays charged."""


class OpenDataset:
    """One policy with everything it names open. Sessions of any analyst are cheap: they share all of it."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.file, self._catalogs = read_quietly(path), dict[frozenset[str], Catalog]()
        with ExitStack() as opened:
            self.ledger = opened.enter_context(closing(Ledger.open(self.policy.ledger())))
            self.engine = opened.enter_context(closing(open_engine(self.policy, limits=limits)))
            self._session = Session(self.policy, "nobody", ledger=self.ledger, engine=self.engine)
            opened.pop_all()  # all of it works: it stays open

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def policy(self) -> Policy:
        return self.file.policy

    def renewed(self, file: PolicyFile) -> "OpenDataset":
        """The same places under the rules as they are now."""
        fresh = copy(self)
        fresh.file, fresh._catalogs = file, {}
        fresh._session = Session(file.policy, "nobody", ledger=self.ledger, engine=self.engine)
        return fresh

    def catalog(self, who: Identity) -> Catalog:
        """What names in this person's questions can mean: those of what is not theirs mean nothing."""
        place = frozenset(tables_of(self.policy, who))
        if place not in self._catalogs:
            self._catalogs.setdefault(place, Catalog.from_policy(known_to(who, self.policy)))
        return self._catalogs[place]

    def session(self, who: Identity) -> Session:
        """A session of this person. It owns nothing, so nobody has to close it."""
        return self._session.for_analyst(who.name, self.catalog(who))

    def close(self) -> None:
        self.engine.close()
        self.ledger.close()


def read_quietly(path: Path) -> PolicyFile:
    with quietly():
        return PolicyFile.read(path)


def holder_of(policy: Policy, name: str) -> Analyst | None:
    """What the policy says of an analyst, if they may ask at all."""
    return policy.analysts.get(name) or policy.analysts.get(ANYBODY)


def tables_of(policy: Policy, who: Identity) -> set[str]:
    """The tables that somebody may know: whoever is no analyst all of them, an analyst those they may ask."""
    if who.role != "analyst":
        return set(policy.tables)
    holder = holder_of(policy, who.name)
    return set() if holder is None else askable_tables(policy, holder)


def known_to(who: Identity, policy: Policy) -> Policy:
    """The policy without places and hidden columns; for an analyst, without tables and limits of others too."""
    own, tables = tables_of(policy, who), dict[str, Table]()
    for name, table in policy.tables.items():
        if name in own:
            columns = {key: column for key, column in table.columns.items() if not column.hidden}
            tables[name] = replace(table, source=None, columns=columns)
    analysts, groups = dict(policy.analysts), dict(policy.groups)
    if who.role == "analyst":
        holder = holder_of(policy, who.name)
        analysts = {} if holder is None else {who.name: replace(holder, tables=None)}
        names = () if holder is None else holder.groups
        groups = {name: replace(policy.groups[name], tables=None) for name in names}
    dataset = replace(policy.dataset, source=None, ledger="tacit.ledger")
    with quietly():
        return replace(policy, dataset=dataset, tables=tables, analysts=analysts, groups=groups, file="", folder=None)


@dataclass(frozen=True)
class PricedQuestion:
    """One person's question with its plan and its price, to be quoted and answered."""

    who: Identity
    sql: str
    terms: OfferTerms
    opened: OpenDataset
    session: Session
    job: Query

    def quote(self) -> Quote:
        """What it costs, the error to expect, and what would be left. Free; nothing is looked at."""
        return self.session.quote(self.job)

    def key(self) -> IdempotencyKey:
        """The name of the charge that it would make now, for whoever wants to ask it again under it."""
        return self.session.idempotency_key(self.job)


class Datasets:
    """Open datasets by name. Thread safe; close it when the service ends.

    `padding` in seconds: the time of an answer for which data was read is rounded up to a multiple of it, where no
    policy declares a clock. `folder` holds further policies: those that are there now, and those that this or another
    worker adds later. `limits` are of each question, and `running` knows those that are being answered.
    """

    def __init__(
        self,
        policies: Iterable[Path],
        *,
        padding: float = 0.0,
        folder: Path | None = None,
        limits: Limits | None = None,
        running: RunningQuestions | None = None,
    ) -> None:
        self.padding, self.limits, self._running = padding, limits or Limits(at_once=AT_ONCE), running
        self._folder = Folder(folder)
        self._lock = threading.Lock()
        self._opened: dict[str, OpenDataset] = {}
        self._retired: list[OpenDataset] = []
        self._door, self._asking, self._closed = threading.Condition(), set[Watch](), False
        try:
            for path in policies:
                self._take(path)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop what is being asked, as after a crash: charges stand, and their keys find them again. Then let go.

        An engine is not closed under a question: that would look like a failure of its own, which is stored.
        """
        with self._door:
            self._closed = True
            asking = list(self._asking)
        for watch in asking:
            watch.stop()
        with self._door:
            self._door.wait_for(lambda: not self._asking, timeout=PATIENCE)
        with self._lock:
            every, self._opened, self._retired = [*self._opened.values(), *self._retired], {}, []
        for opened in every:
            opened.close()

    def add(self, path: Path) -> str:
        """Serve one more policy, from now on; its dataset's name. It is no harm if it was noticed already."""
        with self._lock:
            there = {opened.path: name for name, opened in self._opened.items()}
            return there.get(path) or self._take(path)

    def _take(self, path: Path) -> str:
        opened = OpenDataset(path, self.limits)
        name = opened.policy.dataset.name
        if self._closed or name in self._opened:
            opened.close()
            raise InputError(f'two policies are of a dataset "{name}": give one of them another name')
        self._opened[name] = opened
        return name

    def known(self) -> dict[str, Policy]:
        """Every dataset with the rules it had last, also where they cannot be read now: for whoever adds one."""
        self._notice()
        with self._lock:
            return {name: opened.policy for name, opened in self._opened.items()}

    def every(self) -> dict[str, OpenDataset | None]:
        """Every dataset by name; None where its rules cannot be read now."""
        found: dict[str, OpenDataset | None] = dict.fromkeys(sorted(self._opened))
        for name in found:
            with suppress(Unavailable):
                found[name] = self._current(name)
        return found

    def _notice(self) -> None:
        """Take in what was declared since."""
        if self._folder.changed():
            with self._lock:
                self._folder.notice("policy", self._take, {opened.path for opened in self._opened.values()})

    # --- what there is

    def names(self, who: Identity) -> list[str]:
        """The datasets that this person may know of."""
        self._notice()
        found = []
        for name in sorted(self._opened):
            with suppress(NoDataset, Unavailable):  # one whose rules are broken hides no other
                self.find(who, name)
                found.append(name)
        return found

    def find(self, who: Identity, dataset: str) -> OpenDataset:
        """The dataset as its policy says now, if this person may know of it."""
        opened = self._current(dataset)
        if opened is None or (who.role == "analyst" and holder_of(opened.policy, who.name) is None):
            raise NoDataset(f'there is no dataset "{dataset}" that you may ask: a curator can add you to its policy')
        return opened

    def _current(self, dataset: str) -> OpenDataset | None:
        opened = self._opened.get(dataset)
        if opened is None:
            self._notice()
            opened = self._opened.get(dataset)
        if opened is None or not opened.file.changed():
            return opened
        with self._lock:
            opened = self._opened.get(dataset)
            if opened is None or not opened.file.changed():
                return opened
            with suppress(TacitError):
                fresh = self._opened[dataset] = self._renewed(opened)
                return fresh
        raise Unavailable(f'the policy of "{dataset}" cannot be read now: ask its curator to run `tacit check`')

    def _renewed(self, opened: OpenDataset) -> OpenDataset:
        file = read_quietly(opened.path)
        if file.policy.dataset.name != opened.policy.dataset.name:
            raise PolicyError("the dataset has another name now: start the service again")
        if file.places == opened.file.places:
            return opened.renewed(file)
        fresh = OpenDataset(opened.path, self.limits)
        self._retired.append(opened)  # somebody may be using it: it is closed at the end
        return fresh

    def policy(self, who: Identity, dataset: str) -> Policy:
        """What is declared, as far as this person may know: no places, no hidden columns, nobody else's limits."""
        return known_to(who, self.find(who, dataset).policy)

    # --- asking

    def question(self, who: Identity, dataset: str, sql: str, **terms: Unpack[OfferTerms]) -> PricedQuestion:
        """A question of this person's, planned and priced once. Free; nothing is looked at."""
        _may_ask(who)
        opened = self.find(who, dataset)
        session = opened.session(who)
        return PricedQuestion(who, sql, terms, opened, session, session.job(sql, **terms))

    def answer(self, question: PricedQuestion, *, key: str | None = None, watch: Watch | None = None) -> TableRelease:
        """The answer, after it is paid for, under the rules as they are now. `watch` can stop it, and is told how far
        it is."""
        who, name = question.who, question.opened.policy.dataset.name
        if self.find(who, name) is not question.opened:  # it was planned under other rules
            question = self.question(who, name, question.sql, **question.terms)
        return _table(self.spend(question.session, question.job, who, question.sql, key=key, watch=watch))

    def profile(self, who: Identity, dataset: str, table: str, *, watch: Watch | None = None) -> TableRelease:
        """The profile of a table, after the dataset paid for it; of the same data it is made once."""
        session = self.find(who, dataset).session(who)
        job = session.profile_job(table)
        return _table(self.spend(session, job, who, f"the profile of {table}", watch=watch))

    def spend(
        self,
        session: Session,
        job: Job,
        who: Identity,
        told: str,
        *,
        key: str | None = None,
        watch: Watch | None = None,
    ) -> Release:
        """What a job releases, at a time that tells nothing where data were read. `told` is what the list of those that
        run says of it."""
        watch = watch or Watch()
        began, policy, watch.owner = monotonic(), session.policy, who.name
        padding = 0.0 if policy.privacy.deadline is not None else self.padding
        release = None
        try:
            if not watch.stopped:
                with self._inside(who, policy.dataset.name, told, watch):
                    release = session.spend(job, idempotency_key=key, watch=watch)
        except Stopped:
            pass
        finally:
            if watch.ran and padding:
                spent = monotonic() - began
                sleep(max(0.0, ceil(spent / padding) * padding - spent))
        # a stop that comes while an answer waits for the grid counts: else it would tell when the answer was ready
        if release is not None and not (watch.stopped and watch.ran and padding):
            return release
        raise Cancelled(
            "this question was stopped: what was charged stays charged, and under the same key is not again"
        )

    @contextmanager
    def _inside(self, who: Identity, dataset: str, sql: str, watch: Watch) -> Iterator[None]:
        """Counted among those who are being answered."""
        known = nullcontext() if self._running is None else self._running.question(who.name, dataset, sql, watch)
        with self._door:
            if self._closed:
                raise Unavailable("the service is stopping: ask again in a moment")
            self._asking.add(watch)
        try:
            with known:
                yield
        finally:
            with self._door:
                self._asking.discard(watch)
                self._door.notify_all()

    def columns(self, who: Identity, dataset: str, sql: str) -> list[tuple[str, str]]:
        """Names and types of the answer's columns, from the plan: nothing runs and nothing is charged. A list's type
        ends in `[]`."""
        _may_ask(who)
        return list(lower(parse(sql), self.find(who, dataset).catalog(who)).columns)

    def explain(self, who: Identity, dataset: str, sql: str) -> Explanation:
        """How a question is understood: nothing runs and nothing is charged."""
        _may_ask(who)
        return self.find(who, dataset).session(who).explain(sql)

    # --- what was spent

    def left(self, who: Identity, dataset: str) -> Cost:
        """What this person may still spend; `Denied` if the policy lets them spend nothing."""
        _may_ask(who)
        return self.find(who, dataset).session(who).left()

    def budget(self, who: Identity, dataset: str) -> Standing:
        """The account, with the balances that bind this person; curators and auditors see all of them.

        What others spent together shows in the dataset's own balance, which everybody is bound by.
        """
        opened = self.find(who, dataset)
        whole = opened.ledger.standing(opened.policy.dataset.identity)
        if who.role != "analyst":
            return whole
        holder = holder_of(opened.policy, who.name)
        groups = () if holder is None else holder.groups
        mine = {DATASET, analyst_holder(who.name), *(group_holder(group) for group in groups)}
        balances = tuple(
            balance if balance.holder == analyst_holder(who.name) else replace(balance, last=None)
            for balance in whole.balances
            if balance.holder in mine
        )
        return replace(whole, balances=balances, claims=())


def _table(release: Release) -> TableRelease:
    assert isinstance(release, TableRelease)  # as every question and every profile gives
    return release


def _may_ask(who: Identity) -> None:
    if who.role == "auditor":
        raise Denied("auditors cannot ask: sign in as an analyst, under another name")
