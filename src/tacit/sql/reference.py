"""The page docs/reference/sql.md, from the tables of rules, operations and reasons. `make docs` writes it."""

import sys
from collections.abc import Iterable, Iterator

from tacit.base import RefusalKind
from tacit.plan.operation import OPERATIONS
from tacit.sql.parse import DIALECTS, MOST_CHARACTERS, MOST_NESTED, MOST_TOKENS
from tacit.sql.reasons import ARGUMENTS, CLASSES, FUNCTIONS, Reason
from tacit.sql.rules import SqlSection, sections

__all__ = ["as_markdown"]

HEADING = f"""\
# SQL

This page is written by `make docs`, from the tables that questions are read by; the tests run every example on it.

You write ordinary SQL. It is parsed, turned into a small plan of our own, and forgotten: what an engine runs is written
from the plan. So everything that can be asked is on this page, and everything else is refused, with the place, the
reason, and what to write instead. A refusal costs nothing and sees no data. `tacit explain-sql "SELECT …"`, `EXPLAIN
SELECT …` in psql, `POST …/explain`, the console and `session.explain(sql)` say how a question was understood, for free.

A question is one `SELECT`, or `WITH … SELECT`, that aggregates. Quotes and functions are read as DuckDB does, with the
spellings of others where they mean the same, or in the dialect you name: {", ".join(f"`{name}`" for name in DIALECTS)}.

```python
from tacit.plan.facts import Facts, Type
from tacit.sql import Catalog, AskableTable, lower, parse

age = Facts(type=Type.INTEGER, low=0, high=120)
catalog = Catalog(tables={{"visits": AskableTable(unit="patient_id", columns={{"age": age}})}})
question = lower(parse("SELECT COUNT(*) AS old FROM visits WHERE age >= 65"), catalog)
assert question.columns == (("old", "integer"),)
```

No operation fails because of the data: it gives NULL instead. Where bounds are missing, `CLAMP` sets them. Keys
that nobody declared are shown only where enough is behind them, for a part of δ: by the number of units in a
group, for a share of the price; or, where the question counts rows or units, by that noisy count itself, for
none ([how they are compared](../theory/key-selection.md)). An answer says which, and how much a group needs.
"""

REFUSALS = """
## What is refused, and why

A refusal says what kind it is, also as data (`error.kind`; `refusal` in the problem JSON of HTTP; SQLSTATE and DETAIL
in psql):

| kind | SQLSTATE | means |
|---|---|---|
"""
MEANT = {
    RefusalKind.DANGER: ("42501", "it has no private answer: it could show what one person has"),
    RefusalKind.UNSUPPORTED: (
        "0A000",
        "only a missing feature: asked in another way, the same may have a private answer",
    ),
    RefusalKind.DECLARATION: ("42P17", "the policy does not say what the question needs"),
    RefusalKind.LIMIT: ("54000", "it is too large, or beyond the numbers that are computed with"),
    RefusalKind.MISTAKE: ("42601", "it cannot be read, or names what is not there"),
    RefusalKind.OFFER: ("22023", "what was offered for it does not fit"),
}
OTHERS = (
    Reason("`SELECT *` at the top, no aggregate", "rows are never released as they are", "select COUNT(*), AVG(x) …"),
    Reason("grouping by the unit", "each group would be one person's", "group by unit in a subquery"),
    Reason("LIMIT or ORDER BY in a subquery", "which rows are left depends on others", "move it to the outside"),
    Reason("an aggregate in a subquery that is not by unit", "its exact value would be used before noise is added",
           "group by the unit too"),
    Reason("joins of private tables on other keys than the unit, joins of rows without equal keys, FULL and CROSS",
           "rows would have two owners, or none", "add the unit to the keys"),
    Reason("hidden columns", "the policy hides them", "ask the curator"),
    Reason("more than one statement", "one question is asked at a time", "ask one after the other"),
    Reason("questions about public tables alone", "there is nobody to protect in it", "ask them without tacit"),
)  # fmt: skip
"""What is refused in the course of lowering, for which there is no one node."""

ENDING = f"""
Limits: {MOST_CHARACTERS:,} characters, {MOST_TOKENS:,} words, {MOST_NESTED} levels of parentheses, 64 tables,
200 keys, 20,000 parts with WITH and `*` written out, a million rows of one person in a join, and 20,000
operations for each row. Nobody needs more, and it would keep others waiting.

New syntax is refused until it is put on the list, also where the parser learns it first. Comments, spelling,
aliases and the order of operands do not matter: `77 < age` is the same question as `age > 77`, and is paid for
once. What is told apart all the same: other groupings of a sum, the order of joins, of keys and of aggregates.
"""


def as_markdown() -> str:
    """The page."""
    return "".join((HEADING, *map(_section, sections()), _operations(), REFUSALS, *_kinds(), "\n", *_reasons(), ENDING))


def _section(section: SqlSection) -> str:
    rows = "".join(_row(rule.written, rule.means, _code(rule.example)) for rule in section.rules)
    return f"\n## {section.title}\n\n{section.words}\n\n| written | means | example |\n|---|---|---|\n{rows}"


def _code(text: str) -> str:
    mark = "``" if "`" in text else "`"
    return f"{mark} {text} {mark}" if "`" in text else f"`{text}`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("\\|", "|").replace("|", "\\|") for cell in cells) + " |\n"


def _operations() -> str:
    """What expressions are made of in the plan: the one table that all engines share."""
    rows = "".join(_row(f"`{name}`", operation.about) for name, operation in OPERATIONS.items())
    words = (
        "What all of it becomes: operations that have a value, or NULL, for all arguments, and give the same in "
        "DuckDB, PostgreSQL and Spark."
    )
    return f"\n## Operations\n\n{words}\n\n| operation | gives |\n|---|---|\n{rows}"


def _kinds() -> Iterator[str]:
    yield from (_row(f"`{kind}`", state, words) for kind, (state, words) in MEANT.items())


def _reasons() -> Iterator[str]:
    found = dict.fromkeys((*OTHERS, *CLASSES.values(), *ARGUMENTS.values(), *FUNCTIONS.values()))
    for kind in (RefusalKind.DANGER, RefusalKind.UNSUPPORTED):
        yield f"\n| refused as `{kind}` | because | instead |\n|---|---|---|\n"
        yield from _of_kind(found, kind)


def _of_kind(found: Iterable[Reason], kind: RefusalKind) -> Iterator[str]:
    yield from (_row(each.what, each.why, each.instead) for each in found if each.kind is kind)


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
