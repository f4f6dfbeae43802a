"""A job of plain settings as somebody asks for it: planned, quoted, and spent as every question is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tacit.desk import IdempotencyKey, Job, Quote, Release
from tacit.desk.kind import JobKind, JobSettings
from tacit.engine import Watch
from tacit.server.ask.datasets import Datasets, OpenDataset
from tacit.server.auth.people import Identity
from tacit.session import Session
from tacit.session.kinds import job_kind

__all__ = ["PlannedJob"]


@dataclass(frozen=True, kw_only=True)
class PlannedJob:
    """One person's job with its plan and its price. What names mean is what this person may know of the dataset."""

    who: Identity
    datasets: Datasets
    dataset: str
    kind: JobKind
    settings: JobSettings
    opened: OpenDataset
    session: Session
    job: Job

    @classmethod
    def of(cls, datasets: Datasets, who: Identity, dataset: str, kind: str, settings: Mapping[str, Any]) -> Self:
        """Planned once. Free; nothing is looked at."""
        opened, found = datasets.find(who, dataset), job_kind(kind)
        session, read = opened.session(who), found.settings.read(settings)
        return cls(
            who=who,
            datasets=datasets,
            dataset=dataset,
            kind=found,
            settings=read,
            opened=opened,
            session=session,
            job=found.job_of(read, session),
        )

    @property
    def title(self) -> str:
        """What lists call it."""
        return f"{self.kind.title}: {self.settings.title}" if self.settings.title else self.kind.title

    def quote(self) -> Quote:
        """What it costs, and what would be left. Free; nothing is looked at."""
        return self.session.quote(self.job)

    def key(self) -> IdempotencyKey:
        """The name of the charge that it would make now."""
        return self.session.idempotency_key(self.job)

    def spend(self, *, key: str, watch: Watch) -> Release:
        """The release, after it is paid for, under the rules as they are now."""
        planned = self
        if self.datasets.find(self.who, self.dataset) is not self.opened:  # it was planned under other rules
            planned = self.of(self.datasets, self.who, self.dataset, self.kind.name, self.settings.json())
        return self.datasets.spend(planned.session, planned.job, self.who, self.title, key=key, watch=watch)
