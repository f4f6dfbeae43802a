"""One file, no policy: a question about a table whose curator is the one who asks.

The budget is kept all the same, in a ledger beside the file, so that questions add up from one day to the next.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tacit.base import InputError, Number, exact, positive
from tacit.engine import read_schema
from tacit.engine.duckdb import DuckDBEngine
from tacit.ledger import Ledger
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Engine, Policy, Privacy, Table
from tacit.policy.types import understood
from tacit.session.answer import Release
from tacit.session.session import Session

__all__ = ["ask", "open_session"]

EACH_ROW = "each row"
BUDGET = 10
DELTA = Fraction(1, 10**6)

_books: dict[int, tuple[Any, Path]] = {}  # ledgers of tables in memory, while they live


def open_session(policy: Policy | str | Path, analyst: str) -> Session:
    """A session of one analyst with a dataset, as its policy declares it."""
    return Session(policy, analyst)


def ask(
    data: Any,
    sql: Any,
    *,
    unit: str | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    keys: Mapping[str, Sequence[Any]] | None = None,
    steps: Mapping[str, Number] | None = None,
    types: Mapping[str, str] | None = None,
    table: str | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number = DELTA,
    budget: Number = BUDGET,
    clip_rows: Number | str = "private",
    ledger: str | Path | None = None,
    key: str | None = None,
) -> Release:
    """Ask one file (Parquet, CSV) or table in memory (Arrow, pandas, polars), which is called by its file's name.

    `unit` is the column that names a person, or "each row". `bounds` and `keys` are what you know of the columns
    without looking. All that is ever asked of this file adds up, in the ledger beside it, to at most `budget`.
    """
    if unit is None:
        raise InputError(
            'unit is missing: name the column that says whose row it is, or unit="each row" if each is another person\'s'
        )
    if (epsilon is None) == (rho is None):
        raise InputError("say how much to spend: epsilon=… or rho=…, one of them")
    found, name, source = _schema(data, table)
    columns = {
        column: Column(
            type=ColumnType(types[column]) if types and column in types else understood(native),
            bounds=_pair(bounds, column),
            keys=tuple(keys[column]) if keys and column in keys else None,
            step=None
            if not steps or column not in steps
            else exact(steps[column], f"step of {column}", toward="decimal"),
        )
        for column, native in found.items()
    }
    for what, given in (("bounds", bounds), ("keys", keys), ("steps", steps), ("types", types)):
        unknown = sorted(set(given or ()) - set(columns))
        if unknown:
            raise InputError(f"{what} name a column {unknown[0]!r}, and there are {', '.join(columns)}")
    each = unit == EACH_ROW
    if not each and unit not in columns:
        raise InputError(f"unit names a column {unit!r}, and there are {', '.join(columns)}")
    currency = Currency.EPSILON if epsilon is not None else Currency.RHO
    place = _book(data, source, ledger)
    policy = Policy(
        dataset=Dataset(name=name, engine=Engine.DUCKDB, source=source or name, ledger=str(place)),
        privacy=Privacy(
            currency=currency,
            budget=positive(budget, "budget", toward="decimal"),
            delta=exact(delta, "delta", toward="decimal"),
        ),
        tables={
            name: Table(
                source=source,
                unit=None if each else unit,
                each_row_is_a_unit=each,
                clip_rows=None if each else _clip(clip_rows),
                columns=columns,
            )
        },
        analysts={"owner": Analyst()},
    )
    with Ledger.open(place) as book:
        book.apply(policy.terms())
        engine = DuckDBEngine({name: data if source is None else Path(source)})
        try:
            return Session(policy, "owner", ledger=book, engine=engine).ask(sql, epsilon=epsilon, rho=rho, key=key)
        finally:
            engine.close()


def _schema(data: Any, table: str | None) -> tuple[dict[str, str], str, str | None]:
    """Names and types of the columns, the table's name, and the file, if it is one."""
    if isinstance(data, str | Path):
        read = read_schema(data)
        if len(read.tables) != 1 or not read.files:
            raise InputError("ask one Parquet or CSV file; a folder or a database needs a policy: tacit init")
        ((name, columns),) = read.tables.items()
        return columns, table or name, str(Path(data).resolve())
    names = getattr(getattr(data, "schema", None), "names", None)
    if hasattr(data, "to_arrow"):
        data = data.to_arrow()
    elif names is None and hasattr(data, "columns"):
        import pyarrow as pa

        data = pa.Table.from_pandas(data, preserve_index=False)
    schema = getattr(data, "schema", None)
    if schema is None:
        raise InputError(f"ask a file, or an Arrow, pandas or polars table, not {type(data).__name__}")
    return {field.name: str(field.type) for field in schema}, table or "data", None


def _pair(bounds: Mapping[str, tuple[Number, Number]] | None, column: str) -> tuple[Any, Any] | None:
    if bounds is None or column not in bounds:
        return None
    low, high = bounds[column]
    read = (value if not isinstance(value, int | float | str | Fraction) else exact(value, column, toward="decimal")
            for value in (low, high))  # fmt: skip
    return tuple(read)  # type: ignore[return-value]  # two of them


def _clip(clip_rows: Number | str) -> Fraction | str:
    return clip_rows if clip_rows == "private" else positive(clip_rows, "clip_rows", toward="decimal")  # type: ignore[return-value, arg-type]


def _book(data: Any, source: str | None, ledger: str | Path | None) -> Path:
    """Where spending on this data is written down."""
    if ledger is not None:
        return Path(ledger)
    if source is not None:
        return Path(f"{source}.ledger")
    if id(data) not in _books:
        folder = Path(mkdtemp(prefix="tacit-"))
        _books[id(data)] = (data, folder / "ledger")  # holds the table, so that its identity stays its own
    return _books[id(data)][1]
