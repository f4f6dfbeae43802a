import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import pytest

from tacit.base.private_file import open_private, private_folder, write_private


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path, umask: None) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    write_private(folder / "key", b"secret")
    os.close(open_private(folder / "book", os.O_RDWR))
    assert [mode(tmp_path / "a"), mode(folder)] == [0o700, 0o700]
    assert [mode(folder / "key"), mode(folder / "book")] == [0o600, 0o600]
    assert (folder / "key").read_bytes() == b"secret"


def test_what_was_there_keeps_its_rights(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)
    book = shared / "book"
    book.touch()
    book.chmod(0o660)
    private_folder(shared)
    os.close(open_private(book, os.O_RDWR))
    assert (mode(shared), mode(book)) == (0o775, 0o660)


def test_a_new_file_does_not_overwrite(tmp_path: Path) -> None:
    write_private(tmp_path / "key", "first")
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "key", "second")
    assert (tmp_path / "key").read_text() == "first"


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(FileExistsError):
        private_folder(tmp_path / "state")
