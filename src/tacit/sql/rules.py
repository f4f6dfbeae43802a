"""The reference of SQL as data, from rules.toml beside this file: what can be written, what it means, an example."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["SqlRule", "SqlSection", "sections"]


@dataclass(frozen=True, kw_only=True)
class SqlRule:
    """How a construct is `written`, what it `means`, and a whole question as an example, in its `dialect`."""

    written: str
    means: str
    example: str
    dialect: str | None = None


@dataclass(frozen=True, kw_only=True)
class SqlSection:
    """A heading, a sentence or two, and its rules."""

    title: str
    words: str
    rules: tuple[SqlRule, ...]


@cache
def sections() -> tuple[SqlSection, ...]:
    """All of them, in the order of the page. A key that is not known is an error."""
    read = tomllib.loads((files("tacit.sql") / "rules.toml").read_text(encoding="utf-8"))
    return tuple(
        SqlSection(
            title=section["title"],
            words=section["words"],
            rules=tuple(SqlRule(**rule) for rule in section["rule"]),
        )
        for section in read["section"]
    )
