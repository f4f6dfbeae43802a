"""One column: what it holds, and what may be said about it without looking at the data."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, ClassVar

from tacit.base import PolicyError, Problem
from tacit.base.problem import declare
from tacit.policy import kind
from tacit.policy.declaration import Declaration, declared, number, quoted, setting, shown
from tacit.policy.kind import ColumnType

__all__ = ["Column"]


@declared
class Column(Declaration):
    """What is declared of a column. Everything is optional; a question that needs what is missing is refused.

    `require_type`, `require_bounds`, `require_step`, `require_clip` and `require_usable` give the declaration, or raise
    a `PolicyError` that names the column, the question and what to write.
    """

    type: ColumnType | None = setting(
        "What the column holds. `timestamp` is without a time zone; one with a zone is read in UTC.",
        kind.choice(ColumnType),
        example='"decimal"',
        default=None,
    )
    bounds: tuple[Any, Any] | None = setting(
        "The range values are clamped to, chosen from public knowledge and not from the data. Values "
        "outside count as the nearer end. For integers, decimals, floats, dates and timestamps.",
        kind.pair,
        example="[0, 5000]",
        default=None,
    )
    step: Fraction | None = setting(
        "The grid values are rounded to, so that sums are whole numbers of steps. Integers have 1; a "
        "decimal or a float without one gets a fine one. Both bounds must be multiples of it.",
        kind.number(above=0),
        example='"0.01"',
        default=None,
    )
    typical: Fraction | None = setting(
        "A usual value, as a public guess. With a declared `clip_rows`, averages over people are measured from it: "
        "people whose values lie near it fill little of their clip, so a good guess and a small clip make averages "
        "several times more exact. A bad guess makes them less so, and never less private. Where `clip_rows` is "
        '`"private"` such a value is found for a small part of the price.',
        kind.number(),
        example="40",
        default=None,
    )
    nullable: bool = setting(
        "Whether a value may be missing. `false` leaves out rows in which it is, or is NaN.",
        kind.yes,
        example="false",
        default=True,
    )
    group_keys: tuple[Any, ...] | None = setting(
        "All the values this column can have, as known to everybody. Grouping by it shows every one of "
        "them, also those that nobody has; other values are left out.",
        kind.points,
        example='["east", "west"]',
        default=None,
    )
    hidden: bool = setting("The column cannot be used in a question at all.", kind.yes, example="true", default=False)
    clip: Fraction | str | None = setting(
        "The most that one unit adds to a sum of this column, over all groups together, as the length of "
        "the vector of its sums in each group (in the norm of the noise: l2 for Gaussian, l1 for "
        'Laplace). More is scaled down. `"private"` finds a good value with a small part of the price of '
        "each question.",
        kind.norm,
        example="8000",
        default=None,
    )
    per_group: tuple[Any, Any] | None = setting(
        "For use with the table's `max_groups`: the range of one unit's sum of this column in one group.",
        kind.pair,
        example="[0, 500]",
        default=None,
    )
    max_values_per_unit: int | None = setting(
        "How many different values of this column one unit may add to COUNT(DISTINCT …), where the question does not "
        "say. Without it, as many as the rows of one unit that count.",
        kind.whole,
        example="3",
        default=None,
    )
    unique: bool = setting(
        "Of a public table: no value occurs twice in this column, so that a join on it gives a row at most one "
        "match and tables in which each row is a unit can be joined too. It is not taken on trust: in such a "
        "join, values that do occur twice match nothing.",
        kind.yes,
        example="true",
        default=False,
    )
    name: str = ""
    table: str = ""

    renamed: ClassVar[Mapping[str, str]] = {"keys": "group_keys"}
    removed: ClassVar[Mapping[str, str]] = {
        "public": "public is not for columns, since nothing can check that a set of values depends on no one person: "
        "remove it, and list the values as group_keys = […]; without them, groups are found privately"
    }

    def known_as(self, name: str) -> "Column":
        return replace(self, name=name)

    @property
    def place(self) -> str:
        return f"table {quoted(self.table)}, column {quoted(self.name)}"

    @property
    def grid(self) -> Fraction | None:
        """The step, which whole numbers have without being told."""
        return Fraction(1) if self.step is None and self.type is ColumnType.INTEGER else self.step

    def contradictions(self) -> Iterator[Problem]:
        if self.hidden and self.group_keys is not None:
            yield Problem(("hidden",), "hidden = true contradicts group_keys: keep one of them")
        if self.hidden and self.unique:
            yield Problem(("hidden",), "hidden = true contradicts unique = true: keep one of them")
        if self.unique and self.type is None:
            yield Problem(("unique",), "unique = true needs a type to go with it: add type = …")
        yield from self._range("bounds", self.bounds)
        yield from self._range("per_group", self.per_group)
        numeric = {"step": self.step, "typical": self.typical, "clip": self.clip, "per_group": self.per_group}
        for word, value in numeric.items():
            if value is not None and not (self.type and self.type.numeric):
                kinds = "a column of type integer, decimal or float"
                yield Problem(
                    (word,), f"{word} is for {kinds}: {'state its type' if self.type is None else 'remove it'}"
                )
        if self.typical is not None and all(map(self.suits, self.bounds or ())) and self._cut(self.typical):
            yield Problem(
                ("typical",),
                f"typical = {number(self.typical)} lies outside bounds = {shown(self.bounds)}: name a usual value",
            )
        yield from self._on_grid()
        yield from self._suiting_keys()

    def _range(self, word: str, pair: tuple[Any, Any] | None) -> Iterator[Problem]:
        if pair is None:
            return
        written = f"{word} = {shown(pair)}"
        if self.type is None:
            yield Problem((word,), f"{written} need a type to go with them: add type = …")
        elif self.type in (ColumnType.TEXT, ColumnType.BOOLEAN):
            keys = ", or list the values as group_keys" if self.type is ColumnType.TEXT else ""
            yield Problem((word,), f"{written} are not for {self.type} columns: remove them{keys}")
        elif not all(self.suits(end) for end in pair):
            yield Problem((word,), f"{written} do not suit type = {quoted(self.type)}: write {EXAMPLES[self.type]}")
        elif pair[0] > pair[1]:
            yield Problem((word,), f"{written} are reversed: write the lower one first")
        elif pair[0] == pair[1]:
            yield Problem((word,), f"{written} leave one value: write two different ends, or hide the column")

    def _on_grid(self) -> Iterator[Problem]:
        grid = self.grid
        if grid is None or self.type is None or not self.type.numeric:
            return
        if self.type is ColumnType.INTEGER and grid.denominator != 1:
            yield Problem(
                ("step",), f'step = {number(grid)} is finer than whole numbers: remove it, or use type = "decimal"'
            )
        for end in self.bounds or ():
            if _off(end, grid):
                written, step = shown(self.bounds), number(grid)
                yield Problem(
                    ("bounds",),
                    f"bounds = {written} are not on the grid of step = {step}: write multiples of it, or a finer step",
                )
                return

    def _suiting_keys(self) -> Iterator[Problem]:
        if self.group_keys is None:
            return
        written = f"group_keys = {shown(self.group_keys)}"
        if self.type is None:
            yield Problem(("group_keys",), "group_keys need a type to go with them: add type = …")
        elif self.type in (ColumnType.FLOAT, ColumnType.TIMESTAMP):
            told = f"group_keys are not for {self.type} columns, whose values hardly repeat: use bounds"
            yield Problem(("group_keys",), told)
        elif not all(self.suits(item) for item in self.group_keys):
            yield Problem(("group_keys",), f"{written} do not suit type = {quoted(self.type)}")
        elif len(set(self.group_keys)) < len(self.group_keys):
            yield Problem(("group_keys",), "group_keys name a value twice")
        elif self.bounds is not None and all(map(self.suits, self.bounds)) and any(map(self._cut, self.group_keys)):
            yield Problem(("group_keys",), f"{written} lie outside bounds = {shown(self.bounds)}: widen them")
        elif self.grid is not None and any(_off(item, self.grid) for item in self.group_keys):
            yield Problem(
                ("group_keys",),
                f"{written} are not on the grid of step = {number(self.grid)}: write a finer step",
            )

    def _cut(self, value: Any) -> bool:
        return self.bounds is not None and not self.bounds[0] <= value <= self.bounds[1]

    def suits(self, value: object) -> bool:
        """Whether a value is of the column's type."""
        if self.type is ColumnType.INTEGER:
            return isinstance(value, Fraction) and value.denominator == 1
        if self.type is ColumnType.TIMESTAMP:
            return isinstance(value, datetime)
        if self.type is ColumnType.DATE:
            return isinstance(value, date) and not isinstance(value, datetime)
        expected = {ColumnType.BOOLEAN: bool, ColumnType.TEXT: str}
        return isinstance(value, expected.get(self.type or ColumnType.FLOAT, Fraction))

    def require_usable(self, question: str) -> None:
        """Refuse a hidden column."""
        if self.hidden:
            raise PolicyError(f"{self.place}: it is hidden, so {question} cannot use it: leave it out")

    def require_type(self, question: str) -> ColumnType:
        if self.type is None:
            raise self._missing("type", question, "cannot be read safely", 'type = "integer" or whatever it is')
        return self.type

    def require_bounds(self, question: str) -> tuple[Any, Any]:
        if self.bounds is None:
            raise self._missing("bounds", question, "has no sensitivity", "bounds = [lower, upper]")
        return self.bounds

    def require_step(self, question: str) -> Fraction:
        if self.grid is None:
            raise self._missing("step", question, "cannot be summed exactly", 'a grid such as step = "0.01"')
        return self.grid

    def require_clip(self, question: str) -> Fraction | str:
        if self.clip is None:
            fix = 'clip = …, the most one unit adds over all groups, or clip = "private"'
            raise self._missing("clip", question, "has no limit on what one unit adds", fix)
        return self.clip

    def _missing(self, what: str, question: str, so: str, fix: str) -> PolicyError:
        verb = "have" if what == "bounds" else "has"
        argument = f'pass {what if what in ("bounds", "group_keys") else what + "s"}={{"{self.name}": …}}'
        return PolicyError(
            f"{self.place}: {what} {verb} not been declared, so {question} {so}: "
            + declare(f"declare {fix} in the policy", argument)
        )


def _off(value: object, grid: Fraction) -> bool:
    """Whether a number is not a multiple of the step."""
    return isinstance(value, Fraction) and (value / grid).denominator != 1


EXAMPLES = {
    ColumnType.INTEGER: "whole numbers such as [0, 120]",
    ColumnType.DECIMAL: "numbers such as [0, 5000]",
    ColumnType.FLOAT: "numbers such as [0, 5000]",
    ColumnType.DATE: "dates such as [2020-01-01, 2029-12-31], without quotes",
    ColumnType.TIMESTAMP: "times such as [2020-01-01T00:00:00, 2030-01-01T00:00:00], without quotes",
}
