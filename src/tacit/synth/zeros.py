"""What cannot be, by declaration: combinations that are impossible, and columns that follow from others.

They become cells of probability zero in the model, and never follow from what was or was not seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tacit.base import InputError, RefusalKind, Refused
from tacit.policy import Table
from tacit.synth.domain import Domain
from tacit.synth.fit import CellZeros

__all__ = ["Rules"]

MOST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Rules:
    """`impossible` lists combinations, each a mapping of columns to values or ranges, such as {"age": (0, 14),
    "married": "yes"}. `follows` says for a column which other one follows from it, and how: {("city", "state"):
    {"Boston": "MA", …}}. `declared` are those of the policy."""

    impossible: Sequence[Mapping[str, Any]] = ()
    follows: Mapping[tuple[str, str], Mapping[Any, Any]] = field(default_factory=dict)
    declared: "Rules | None" = None

    @classmethod
    def of(cls, *tables: Table) -> "Rules":
        """What the policy says of some tables."""
        impossible = [
            {name: values[0] if len(values) == 1 else values for name, values in each.values}
            for table in tables
            for each in table.impossible
        ]
        follows: dict[tuple[str, str], dict[Any, Any]] = {}
        for each in (each for table in tables for each in table.follows):
            follows.setdefault((each.source, each.column), {}).update(each.values)
        return cls(impossible=impossible, follows=follows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are spoken of, each as often as it is."""
        named = (name for each in self.impossible for name in each), (name for pair in self.follows for name in pair)
        own = tuple(name for names in named for name in names)
        return (*own, *(self.declared.columns if self.declared is not None else ()))

    def within(self, columns: Sequence[str]) -> "Rules":
        """Those of which all columns are there: the others say nothing of these alone."""
        return Rules(
            impossible=[each for each in self.impossible if set(each) <= set(columns)],
            follows={pair: rule for pair, rule in self.follows.items() if set(pair) <= set(columns)},
        )

    @property
    def cuts(self) -> dict[str, list[Any]]:
        """The values and ranges of each column that bins have to be cut at, so that a rule is of whole ones."""
        found: dict[str, list[Any]] = {}
        for name, value in (pair for each in self.impossible for pair in each.items()):
            found.setdefault(name, []).append(value)
        for (first, second), rule in self.follows.items():
            found.setdefault(first, []).extend(rule)
            found.setdefault(second, []).extend(rule.values())
        for name, values in (self.declared.cuts if self.declared is not None else {}).items():
            found.setdefault(name, []).extend(values)
        return found

    def zeros(self, domain: Domain) -> tuple[CellZeros, ...]:
        """The cells that cannot be."""
        return (*self._own(domain), *(self.declared.zeros(domain) if self.declared is not None else ()))

    def _own(self, domain: Domain) -> tuple[CellZeros, ...]:
        found = [_combination(each, domain) for each in self.impossible]
        found += [_mapping(first, second, mapping, domain) for (first, second), mapping in self.follows.items()]
        for each in found:
            if each.impossible.all():
                names = ", ".join(domain.names[place] for place in each.clique)
                raise InputError(f"what was said of {names} leaves nothing possible: take one combination away")
        return tuple(found)

    def __post_init__(self) -> None:
        impossible: Any = self.impossible  # as people type it
        follows: Any = self.follows
        if isinstance(impossible, Mapping) or not all(isinstance(each, Mapping) for each in impossible):
            raise InputError('impossible is a list of combinations, such as [{"age": (0, 9), "job": "cook"}]')
        pairs = follows.items() if isinstance(follows, Mapping) else [((), None)]
        if not all(type(pair) is tuple and len(pair) == 2 and isinstance(rule, Mapping) for pair, rule in pairs):
            raise InputError('follows is a mapping of two columns to what follows, such as {("city", "state"): {…}}')
        if not all(impossible):
            raise InputError("an impossible combination names at least one column")

    def check(self, names: Sequence[str]) -> None:
        for name in self.columns:
            if name not in names:
                raise InputError(f"a rule speaks of column {name!r}, which is not among the columns: add it there")

    def json(self) -> dict[str, Any]:
        return {
            "impossible": [{name: _text(value) for name, value in each.items()} for each in self.impossible],
            "follows": [[list(pair), sorted([str(a), str(b)] for a, b in rule.items())]
                        for pair, rule in self.follows.items()],
            **({"declared": self.declared.json()} if self.declared is not None else {}),
        }  # fmt: skip


def _text(value: Any) -> Any:
    return [str(each) for each in value] if isinstance(value, list | tuple) else str(value)


def _combination(rule: Mapping[str, Any], domain: Domain) -> CellZeros:
    clique = domain.clique(list(rule))
    if prod(domain.sizes[place] for place in clique) > MOST:
        raise Refused(f"the rule on {', '.join(rule)} has more than {MOST:,} cells: name fewer columns or fewer bins",
                      kind=RefusalKind.LIMIT)  # fmt: skip
    inside = []
    for place in clique:
        mask = np.zeros(domain.sizes[place], np.bool_)
        mask[domain.columns[place].find(rule[domain.names[place]])] = True
        inside.append(mask)
    table = inside[0]
    for mask in inside[1:]:
        table = table[..., None] & mask
    return CellZeros(clique=clique, impossible=table)


def _mapping(first: str, second: str, rule: Mapping[Any, Any], domain: Domain) -> CellZeros:
    """Of each value of the first column that the rule names, only one value of the second can be."""
    a, b = domain.place(first), domain.place(second)
    if a == b:
        raise InputError(f"column {first!r} cannot follow from itself")
    table = np.zeros((domain.sizes[a], domain.sizes[b]), np.bool_)
    for value, other in rule.items():
        allowed = domain.columns[b].find(other)
        for cell in domain.columns[a].find(value):
            table[cell] = True
            table[cell, allowed] = False
    clique = domain.clique([first, second])
    assert all(low < high for low, high in pairwise(clique))
    return CellZeros(clique=clique, impossible=table if a < b else table.T)
