"""New policies are noticed, also two in one tick of the clock; broken ones are offered again when they change."""

import os
from pathlib import Path

from tacit.server.curate.sources import Folder


def test_nothing_there() -> None:
    assert not Folder(None).changed()
    assert Folder(None).files() == []
    assert not Folder(Path("nowhere-at-all")).changed()


def test_a_change_is_noticed_and_a_rest_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x", encoding="utf-8")
    (tmp_path / ".b.toml").write_text("x", encoding="utf-8")
    folder = Folder(tmp_path)
    assert folder.changed()
    assert folder.files() == [tmp_path / "a.toml"]
    assert folder.changed()  # it changed a moment ago, so another change may have the same time
    os.utime(tmp_path, (1, 1))
    assert folder.changed()
    assert not folder.changed()
    (tmp_path / "c.toml").write_text("x", encoding="utf-8")
    assert folder.changed()


def test_a_broken_one_waits_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("x", encoding="utf-8")
    os.utime(tmp_path, (1, 1))
    folder = Folder(tmp_path)
    assert folder.changed()
    folder.broken(path)
    assert not folder.changed()
    assert folder.files() == []
    path.write_text("longer", encoding="utf-8")
    assert folder.changed()
    assert folder.files() == [path]
