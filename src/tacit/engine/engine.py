"""What an engine is: the only place where private rows are read, and whole numbers in a closed box come out."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from tacit.base import EngineError, Exact
from tacit.engine.render import Statements
from tacit.engine.result import Coded, Result, Table, Whole, keys_from, whole_numbers
from tacit.plan.bounded import Bounded

__all__ = ["Engine", "Progress", "counts_from", "failing_closed", "result_from"]

T = TypeVar("T")

Progress = Callable[[float], None]
"""Is told, from 0 to 1, how far a query is that takes more than two seconds."""

Fetch = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one SELECT and gives its columns."""


class Engine(Protocol):
    """Runs bounded questions. Whatever goes wrong with rows at hand is an EngineError of one constant text."""

    def run(self, bounded: Bounded) -> Exact[Result]:
        """The exact answer. Statements are written, and refused if they cannot be, before anything is read."""
        ...

    def norms(self, bounded: Bounded, clip: int, edges: Sequence[int]) -> Exact[Whole]:
        """How many units have a norm in (…, e₀], (e₀, e₁], …, (eₙ, ∞) in the given clip, to choose a bound privately.

        Edges are in steps, as bounds are. Units without rows are not counted.
        """
        ...

    def version(self, tables: Collection[str]) -> str:
        """A text that differs whenever the data of these tables may have changed. Reads no rows."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """The names of a table's columns and what the engine calls their types. Reads no rows."""
        ...

    def cancel(self) -> None:
        """Stop what is running, from another thread; it fails with EngineError."""
        ...

    def close(self) -> None: ...


def failing_closed(action: Callable[[], T]) -> T:
    """What `action` gives. Any failure becomes an EngineError that says nothing and has no other error behind it."""
    try:
        return action()
    except Exception:
        pass  # left first: an error raised in here would carry this one, and its frames, along
    raise EngineError


def steadily(version: Callable[[], str], action: Callable[[], T]) -> T:
    """The same, if the data is what it was before: rows may be read more than once, and a bound on what a unit adds
    holds only if they are the same each time."""

    def whole() -> T:
        before = version()
        found = action()
        if version() != before:
            raise EngineError
        return found

    return failing_closed(whole)


def result_from(bounded: Bounded, statements: Statements, fetch: Fetch) -> Result:
    """The result of a question's statements."""
    count = len(bounded.keys)
    columns = [()] * count if statements.groups is None else fetch(statements.groups)
    keys = _keys(bounded, columns)
    named = {m.name: whole_numbers(column) for m, column in zip(bounded.measures, columns[count:], strict=False)}
    presence = None if bounded.presence is None else whole_numbers(columns[-1])
    ranks = {}
    for ranked, statement in zip(bounded.ranks, statements.ranks, strict=True):
        found = fetch(statement)
        cells, counts = found[count:]
        table = {"cell": whole_numbers(cells), "count": whole_numbers(counts)}
        ranks[ranked.name] = Table(keys=_keys(bounded, found), columns=table)
    return Result(groups=Table(keys=keys, columns=named), presence=presence, ranks=ranks)


def _keys(bounded: Bounded, columns: Sequence[Sequence[Any]]) -> tuple[Coded, ...]:
    return tuple(keys_from(columns[i], key.facts.type) for i, key in enumerate(bounded.keys))


def counts_from(columns: Sequence[Sequence[Any]], cells: int) -> Whole:
    """Counts by cell as an array of all cells."""
    counts = np.zeros(cells, dtype=np.int64)
    for cell, count in zip(*(whole_numbers(column).tolist() for column in columns), strict=True):
        counts[cell] = count
    return counts
