"""What a question would cost, and how well it would be answered."""

from dataclasses import dataclass
from typing import Any

from tacit.loss import Cost
from tacit.plan.price import Priced
from tacit.session.expect import Expected
from tacit.session.show import as_html, as_text, notes_shown, spelled, table_of

__all__ = ["Quote"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Quote:
    """Free, and nothing is looked at. `left` is what would remain, `enough` whether the budget allows it."""

    cost: Cost
    expected: tuple[Expected, ...]
    left: Cost
    enough: bool
    notes: tuple[str, ...]
    priced: Priced

    def json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "cost": self.cost.json(),
            "left": self.left.json(),
            "enough": self.enough,
            "expected": [{"column": e.column, "error": e.error, "words": e.words} for e in self.expected],
            "notes": list(self.notes),
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
