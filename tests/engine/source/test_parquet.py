"""Types as a Parquet footer says them, and files that do not fit together."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.base import PolicyError
from tacit.engine.source.hadoop import digest, local_files
from tacit.engine.source.parquet import StoredKind, columns_in, misfit, tail_of

KINDS = {
    "int8": pa.array([1], pa.int8()),
    "uint32": pa.array([1], pa.uint32()),
    "int64": pa.array([1]),
    "bool": pa.array([True]),
    "float": pa.array([1.0], pa.float32()),
    "double": pa.array([1.0]),
    "decimal(10,2)": pa.array([Decimal("1.25")], pa.decimal128(10, 2)),
    "string": pa.array(["a"]).dictionary_encode(),
    "binary": pa.array([b"a"]),
    "date": pa.array([1], pa.date32()),
    "timestamp[ms]": pa.array([1], pa.timestamp("ms")),
    "timestamp[ns]": pa.array([1], pa.timestamp("ns")),
    "nested": pa.array([[1]]),
    "int64 (time)": pa.array([1], pa.time64("us")),
    "fixed_len_byte_array (float16)": pa.array([1.0], pa.float16()),
}


def test_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({**KINDS, "a.b": [1], "zone": pa.array([1], pa.timestamp("us", "UTC"))}), path)
    found = columns_in("a.parquet", tail_of(path))
    assert found.pop("zone") == StoredKind("timestamp[us]", utc=True)
    assert found.pop("a.b") == StoredKind("int64")
    assert {name: kind.name for name, kind in found.items()} == {name: name for name in KINDS}


@pytest.mark.parametrize(
    "held", [b"", b"PAR1", b"PAR1PAR1", b"secret" * 9, b"PAR1\x04\0\0\0PAR1", b"\xff" * 8 + b"PAR1"]
)
def test_what_is_no_parquet_is_said_without_its_content(tmp_path: Path, held: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(held)
    with pytest.raises(PolicyError, match="is not a Parquet file") as caught:
        columns_in("a.parquet", tail_of(path))
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)


def test_the_same_decimal_in_another_width_fits(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([Decimal("1.25")], pa.decimal128(10, 2))})
    for number, as_integer in enumerate((True, False)):
        pq.write_table(table, tmp_path / str(number), store_decimal_as_integer=as_integer)
    one, two = (columns_in(str(i), tail_of(tmp_path / str(i))) for i in range(2))
    assert misfit("two", two, {"a": (one["a"], "one")}) is None
    assert "has no column" in str(misfit("two", {}, {"a": (one["a"], "one")}))


def test_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a", "deep/b", "_c", ".d"):
        (tmp_path / name).write_text(name)
    found = local_files(tmp_path)
    assert [Path(file.path).name for file in found] == ["a", "b"]
    before = digest(found)
    (tmp_path / "a").write_text("b")
    assert digest(local_files(tmp_path)) != before
    with pytest.raises(PolicyError, match="no such file"):
        local_files(tmp_path / "nothing")
