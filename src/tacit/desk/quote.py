"""What a question would cost, and how well it would be answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.desk.show import as_html, as_text, notes_shown, spelled, table_of
from tacit.loss import Cost

__all__ = ["Expected", "Hint", "Quote"]


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The noise in one column: `error` is the half-width of its interval where that is known in advance."""

    column: str
    error: float | None
    words: str


@dataclass(frozen=True, kw_only=True)
class Hint:
    """One thing worth knowing before paying: `kind` is what it is about, `data` what it says of it, `words` a sentence.

    raised: the offer was below the least price. key, range: a constant that a column never is. noise: the error is
    wider than everything that the answer could be. profile: a profile of the table would spare a part of the price.
    """

    kind: str
    data: Mapping[str, Any]
    words: str

    def json(self) -> dict[str, Any]:
        """Plain data, with the words."""
        return {"kind": self.kind, **self.data, "words": self.words}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Hint":
        """The inverse of `json`."""
        more = {key: value for key, value in data.items() if key not in ("kind", "words")}
        return cls(kind=str(data["kind"]), data=more, words=str(data["words"]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Quote:
    """Free, and nothing is looked at. `left` is what would remain, `enough` whether the budget allows it.

    `columns` are the names and types of the answer's; `hints` are the first of the `notes`, as data.
    """

    cost: Cost
    expected: tuple[Expected, ...]
    left: Cost
    enough: bool
    notes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...] = ()
    hints: tuple[Hint, ...] = ()

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
    def lines(self) -> list[str]:
        """What it says in sentences, the price first."""
        after = f"{spelled(self.left)} would be left" if self.enough else "the budget does not allow it"
        return [f"costs {spelled(self.cost)}; {after}", *self.notes]

    def __rich__(self) -> Any:
        from rich.console import Group

        table = [table_of(["column", "noise"], self._rows, right=())] if self._rows else []
        return Group(*table, *notes_shown(self.lines))

    @property
    def _rows(self) -> list[list[str]]:
        return [[line.column, line.words] for line in self.expected]

    def __repr__(self) -> str:
        return as_text(self.__rich__())

    def _repr_html_(self) -> str:
        return as_html(["column", "noise"] if self._rows else [], self._rows, self.lines)
