"""One file, no policy: a question about a table whose curator is the one who asks.

The budget is kept all the same, in a ledger beside the file, so that questions add up from one day to the next. So are
the types of a CSV file's columns: they are read from it once and then stay, since every row has a say in them.
"""

import atexit
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Unpack

from tacit.base import InputError, Number, exact, positive
from tacit.base.former import former_names
from tacit.base.problem import by_arguments
from tacit.desk.release import TableRelease
from tacit.engine import Limits, claims_of, read_schema
from tacit.engine.connect import check
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.source.copies import Copies, state_folder
from tacit.engine.source.held import arrow_schema
from tacit.engine.source.reading import propose_types
from tacit.engine.source.tables import FileSource
from tacit.engine.source.text import TextForm
from tacit.engine.watch import Progress
from tacit.ledger import Ledger
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, EngineName, Policy, Privacy, Table
from tacit.policy.kind import understood
from tacit.session.session import Session
from tacit.sql import Catalog
from tacit.sql.offer import OfferTerms

__all__ = ["EACH_ROW", "OneTable", "ask", "open_session"]

EACH_ROW = "each row"
BUDGET = 10
DELTA = Fraction(1, 10**6)
OWNER = "owner"
USUAL = "data"  # what every table is called, beside its own name
LISTED = 20

_books: dict[int, tuple[Any, Path]] = {}  # ledgers of tables in memory, while they live


def open_session(
    policy: Policy | str | Path, analyst: str, *, limits: Limits | None = None, progress: Progress | bool = True
) -> Session:
    """A session of one analyst with a dataset, as its policy declares it. `limits` are of each question.

    What takes longer than two seconds shows a bar, on standard error if that is a terminal; `progress=False` shows
    none, and a function is told how far it is, from 0 to 1.
    """
    return Session(policy, analyst, limits=limits, progress=progress)


@former_names(unit="unit_column", keys="group_keys", key="idempotency_key")
def ask(
    data: Any,
    sql: Any,
    *,
    unit_column: str | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    group_keys: Mapping[str, Sequence[Any]] | None = None,
    steps: Mapping[str, Number] | None = None,
    types: Mapping[str, str] | None = None,
    table: str | None = None,
    delta: Number = DELTA,
    budget: Number = BUDGET,
    clip_rows: Number | str = "private",
    ledger: str | Path | None = None,
    idempotency_key: str | None = None,
    **terms: Unpack[OfferTerms],
) -> TableRelease:
    """Ask one file (Parquet, CSV) or table in memory (Arrow, pandas, polars). FROM data names it, and so does a file's
    own name.

    `unit_column` names a person, or is "each row". `bounds` and `group_keys` are what you know of the columns
    without looking. Columns of a CSV file get their types when it is first read, and keep them; `types` changes one.
    All that is ever asked of this file adds up, in the ledger beside it, to at most `budget`.
    """
    one = OneTable(
        data=data,
        unit_column=unit_column,
        bounds=bounds or {},
        group_keys=group_keys or {},
        steps=steps or {},
        types=types or {},
        table=table,
        currency=next((name for name in Currency if terms.get(name) is not None), None),
        delta=delta,
        budget=budget,
        clip_rows=clip_rows,
        ledger=ledger,
    )
    with one.session() as session:
        return session.ask(sql, idempotency_key=idempotency_key, **terms)


