"""The dataset: its name, the people in it, and where it lies."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tacit.base import Problem
from tacit.policy import kind
from tacit.policy.declaration import Declaration, key, quoted
from tacit.policy.source import VARIABLE, is_url

__all__ = ["Dataset", "EngineName"]


class EngineName(StrEnum):
    """What runs the questions."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"


@dataclass(frozen=True, kw_only=True)
class Dataset(Declaration):
    """One body of data about one set of people."""

    name: str = field(
        metadata=key(
            "What the dataset is called.",
            kind.name,
            example='"clinic"',
        )
    )
    people: str | None = field(
        default=None,
        metadata=key(
            "The people the budget belongs to. Two datasets about the same people name the same `people` and "
            "share one budget. Default: the dataset's name.",
            kind.name,
            example='"patients of the clinic"',
        ),
    )
    engine: EngineName = field(
        default=EngineName.DUCKDB,
        metadata=key(
            "What runs the questions.",
            kind.choice(EngineName),
            example='"duckdb"',
        ),
    )
    source: str | None = field(
        default=None,
        metadata=key(
            "Where the data is: a file or folder, relative to the policy file, or a URL for postgres and "
            "spark. `${NAME}` is filled from the environment, so that no password stands in the file.",
            kind.text,
            example='"clinic.duckdb"',
        ),
    )
    ledger: str = field(
        default="tacit.ledger",
        metadata=key(
            "Where spending is written down: a file, relative to the policy file, or a postgresql:// URL.",
            kind.text,
            example='"clinic.ledger"',
        ),
    )

    @property
    def identity(self) -> str:
        """Whose budget it is."""
        return self.people or self.name

    def contradictions(self) -> Iterator[Problem]:
        if self.engine is EngineName.POSTGRES and self.source and not VARIABLE.search(self.source):
            if not is_url(self.source) or not self.source.startswith("postgres"):
                yield Problem(
                    ("source",),
                    f'source = {quoted(self.source)} must be a URL for engine = "postgres": postgresql://user@host/name',
                )
        elif self.engine is EngineName.DUCKDB and self.source and self.source.startswith("postgres"):
            yield Problem(("source",), 'source is a PostgreSQL URL: write engine = "postgres"')
