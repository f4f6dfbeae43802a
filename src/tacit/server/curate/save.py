"""What a curator changes through the service: a new dataset, who may ask one and how much. Each change is written down.

The order is always: the policy's file, then the ledger. Whatever stops in between leaves the smaller limit binding.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Table, Text, insert, select

from tacit.base import InputError, LedgerError, TacitError
from tacit.engine import claims_of, import_tables
from tacit.ledger.receipt import spelled
from tacit.policy import Policy, parse
from tacit.policy.account import DATASET
from tacit.policy.declaration import quoted
from tacit.policy.read import quietly
from tacit.policy.source import overlap
from tacit.server.ask.datasets import Datasets, OpenDataset
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import CheckedDraft, Draft, SourceDraft, check
from tacit.server.curate.edit import Edit, changes, create, edited, file_name, locked, replace_text, trial
from tacit.server.curate.sources import DataSource, Sources
from tacit.server.db import Number, State, metadata, now
from tacit.server.ops.config import Config
from tacit.server.problem import HttpProblem

__all__ = ["Curation", "Journal", "change_log"]

change_log = Table(
    "tacit_changes",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("what", Text, nullable=False),
    Index("tacit_changes_dataset", "dataset", "number"),
)


class Journal:
    """The list of changes."""

    def __init__(self, state: State) -> None:
        self.state = state

    def write(self, who: Identity, dataset: str, what: str) -> None:
        """One more line."""
        self.state.change(insert(change_log).values(time=now(), who=who.name, dataset=dataset, what=what))

    def page(self, dataset: str, *, before: int | None, limit: int) -> list[dict[str, Any]]:
        """Lines about a dataset, the newest first, older than number `before`."""
        query = select(*(change_log.c[name] for name in ("number", "time", "who", "what")))
        query = query.where(change_log.c.dataset == dataset).order_by(change_log.c.number.desc()).limit(limit)
        query = query if before is None else query.where(change_log.c.number < before)
        return [dict(row._mapping) for row in self.state.look(query)]


FRESH = 60.0  # seconds that a schema is remembered for while a draft is being filled in


class Curation:
    """Drafts become policies, and policies are edited; safe to share between threads."""

    def __init__(self, config: Config, datasets: Datasets, journal: Journal) -> None:
        self.sources = Sources(config)
        self.folder, self.ledger, self.datasets, self.journal = config.policy_folder, config.ledger, datasets, journal
        self._lock, self._found = threading.Lock(), dict[tuple[str | None, str | None], tuple[float, DataSource]]()

    # --- a new dataset

    def schema(self, source: SourceDraft, *, fresh: bool = True) -> DataSource:
        """Names and types; while a draft is filled in, those of a moment ago are good enough."""
        place, time = (source.file, source.database), monotonic()
        with self._lock:
            self._found = {key: seen for key, seen in self._found.items() if time - seen[0] < FRESH}
            if not fresh and place in self._found:
                return self._found[place][1]
        found = self.sources.schema(file=source.file, database=source.database)
        with self._lock:
            self._found[place] = (time, found)
        return found

    def check(self, draft: Draft, *, fresh: bool = False) -> CheckedDraft:
        """What is wrong with a draft, and what is missing."""
        return check(draft, self.schema(draft.source, fresh=fresh), ledger=self.ledger, folder=self.folder)

    def save(self, who: Identity, draft: Draft) -> str:
        """Write the policy, open the account, serve the dataset; its name. It works, or nothing is left behind."""
        checked = self.check(draft, fresh=True)
        if checked.policy is None:
            told = "; ".join(problem.text for problem in checked.problems[:5])
            raise HttpProblem(422, "draft", "The draft is not complete", told)
        name = checked.policy.dataset.name
        with locked(self.folder), trial(self.folder, checked.text) as tried:
            if name in self.datasets.known():
                detail = f"{quoted(name)} exists: choose another"
                raise HttpProblem(409, "dataset-exists", "There is such a dataset", detail)
            self._nobody_elses(checked.policy)
            import_tables(checked.policy)  # whoever declares is the curator: text is read here, strictly, once
            opened = OpenDataset(tried, self.datasets.limits)  # types that do not suit the data are found here
            try:
                opened.ledger.apply(opened.policy.terms())
            finally:
                opened.close()
            path = self.folder / file_name(name)
            create(tried, path)
            try:
                self.datasets.add(path)
            except BaseException:
                path.unlink()
                raise
        self.journal.write(who, name, f"declared the dataset, with a budget of {draft.budget} {draft.currency}")
        return name

    def _nobody_elses(self, policy: Policy) -> None:
        """The same data in two ledgers would be paid for twice over: one ledger would not know of the other."""
        wanted, place = claims_of(policy), policy.ledger()
        for name, other in self.datasets.known().items():
            if other.ledger() != place and any(overlap(mine, its) for its in claims_of(other) for mine in wanted):
                detail = (
                    f"dataset {quoted(name)} reads the same data and has a ledger of its own, which this one would not "
                    "know of: edit that one, or declare this one by hand with the same ledger and people"
                )
                raise HttpProblem(409, "declared-already", "This data is served already", detail)

    # --- one that is there

    def edit(
        self, who: Identity, dataset: str, wanted: Callable[[Policy], Edit], *, preview: bool = False
    ) -> list[str]:
        """Change a policy's file and record its limits in the ledger; what changed, in words. A preview only says."""
        path = self.datasets.find(who, dataset).path.resolve()
        with locked(path.parent):
            try:
                text = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                raise InputError(f"{path.name} cannot be read: look at its rights on the disk") from None
            with quietly():
                old = parse(text, file=path.name, folder=path.parent)
                edit = wanted(old)
            fresh, told = edited(text, edit, path), changes(old, edit.policy)
            if preview or not told:
                return told
            with trial(path.parent, fresh) as tried:
                replace_text(path, tried, before=text)
        self.journal.write(who, dataset, "; ".join(told))
        self.apply(who, dataset)
        return told

    def apply(self, who: Identity, dataset: str) -> int:
        """Record in the ledger what the policy says now, as `tacit ledger apply` does; how many entries that made."""
        opened = self.datasets.find(who, dataset)
        try:
            made = len(opened.ledger.apply(opened.policy.terms()))
        except LedgerError:
            raise
        except TacitError as error:
            raise HttpProblem(409, "not-recorded", "The ledger does not take it", str(error)) from None
        if made:
            entries = "1 entry" if made == 1 else f"{made} entries"
            self.journal.write(who, dataset, f"recorded the policy in the ledger, with {entries}")
        return made

    def differences(self, who: Identity, dataset: str) -> list[str]:
        """Where the policy and the ledger say different things, so that the smaller limit binds."""
        opened = self.datasets.find(who, dataset)
        standing, terms = opened.ledger.standing(opened.policy.dataset.identity), opened.policy.terms()
        found = []
        for limit in terms.limits:
            old, total = standing.balance(limit.holder), spelled(limit.total, standing.currency)
            whose = "everybody together" if limit.holder == DATASET else limit.holder.partition(":")[2]
            if old is None:
                found.append(f"{whose}: {total}, not recorded yet")
            elif (old.limit, old.each) != (limit.total, limit.each):
                found.append(f"{whose}: {spelled(old.limit, standing.currency)} recorded, {total} declared")
        if (standing.period, standing.lifetime) != (terms.period, terms.lifetime):
            found.append("the reset window or the lifetime limit")
        return found
