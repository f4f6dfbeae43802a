"""Rules of the policy and of a plan hold in the model and in every row, under both relations, and cut bins where they
must; those that cannot hold are refused before anything is paid."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.synthetic import made_up_table, policy_of
from tacit.base import InputError, Refused
from tacit.session import Session

UNIT = 'unit_column = "id"\nmax_rows_per_unit = 1\n'
RULES = """\
impossible = [{ age = [0, 14], job = ["cook", "clerk", "nurse"] }, { income = [0, 100], job = "nurse" }, { age = 33 }]
follows = [{ column = "sex", from = "job", values = { cook = "M" } }]
"""
WORKING = ["cook", "clerk", "nurse"]


def people() -> pa.Table:
    """People of whom the rules are true."""
    source = np.random.default_rng(4)
    age = source.choice([each for each in range(100) if each != 33], 2000)
    job = np.where(age < 15, "none", source.choice(["none", *WORKING], 2000))
    sex = np.where(job == "cook", "M", source.choice(["F", "M"], 2000))
    income = source.integers(101, 60_000, 2000).astype(float)
    rest = made_up_table(2000).select(["id", "town", "born", "free", "many"])
    own = pa.table({"age": age, "job": job, "sex": sex, "income": income})
    return pa.table({**dict(zip(rest.column_names, rest.columns, strict=True)),
                     **dict(zip(own.column_names, own.columns, strict=True))})  # fmt: skip


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("method", ["aim", "mst", "independent"])
def test_rules_of_the_policy_hold_in_every_row(tmp_path: Path, method: Any, relation: str) -> None:
    path = policy_of(tmp_path, people(), relation=relation, unit=UNIT + RULES)
    with Session(path, "ana") as session:
        plan = session.synthesise(
            "people", rho="0.3", columns=["age", "job", "sex", "income"], bins={"age": 7, "income": 9}, method=method
        )
        made = plan.release()
        rows = made.rows(5000).to_pandas()
    assert not (rows.job.isin(WORKING) & (rows.age < 15)).any()
    assert not ((rows.job == "nurse") & (rows.income <= 100)).any()
    assert not (rows.age == 33).any()
    assert set(rows[rows.job == "cook"].sex) == {"M"}
    age, job = made.domain.columns[0], made.domain.columns[1]
    table = made.fitted((0, 1))
    assert (table[np.ix_(age.find((0, 14)), job.find(WORKING))] == 0).all()
    assert (table[age.find(33)] == 0).all()
    assert "0–13" in age.labels  # the seven even bins are cut further
    assert {"14", "33"} < set(age.labels)
    cooks = made.marginal("job")
    truth = (people().to_pandas().job == "cook").sum()
    assert abs(cooks.estimate[1] - truth) < 5 * cooks.error[1]


def test_rules_of_absent_columns_say_nothing_and_other_plans_are_other_questions(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path, people(), unit=UNIT + RULES), "ana") as session:
        made = session.synthesise("people", rho="0.1", columns=["sex", "income"]).release()
        assert {"0–100.01"} & set(made.domain.columns[1].labels) == set()
        told = session.synthesise("people", rho="0.1", columns=["sex", "job"]).program.query
        assert "cook" in str(told)


def test_private_edges_are_cut_where_a_rule_says(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path, people(), unit=UNIT + RULES), "ana") as session:
        plan = session.synthesise(
            "people", rho="1", columns=["income", "job"], private_edges=["income"], bins={"income": 4}
        )
        rows = plan.release().rows(3000).to_pandas()
    assert not ((rows.job == "nurse") & (rows.income <= 100)).any()


def test_what_cannot_hold_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path, people(), unit=UNIT + RULES), "ana") as session:
        wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
            ({"follows": {("job", "sex"): dict.fromkeys(["cook", "none", "clerk", "nurse", None], "F")},
              "impossible": [{"sex": "F"}]}, InputError, "leave nothing possible"),
            ({"impossible": [{"town": "Ulm"}]}, Refused, "values are only known after the price is paid"),
            ({"impossible": [{"job": "cok"}]}, InputError, "no cell 'cok'"),
            ({"impossible": [{"age": ("x", 3)}]}, InputError, "no cell"),
            ({"impossible": [{}]}, InputError, "at least one column"),
            ({"follows": {("job",): {}}}, InputError, "two columns"),
        ]  # fmt: skip
        for changes, kind, told in wrong:
            columns = ["age", "job", "sex", *(["town"] if "town" in str(changes) else [])]
            with pytest.raises(kind, match=told):
                session.synthesise("people", rho="0.1", columns=columns, delta="1e-9", **changes)
        wide = [dict.fromkeys(("age", "income", "many"), (0, 0))]
        with pytest.raises(Refused, match="more than 1,000,000 cells"):
            session.synthesise(
                "people", rho="0.1", columns=["age", "income", "many"], impossible=wide,
                bins={"age": 100, "income": 900, "many": 900},
            )  # fmt: skip
        assert float(session.left().rho or 0) == 20
