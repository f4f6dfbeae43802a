"""The proof of a charge adds up, an answer has one hash in whatever form, and the software's is of every file."""

import os
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest

import tacit
from support.certified import issued
from tacit.base import InputError
from tacit.desk.certificate.evidence import _source, chain_of, charge_body, file_hash, software
from tacit.ledger import Ledger
from tacit.ledger.chain import digest
from tacit.policy import Currency
from tacit.session import TableRelease


def test_the_hash_is_made_of_what_is_there(tmp_path: Path) -> None:
    made = issued(tmp_path)
    found = chain_of(made.ledger, dict(made.release.facts))
    assert (found.currency, found.delta) == (Currency.EPSILON, Fraction(1, 10**6))
    with Ledger.open(made.ledger) as ledger:
        entries = list(ledger.log("hospital"))
        assert chain_of(ledger, dict(made.release.facts)) == found
    own, before = entries[-1], entries[-2]
    assert charge_body(found.place["entry"], found.program) == own.body.encode()
    assert found.place["opening"] == entries[0].digest.hex()
    assert found.place["before"] == {"seq": before.seq, "digest": before.digest.hex()}
    assert digest(before.digest, own.seq, own.time, own.body.encode()) == own.digest
    assert found.place["after"] == {"seq": own.seq, "digest": own.digest.hex()}
    assert "program" not in found.place["entry"]


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


def test_every_file_and_every_name_counts(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "inside" / "b.html").write_text("2")
    first = _source(tmp_path)
    assert first is not None
    assert _source(tmp_path) == first
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("3")
    assert _source(tmp_path) == first
    (tmp_path / "inside" / "b.html").write_text("4")
    second = _source(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "c.py")
    assert len({first, second, _source(tmp_path)}) == 3


def test_ours() -> None:
    found = software()
    assert (found["name"], found["version"]) == ("tacit", tacit.__version__)
    assert found["source"] is not None
    assert len(found["source"]) == 64


def test_a_folder_that_cannot_be_read_is_no_hash_and_no_error(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.py", os.O_CREAT))  # a name that is no text
    assert _source(tmp_path) is None
