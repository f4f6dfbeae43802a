"""A release goes where it is wanted: Arrow, pandas, polars, JSON, bytes, files, a terminal, a notebook, a picture."""

import json
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.base import InputError
from tacit.session import TableRelease

EVIL = "<b>\x1b[31m[red]"


def release(**changes: Any) -> TableRelease:
    values: dict[str, Any] = {
        "table": pa.table(
            {
                "ward": ["east", EVIL, None],
                "day": [date(2024, 1, 2)] * 3,
                "n": [10, 20, 0],
                "mean": pa.array([1.25, None, 12345.678]),
                "top": [["a"], ["b", "a"], []],
            }
        ),
        "intervals": {"n": ([4.0, 14.0, 0.0], [16.0, 26.0, 6.0]), "mean": ([1.0, None, 12000.0], [1.5, None, 12999.0])},
        "notes": ("small <i>groups</i> are missing",),
        "facts": {"dataset": "clinic", "cost": {"rho": "0.1"}},
    }
    return TableRelease(**{**values, **changes})


def test_bytes_and_back() -> None:
    again = TableRelease.from_bytes(release().to_bytes())
    assert again == release()
    empty = release(table=release().table.slice(0, 0), intervals={"n": ([], []), "mean": ([], [])})
    assert TableRelease.from_bytes(empty.to_bytes()) == empty
    for data in (b"", b"nonsense", release().to_bytes()[:100]):
        with pytest.raises(InputError, match="not a release"):
            TableRelease.from_bytes(data)


def test_frames() -> None:
    found = release()
    assert found.arrow() is found.table
    wide = found.arrow(intervals=True)
    noisy = [f"{name}{more}" for name in ("n", "mean") for more in ("", "_low", "_high", "_covers")]
    assert wide.column_names == ["ward", "day", *noisy, "top"]
    assert wide.column("n_covers").to_pylist() == ["noise"] * 3
    assert found.to_pandas()["n"].tolist() == [10, 20, 0]
    assert found.to_polars(intervals=True)["n_high"].to_list() == [16.0, 26.0, 6.0]
    assert found.rows()[0]["day"] == date(2024, 1, 2)


def test_json_is_plain() -> None:
    data = json.loads(json.dumps(release().json(), allow_nan=False))
    assert data["columns"] == ["ward", "day", "n", "mean", "top"]
    assert data["rows"][0] == ["east", "2024-01-02", 10, 1.25, ["a"]]
    assert data["intervals"]["mean"] == [[1.0, None, 12000.0], [1.5, None, 12999.0]]


def test_files(tmp_path: Path) -> None:
    release().to_csv(tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0] == '"ward","day","n","n_low","n_high","n_covers","mean","mean_low","mean_high","mean_covers","top"'
    assert lines[1].startswith('"east",2024-01-02,10,4,16,"noise",1.25,1,1.5,"noise",')
    release().to_parquet(tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names[3] == "n_low"
    told = json.loads(table.schema.metadata[b"tacit"])
    assert told == {**release().facts, "confidence": 0.95, "notes": list(release().notes)}


def test_open_files(tmp_path: Path) -> None:
    for write, name in ((release().to_csv, "x.csv"), (release().to_parquet, "x.parquet")):
        write(str(tmp_path / name))
        held = BytesIO()
        write(held)
        assert not held.closed
        assert held.getvalue() == (tmp_path / name).read_bytes()
        with (tmp_path / "other").open("wb") as out:
            write(out)
        assert (tmp_path / "other").read_bytes() == held.getvalue()


def test_one_number() -> None:
    one = TableRelease(table=pa.table({"n": [7]}), intervals={"n": ([5.0], [9.0])})
    assert one.value() == 7
    assert one.interval() == (5.0, 9.0)
    assert one.interval("n", 0) == (5.0, 9.0)
    with pytest.raises(InputError, match="3 rows and 5 columns"):
        release().value()
    with pytest.raises(InputError, match="noisy columns are n, mean"):
        release().interval("ward")


def test_the_terminal_shows_numbers_with_their_noise_and_obeys_no_key() -> None:
    text = repr(release())
    assert "10 ± 6" in text
    assert "1.25 ± 0.25" in text
    assert "12,346 ± 660" in text
    assert "–" in text
    assert "\x1b" not in text
    assert "[red]" in text
    assert "• small" in text
    long = TableRelease(table=pa.table({"n": list(range(100))}), intervals={"n": ([0.0] * 100, [100.0] * 100)})
    assert "40 more rows are not shown" in repr(long)


def test_a_notebook_gets_escaped_html() -> None:
    html = release()._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<th>ward</th>" in html


def test_a_picture(tmp_path: Path) -> None:
    found = TableRelease(table=pa.table({"k": ["x", "y"], "n": [7, 9]}), intervals={"n": ([5.0, 7.0], [9.0, 11.0])})
    chart = found.plot(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    assert "vconcat" in chart.to_dict()
