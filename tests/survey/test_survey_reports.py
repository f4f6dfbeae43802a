"""Reports in files: tallied by DuckDB and by Spark as by hand, and nothing strange is passed over in silence."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.spark import spark
from support.surveys import SLEEP, sleep
from tacit.base import InputError
from tacit.survey.plan import simulate
from tacit.survey.protocol import Tally
from tacit.survey.survey import Survey, parse
from tacit.survey.survey_reports import read_tallies, tally_files, write_reports, write_tallies

__all__ = ["spark"]

WIDE = SLEEP.replace('["tea", "pills", "a walk"]', '["tea", "pills"]').replace(
    '["nothing", "noise"', "[" + ", ".join(f'"{n}"' for n in range(40)) + ', "noise"'
)


def filled(folder: Path, survey: Survey, *sizes: int) -> tuple[list[Path], dict[str, Any]]:
    """Files of made-up reports, and the tallies of all of them."""
    paths, total = [], None
    for number, size in enumerate(sizes):
        with drawing_from(FixedRng(number)):
            made = simulate(survey, answers=size)
        paths.append(folder / f"{number}.parquet")
        write_reports(paths[-1], survey, made.reports)
        own = made.tallies()
        total = own if total is None else {name: total[name] + own[name] for name in own}
    assert total is not None
    return paths, total


@pytest.mark.parametrize("text", [SLEEP, WIDE], ids=["small", "wide"])
def test_duckdb_tallies_every_report(tmp_path: Path, text: str) -> None:
    survey = parse(text)
    paths, total = filled(tmp_path, survey, 3000, 500, 1)
    found = tally_files(survey, paths)
    assert found == total
    assert tally_files(survey, paths[::-1]) == total, "in any order"
    (tmp_path / "year=1").mkdir()
    odd = [path.rename(tmp_path / "year=1" / f"[{place}]*.parquet") for place, path in enumerate(paths)]
    assert tally_files(survey, odd) == total, "a path is a name"


def test_spark_tallies_the_same(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)  # of the workers, which need tacit
    survey = parse(WIDE)
    assert sorted(survey.sizes.values()) == [1, 1, 1, 6], "short reports and long ones"
    paths, total = filled(tmp_path, survey, 3000, 500)
    assert tally_files(survey, paths, engine="spark", spark=spark) == total
    replaced(paths[0], "slept", pa.array([b"\x02"] * 3000))
    with pytest.raises(InputError, match="from 0 to 1"):
        tally_files(survey, paths, engine="spark", spark=spark)


def test_a_row_is_nobody(tmp_path: Path) -> None:
    """Each column is in the order of its bytes, so that rows say nothing."""
    (path,), _ = filled(tmp_path, sleep(), 400)
    table = pq.read_table(path)
    for name in table.column_names:
        values = table.column(name).to_pylist()
        assert values == sorted(values)


def test_tallies_are_kept_and_add_up(tmp_path: Path) -> None:
    survey = sleep()
    _, total = filled(tmp_path, survey, 300)
    write_tallies(tmp_path / "t.json", survey, total)
    again = read_tallies(tmp_path / "t.json", survey)
    assert again == total
    assert (again["slept"] + again["slept"]).reports == 600


def test_tallies_of_signs_may_be_negative(tmp_path: Path) -> None:
    options = [f"option {n}" for n in range(400)]
    survey = parse(
        f'name = "signs"\ntitle = "?"\nepsilon = 0.2\n[questions.q]\nask = "?"\nkind = "choice"\noptions = {options}'
    )
    assert survey.protocols["q"].kind == "hadamard"
    _, total = filled(tmp_path, survey, 300)
    assert total["q"].counts.min() < 0
    path = tmp_path / "t.json"
    write_tallies(path, survey, total)
    assert read_tallies(path, survey) == total
    write_tallies(path, survey, {"q": Tally(total["q"].counts - 400, 300)})
    with pytest.raises(InputError, match="not a file of tallies"):
        read_tallies(path, survey)


def replaced(path: Path, name: str, column: Any) -> None:
    table = pq.read_table(path)
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, name, column), path)


def test_strange_files_are_refused(tmp_path: Path) -> None:
    survey = sleep()
    (path,), _ = filled(tmp_path, survey, 10)
    with pytest.raises(InputError, match="no files"):
        tally_files(survey, [])
    with pytest.raises(InputError, match="as it is now"):
        tally_files(parse(SLEEP.replace("noise", "sound")), [path])
    (tmp_path / "text.parquet").write_text("text")
    for wrong in (tmp_path / "text.parquet", tmp_path / "none.parquet"):
        with pytest.raises(InputError, match="not a Parquet file"):
            tally_files(survey, [wrong])
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["slept"]), tmp_path / "few.parquet")
    with pytest.raises(InputError, match='no reports on the question "slept"'):
        tally_files(survey, [tmp_path / "few.parquet"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([b"\x02"] * 10), "from 0 to 1"),
        (pa.array([b"\x00\x00"] * 10), "has 1 bytes"),
        (pa.array([b"\x00", b"\x00\x01", b""] + [b"\x01"] * 7), "has 1 bytes"),
        (pa.array([None] + [b"\x01"] * 9, pa.binary()), "missing"),
    ],
)
def test_strange_reports_are_refused(tmp_path: Path, column: Any, message: str) -> None:
    survey = sleep()
    (path,), _ = filled(tmp_path, survey, 10)
    replaced(path, "slept", column)
    with pytest.raises(InputError, match=message):
        tally_files(survey, [path])


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"survey": "sleep"}', '{"survey": "other", "version": "", "questions": {}}'],
)
def test_strange_tallies_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InputError, match=r"not a file of tallies|as it is now"):
        read_tallies(tmp_path / "t.json", sleep())


def test_a_tally_of_another_size_is_refused(tmp_path: Path) -> None:
    survey = sleep()
    _, total = filled(tmp_path, survey, 30)
    write_tallies(tmp_path / "t.json", survey, {**total, "slept": total["wakes"]})
    with pytest.raises(InputError, match="not a file of tallies"):
        read_tallies(tmp_path / "t.json", survey)
