"""Which claims may be of the same data."""

import pytest

from tacit.policy.source import Claim, ancestors, by_column, overlap


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
