"""One file, no policy: a question about a table whose curator is the one who asks.

The budget is kept all the same, in a ledger beside the file, so that questions add up from one day to the next.
"""

import atexit
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from tacit.base import InputError, Number, exact, positive
from tacit.engine import read_schema
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Progress
from tacit.ledger import Ledger
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Engine, Policy, Privacy, Table
from tacit.policy.types import understood
from tacit.session.answer import Release
from tacit.session.offer import CONFIDENCE
from tacit.session.session import Session

__all__ = ["EACH_ROW", "OneTable", "ask", "open_session"]

EACH_ROW = "each row"
BUDGET = 10
DELTA = Fraction(1, 10**6)
OWNER = "owner"

_books: dict[int, tuple[Any, Path]] = {}  # ledgers of tables in memory, while they live


def open_session(policy: Policy | str | Path, analyst: str) -> Session:
    """A session of one analyst with a dataset, as its policy declares it."""
    return Session(policy, analyst)


def ask(
    data: Any,
    sql: Any,
    *,
    unit: str | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    keys: Mapping[str, Sequence[Any]] | None = None,
    steps: Mapping[str, Number] | None = None,
    types: Mapping[str, str] | None = None,
    table: str | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    error: Number | None = None,
    confidence: Number = CONFIDENCE,
    delta: Number = DELTA,
    budget: Number = BUDGET,
    clip_rows: Number | str = "private",
    ledger: str | Path | None = None,
    key: str | None = None,
) -> Release:
    """Ask one file (Parquet, CSV), which is called by its name, or table in memory (Arrow, pandas, polars), "data".

    `unit` is the column that names a person, or "each row". `bounds` and `keys` are what you know of the columns
    without looking. All that is ever asked of this file adds up, in the ledger beside it, to at most `budget`.
    """
    one = OneTable(
        data=data,
        unit=unit,
        bounds=bounds or {},
        keys=keys or {},
        steps=steps or {},
        types=types or {},
        table=table,
        currency=Currency.RHO if rho is not None else Currency.EPSILON,
        delta=delta,
        budget=budget,
        clip_rows=clip_rows,
        ledger=ledger,
    )
    with one.session() as session:
        return session.ask(sql, epsilon=epsilon, rho=rho, error=error, confidence=confidence, key=key)


