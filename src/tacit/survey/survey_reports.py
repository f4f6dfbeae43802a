"""Reports in files: Parquet with a column of bytes for each question, and the tallies of very many of them.

A row means nothing: each column has an order of its own, that of its bytes, so the reports of one respondent are not
put side by side. A file knows which survey it is of, in the version that its reports mean.
"""

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import InputError
from tacit.survey.protocol import Array, Protocol, Tally
from tacit.survey.shuffle import stripped
from tacit.survey.survey import Survey

__all__ = ["empty_tally", "read_tallies", "tally_files", "write_reports", "write_tallies"]

NAME, VERSION = b"tacit.survey", b"tacit.survey.version"
BATCH = 1 << 18
SHORT = 4  # bytes of reports of which there are few different ones


def write_reports(path: Path, survey: Survey, reports: Mapping[str, Array]) -> None:
    """Write the reports on every question, each column in the order of its bytes."""
    columns = {name: _column(survey.protocols[name], stripped(reports[name])) for name in survey.questions}
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError("a respondent answers every question, so there are as many reports on each")
    told = {NAME: survey.name.encode(), VERSION: survey.version.encode()}
    pq.write_table(pa.table(columns).replace_schema_metadata(told), path)


def _column(protocol: Protocol, reports: Array) -> Any:
    size = protocol.dtype.itemsize
    data = np.ascontiguousarray(reports).tobytes()
    buffers = [None, pa.py_buffer(data)]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(data) // size, buffers)


def tally_files(
    survey: Survey, paths: Sequence[Path], *, engine: Literal["duckdb", "spark"] = "duckdb", spark: Any = None
) -> dict[str, Tally]:
    """What all reports in these files add up to, read in parts by DuckDB, or by Spark in as many places as it has.

    Only a tally is ever held of what was read. A report that no device can make, or a file of another survey, is an
    error: nothing is left out in silence.
    """
    if not paths:
        raise InputError("there are no files to tally: name at least one")
    for path in paths:
        _of_this(survey, path)
    tallied = _by_duckdb if engine == "duckdb" else partial(_by_spark, spark=spark)
    return {
        name: reduce(Tally.__add__, tallied(protocol, name, paths), empty_tally(protocol))
        for name, protocol in survey.protocols.items()
    }


def empty_tally(protocol: Protocol) -> Tally:
    """The tally of no reports."""
    return protocol.tally(np.empty(0, dtype=protocol.dtype))


def _of_this(survey: Survey, path: Path) -> None:
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowInvalid):
        raise InputError(f"{path.name} is not a Parquet file that can be read") from None
    told = schema.metadata or {}
    if told.get(NAME) != survey.name.encode() or told.get(VERSION) != survey.version.encode():
        raise InputError(f'{path.name} does not hold reports of the survey "{survey.name}" as it is now')
    missing = [name for name in survey.questions if name not in schema.names]
    if missing:
        raise InputError(f'{path.name} has no reports on the question "{missing[0]}"')


def _by_duckdb(protocol: Protocol, name: str, paths: Sequence[Path]) -> Iterator[Tally]:
    with duckdb.connect() as connection:
        # a question's name has only letters, digits, - and _
        query = f'SELECT "{name}" FROM read_parquet($paths, hive_partitioning = false)'
        plain = [re.sub(r"([*?\[])", r"[\1]", str(path)) for path in paths]  # a path is a name, not a pattern
        for batch in connection.sql(query, params={"paths": plain}).to_arrow_reader(BATCH):
            yield _tally(protocol, batch.column(0))


def _by_spark(protocol: Protocol, name: str, paths: Sequence[Path], spark: Any) -> Iterator[Tally]:
    """Short reports are counted in SQL. Long ones are tallied where they lie, so the workers' Python needs tacit."""
    if spark is None:
        from pyspark.sql import SparkSession

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        spark = SparkSession.builder.appName("tacit survey").getOrCreate()
    frame = spark.read.parquet(*(path.absolute().as_uri() for path in paths)).select(f"`{name}`")
    if protocol.dtype.itemsize <= SHORT:
        rows = frame.groupBy(f"`{name}`").count().collect()
        return _of_counts(protocol, [row[0] for row in rows], [int(row[1]) for row in rows])
    return _of_parts(protocol, frame)


