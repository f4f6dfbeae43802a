"""The hash of the software is of every file that is installed, and of their names."""

import os
from pathlib import Path

import tacit
from tacit.desk.certificate.evidence import _source, software


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
