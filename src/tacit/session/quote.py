"""What a question would cost, and how well it would be answered."""

from dataclasses import dataclass
from typing import Any

from tacit.loss import Cost
from tacit.plan.expression import Column
from tacit.plan.price import Priced
from tacit.plan.question import Question
from tacit.session.expect import Expected
from tacit.session.hints import Hint
from tacit.session.show import as_html, as_text, notes_shown, spelled, table_of

__all__ = ["Quote", "columns_of"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Quote:
    """Free, and nothing is looked at. `left` is what would remain, `enough` whether the budget allows it.

    `columns` are the names and types of the answer's; `hints` are the first of the `notes`, as data. A quote of a
    service has no `priced`: the plan stays there.
    """

    cost: Cost
    expected: tuple[Expected, ...]
    left: Cost
    enough: bool
    notes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...] = ()
    priced: Priced | None = None
    hints: tuple[Hint, ...] = ()

    def __post_init__(self) -> None:
        if self.priced is not None:
            object.__setattr__(self, "columns", columns_of(self.priced.question))

    def json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "cost": self.cost.json(),
            "left": self.left.json(),
            "enough": self.enough,
            "expected": [{"column": e.column, "error": e.error, "words": e.words} for e in self.expected],
            "notes": list(self.notes),
            "hints": [hint.json() for hint in self.hints],
        }

    @property
    def _lines(self) -> list[str]:
        after = f"{spelled(self.left)} would be left" if self.enough else "the budget does not allow it"
        return [f"costs {spelled(self.cost)}; {after}", *self.notes]

    def __rich__(self) -> Any:
        from rich.console import Group

        return Group(table_of(["column", "noise"], self._rows, right=()), *notes_shown(self._lines))

    @property
    def _rows(self) -> list[list[str]]:
        return [[line.column, line.words] for line in self.expected]

    def __repr__(self) -> str:
        return as_text(self.__rich__())

    def _repr_html_(self) -> str:
        return as_html(["column", "noise"], self._rows, self._lines)


def columns_of(question: Question) -> tuple[tuple[str, str], ...]:
    """Names and types of what a question gives, from its plan; a list is written with `[]` after what is in it."""
    lists = {
        each.name: "integer" if each.function == "histogram" else None
        for each in question.aggregates
        if each.function == "histogram" or each.top is not None
    }
    found = []
    for name, made in question.output:
        kind = made.facts.type.value
        if isinstance(made, Column) and made.name in lists:
            kind = f"{lists[made.name] or kind}[]"
        found.append((name, kind))
    return tuple(found)
