"""A policy: everything a curator declares about one dataset. In Python, or read from `tacit.toml`.

The dataset itself is here too: its name, the people in it, and where it lies.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from tacit.base import PolicyError, Problem, cached_property, warn_of_delta
from tacit.loss import Cost
from tacit.policy import kind
from tacit.policy.account import Terms
from tacit.policy.decide import Grant, decide, terms
from tacit.policy.declaration import Declaration, declared, instead, listing, quoted, section, setting
from tacit.policy.link import link_problems
from tacit.policy.privacy import Analyst, Group, Privacy
from tacit.policy.source import VARIABLE, filled, is_file, is_url, located
from tacit.policy.table import Table, alike
from tacit.policy.write import content, written
from tacit.program import Program, canonical

__all__ = ["Dataset", "EngineName", "Policy", "Where", "references"]


class EngineName(StrEnum):
    """What runs the questions."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"


@declared
class Dataset(Declaration):
    """One body of data about one set of people."""

    name: str = setting("What the dataset is called.", kind.name, example='"clinic"')
    people: str | None = setting(
        "The people the budget belongs to. Two datasets about the same people name the same `people` and "
        "share one budget. Default: the dataset's name.",
        kind.name,
        example='"patients of the clinic"',
        default=None,
    )
    engine: EngineName = setting(
        "What runs the questions.", kind.choice(EngineName), example='"duckdb"', default=EngineName.DUCKDB
    )
    source: str | None = setting(
        "Where the data is: a file or folder, relative to the policy file, or a URL for postgres and "
        "spark. `${NAME}` is filled from the environment, so that no password stands in the file.",
        kind.text,
        example='"clinic.duckdb"',
        default=None,
    )
    ledger: str = setting(
        "Where spending is written down: a file, relative to the policy file, or a postgresql:// URL.",
        kind.text,
        example='"clinic.ledger"',
        default="tacit.ledger",
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


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where a table is found: a file or folder of its own, or a name inside a database (or folder, or catalogue)."""

    file: str | None = None
    database: str | None = None
    name: str | None = None


@declared
class Policy(Declaration):
    """One dataset, what its people are promised, and who may ask. Made whole or not at all.

    `tacit.policy.load` reads one from a file; `to_toml` writes it. `decide` says whether an analyst may run a program
    and who pays; `terms` is what the ledger holds everybody to. A table or column that is not declared does not exist
    for a question.
    """

    dataset: Dataset = field(metadata=section("The data, and the people in it.", Dataset))
    privacy: Privacy = field(metadata=section("What the people are promised.", Privacy))
    tables: Mapping[str, Table] = field(
        default_factory=dict,
        metadata=listing("The tables that questions may use, by name.", Table, "table"),
    )
    analysts: Mapping[str, Analyst] = field(
        default_factory=dict,
        metadata=listing(
            'Who may ask, by name. `[analysts."*"]` is anybody else; without it nobody else may.', Analyst, "analyst"
        ),
    )
    groups: Mapping[str, Group] = field(
        default_factory=dict,
        metadata=listing("Limits that several analysts share, by name.", Group, "group"),
    )
    file: str = field(default="", compare=False)  # how messages call it
    folder: Path | None = field(default=None, compare=False)  # what relative paths are relative to

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.privacy.population is not None:
            warn_of_delta(self.privacy.delta, self.privacy.population, self.privacy.unit)

    def contradictions(self) -> Iterator[Problem]:
        yield from alike(self.tables, "table")
        yield from link_problems(self.tables)
        yield from references(self.analysts, self.groups, self.tables, self.groups)

    def table(self, name: str, question: str = "this question") -> Table:
        """The declared table, or an error that says which there are."""
        if name not in self.tables:
            raise PolicyError(
                f"{self._file}there is no table {quoted(name)} in the policy, so {question} cannot use it: "
                f"{instead(name, self.tables, those='tables')}"
            )
        return self.tables[name]

    @property
    def _file(self) -> str:
        return f"{self.file}: " if self.file else ""

    def where(self, table: str, environment: Mapping[str, str] | None = None) -> Where:
        """Where a table lies, with the environment filled in and paths made absolute."""
        own = self.table(table).source
        if own is not None and (is_file(own) or "${" in own):
            return Where(file=located(filled(own, environment), self.folder))
        source = self.dataset.source
        database = None if source is None else located(filled(source, environment), self.folder)
        return Where(database=database, name=own or table)

    def ledger(self, environment: Mapping[str, str] | None = None) -> str:
        """Where the ledger is: an absolute path or a URL."""
        text = filled(self.dataset.ledger, environment)
        return text if is_url(text) else located(text, self.folder)

    def decide(self, analyst: str, program: Program, cost: Cost | None = None) -> Grant:
        """Who pays what for this program if this analyst asks; or `Denied`, with the reason."""
        return decide(self, analyst, program, cost)

    def terms(self) -> Terms:
        """What the ledger holds everybody to."""
        return terms(self)

    def to_toml(self) -> str:
        """A file that reads back as an equal policy."""
        return written(self)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content: comments, order and spelling of numbers do not matter."""
        return sha256(canonical(content(self)).encode()).hexdigest()


def references(
    analysts: Mapping[str, Analyst], groups: Mapping[str, Group], tables: Iterable[str], known: Iterable[str]
) -> Iterator[Problem]:
    """Names of tables and groups that are used and not declared."""
    declared, existing = set(tables), set(known)
    for listed, holders in (("analysts", analysts), ("groups", groups)):
        for name, holder in holders.items():
            for table in holder.tables or ():
                if table not in declared:
                    hint = instead(table, declared, those="tables")
                    told = f"there is no table {quoted(table)}: {hint}"
                    yield Problem((listed, name), told, f"{listed[:-1]} {quoted(name)}")
    for name, analyst in analysts.items():
        for group in analyst.groups:
            if group not in existing:
                hint = instead(group, existing, those="groups")
                told = f"there is no group {quoted(group)}: {hint}; or declare [groups.{group}]"
                yield Problem(("analysts", name), told, f"analyst {quoted(name)}")
