"""The state folder: for its owner alone, whole files or none, and nothing that outlives its source."""

import os
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import pytest

from tacit.base import SourceError
from tacit.engine.source.copies import CopiedFile, Copies, state_folder
from tacit.engine.source.listing import stamped
from tacit.engine.source.reading import TextReading
from tacit.engine.source.text import TextForm
from tacit.policy.kind import ColumnType

READING = TextReading(
    form=TextForm(), kinds={"who": ColumnType.TEXT, "age": ColumnType.INTEGER}, declared=("who", "age")
)
BODY = "who,age\n" + "".join(f"p{i},{i % 90}\n" for i in range(3000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text(BODY)
    return path


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path / "state")


def made(copies: Copies) -> list[str]:
    return sorted(path.name for path in copies.files.glob("*"))


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_STATE", raising=False)
    assert state_folder("/data/x.ledger", tmp_path) == Path("/data/x.ledger.copies")
    assert state_folder("postgresql://host/books", tmp_path) == tmp_path / "tacit.copies"
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "elsewhere"))
    assert state_folder("/data/x.ledger", tmp_path) == tmp_path / "elsewhere"


def test_everything_is_its_owners_alone(file: Path, copies: Copies) -> None:
    before = os.umask(0)
    try:
        READING.read([file], copies)
        copies.keep_types(file, {"who": "text"})
    finally:
        os.umask(before)
    for path in [copies.folder, *copies.folder.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_a_file_is_read_once_and_again_when_it_changed(file: Path, copies: Copies) -> None:
    assert READING.current([file], copies) is None
    assert READING.read([file], copies) == 1
    assert READING.read([file], copies) == 0
    (before,) = READING.current([file], copies) or []
    file.write_text(BODY.replace("p7,", "q7,"))
    assert READING.current([file], copies) is None
    assert READING.read([file], copies) == 1
    (after,) = READING.current([file], copies) or []
    assert after != before
    assert made(copies) == [after[0].name], "a copy of older content holds people who may be gone"


@pytest.mark.parametrize("disguise", ["times", "replaced"])
def test_no_change_goes_unseen(file: Path, copies: Copies, disguise: str) -> None:
    READING.read([file], copies)
    state = file.stat()
    if disguise == "replaced":
        file.rename(file.with_name("old"))
    file.write_text(BODY.replace("p7,", "q7,"))  # of the same length
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert READING.current([file], copies) is None


def test_a_touch_needs_a_look_and_no_second_copy(file: Path, copies: Copies) -> None:
    READING.read([file], copies)
    before = made(copies)
    os.utime(file)
    assert READING.current([file], copies) is None
    READING.read([file], copies)
    assert made(copies) == before


def test_another_reading_has_another_copy(file: Path, copies: Copies) -> None:
    READING.read([file], copies)
    other = TextReading(form=TextForm(), kinds={"who": ColumnType.TEXT, "age": ColumnType.FLOAT})
    assert other.current([file], copies) is None
    other.read([file], copies)
    assert READING.current([file], copies) is not None, "both are of this content"
    assert len(made(copies)) == 2
    for form in (TextForm(null=("NA",)), TextForm(quote="")):
        assert TextReading(form=form, kinds=READING.kinds).current([file], copies) is None


def test_what_is_torn_or_strange_is_as_if_not_there(file: Path, copies: Copies) -> None:
    READING.read([file], copies)
    (index,) = (copies.folder / "index").iterdir()
    whole = index.read_bytes()
    for torn in (b"", whole[:40], b"[]", b"null", whole.replace(b"stamp", b"stomp")):
        index.write_bytes(torn)
        assert READING.current([file], copies) is None
    index.write_bytes(whole)
    assert READING.current([file], copies) is not None
    (copy,) = copies.files.iterdir()
    copy.unlink()
    assert READING.current([file], copies) is None


def test_a_reading_that_fails_leaves_nothing(file: Path, copies: Copies) -> None:
    file.write_text(BODY + "Smith\n")
    with pytest.raises(SourceError, match="line 3,002: not 2 cells"):
        READING.read([file], copies)
    assert made(copies) == []
    assert READING.current([file], copies) is None


def _read(file: Path, folder: Path) -> int:
    return READING.read([file], Copies(folder))


def test_two_at_once_both_succeed(file: Path, copies: Copies) -> None:
    with get_context("spawn").Pool(2) as pool:
        assert sum(pool.starmap(_read, [(file, copies.folder)] * 2)) >= 1
    assert READING.current([file], copies) is not None
    assert len(made(copies)) == 1


def test_forgetting(file: Path, copies: Copies, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("who,age\nx,1\n")
    READING.read([file], copies)
    READING.read([other], copies)
    assert copies.forget(unused=True) == 0
    assert copies.forget([file]) == 1
    assert READING.current([file], copies) is None
    assert READING.current([other], copies) is not None
    other.unlink()
    assert copies.forget(unused=True) == 1
    assert made(copies) == []
    READING.read([file], copies)
    (copies.files / ".x.partial").touch()
    (copies.files / f"{'0' * 64}.parquet").touch()
    assert copies.forget() == 2
    assert made(copies) == []


def test_files_of_a_folder_name_the_same_columns(tmp_path: Path, copies: Copies) -> None:
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("who,age\na,1\n")
    two.write_text("age,who\n1,a\n")
    with pytest.raises(SourceError, match=r'"2.csv": its first line names other columns than that of "1.csv"'):
        READING.read([one, two], copies)
    READING.read([one], copies)
    READING.read([two], copies)
    assert READING.current([one, two], copies) is None, "each alone is fine, together they are no table"


def test_types_stay_with_a_file(file: Path, copies: Copies) -> None:
    assert copies.types(file) == {}
    copies.keep_types(file, {"age": "integer"})
    file.write_text("other")
    assert copies.types(file) == {"age": "integer"}


def test_an_entry_is_of_the_state_it_was_made_for(file: Path, copies: Copies) -> None:
    stamp = stamped(file)
    assert stamp is not None
    copies.remember(CopiedFile(path=str(file), stamp=stamp, sound=("who",)))
    link = file.with_name("link.csv")
    link.symlink_to(file)
    found = copies.entry(link)
    assert found is not None
    assert found.sound == ("who",), "a link is the file it leads to"
    file.write_text("x")
    assert copies.entry(file) is None


@pytest.mark.parametrize("told", [True, False])
def test_a_file_that_changes_while_it_is_copied_leaves_no_copy(tmp_path: Path, told: bool) -> None:
    """Not even under the name of what it was: that copy would be taken for it if it became so again."""
    file, copies = tmp_path / "t.csv", Copies(tmp_path / "state")
    file.write_text("a\n1\n")

    def write(handle: int) -> str | None:
        os.write(handle, b"rows of something else")
        file.write_text("a\n2\n")
        return sha256(b"a\n2\n").hexdigest() if told else None

    with pytest.raises(SourceError, match="changed while it was read"):
        copies.of(file, lambda content: f"key-{content}", write)
    assert copies.entry(file) is None
    assert list(copies.files.iterdir()) == []
