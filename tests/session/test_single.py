"""One file or table without a policy: what is asked adds up in a ledger beside it."""

from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tacit
from support.hospital import hospital, visits
from tacit.base import Denied, InputError, OverBudget, SourceError, TacitError
from tacit.session.single import EACH_ROW

KNOWN: dict[str, Any] = {
    "unit_column": "patient_id",
    "bounds": {"cost": (0, 1000)},
    "group_keys": {"ward": ["a", "b", "c"]},
}
SQL = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(visits(), tmp_path / "visits.parquet")
    return tmp_path / "visits.parquet"


def test_a_parquet_file_and_the_ledger_beside_it(file: Path) -> None:
    answer = tacit.ask(file, SQL, epsilon=4, **KNOWN)
    assert answer.table["ward"].to_pylist() == ["a", "b", "c", None]  # nothing says that no ward is missing
    assert abs(answer.table["n"][0].as_py() - 1500) < 150
    assert Path(f"{file}.ledger").exists()
    assert tacit.ask(str(file), SQL, epsilon=4, **KNOWN) == answer  # free
    tacit.ask(file, "SELECT COUNT(*) FROM visits", epsilon=5, **KNOWN)
    with pytest.raises(OverBudget):
        tacit.ask(file, "SELECT AVG(cost) FROM visits", epsilon=2, **KNOWN)
    tacit.ask(file, "SELECT AVG(cost) FROM visits", epsilon=2, budget=20, **KNOWN)  # the owner may give more


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_tables_in_memory(kind: str) -> None:
    data: Any = visits()
    if kind == "pandas":
        data = data.to_pandas()
    elif kind == "polars":
        data = pytest.importorskip("polars").from_arrow(data)
    answer = tacit.ask(data, SQL.replace("visits", "data"), epsilon=4, **KNOWN)
    assert abs(answer.table["n"][0].as_py() - 1500) < 150
    tacit.ask(data, "SELECT COUNT(*) FROM data", epsilon=5.5, **KNOWN)
    with pytest.raises(OverBudget):
        tacit.ask(data, "SELECT COUNT(*) FROM data", epsilon=5, **KNOWN)
    other = data.slice(0, 2000) if kind == "arrow" else data[:2000]
    tacit.ask(other, "SELECT COUNT(*) FROM mine", table="mine", epsilon=5, **KNOWN)  # other data, other people


def test_a_csv_file_is_read_as_what_was_said_of_it(tmp_path: Path) -> None:
    pa.csv.write_csv(visits(), tmp_path / "visits.csv")
    known = {**KNOWN, "bounds": {"cost": (0, 1000), "day": (date(2024, 1, 1), date(2024, 3, 31))}}
    answer = tacit.ask(tmp_path / "visits.csv", SQL, epsilon=4, **known)
    assert abs(answer.table["c"][0].as_py() - 240) < 50
    by_month = "SELECT EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits GROUP BY 1"
    assert tacit.ask(tmp_path / "visits.csv", by_month, epsilon=4, **known).table["m"].to_pylist() == [1, 2, 3, None]


def test_each_row_may_be_a_person(file: Path) -> None:
    answer = tacit.ask(file, "SELECT COUNT(*) AS n FROM visits", unit_column=EACH_ROW, epsilon=2)
    assert abs(answer.value() - 3000) < 20
    assert answer.facts["unit"] == "row"
    with pytest.raises(TacitError, match="unit"):  # a person's ε and a row's do not add
        tacit.ask(file, "SELECT COUNT(*) AS n FROM visits", unit_column="patient_id", epsilon=2)


def test_error_first(file: Path) -> None:
    """It names no currency: a new ledger is in rho, and one that there is stays as it is."""
    known: dict[str, Any] = {**KNOWN, "clip_rows": 10}
    answer = tacit.ask(file, "SELECT COUNT(*) AS n FROM visits", error=40, **known)
    assert answer.facts["cost"].get("epsilon") is None
    with pytest.raises(InputError, match="paid for in rho, and only like adds to like: offer rho"):
        tacit.ask(file, "SELECT COUNT(*) AS n FROM visits", epsilon=1, **known)
    again = tacit.ask(file, "SELECT SUM(cost) AS s FROM visits", error=9000, **known)
    assert again.facts["cost"].get("epsilon") is None
    other = pq.read_table(file).slice(1)
    offers: list[dict[str, Any]] = [{"epsilon": 1}, {"error": 50}]
    for terms in offers:
        bought = tacit.ask(other, "SELECT COUNT(*) AS n FROM data", **known, **terms)
        assert bought.facts["cost"]["epsilon"]
    low, high = answer.interval("n")
    assert low is not None
    assert high is not None
    assert high - low <= 82


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit_column": None}, "unit_column is missing"),
        ({"unit_column": "patient"}, 'unit_column: there is no column "patient"; there are patient_id, ward'),
        ({"bounds": {"cst": (0, 1)}}, 'bounds: there is no column "cst"'),
        ({"bounds": {"cost": 5}}, "two values"),
        ({"group_keys": {"w": []}}, 'group_keys: there is no column "w"'),
        ({"types": {"cost": "money"}}, "there are integer, decimal"),
        ({"epsilon": None}, "say how much to spend"),
        ({"rho": 1}, "not epsilon and rho"),
        ({"epsilon": 11}, "at most 10"),
        ({"bounds": None}, "needs a value with known bounds"),
    ],
)
def test_mistakes_are_named(file: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TacitError) as caught:
        tacit.ask(file, SQL, **{"epsilon": 1, **KNOWN, **changes})
    assert message in str(caught.value)


