"""From a policy to the engine that reads its tables, and whether these have what the policy declares.

Names and types are compared before any row is read. A declared type that the data does not have would fail on some
values and not on others, so it is refused here, as are units that cannot be told apart exactly, or not compared from
table to table.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import EngineError, InputError, PolicyError, TacitError
from tacit.engine.engine import Engine
from tacit.engine.source.copies import Copies, state_folder
from tacit.engine.source.keys import LinkKeys
from tacit.engine.source.listing import DATABASES, listed
from tacit.engine.source.tables import DatabaseSource, FileSource
from tacit.engine.source.text import DELIMITERS
from tacit.engine.unit import UnitKind, UnitPart, column_kind, part_kinds, unit_kind
from tacit.engine.watch import Limits
from tacit.policy import Column, ColumnType, Policy, Table
from tacit.policy.declaration import quoted
from tacit.policy.kind import decimals
from tacit.policy.link import keys_linked_to
from tacit.policy.model import EngineName as Kind
from tacit.policy.model import Where
from tacit.policy.source import filled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check", "check_units", "copies_of", "local_sources", "local_table", "open_engine"]

ENDINGS = (".parquet", *DELIMITERS, "")
MASTER = re.compile(r"spark://.+|k8s://.+|yarn|local(-cluster)?(\[[^\]]+\])?")
FITS = {  # what may be stored where this is declared
    ColumnType.INTEGER: {ColumnType.INTEGER},
    ColumnType.DECIMAL: {ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT},
    ColumnType.FLOAT: {ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT},
    ColumnType.BOOLEAN: {ColumnType.BOOLEAN},
    ColumnType.TEXT: {ColumnType.TEXT},
    ColumnType.DATE: {ColumnType.DATE, ColumnType.TIMESTAMP},
    ColumnType.TIMESTAMP: {ColumnType.TIMESTAMP},  # PostgreSQL has dates that are no timestamps, and fails on them
}
LISTED = 12


def open_engine(policy: Policy, *, limits: Limits | None = None, reads_keys: bool = False) -> Engine:
    """The engine that the policy names, with every declared table and nothing else, of the declared types.

    `limits` are of each question; left out, they are those of `Limits()`. `reads_keys` is for the curator: keys that
    links lead to are looked at, where no constraint says that no value of them is there twice.
    """
    places = {name: policy.where(name) for name in policy.tables}
    texts: list[str] = []
    engine: Engine
    if policy.dataset.engine is Kind.DUCKDB:
        from tacit.engine.duckdb import DuckDBEngine

        local = local_sources(policy, reads_keys=reads_keys)
        texts = [name for name, source in local.items() if isinstance(source, FileSource) and listed(source.path).text]
        engine = DuckDBEngine(local, limits=limits)
    else:
        opened = _postgres if policy.dataset.engine is Kind.POSTGRES else _spark
        engine = opened(policy, places, limits, reads_keys)
    try:
        check(policy, engine, compared=texts)  # text was, when it was read
    except BaseException:
        engine.close()
        raise
    return engine


def copies_of(policy: Policy) -> Copies:
    """Where the typed copies of a dataset are."""
    return Copies(state_folder(policy.ledger(), policy.folder))


def _link_keys(policy: Policy, name: str, reads: bool) -> LinkKeys:
    """The columns of a table that links lead to."""
    columns = policy.tables[name].columns
    keys = keys_linked_to(policy.tables, name)
    declared = tuple((key, columns[key].type if key in columns else None) for key in keys)
    remedy = f"tacit check --data {policy.file}".strip()
    return LinkKeys(columns=declared, copies=copies_of(policy), reads=reads, remedy=remedy)


def local_sources(policy: Policy, *, only: Collection[str] | None = None, reads_keys: bool = False) -> dict[str, Any]:
    """The tables of a dataset in DuckDB: files with what is declared of them, or tables of a DuckDB file."""
    copies, remedy = copies_of(policy), f"tacit data import {policy.file}".strip()
    found: dict[str, Any] = {}
    for name, table in policy.tables.items():
        if only is not None and name not in only:
            continue
        place = local_table(name, policy.where(name))
        if isinstance(place, Path):
            keys = _link_keys(policy, name, reads_keys)
            found[name] = FileSource(path=place, table=table, copies=copies, remedy=remedy, keys=keys)
        else:
            keys = _link_keys(policy, name, reads_keys)
            found[name] = DatabaseSource(place[0], place[1], table.kept_together, not table.public, keys)
    return found


def _postgres(policy: Policy, places: Mapping[str, Where], limits: Limits | None, reads_keys: bool) -> Engine:
    from tacit.engine.postgres import PostgresEngine

    files = [name for name, where in places.items() if where.file is not None]
    if files:
        said = (
            'its source is a file, and engine = "postgres" reads tables of a database: write the name it has there, '
            'such as source = "schema.table", or engine = "duckdb"'
        )
        raise PolicyError(*(f"table {quoted(name)}: {said}" for name in files))
    urls = {where.database for where in places.values() if where.database is not None}
    if len(urls) != 1:
        raise PolicyError(
            'engine = "postgres" needs the address of the database: write source = "postgresql://user@host/name" '
            "under [dataset]"
        )
    names = {name: where.name or name for name, where in places.items()}
    return PostgresEngine(urls.pop(), names, units=_units(policy), keys=_all_keys(policy, reads_keys), limits=limits)


def _spark(policy: Policy, places: Mapping[str, Where], limits: Limits | None, reads_keys: bool) -> Engine:
    from tacit.engine.spark import SparkEngine

    texts = [name for name, where in places.items() if Path(where.file or "").suffix.lower() in DELIMITERS]
    if texts:
        raise PolicyError(
            *(f"table {quoted(name)}: Spark reads Parquet or tables of its catalog, not CSV" for name in texts)
        )
    master = filled(policy.dataset.source or "local[*]")
    if MASTER.fullmatch(master) is None:
        raise PolicyError(
            f'source = {quoted(master)} is not where a Spark master is: write "spark://host:7077" or "local[4]" under '
            "[dataset], and where the data lies as the source of each table"
        )
    tables = {name: where.file if where.file is not None else where.name or name for name, where in places.items()}
    columns = {  # that questions may read, as they are stored
        name: {column for column, declared in table.columns.items() if not declared.hidden}
        | {*table.needed, *keys_linked_to(policy.tables, name)}
        for name, table in policy.tables.items()
    }
    spark, failed = _running(master) or master, ""
    try:
        keys = _all_keys(policy, reads_keys)
        return SparkEngine(spark, tables, columns=columns, units=_units(policy), keys=keys, limits=limits)
    except TacitError:
        raise
    except Exception as error:  # of py4j and of Spark, which share no class
        failed = type(error).__name__
    raise TacitError(f"Spark cannot be started, or its master {master} cannot be reached: {failed}")


def _units(policy: Policy) -> dict[str, str | None]:
    """The private tables with the columns whose values are one unit's each."""
    return {name: table.kept_together for name, table in policy.tables.items() if not table.public}


