"""An answer has one hash, whatever form it was kept in."""

from datetime import date, datetime
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest

from tacit.base import InputError
from tacit.desk.certificate.evidence import file_hash
from tacit.session import TableRelease


def answer(first: int = 10) -> TableRelease:
    return TableRelease(
        table=pa.table(
            {
                "k": ['a,"b"', None],
                "d": [date(2024, 1, 2), None],
                "t": pa.array([datetime(2024, 1, 2, 3), None], pa.timestamp("us")),
                "n": [first, 2],
                "x": pa.array([0.1, None]),
                "l": [["p", "q"], []],
            }
        ),
        intervals={"n": ([1.0, None], [3.0, None])},
    )


def test_every_form_has_the_same(tmp_path: Path) -> None:
    answer().to_csv(tmp_path / "a.csv")
    answer().to_parquet(str(tmp_path / "a.parquet"))
    (tmp_path / "a.arrow").write_bytes(answer().to_bytes())
    found = {file_hash(tmp_path / name) for name in ("a.csv", "a.parquet", "a.arrow")}
    assert found == {answer().description()["csv_sha256"]} == {sha256((tmp_path / "a.csv").read_bytes()).hexdigest()}
    assert answer(11).description()["csv_sha256"] not in found


def test_what_is_no_answer(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.arrow"):
        (tmp_path / name).write_bytes(b"nonsense")
        with pytest.raises(InputError, match="not an answer"):
            file_hash(tmp_path / name)
    (tmp_path / "model.bin").write_bytes(b"weights")  # of what is no table, all bytes
    assert file_hash(tmp_path / "model.bin") == sha256(b"weights").hexdigest()
    with pytest.raises(InputError, match="cannot be read"):
        file_hash(tmp_path / "gone.csv")