def test_currencies_do_not_mix(file: Path) -> None:
    tacit.ask(file, SQL, rho=0.5, **KNOWN)
    with pytest.raises(InputError, match="paid for in rho"):
        tacit.ask(file, SQL, epsilon=1, **KNOWN)


def test_what_is_not_one_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not int"):
        tacit.ask(5, SQL, epsilon=1, **KNOWN)
    hospital(tmp_path)
    with pytest.raises(InputError, match="needs a policy"):
        tacit.ask(tmp_path, SQL, epsilon=1, **KNOWN)


def test_open_is_a_session(tmp_path: Path) -> None:
    with tacit.open(hospital(tmp_path), analyst="ana") as session:
        assert session.ask("SELECT COUNT(*) FROM visits", rho=1).value() > 2000
        with pytest.raises(Denied):
            session.ask("SELECT COUNT(*) FROM visits", rho=1000)


def adult(folder: Path, more: str = "") -> Path:
    path = folder / "adult.csv"
    path.write_text("age,workclass,sex,paid,zip\n" + "39,State-gov,0,1.5,01234\n50,?,1,2,98765\n" * 400 + more)
    return path


def test_the_first_contact_with_a_csv_file(tmp_path: Path) -> None:
    known: dict[str, Any] = {"unit_column": EACH_ROW, "group_keys": {"sex": [0, 1]}, "epsilon": 1}
    answer = tacit.ask(adult(tmp_path), "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", **known)
    assert answer.table["sex"].to_pylist()[:2] == [0, 1]
    assert abs(answer.table["n"][0].as_py() - 400) < 30
    assert any("age integer, workclass text, sex integer, paid float, zip text" in note for note in answer.notes)
    again = tacit.ask(tmp_path / "adult.csv", "SELECT sex, COUNT(*) AS n FROM adult GROUP BY sex", **known)
    assert again.cached, "data and adult are one table"


def test_both_names_work_for_every_kind_of_data(file: Path) -> None:
    for name in ("data", "visits", "VISITS", "Data"):
        tacit.ask(file, f"SELECT COUNT(*) FROM {name}", epsilon=1, **KNOWN)
    tacit.ask(visits(), "SELECT COUNT(*) FROM data", epsilon=1, **KNOWN)
    tacit.ask(visits(), "SELECT COUNT(*) FROM data", table="mine", epsilon=1, **KNOWN)
    with pytest.raises(TacitError, match="visit"):
        tacit.ask(file, "SELECT COUNT(*) FROM visit", epsilon=1, **KNOWN)


def test_types_stay_what_they_were_when_a_file_was_first_read(tmp_path: Path) -> None:
    """One new row would else change how all others are read."""
    known: dict[str, Any] = {"unit_column": EACH_ROW, "bounds": {"age": (0, 100)}, "epsilon": "1/2"}
    sql = "SELECT COUNT(age) AS n FROM data"
    tacit.ask(adult(tmp_path), sql, **known)
    answer = tacit.ask(adult(tmp_path, "old,x,y,z,w\n"), sql, **known)
    assert not answer.cached
    assert any("age integer" in note and "sex integer" in note for note in answer.notes)
    assert abs(answer.value() - 800) < 40
    other = tacit.ask(tmp_path / "adult.csv", sql, **known, types={"sex": "text"})
    assert any("age integer, workclass text, sex text" in note for note in other.notes)


def test_a_file_that_is_broken_now_is_refused_and_nothing_is_charged(tmp_path: Path) -> None:
    known: dict[str, Any] = {"unit_column": EACH_ROW, "epsilon": 1}
    tacit.ask(adult(tmp_path), "SELECT COUNT(*) FROM data", **known)
    with pytest.raises(SourceError, match="line 802: not 5 cells") as caught:
        tacit.ask(adult(tmp_path, "Smith\n"), "SELECT COUNT(*) FROM data", **known)
    assert "Smith" not in str(caught.value)


def test_what_is_missing_is_named_as_an_argument(tmp_path: Path) -> None:
    path = adult(tmp_path)
    with pytest.raises(TacitError) as caught:
        tacit.ask(path, "SELECT AVG(paid) FROM data", unit_column=EACH_ROW, epsilon=1)
    assert 'pass bounds={"paid": (low, high)}' in str(caught.value)
    assert "policy" not in str(caught.value)


SECRET = "secret-diagnosis"


def test_a_column_of_mixed_types_tells_no_value() -> None:
    frame = pd.DataFrame({"who": [1, 2], "diagnosis": pd.Series([3, SECRET], dtype=object)})
    with pytest.raises(SourceError, match='column "diagnosis" holds values of more than one type') as caught:
        tacit.ask(frame, "SELECT COUNT(*) FROM data", unit_column="who", epsilon=1)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in repr(error)
        error = error.__cause__ or error.__context__
