"""That no value of a key that links lead to is there twice: by the database's own constraint, or by the curator's check
of this very version of the data, which is written down in the state folder.

A duplicate that is there all the same costs nobody's privacy (docs/theory/links.md). It would make a row count for two
people, which no curator means: so questions wait until one or the other is known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from tacit.base import SourceError
from tacit.engine.dialect import Dialect
from tacit.engine.source.copies import Copies
from tacit.engine.unit import unit_sql
from tacit.policy import ColumnType
from tacit.policy.declaration import quoted

__all__ = ["LinkKeys", "repeated_sql"]

Fetch = Callable[[str], Sequence[Sequence[object]]]


def repeated_sql(table: str, column: str, declared: ColumnType | None, native: str, dialect: Dialect) -> str:
    """SELECT of one number: how many values of a key are there more than once, as links compare them."""
    key = unit_sql(dialect.identifier(column), declared, native, dialect)
    found = f"SELECT {key} AS k FROM {table} WHERE {key} IS NOT NULL GROUP BY {key} HAVING COUNT(*) > 1"
    return f"SELECT COUNT(*) AS n FROM ({found}) AS d"


@dataclass(frozen=True, kw_only=True)
class LinkKeys:
    """The columns of a table that links lead to, each with its declared type. With `reads` they are looked at, by the
    curator; else they must be known to have no value twice, and `remedy` is what the curator runs."""

    columns: tuple[tuple[str, ColumnType | None], ...] = ()
    copies: Copies | None = field(default=None, compare=False)
    reads: bool = False
    remedy: str = "tacit check --data"

    def require(
        self,
        table: str,
        version: str,
        constrained: Callable[[str, ColumnType | None], bool],
        count: Callable[[str, ColumnType | None], int],
    ) -> None:
        """SourceError for a key of which nothing says that no value is there twice, or one that has such values."""
        for column, declared in self.columns:
            name = _record(table, column, declared, version)
            if constrained(column, declared) or (self.copies is not None and self.copies.checked(name)):
                continue
            if not self.reads:
                raise SourceError(
                    f"table {quoted(table)}: links lead to its column {quoted(column)}, and nothing says that no value "
                    "of it is there twice in the data as it is now: make it a primary key of the database, or let the "
                    f"curator run `{self.remedy}`, which looks at every value"
                )
            if count(column, declared):
                raise SourceError(
                    f"table {quoted(table)}: links lead to its column {quoted(column)}, and it has values that are "
                    "there twice, so a linked row would count for two: correct the data, or link to another column"
                )
            if self.copies is not None:
                self.copies.keep_checked(name)


def _record(table: str, column: str, declared: ColumnType | None, version: str) -> str:
    parts = "\0".join((table, column, str(declared), version))
    return sha256(parts.encode(errors="surrogateescape")).hexdigest()
