"""A geography is a tree, or it is refused with the name of the place."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.base import InputError
from tacit.census import Spine

ROWS = [("A", "A1", "A1x"), ("B", "B1", "B1x"), ("A", "A2", "A2x"), ("A", "A1", "A1y")]


def test_children_of_one_place_stand_together() -> None:
    spine = Spine("state", "county", "block", places=ROWS)
    assert spine.names == (("A", "B"), ("A1", "A2", "B1"), ("A1x", "A1y", "A2x", "B1x"))
    assert [list(parents) for parents in spine.parents] == [[0, 0], [0, 0, 1], [0, 0, 1, 2]]
    assert [list(children) for children in spine.children] == [[0, 2, 3], [0, 2, 3, 4]]
    assert [list(above) for above in spine.above] == [[0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]]


def test_one_level_and_six() -> None:
    assert len(Spine("ward", places=["a", "b"]).names[0]) == 2
    names = ["nation", "state", "county", "tract", "group", "block"]
    spine = Spine(
        *names, places=[["us", *(f"{n}{i // 2 ** (4 - at)}" for at, n in enumerate("sctgb"))] for i in range(16)]
    )
    assert [len(each) for each in spine.names] == [1, 1, 2, 4, 8, 16]
    assert np.array_equal(spine.above[3], np.repeat(np.arange(4), 4))


def test_files_and_tables(tmp_path: Path) -> None:
    table = pa.table(dict(zip(("state", "county", "block"), map(list, zip(*ROWS, strict=True)), strict=True)))
    pq.write_table(table, tmp_path / "places.parquet")
    text = "\n".join(",".join(row) for row in [("state", "county", "block"), *ROWS])
    (tmp_path / "places.csv").write_text(text.replace("A1x", "0012"))
    expected = Spine("state", "county", "block", places=ROWS)
    for places in (table, tmp_path / "places.parquet", str(tmp_path / "places.parquet")):
        assert Spine("state", "county", "block", places=places).digest == expected.digest
    assert "0012" in Spine("state", "county", "block", places=tmp_path / "places.csv").names[-1]  # not the number 12
    with pytest.raises(InputError, match=r"nowhere\.csv cannot be read"):
        Spine("state", places=tmp_path / "nowhere.csv")


def test_codes_name_the_places_they_lie_in() -> None:
    spine = Spine.from_codes(["0100", "0101", "0200"], {"state": 2, "block": 4})
    assert spine.names == (("01", "02"), ("0100", "0101", "0200"))
    with pytest.raises(InputError, match="'010' has 3 characters"):
        Spine.from_codes(["010"], {"state": 2, "block": 4})
    with pytest.raises(InputError, match="rising"):
        Spine.from_codes(["0100"], {"block": 4, "state": 2})


def test_the_digest_tells_places_apart() -> None:
    digests = {
        Spine("state", "block", places=places).digest
        for places in ([("A", "x"), ("B", "y")], [("A", "x"), ("A", "y")], [("A", "xy"), ("B", "y")], [("A", "x")])
    }
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ([("A", "A1", "x"), ("B", "A1", "y")], "county 'A1' lies in state 'A' and in 'B', so the places are no tree"),
        ([("A", "A1", "x"), ("A", "A2", "x")], "block 'x' lies in county 'A1' and in 'A2'"),
        ([("A", "A1", "x"), ("A", "A1", "x")], "block 'x' is listed twice"),
        ([("A", "A1", None)], "row 0 of places has no block"),
        ([("A", "A1")], "row 0 of places has 2 names, and there are 3 levels"),
        ([], "there are no places"),
        (pa.table({"state": ["A"]}), "places have no column 'county'"),
        (None, "which places are there"),
    ],
)
def test_what_is_no_tree_is_refused(places: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Spine("state", "county", "block", places=places)


def test_levels_are_named_once() -> None:
    with pytest.raises(InputError, match="not all different"):
        Spine("state", "state", places=[("A", "B")])
    with pytest.raises(InputError, match="a spine has levels"):
        Spine(places=[("A",)])
    with pytest.raises(InputError, match="there is no level 'town': the levels are state"):
        Spine("state", places=["A"]).place("town")
    for name in ("a.b", "count"):
        with pytest.raises(InputError, match="a level cannot be called"):
            Spine(name, places=["A"])
