"""The answer that a certificate is about, by its hash: of the table with its intervals, as `to_csv` writes it."""

from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pyarrow as pa
from pyarrow.parquet import read_table

from tacit.base import InputError
from tacit.session.answer import Release

__all__ = ["file_hash", "table_hash"]


def table_hash(release: Release) -> str:
    """SHA-256 of the CSV."""
    out = BytesIO()
    release.to_csv(out)
    return sha256(out.getvalue()).hexdigest()


def file_hash(path: Path) -> str:
    """The same of an answer in a file: CSV byte by byte; Parquet or an Arrow stream of ours as CSV would have it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if path.suffix == ".csv":
        return sha256(data).hexdigest()
    try:
        if path.suffix == ".parquet":
            return table_hash(Release(table=read_table(BytesIO(data)), intervals={}))
        if path.suffix == ".arrow":
            return table_hash(Release.from_bytes(data))
    except (pa.ArrowException, ValueError, LookupError, TypeError):
        raise InputError(f"{path} is not an answer as tacit writes one") from None
    raise InputError(f"{path.name} must end in .csv, .parquet or .arrow, by which the form of an answer is known")