def _all_keys(policy: Policy, reads: bool) -> dict[str, LinkKeys]:
    found = {name: _link_keys(policy, name, reads) for name in policy.tables}
    return {name: keys for name, keys in found.items() if keys.columns}


def _running(master: str) -> "SparkSession | None":
    """The session that this process has already, which is used beside its owner and not stopped."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None  # the engine says what to install
    session = SparkSession.getActiveSession()
    if session is not None and session.sparkContext.master != master:
        raise PolicyError(
            f"this process has a Spark session on {session.sparkContext.master} already, and none can be started on "
            f"{master}: stop it first, or use it, as in Session(policy, analyst, engine=SparkEngine(spark, tables))"
        )
    return session


def local_table(name: str, where: Where) -> Any:
    """A file, or a table in a DuckDB file, or the file of that name in a folder."""
    if where.file is not None:
        return Path(where.file)
    if where.database is None:
        raise PolicyError(
            f'table "{name}" has no source: declare source = "file.parquet" for it, or a source for the dataset'
        )
    place, inside = Path(where.database), where.name or name
    if not place.is_dir():
        return (place, inside) if place.suffix.lower() in DATABASES else place
    found = next((file for ending in ENDINGS if (file := place / f"{inside}{ending}").exists()), None)
    if found is None:
        raise PolicyError(f'table "{name}": the folder {place} has no {inside}.parquet and no .csv')
    return found


def check(policy: Policy, engine: Engine, *, texts: Collection[str] = (), compared: Collection[str] = ()) -> None:
    """Raise PolicyError with every declared table or column that is missing or has another type.

    `texts` are the tables that are stored as text, each value of which is cast to what was declared; `compared` those
    that need no second look.
    """
    looked = {name: table for name, table in policy.tables.items() if name not in compared}
    problems = [
        text
        for name, table in looked.items()
        for text in _table(engine, name, table, is_text=name in texts, keys=keys_linked_to(policy.tables, name))
    ]
    if problems:
        raise PolicyError(*problems)
    check_units(policy, engine)


def check_units(policy: Policy, engine: Engine) -> None:
    """Raise PolicyError where the units of a table cannot be told apart exactly, or differ in kind between tables."""
    kinds: dict[str, tuple[UnitKind, ...]] = {}
    problems = list(_link_kinds(policy, engine))
    for name, table in policy.tables.items():
        columns = () if table.public else table.unit_columns
        stored = _stored(engine, name) or {} if columns else {}
        if not columns or not stored.keys() >= set(columns):
            continue  # `check` has said so
        parts = [UnitPart(raw="", declared=_declared(table, column), native=stored[column]) for column in columns]
        try:
            kinds[name] = part_kinds(parts)
        except InputError as error:
            named = quoted(columns[0]) if len(columns) == 1 else f"[{', '.join(map(quoted, columns))}]"
            problems.append(f"table {quoted(name)}: unit_column = {named}: {error}")
    first = next(iter(kinds), "")
    problems += [
        f"table {quoted(name)}: its unit is compared as {' and '.join(kind)}, and that of table {quoted(first)} as "
        f"{' and '.join(kinds[first])}: declare one type for the unit's column in both"
        for name, kind in kinds.items()
        if kind != kinds[first]
    ]
    if problems:
        raise PolicyError(*problems)


def _declared(table: Table, column: str) -> ColumnType | None:
    return table.columns[column].type if column in table.columns else None


def _link_kinds(policy: Policy, engine: Engine) -> Iterator[str]:
    """Links whose two ends are not compared."""
    for name, table in policy.tables.items():
        link = table.link
        if link is None:
            continue
        kinds = []
        for at, column in ((name, link.column), (link.table, link.key)):
            native = (_stored(engine, at) or {}).get(column)
            if native is None:
                continue
            try:
                kinds.append(unit_kind(_declared(policy.tables[at], column), native))
            except InputError as error:
                yield f"table {quoted(name)}: link: column {quoted(column)} of table {quoted(at)} {error}"
        if len(set(kinds)) > 1:
            yield (
                f"table {quoted(name)}: link: {quoted(link.column)} is compared as {kinds[0]}, and {quoted(link.key)} "
                f"of table {quoted(link.table)} as {kinds[1]}: declare one type for both"
            )


def _table(engine: Engine, name: str, table: Table, *, is_text: bool, keys: Collection[str] = ()) -> Iterator[str]:
    stored = _stored(engine, name)
    if stored is None:
        yield (
            f"table {quoted(name)}: cannot be found in the data, or may not be read: check its name and source in the "
            "policy, and what the account may see"
        )
        return
    for column, declared in table.columns.items():
        place = f"table {quoted(name)}, column {quoted(column)}"
        if column not in stored:
            yield f"{place}: the data has no such column; {_meant(column, stored, is_text=is_text)}"
        elif not is_text:
            yield from (f"{place}: {problem}" for problem in _type(stored[column], declared))
    for column in dict.fromkeys((*table.needed, *keys)):
        if column not in stored:
            is_key = f"link to its key {quoted(column)}" if column in keys else f"link from {quoted(column)}"
            said = f"unit_column = {quoted(column)}" if column in table.unit_columns else is_key
            meant = _meant(column, stored, is_text=is_text)
            yield f"table {quoted(name)}: {said}: the data has no such column; {meant}"


def _stored(engine: Engine, name: str) -> Mapping[str, str] | None:
    try:
        return engine.columns(name) or None
    except EngineError:
        return None


def _type(native: str, declared: Column) -> Iterator[str]:
    if declared.type is None or declared.hidden:
        return
    found = column_kind(native)
    if declared.type is ColumnType.INTEGER and found is ColumnType.DECIMAL and decimals(native) == 0:
        return
    if found is None:
        yield (
            f"it is declared as {declared.type}, and the data has {native}, which cannot be asked about: declare it "
            "hidden = true, or name a view as the table's source that casts it"
        )
    elif found not in FITS[declared.type]:
        yield f"it is declared as {declared.type}, and the data has {native}: declare type = {quoted(str(found))}"


def _meant(name: str, stored: Mapping[str, str], *, is_text: bool) -> str:
    """What somebody may have meant. The first line of a text file may be a person's row: it is not shown."""
    if is_text:
        return f"the first line of its file names {len(stored)} others; if it is no line of names, declare header"
    folded = {each.casefold(): each for each in stored}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {quoted(folded[close[0]])}?"
    return f"it has {', '.join(map(quoted, sorted(stored)[:LISTED]))}{' …' if len(stored) > LISTED else ''}"
