"""One place has one identity."""

from pathlib import Path

import pytest

from tacit.base import PolicyError
from tacit.policy.source import Claim, ancestors, by_column, filled, identity, is_file, located, overlap, with_password


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost/clinic",
        "postgresql+psycopg://localhost/clinic",
        "postgres://ana:pw@127.0.0.1:5432/clinic?sslmode=require",
        "postgresql:///clinic",
        "postgresql:///clinic?host=%2Fvar%2Frun%2Fpostgresql",
        "postgresql://ana@LOCALHOST/clinic/",
        "postgresql://[::1]/clinic",
        "postgresql:///?dbname=clinic&port=5432",
        "postgresql://clinic@localhost",
        "postgresql://%4cocalhost/%63linic",
        "postgresql://%63linic@localhost",
    ],
)
def test_many_ways_to_one_database(url: str) -> None:
    assert identity(url) == "postgresql://localhost:5432/clinic"


def test_other_places_are_others() -> None:
    urls = [
        "postgresql://a/x",
        "postgresql://a/y",
        "postgresql://b/x",
        "postgresql://a:1/x",
        "s3://a/x",
        "spark://a:7077",
    ]
    assert len({identity(url) for url in urls}) == len(urls)


def test_links_and_dots_lead_to_one_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    (tmp_path / "link").symlink_to("data")
    ways = [located(text, tmp_path) for text in ("data", "./data", "link", "x/../data", str(tmp_path / "data"))]
    assert len({identity(way) for way in [*ways, f"file://{tmp_path}/data", f"file://{tmp_path}/d%61ta"]}) == 1


def test_the_environment() -> None:
    assert filled("${A}/x/${B_1}", {"A": "1", "B_1": "2"}) == "1/x/2"
    for environment in ({}, {"A": ""}):
        with pytest.raises(PolicyError, match="the environment variable A is not set"):
            filled("${A}", environment)


def test_bad_urls_do_not_say_what_they_hold() -> None:
    with pytest.raises(PolicyError) as caught:
        identity("postgresql://ana:secret@host:port/x")
    assert "secret" not in str(caught.value)


def test_files_and_names() -> None:
    assert all(map(is_file, ["a.parquet", "folder/x", "s3://bucket/x", "A.CSV"]))
    assert not any(map(is_file, ["visits", "public.visits"]))


def test_passwords_are_noticed() -> None:
    assert with_password("postgresql://ana:secret@host/x")
    assert not with_password("postgresql://ana:${PW}@host/x")
    assert not with_password("postgresql://ana@host/x")
    assert not with_password("clinic.duckdb")


# --- which claims may be of the same data


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Claim("file:/a/b"), Claim("file:/a/b", "t"), True),
        (Claim("file:/a/b", "t"), Claim("file:/a/b", "t"), True),
        (Claim("file:/a/b", "t"), Claim("file:/a/b", "u"), False),
        (Claim("file:/a", "*"), Claim("file:/a", "**"), True),
        (Claim("file:/a", "*"), Claim("file:/a/b"), True),
        (Claim("file:/a", "*"), Claim("file:/a/b/c"), False),
        (Claim("file:/a", "**"), Claim("file:/a/b/c"), True),
        (Claim("file:/a"), Claim("file:/a/b/c", "t"), True),
        (Claim("file:/a", "**"), Claim("file:/a/b.duckdb", "t"), False),
        (Claim("file:/a"), Claim("file:/ab"), False),
        (Claim("file:/"), Claim("file:/a"), True),
        (Claim("s3://x/a"), Claim("s3://x/a/b"), True),
        (Claim("s3://x"), Claim("s3://x/a"), True),
        (Claim("s3://x/a"), Claim("s3://y/a/b"), False),
        (Claim("postgresql://h:1/a"), Claim("postgresql://h:1/a/b"), False),
        (Claim("inode:1:2"), Claim("inode:1:22"), False),
    ],
)
def test_overlap(one: Claim, other: Claim, same: bool) -> None:
    assert overlap(one, other) is same
    assert overlap(other, one) is same


def test_ancestors() -> None:
    assert list(ancestors("file:/a/b/c")) == ["file:/a/b", "file:/a", "file:/"]
    assert list(ancestors("s3://x/a/b")) == ["s3://x/a", "s3://x"]
    assert list(ancestors("inode:1:2")) == []
    assert list(ancestors("postgresql://h:1/a")) == []


def test_capitals_do_not_make_another_unit() -> None:
    assert by_column("PID") == by_column("pid") == 'column "pid"'
    assert by_column("each row") != "each row"
