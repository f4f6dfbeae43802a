"""Policy files change whole or not at all, and not under anybody's hands."""

import threading
from pathlib import Path
from time import sleep

import pytest

from tacit.base import InputError
from tacit.server.curate.edit import create, file_name, locked, replace_text, trial
from tacit.server.problem import Problem


def test_names_of_files() -> None:
    assert file_name("shop") == "shop.toml"
    strange = [file_name(name) for name in ("..", "a/b", "a b", "Ä", "", ".hidden", "x" * 100, "-rf")]
    assert len(set(strange)) == len(strange)
    assert all(name.startswith("dataset-") and "/" not in name for name in strange)


def test_a_new_file_is_whole_and_never_in_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    with trial(tmp_path, "one\n") as tried:
        assert not list(tmp_path.glob("*.toml"))
        create(tried, path)
    with trial(tmp_path, "two\n") as tried, pytest.raises(Problem) as refused:
        create(tried, path)
    assert refused.value.status == 409
    assert path.read_text(encoding="utf-8") == "one\n"
    assert [each.name for each in tmp_path.iterdir()] == ["shop.toml"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text("one\n", encoding="utf-8")
    path.chmod(0o640)
    with trial(tmp_path, "two\n") as tried, pytest.raises(Problem):
        replace_text(path, tried, before="another\n")
    assert path.read_text(encoding="utf-8") == "one\n"
    with trial(tmp_path, "two\n") as tried:
        replace_text(path, tried, before="one\n")
    assert path.read_text(encoding="utf-8") == "two\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["shop.toml"]


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"), trial(tmp_path / "nowhere", "x"):
        pass


def test_one_at_a_time(tmp_path: Path) -> None:
    order = []

    def other() -> None:
        with locked(tmp_path):
            order.append("second")

    with locked(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
