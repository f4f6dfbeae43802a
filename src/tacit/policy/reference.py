"""The reference of the policy file, from the model itself."""

from collections.abc import Sequence
from dataclasses import MISSING, Field
from fractions import Fraction
from typing import Any

from tacit.policy.analyst import Analyst, Group
from tacit.policy.column import Column
from tacit.policy.dataset import Dataset
from tacit.policy.declaration import keys, part_of, required
from tacit.policy.privacy import Privacy
from tacit.policy.problem import shown
from tacit.policy.table import Table

__all__ = ["as_markdown", "tabled"]

HEADING = """\
# The policy file

Every key of `tacit.toml`, from the model that reads it. This page is written by `make docs` (`tacit check
--reference`). How to write one: [Declare a dataset](../how-to/declare-a-dataset.md).

Numbers are exact: `0.1` is a tenth, and `"1/3"` (in quotes) a third. Limits are rounded down to the ledger's grid. Text
is in quotes, dates are not. A key that is not listed here is an error. What may be left out is never guessed from the
data: the question that needs it is refused, and says what to declare. In Python the same keys are the arguments of
`Dataset`, `Privacy`, `Table`, `Column`, `Analyst` and `Group`, which a `Policy` is made of.
"""

SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("`[dataset]`", "The data, and the people in it.", Dataset),
    ("`[privacy]`", "What the people are promised, and the total.", Privacy),
    ("`[tables.NAME]`", "One table. A table that is not declared cannot be asked.", Table),
    ("`[tables.NAME.columns.NAME]`", "One column. A column that is not declared cannot be used.", Column),
    ("`[analysts.NAME]`", 'Who may ask. `[analysts."*"]` is anybody who is not named, each alone.', Analyst),
    ("`[groups.NAME]`", "A limit that several analysts share.", Group),
)


def as_markdown() -> str:
    """The page docs/reference/policy.md."""
    return tabled(HEADING, SECTIONS)


def tabled(heading: str, sections: Sequence[tuple[str, str, type]]) -> str:
    """A page with a table of the keys of each part: its title, a sentence, and the class that reads it."""
    parts = [heading]
    for title, words, part in sections:
        rows = [_row(item) for item in keys(part) if part_of(item) is None]
        head = "| key | is | default | meaning |\n|---|---|---|---|\n"
        parts.append(f"\n## {title}\n\n{words}\n\n{head}" + "\n".join(rows) + "\n")
    return "".join(parts)


def _row(item: "Field[Any]") -> str:
    meta = item.metadata
    example = f" Example: `{item.name} = {meta['example']}`."
    cells = (f"`{item.name}`", meta["kind"].words, _default(item), meta["words"] + example)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(item: "Field[Any]") -> str:
    if required(item):
        return "required"
    if item.default in (None, (), MISSING):
        return "–"
    value = item.default
    return f"`{shown(Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value)}`"
