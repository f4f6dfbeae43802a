"""What cannot be in a table, as everybody knows: combinations that no row has, and columns that follow from others.

A synthetic table keeps these rules in every row. They are public: declare what follows from the meaning of the columns
and never what was or was not seen in the rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.base import InputError, Problem
from tacit.policy.declaration import instead, shown
from tacit.policy.kind import Kind, point, text

if TYPE_CHECKING:
    from tacit.policy.column import Column

__all__ = [
    "DEPENDENT", "IMPOSSIBLE", "DependentColumn", "ImpossibleRow", "dependent_kind", "impossible_kind", "rule_problems",
]  # fmt: skip

MISSING = "(missing)"
IMPOSSIBLE = '[{ age = [0, 14], job = ["cook", "clerk"] }]'
DEPENDENT = '[{ column = "state", from = "city", values = { Boston = "MA", Reno = "NV" } }]'
Values = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class ImpossibleRow:
    """A combination that no row has: of each column some values, or of a number or a date the lower and upper end."""

    values: tuple[tuple[str, Values], ...]

    def data(self) -> dict[str, Any]:
        return {name: each[0] if len(each) == 1 else list(each) for name, each in self.values}


@dataclass(frozen=True, kw_only=True)
class DependentColumn:
    """`column` follows from another one: where `source` has the first value of a pair, `column` has the second."""

    column: str
    source: str
    values: tuple[tuple[Any, Any], ...]

    def data(self) -> dict[str, Any]:
        return {"column": self.column, "from": self.source, "values": {str(a): b for a, b in self.values}}


def _listed(value: Any, form: str) -> list[Mapping[Any, Any]]:
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise InputError(f"must be a list such as {form}")
    if not all(isinstance(each, Mapping | ImpossibleRow | DependentColumn) for each in value):
        raise InputError(f"must be a list such as {form}")
    return [each if isinstance(each, Mapping) else each.data() for each in value]


def _impossible(value: Any) -> tuple[ImpossibleRow, ...]:
    found = []
    for each in _listed(value, IMPOSSIBLE):
        if not each:
            raise InputError("has a combination that names no column, so no row could be")
        pairs = []
        for name, given in each.items():
            many = given if isinstance(given, list | tuple) else [given]
            if not many:
                raise InputError(f"has no value for {shown(name)}")
            pairs.append((text.read(name), tuple(map(point, many))))
        found.append(ImpossibleRow(values=tuple(pairs)))
    return tuple(found)


def _dependent(value: Any) -> tuple[DependentColumn, ...]:
    found = []
    for each in _listed(value, DEPENDENT):
        if set(each) != {"column", "from", "values"} or not isinstance(each["values"], Mapping) or not each["values"]:
            raise InputError(f"must name a column, the one it follows from, and values: {DEPENDENT}")
        pairs = tuple((point(one), point(other)) for one, other in each["values"].items())
        found.append(DependentColumn(column=text.read(each["column"]), source=text.read(each["from"]), values=pairs))
    return tuple(found)


impossible_kind = Kind(f"`{IMPOSSIBLE}`", _impossible)
dependent_kind = Kind(f"`{DEPENDENT}`", _dependent)


def rule_problems(
    columns: "Mapping[str, Column]", impossible: Sequence[ImpossibleRow], follows: Sequence[DependentColumn]
) -> Iterator[Problem]:
    """Rules of columns that are not there, or of values that these cannot have."""
    for rule in impossible:
        for name, values in rule.values:
            told = _wrong(columns, name, values)
            if told is not None:
                yield Problem(("impossible",), f"impossible: {told}")
    for each in follows:
        if each.column == each.source:
            yield Problem(("follows",), f"follows: {shown(each.column)} cannot follow from itself")
        named = [(each.source, one) for one, _ in each.values] + [(each.column, other) for _, other in each.values]
        wrong = (told for name, value in named if (told := _wrong(columns, name, (value,))))
        yield from (Problem(("follows",), f"follows: {told}") for told in list(wrong)[:1])


def _wrong(columns: "Mapping[str, Column]", name: str, values: Values) -> str | None:
    column = columns.get(name)
    if column is None:
        return f"there is no column {shown(name)} in the table: {instead(name, columns, those='columns')}"
    if all(value == MISSING and column.nullable for value in values):
        return None
    if column.group_keys is not None:
        named = {str(each) for each in column.group_keys}
        odd = next((value for value in values if str(value) not in named), None)
        return None if odd is None else f"{shown(odd)} is not among the group_keys of {shown(name)}"
    if column.bounds is None and (column.type is None or column.type != "boolean"):
        return f"column {shown(name)} has neither group_keys nor bounds, so a rule on its values says nothing"
    odd = next((value for value in values if not column.suits(value)), None)
    if odd is not None:
        return f"{shown(odd)} does not suit {shown(name)}, which is of type {column.type}"
    if column.bounds is not None and (len(values) > 2 or values[0] > values[-1]):
        return f"values of {shown(name)} are one, or a lower and an upper end"
    return None