@dataclass(frozen=True, kw_only=True)
class OneTable:
    """A table and what its owner knows of it, from which a policy is made."""

    data: Any = field(repr=False)
    unit_column: str | None
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    group_keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    steps: Mapping[str, Number] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    table: str | None = None
    currency: Currency | None = None  # that of the ledger, and ρ in a new one
    delta: Number = DELTA
    budget: Number = BUDGET
    clip_rows: Number | str = "private"
    ledger: str | Path | None = None
    spelled: bool = False  # keys are text that somebody typed, and take on the type of their column

    @contextmanager
    def session(self, progress: Progress | bool = True, limits: Limits | None = None) -> Iterator[Session]:
        """Its owner's session, with a ledger and an engine of its own."""
        found, name, source = self._schema()
        place = self._book(source)
        copies = Copies(state_folder(str(place), None))
        kinds = self._kinds(found, source, copies)
        policy = self._policy(kinds, name, source, place)
        with ExitStack() as stack:
            stack.enter_context(by_arguments())
            book = stack.enter_context(Ledger.open(place))
            policy = self._in_currency_of(book, policy)
            data = self.data
            if source is not None:
                data = FileSource(path=Path(source), table=policy.tables[name], copies=copies, at_once=True)
            engine = DuckDBEngine({name: data}, limits=limits)
            stack.callback(engine.close)
            check(policy, engine)
            book.apply(policy.terms(), claims_of(policy, engine))
            own = OwnSession(policy, OWNER, ledger=book, engine=engine, progress=progress)
            own.remarks = () if all(found.values()) else (_remark(kinds),)
            aliases = {alias: name for alias in (USUAL, *([Path(source).stem] if source else [])) if alias != name}
            yield own.for_analyst(OWNER, replace(Catalog.from_policy(policy), aliases=aliases))

    def _kinds(self, found: Mapping[str, str], source: str | None, copies: Copies) -> dict[str, ColumnType | None]:
        """The types of the columns: as the data says them; of text, as said here, or as they were when first read."""
        kinds = {name: understood(native) for name, native in found.items()}
        if source is not None and not all(found.values()):
            path = Path(source)
            kept = copies.types(path)
            if set(found) - set(kept) - set(self.types):
                kept = {**propose_types(path, TextForm.of(path)), **kept}
                copies.keep_types(path, {name: str(kind) for name, kind in kept.items() if name in found})
            kinds = {name: self._text_as(name, ColumnType(kept.get(name, ColumnType.TEXT))) for name in found}
            if kinds.get(self.unit_column or "") is ColumnType.FLOAT:
                kinds[self.unit_column or ""] = ColumnType.TEXT  # two people may have the same double
        return kinds | {name: _type(given, name) for name, given in self.types.items() if name in found}

    def _text_as(self, name: str, kept: ColumnType) -> ColumnType:
        """What a column of text is read as: what was said of its values decides where the type does not suit them."""
        first = next(iter(self.bounds.get(name) or self.group_keys.get(name) or ()), None)
        match first:
            case None:
                return kept
            case bool():
                return ColumnType.BOOLEAN
            case datetime():
                return ColumnType.TIMESTAMP
            case date():
                return kept if kept is ColumnType.TIMESTAMP and name in self.bounds else ColumnType.DATE
            case str():
                return kept if self.spelled else ColumnType.TEXT
            case _ if kept.numeric and not (kept is ColumnType.FLOAT and name in self.group_keys):
                return kept
            case _:
                return ColumnType.DECIMAL if name in self.group_keys else ColumnType.FLOAT

    def _policy(self, found: Mapping[str, ColumnType | None], name: str, source: str | None, place: Path) -> Policy:
        if self.unit_column is None:
            raise InputError(
                "unit_column is missing: name the column that says whose row it is, "
                f'or unit_column="{EACH_ROW}" if every row is another\'s'
            )
        each = self.unit_column == EACH_ROW
        named: dict[str, Iterable[str]] = {"bounds": self.bounds, "group_keys": self.group_keys, "steps": self.steps}
        named |= {"types": self.types, "unit_column": () if each else (self.unit_column,)}
        for what, given in named.items():
            unknown = sorted(set(given) - set(found))
            if unknown:
                raise InputError(f'{what}: there is no column "{unknown[0]}"; there are {", ".join(found)}')
        return Policy(
            dataset=Dataset(name=name, engine=EngineName.DUCKDB, source=source or name, ledger=str(place)),
            privacy=Privacy(
                currency=self.currency or Currency.RHO,
                budget=positive(self.budget, "budget", toward="decimal"),
                delta=exact(self.delta, "delta", toward="decimal"),
                unit="row" if each else "person",
            ),
            tables={
                name: Table(
                    source=source,
                    unit_column=None if each else self.unit_column,
                    each_row_is_a_unit=each,
                    clip_rows=None if each else _clip(self.clip_rows),
                    columns={column: self._column(column, kind) for column, kind in found.items()},
                )
            },
            analysts={OWNER: Analyst()},
        )

    def _column(self, name: str, kind: ColumnType | None) -> Column:
        bounds = None if name not in self.bounds else _pair(self.bounds[name], name)
        if kind is None:
            return Column(hidden=True)  # nothing can be asked about it
        keys = None if name not in self.group_keys else tuple(self.group_keys[name])
        if keys is not None and self.spelled:
            keys = tuple(_spelled(value, kind) for value in keys)
        step = None if name not in self.steps else exact(self.steps[name], f"step of {name}", toward="decimal")
        return Column(type=kind, bounds=bounds, group_keys=keys, step=step)

    def _in_currency_of(self, book: Ledger, policy: Policy) -> Policy:
        if policy.dataset.identity not in book.people():
            return policy
        held = book.standing(policy.dataset.identity).currency
        if self.currency not in (None, held):
            raise InputError(
                f"what was asked of this data before was paid for in {held}, and only like adds to like: offer {held}"
            )
        return replace(policy, privacy=replace(policy.privacy, currency=held))

    def _schema(self) -> tuple[dict[str, str], str, str | None]:
        """Names and types of the columns, the table's name, and the file, if it is one."""
        data = self.data
        if isinstance(data, str | Path):
            read = read_schema(data)
            if len(read.tables) != 1 or not read.files:
                raise InputError("ask one Parquet or CSV file; a folder or a database needs a policy: tacit init")
            ((name, columns),) = read.tables.items()
            return columns, self.table or name, str(Path(data).resolve())
        return {column.name: str(column.type) for column in arrow_schema(data)}, self.table or USUAL, None

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


class OwnSession(Session):
    """The session of a file's owner, who is told what was taken for granted."""

    remarks: tuple[str, ...] = ()

    def ask(self, sql: Any, **offer: Any) -> TableRelease:
        found = super().ask(sql, **offer)
        return replace(found, notes=(*found.notes, *self.remarks))


def _remark(kinds: Mapping[str, ColumnType | None]) -> str:
    listed = ", ".join(f"{name} {kind}" for name, kind in list(kinds.items())[:LISTED])
    more = " …" if len(kinds) > LISTED else ""
    return f"types of the columns, kept since the file was first read: {listed}{more}; types={{…}} changes one"


def _type(name: str, column: str) -> ColumnType:
    try:
        return ColumnType(name)
    except ValueError:
        listed = ", ".join(kind.value for kind in ColumnType)
        raise InputError(f'types: "{name}" of column "{column}" is none: there are {listed}') from None


def _spelled(value: Any, kind: ColumnType) -> Any:
    """A value that somebody typed, in the type of its column; as it is where it does not suit that."""
    try:
        match kind:
            case ColumnType.INTEGER | ColumnType.DECIMAL | ColumnType.FLOAT:
                return exact(value, "keys", toward="decimal")
            case ColumnType.DATE:
                return date.fromisoformat(value)
            case ColumnType.BOOLEAN:
                return {"true": True, "false": False}.get(value.lower(), value)
    except ValueError:
        pass
    return value


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