@dataclass(frozen=True, kw_only=True)
class OneTable:
    """A table and what its owner knows of it, from which a policy is made."""

    data: Any = field(repr=False)
    unit: str | None
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    steps: Mapping[str, Number] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None
    currency: Currency = Currency.EPSILON
    delta: Number = DELTA
    budget: Number = BUDGET
    clip_rows: Number | str = "private"
    ledger: str | Path | None = None

    @contextmanager
    def session(self, progress: Progress | None = None) -> Iterator[Session]:
        """Its owner's session, with a ledger and an engine of its own."""
        found, name, source = self._schema()
        place = self._book(source)
        policy = self._policy(found, name, source, place)
        with ExitStack() as stack:
            book = stack.enter_context(Ledger.open(place))
            self._same_currency(book, policy)
            book.apply(policy.terms())
            engine = DuckDBEngine({name: self.data if source is None else Path(source)}, progress=progress)
            stack.callback(engine.close)
            yield Session(policy, OWNER, ledger=book, engine=engine)

    def _policy(self, found: Mapping[str, str], name: str, source: str | None, place: Path) -> Policy:
        if self.unit is None:
            raise InputError(
                "unit is missing: name the column that says whose row it is, "
                f'or unit="{EACH_ROW}" if every row is another\'s'
            )
        each = self.unit == EACH_ROW
        named: dict[str, Iterable[str]] = {"bounds": self.bounds, "keys": self.keys, "steps": self.steps}
        named |= {"types": self.types, "unit": () if each else (self.unit,)}
        for what, given in named.items():
            unknown = sorted(set(given) - set(found))
            if unknown:
                raise InputError(f'{what}: there is no column "{unknown[0]}"; there are {", ".join(found)}')
        return Policy(
            dataset=Dataset(name=name, engine=Engine.DUCKDB, source=source or name, ledger=str(place)),
            privacy=Privacy(
                currency=self.currency,
                budget=positive(self.budget, "budget", toward="decimal"),
                delta=exact(self.delta, "delta", toward="decimal"),
                unit="row" if each else "person",
            ),
            tables={
                name: Table(
                    source=source,
                    unit=None if each else self.unit,
                    each_row_is_a_unit=each,
                    clip_rows=None if each else _clip(self.clip_rows),
                    columns={column: self._column(column, native) for column, native in found.items()},
                )
            },
            analysts={OWNER: Analyst()},
        )

    def _column(self, name: str, native: str) -> Column:
        bounds = None if name not in self.bounds else _pair(self.bounds[name], name)
        keys = None if name not in self.keys else tuple(self.keys[name])
        kind = understood(native) if native else _text_as(bounds or keys)
        if name in self.types:
            kind = _type(self.types[name], name)
        step = None if name not in self.steps else exact(self.steps[name], f"step of {name}", toward="decimal")
        return Column(type=kind, bounds=bounds, keys=keys, step=step)

    def _same_currency(self, book: Ledger, policy: Policy) -> None:
        if policy.dataset.identity not in book.people():
            return
        held = book.standing(policy.dataset.identity)
        if held.currency is not self.currency:
            raise InputError(
                f"what was asked of this data before was paid for in {held.currency}, and only like adds to like: "
                f"offer {held.currency}"
            )

    def _schema(self) -> tuple[dict[str, str], str, str | None]:
        """Names and types of the columns, the table's name, and the file, if it is one."""
        data = self.data
        if isinstance(data, str | Path):
            read = read_schema(data)
            if len(read.tables) != 1 or not read.files:
                raise InputError("ask one Parquet or CSV file; a folder or a database needs a policy: tacit init")
            ((name, columns),) = read.tables.items()
            return columns, self.table or name, str(Path(data).resolve())
        if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
            import pyarrow as pa

            schema = pa.Schema.from_pandas(data, preserve_index=False)
        else:
            schema = getattr(data.to_arrow() if hasattr(data, "to_arrow") else data, "schema", None)
        if schema is None:
            raise InputError(f"ask a file, or an Arrow, pandas or polars table, not {type(data).__name__}")
        return {column.name: str(column.type) for column in schema}, self.table or "data", None

    def _book(self, source: str | None) -> Path:
        """Where spending on this data is written down."""
        if self.ledger is not None:
            return Path(self.ledger)
        if source is not None:
            return Path(f"{source}.ledger")
        if id(self.data) not in _books:
            folder = Path(mkdtemp(prefix="tacit-"))
            atexit.register(rmtree, folder, ignore_errors=True)  # the table is gone by then, too
            _books[id(self.data)] = (self.data, folder / "ledger")  # holds it, so that its identity stays its own
        return _books[id(self.data)][1]


def _text_as(known: Sequence[Any] | None) -> ColumnType:
    """What the text of a CSV column is read as, by what was said of its values."""
    first = next(iter(known or ()), "")
    if isinstance(first, bool):
        return ColumnType.BOOLEAN
    if isinstance(first, datetime):
        return ColumnType.TIMESTAMP
    if isinstance(first, date):
        return ColumnType.DATE
    return ColumnType.TEXT if isinstance(first, str) else ColumnType.FLOAT


def _type(name: str, column: str) -> ColumnType:
    try:
        return ColumnType(name)
    except ValueError:
        listed = ", ".join(kind.value for kind in ColumnType)
        raise InputError(f'types: "{name}" of column "{column}" is none: there are {listed}') from None


def _pair(given: tuple[Any, Any], column: str) -> tuple[Any, Any]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InputError(f'bounds of "{column}" must be two values, (low, high)') from None
    return _end(low, column), _end(high, column)


def _end(value: Any, column: str) -> Any:
    return value if isinstance(value, date) else exact(value, f"bounds of {column}", toward="decimal")


def _clip(clip_rows: Number | str) -> Any:
    return clip_rows if clip_rows == "private" else positive(clip_rows, "clip_rows", toward="decimal")
