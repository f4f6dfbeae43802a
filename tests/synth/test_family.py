"""Patients and their visits: keys match, sizes and children follow the parents, and one patient is one unit."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.base import InputError, Refused
from tacit.session import Session

POLICY = """\
[dataset]
name = "clinic"
ledger = "clinic.ledger"

[privacy]
unit = "patient"
currency = "rho"
budget = 20
delta = 1e-6

[tables.patients]
source = "patients.parquet"
unit_column = "id"
max_rows_per_unit = 1

[tables.patients.columns]
old = { type = "boolean", nullable = false }
sex = { type = "text", group_keys = ["F", "M"], nullable = false }

[tables.visits]
source = "visits.parquet"
unit_column = "patient"
clip_rows = 3

[tables.visits.columns]
ward = { type = "text", group_keys = ["birth", "heart", "bone"], nullable = false }
cost = { type = "integer", bounds = [0, 99], nullable = false }

[analysts.ana]
limit = 20
"""
COUNT = 3000


@pytest.fixture
def clinic(tmp_path: Path) -> Any:
    source = np.random.default_rng(2)
    old, sex = source.random(COUNT) < 0.4, np.where(source.random(COUNT) < 0.5, "F", "M")
    visits = np.where(old, source.integers(1, 6, COUNT), source.integers(0, 2, COUNT))
    who = np.repeat(np.arange(COUNT), visits)
    ward = np.where(old[who], "heart", np.where(sex[who] == "F", "birth", "bone"))
    patients = pa.table({"id": np.arange(COUNT), "old": old, "sex": sex})
    rows = pa.table({"patient": who, "ward": ward, "cost": source.integers(0, 100, len(who))})
    pq.write_table(patients, tmp_path / "patients.parquet")
    pq.write_table(rows, tmp_path / "visits.parquet")
    (tmp_path / "tacit.toml").write_text(POLICY)
    with Session(tmp_path / "tacit.toml", "ana") as session:
        yield session, visits


def plan(session: Session, **changes: Any) -> Any:
    settings: dict[str, Any] = {
        "columns": ["old", "sex"],
        "child_columns": ["ward", "cost"],
        "given": ["old", "sex"],
        "most": 4,
        "rho": "2",
        "bins": {"cost": 5},
        "size": "visits",
    }
    return session.synthesise_family("patients", "visits", **(settings | changes))


@pytest.mark.parametrize("method", ["aim", "mst"])
def test_both_tables_come_of_one_charge_and_their_keys_match(clinic: Any, method: str) -> None:
    session, visits = clinic
    made = plan(session, method=method)
    assert made.quote().enough
    family = made.release()
    assert float(session.left().rho) == pytest.approx(18, abs=1e-6)
    parents, children = (each.to_pandas() for each in family.rows())
    assert len(parents) == pytest.approx(COUNT, abs=40)
    assert parents.parent.is_unique
    counted = children.groupby("parent").size().reindex(parents.parent, fill_value=0)
    assert (counted.to_numpy() == parents.visits.to_numpy()).all()
    assert parents.visits.max() <= 4
    joined = children.merge(parents, on="parent")
    assert (joined[joined.old].ward == "heart").mean() > 0.97
    assert (joined[~joined.old & (joined.sex == "F")].ward == "birth").mean() > 0.93
    assert set(children.columns) == {"parent", "ward", "cost"}
    capped = np.minimum(visits, 4)
    fitted, low, high = family.mean_size()
    assert low < high < low + 0.2
    assert low - 0.1 < fitted < high + 0.1  # it uses more than the interval does
    assert abs(capped.mean() - fitted) < 0.05
    assert f"{fitted:.3f} in the synthetic tables" in family.report().html()


def test_a_patient_counts_once_however_many_visits(clinic: Any) -> None:
    """In the children's table the weights of one patient's visits add up to one."""
    session, visits = clinic
    family = plan(session, rho="15").release()
    assert family.children.model.total == pytest.approx((visits > 0).sum(), abs=10)
    assert family.parents.model.total == pytest.approx(COUNT, abs=10)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"given": []}, "given is empty"),
        ({"given": ["ward"]}, "not among the parents' columns"),
        ({"size": "old"}, "named twice"),
        ({"size": "parent"}, "the key, which is called parent"),
        ({"most": 0}, "most"),
        ({"method": "independent"}, "aim or mst"),
        ({"child_columns": ["wards"]}, "no such column"),
    ],
)
def test_mistakes_are_told_before_anything_is_paid(clinic: Any, changes: dict[str, Any], told: str) -> None:
    session, _ = clinic
    with pytest.raises(InputError, match=told):
        plan(session, **changes)
    assert float(session.left().rho) == 20


def test_a_parent_must_be_one_row(clinic: Any) -> None:
    session, _ = clinic
    with pytest.raises(Refused, match="max_rows_per_unit = 1"):
        session.synthesise_family(
            "visits", "patients", columns=["ward"], child_columns=["old"], given=["ward"], most=2, rho="1"
        )
