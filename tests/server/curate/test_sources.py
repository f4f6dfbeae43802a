"""What can be declared: names below the folder and nothing else, whatever somebody writes."""

import os
from pathlib import Path

import pytest

from support.declared import shop
from tacit.base import InputError
from tacit.server.curate.sources import Folder, Sources
from tacit.server.ops.config import Config


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = shop(tmp_path / "data")
    (tmp_path / "secret.csv").write_text("password\n1\n", encoding="utf-8")
    (folder / "more").mkdir()
    (folder / "more" / "a.csv").write_text("x,y\n", encoding="utf-8")
    (folder / "more" / "b.csv").write_text("z\n", encoding="utf-8")
    (folder / ".hidden.csv").write_text("x\n", encoding="utf-8")
    (folder / "notes.txt").write_text("x\n", encoding="utf-8")
    return folder


def sources(data: Path | None, *names: str, **environment: str) -> Sources:
    return Sources(Config(data=data, sources=names), environment)


def test_what_is_there(data: Path) -> None:
    found = sources(data, "WAREHOUSE", "EMPTY", WAREHOUSE="postgresql://x", OTHER="postgresql://y").listed()
    assert found == {"files": ["more/", "more/a.csv", "more/b.csv", "shop.csv"], "databases": ["WAREHOUSE"]}
    assert sources(None).listed() == sources(data / "nowhere").listed() == {"files": [], "databases": []}


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "more/../../secret.csv", "/etc/passwd", "", ".", "nowhere.csv", "shop.csv\0", "..", "x" * 5000],
)
def test_names_that_lead_out_are_names_of_nothing(data: Path, name: str) -> None:
    if name == ".":
        (data / "out.csv").symlink_to(data.parent / "secret.csv")  # then not even the folder itself
    with pytest.raises(InputError):
        sources(data).schema(file=name)


def test_an_absolute_name_is_refused_even_inside(data: Path) -> None:
    with pytest.raises(InputError):
        sources(data).file(str(data / "shop.csv"))


def test_links_that_lead_out_are_not_followed(data: Path) -> None:
    (data / "link.csv").symlink_to(data.parent / "secret.csv")
    (data / "folder").symlink_to(data.parent)
    (data / "more" / "c.csv").symlink_to(data.parent / "secret.csv")
    (data / "inside.csv").symlink_to(data / "shop.csv")
    (data / "loop.csv").symlink_to(data / "loop.csv")
    found = sources(data)
    assert found.listed()["files"] == ["inside.csv", "more/", "more/a.csv", "more/b.csv", "shop.csv"]
    for name in ("link.csv", "folder/secret.csv", "loop.csv", "more"):
        with pytest.raises(InputError):
            found.schema(file=name)
    assert found.schema(file="inside.csv").sources == {"shop": str(data / "shop.csv")}


def test_a_folder_is_a_table_for_each_file(data: Path) -> None:
    found = sources(data).schema(file="more/")
    assert found.schema.tables == {"a": {"x": "", "y": ""}, "b": {"z": ""}}
    assert found.source is None
    assert found.sources == {"a": str(data / "more" / "a.csv"), "b": str(data / "more" / "b.csv")}


def test_types_are_read_and_no_value(data: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"n": [1], "price": pa.array(["1.50"]).cast(pa.decimal128(9, 2)), "raw": [b"x"]})
    pq.write_table(table, data / "typed.parquet")
    columns = sources(data).schema(file="typed.parquet").json()["tables"][0]["columns"]
    assert [(each["type"], each["step"], each["askable"]) for each in columns] == [
        ("integer", None, True),
        ("decimal", "0.01", True),
        (None, None, False),
    ]


def test_a_database_goes_by_its_variable(data: Path, database: str) -> None:
    import psycopg

    with psycopg.connect(database.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient integer, cost numeric(9, 2))")
    found = sources(data, "WAREHOUSE", WAREHOUSE=database).schema(database="WAREHOUSE")
    assert (found.source, found.schema.engine) == ("${WAREHOUSE}", "postgres")
    assert list(found.schema.tables["visits"]) == ["patient", "cost"]


@pytest.mark.parametrize(("name", "value"), [("OTHER", "postgresql://x/y"), ("WAREHOUSE", ""), ("WAREHOUSE", "/etc")])
def test_no_other_variable_is_looked_at(data: Path, name: str, value: str) -> None:
    with pytest.raises(InputError):
        sources(data, "WAREHOUSE", **{name: value}).schema(database=name)


def test_one_of_the_two(data: Path) -> None:
    for given in ({}, {"file": "shop.csv", "database": "WAREHOUSE"}):
        with pytest.raises(InputError):
            sources(data, "WAREHOUSE").schema(**given)


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
