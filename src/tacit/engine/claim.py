"""What a policy's protected tables are read from, so that a ledger notices the same data under another name.

Files are claimed by their path, without links, and by their number in the file system; each file of a folder is one.
Tables of a database are claimed by the name they have there, and by their number if the engine is at hand to ask; so
are the tables behind a view. No rows are read. Of a text file the original is claimed, not the copy that is read.
"""

import os
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tacit.base import PolicyError
from tacit.engine.claim_view import tables_behind
from tacit.engine.connect import local_table
from tacit.engine.engine import Engine
from tacit.policy import Claim, Policy, Table
from tacit.policy.claim import EACH_ROW, FILES, TREE, WHOLE, by_column
from tacit.policy.dataset import Engine as Kind
from tacit.policy.model import Where
from tacit.policy.source import FILES as ENDINGS
from tacit.policy.source import identity, is_url

__all__ = ["claims_of", "unit_of"]

LONGEST = 900  # bytes of a path that is written out
MEMORY = "memory:"
CATALOG = "spark-catalog:"  # whichever master runs the questions
UNSAID = ("spark_catalog", "default")  # what Spark puts before a name that is not said in full


def unit_of(table: Table) -> str | None:
    """Whom the rows of a table are counted for, as a claim says it; None if nobody is named yet."""
    if table.each_row_is_a_unit:
        return EACH_ROW
    return None if table.unit is None else by_column(table.unit)


def claims_of(policy: Policy, engine: Engine | None = None, tables: Collection[str] | None = None) -> tuple[Claim, ...]:
    """The claims of these tables, or of all; a public table may be everybody's, and is claimed by nobody.

    Without the engine only what the policy and the file system tell.
    """
    found: set[Claim] = set()
    for name in policy.tables if tables is None else tables:
        table = policy.tables.get(name)
        if table is not None and table.private:
            unit = unit_of(table)
            found.update(_claims(policy, name, policy.where(name), unit))
            found.update(() if engine is None else engine.origins(name, unit))
    if engine is None:  # a file that is not there yet
        found = {claim for claim in found if not claim.place.startswith(MEMORY)}
    return tuple(sorted(found, key=lambda claim: (claim.place, claim.part, claim.unit or "")))


def _claims(policy: Policy, name: str, where: Where, unit: str | None) -> Iterator[Claim]:
    kind = policy.dataset.engine
    if where.file is not None and is_url(where.file) and not where.file.lower().startswith("file:"):
        yield Claim(_object(where.file), WHOLE, unit)
    elif kind is Kind.POSTGRES:
        if where.database is not None:
            yield Claim(identity(where.database), schema_qualified(where.name or name), unit)
    elif kind is Kind.SPARK and where.file is None:
        yield from _catalog(policy, where.name or name, unit)
    else:
        yield from _local(policy, name, where, unit, deep=kind is Kind.SPARK)


def schema_qualified(name: str, schema: str = "public") -> str:
    return name if "." in name else f"{schema}.{name}"


def _catalog(policy: Policy, name: str, unit: str | None) -> Iterator[Claim]:
    parts = name.casefold().split(".")
    full = ".".join([*UNSAID[: max(0, 3 - len(parts))], *parts])
    yield Claim(CATALOG, full, unit)
    source = policy.dataset.source
    if source is not None and is_url(source):
        yield Claim(identity(source), full, unit)


# --- files


def _local(policy: Policy, name: str, where: Where, unit: str | None, *, deep: bool) -> Iterator[Claim]:
    try:
        found = local_table(name, where) if where.file is None else Path(_path(where.file))
    except PolicyError:
        found = None
    place, inside = found if isinstance(found, tuple) else (found, None)
    if place is None or not place.exists():  # in memory, perhaps: then only its policy has a name for it
        yield Claim(f"{MEMORY}{policy.dataset.identity}", name, unit)
    if place is None:
        return
    if inside is not None:
        table = schema_qualified(inside, "main").casefold()
        for part, whose in [(table, unit), *((each, None) for each in tables_behind(place, table))]:
            yield from _file(place, part, whose)
    elif place.is_dir():
        yield Claim(_named(place), TREE if deep else FILES, unit)
        for file in sorted(place.rglob("*") if deep else place.iterdir()):
            if file.suffix.lower() in ("", *ENDINGS) and file.is_file():
                yield from _file(file, WHOLE, unit)
    else:
        yield from _file(place, WHOLE, unit)


def _file(path: Path, part: str, unit: str | None) -> Iterator[Claim]:
    yield Claim(_named(path), part, unit)
    try:
        state, system = path.stat(), os.statvfs(path)
    except OSError:
        return  # it went away: nobody reads it
    # the number of the file system, which stays when devices are numbered anew at a start; not all have one
    yield Claim(f"inode:{system.f_fsid or state.st_dev:x}:{state.st_ino}", part, unit)


def _named(path: Path) -> str:
    """`file:` and the path without links; by its hash if it is not text that a ledger takes."""
    real = os.path.realpath(path)
    if real.isprintable() and len(os.fsencode(real)) <= LONGEST:
        return f"file:{real}"
    return f"file:sha256:{sha256(os.fsencode(real)).hexdigest()}"


def _path(text: str) -> str:
    return unquote(urlsplit(text).path) if is_url(text) else text


def _object(url: str) -> str:
    """One name for a file or folder in a store of objects."""
    scheme, _, rest = identity(url).partition("://")
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest}"
