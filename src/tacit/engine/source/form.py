"""How a text file is written: everything a reader has to know of it, and nothing that it would have to guess."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tacit.base import PolicyError
from tacit.policy import Table
from tacit.policy.declaration import quoted

__all__ = ["DELIMITERS", "TextForm"]

DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """`header` is True where the first line names the columns, else their names; `null` are the texts of no value."""

    delimiter: str = ","
    quote: str = '"'
    header: bool | tuple[str, ...] = True
    encoding: str = "utf-8"
    null: tuple[str, ...] = ("",)

    @classmethod
    def of(cls, path: Path, table: Table | None = None) -> "TextForm":
        """What is declared of a table, with the delimiter that goes with the ending of its files."""
        usual = DELIMITERS.get(path.suffix.lower(), ",")
        if table is None:
            return cls(delimiter=usual)
        if table.delimiter is None and table.quote == usual:
            raise PolicyError(
                f"{table.place}: quote = {quoted(usual)} is the delimiter of {path.suffix} files too: declare delimiter"
            )
        return cls(
            delimiter=table.delimiter or usual,
            quote=table.quote,
            header=table.header,
            encoding=str(table.encoding.value),
            null=table.null,
        )

    def plain(self) -> dict[str, Any]:
        """As data, for a digest."""
        return asdict(self)