def _of_counts(protocol: Protocol, reports: list[Any], counts: list[int]) -> Iterator[Tally]:
    """The tally of reports that occur so often: tallies add up, so a bit of the counts is tallied at a time."""
    for bit in range(max(counts, default=0).bit_length()):
        some = [report for report, count in zip(reports, counts, strict=True) if count >> bit & 1]
        found = _tally(protocol, pa.array(some, pa.binary()))
        yield Tally(found.counts << bit, found.reports << bit)


def _of_parts(protocol: Protocol, frame: Any) -> Iterator[Tally]:
    def part(batches: Iterator[Any]) -> Iterator[Any]:
        tally = reduce(Tally.__add__, (_tally(protocol, each.column(0)) for each in batches), empty_tally(protocol))
        counts = np.ascontiguousarray(tally.counts, dtype="<i8").tobytes()
        yield pa.RecordBatch.from_pydict({"counts": [counts], "reports": [tally.reports]})

    shape = empty_tally(protocol).counts.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions of pandas, which is not used here
        rows = frame.mapInArrow(part, "counts binary, reports long").collect()
    for row in rows:
        yield Tally(np.frombuffer(bytes(row.counts), dtype="<i8").reshape(shape).astype(np.int64), int(row.reports))


def _tally(protocol: Protocol, column: Any) -> Tally:
    """The tally of a column of bytes, each as long as a report."""
    if not len(column):
        return empty_tally(protocol)
    size = protocol.dtype.itemsize
    if column.null_count:
        raise InputError("a report is missing: the file has rows without one")
    if pa.types.is_fixed_size_binary(column.type):
        sizes = np.full(1, column.type.byte_width)
        data = column.buffers()[1][column.offset * sizes[0] : (column.offset + len(column)) * sizes[0]]
    else:
        plain = column.cast(pa.large_binary())
        offsets = np.frombuffer(plain.buffers()[1], dtype=np.int64)[plain.offset : plain.offset + len(plain) + 1]
        sizes, data = np.diff(offsets), plain.buffers()[2][offsets[0] : offsets[-1]]
    if (sizes != size).any():
        raise InputError(f"a report on this question has {size} bytes, and there are others")
    return protocol.tally(protocol.read(bytes(data)))


def write_tallies(path: Path, survey: Survey, tallies: Mapping[str, Tally]) -> None:
    """Write tallies as JSON."""
    questions = {
        name: {"reports": tally.reports, "counts": tally.counts.ravel().tolist()} for name, tally in tallies.items()
    }
    text = json.dumps({"survey": survey.name, "version": survey.version, "questions": questions})
    path.write_text(text + "\n", encoding="utf-8")


def read_tallies(path: Path, survey: Survey) -> dict[str, Tally]:
    """The tallies in a file, which must be of this survey as it is now."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found["survey"], found["version"]) != (survey.name, survey.version):
            raise InputError(f'{path.name} does not hold tallies of the survey "{survey.name}" as it is now')
        return {name: _read(protocol, found["questions"][name]) for name, protocol in survey.protocols.items()}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, OverflowError):
        raise InputError(f"{path.name} is not a file of tallies: write one with `tacit survey collect`") from None


def _read(protocol: Protocol, given: Mapping[str, Any]) -> Tally:
    like, reports = empty_tally(protocol), given["reports"]
    counts = np.array(given["counts"], dtype=np.int64)
    if type(reports) is not int or reports < 0 or counts.size != like.counts.size:
        raise TypeError
    if (counts < (-reports if protocol.signed else 0)).any():
        raise TypeError
    return Tally(counts.reshape(like.counts.shape), reports)
