"""A synthetic table goes through the desk: quoted, charged once, released, recalled, drawn from, certified."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.synthetic import made_up_table, policy_of
from tacit.base import Denied, InputError, PolicyError, Refused
from tacit.session import Session
from tacit.synth import SyntheticTable

COLUMNS = ["age", "sex", "job", "income"]


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Session(policy_of(tmp_path), "ana") as opened:
        yield opened


def spent(session: Session) -> float:
    return 20 - float(session.left().rho or 0)


def test_quoted_charged_once_and_recalled(session: Session, tmp_path: Path) -> None:
    plan = session.synthesise("people", rho="0.5", columns=COLUMNS, bins={"age": 10, "income": 8})
    quote = plan.quote()
    assert quote.enough
    assert "method aim" in " ".join(quote.notes)
    assert spent(session) == 0
    made = plan.release()
    assert spent(session) == pytest.approx(0.5)
    assert not made.cached
    assert float(made.rho) <= 0.5
    again = session.synthesise("people", rho="0.5", columns=COLUMNS, bins={"age": 10, "income": 8}).release()
    assert again.cached
    assert (again.model.counts((0, 1)) == made.model.counts((0, 1))).all()
    assert spent(session) == pytest.approx(0.5)
    certificate = session.certificate(made.release)
    assert made.release.description()["sha256"] in json.dumps(certificate.json())


def test_rows_tables_and_files(session: Session, tmp_path: Path) -> None:
    made = session.synthesise("people", rho="2", columns=COLUMNS, bins={"age": 10, "income": 8}).release()
    rows = made.rows()
    assert len(rows) == made.units == pytest.approx(2000, abs=25)
    assert rows.table.column_names == COLUMNS
    frame = rows.to_pandas()
    young = frame[frame.age < 10]
    assert (young.job.dropna() == "none").mean() > 0.9
    table = made.marginal("sex", "job")
    truth = made_up_table(2000).to_pandas().groupby(["sex", "job"]).size()
    assert table.fitted[0, 1] == pytest.approx(truth["F", "cook"], abs=30)
    assert table.fitted.shape == (2, 5)
    assert made.marginal("job", "sex").fitted.shape == (5, 2)
    women = made.where(sex="F")
    assert set(women.rows(500).to_pandas().sex) == {"F"}
    assert women.share == pytest.approx(0.5, abs=0.05)
    assert set(made.where(job=["cook", None]).rows(50).table.column("job").to_pylist()) <= {"cook", None}
    rows.to_parquet(tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").metadata[b"synthetic"] == b"true"
    rows.to_csv(tmp_path / "out.csv")
    beside = json.loads((tmp_path / "out.csv.synthetic.json").read_text())
    assert beside["synthetic"] is True
    assert beside["certificate"]
    noisy = made.measurements
    assert noisy[0].names == ("age",)
    assert len(made.measurements_json()) == len(made.rounds)
    with pytest.raises(InputError, match="from 1 to"):
        made.rows(0)
    with pytest.raises(InputError, match="no column 'agee'"):
        made.marginal("agee")
    with pytest.raises(InputError, match="whole table"):
        women.marginal("age")


@pytest.mark.parametrize("method", ["mst", "independent"])
def test_other_methods_and_the_replace_relation(tmp_path: Path, method: Any) -> None:
    with Session(policy_of(tmp_path, relation="replace"), "ana") as session:
        plan = session.synthesise("people", rho="1", columns=COLUMNS, method=method)
        made = plan.release()
        assert spent(session) <= 1
        assert len(made.rows(100)) == 100
        assert made.method == method
        sigmas = {round(each.sigma, 3) for each in made.rounds if not each.chosen}
        columns = len(COLUMNS)
        share = 7 / 20 if method == "mst" else 1
        assert len(sigmas) == 1
        assert sigmas.pop() == pytest.approx((columns / share) ** 0.5, rel=2e-2)  # √2 times that of add/remove


def test_units_with_many_rows_weigh_one_together(tmp_path: Path) -> None:
    table = made_up_table(1500, rows=4)
    with Session(policy_of(tmp_path, table, unit='unit_column = "id"\nclip_rows = 4'), "ana") as session:
        made = session.synthesise("people", rho="2", columns=["sex", "job"]).release()
        assert made.model.total == pytest.approx(1500, abs=20)  # people, of whom each has four rows
        weights = table.to_pandas().groupby("sex").size() / 4
        assert made.marginal("sex").fitted[0] == pytest.approx(weights["F"], abs=25)


def test_cells_that_nobody_named_are_found_for_a_part_of_the_price(session: Session) -> None:
    plan = session.synthesise(
        "people", rho="2", columns=["town", "income", "sex"], private_edges=["income"], bins={"income": 4}
    )
    assert "a tenth of the price finds the cells of town, income" in " ".join(plan.quote().notes)
    made = plan.release()
    assert made.domain.columns[0].labels == ("Bonn", "Kiel", "Ulm", "(other)", "(missing)")
    assert made.marginal("town").fitted[2] == pytest.approx(1200, abs=80)
    assert 0 < float(session.left().delta) < 1e-6
    middle = made.marginal("income").fitted[:4]
    assert middle.max() < 2.5 * 500


def test_an_account_in_epsilon(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path, currency="epsilon"), "ana") as session:
        with pytest.raises(Refused, match="offer an epsilon"):
            session.synthesise("people", rho="1", columns=["sex"])
        made = session.synthesise("people", epsilon=2, columns=["sex", "job"]).release()
        assert float(session.left().epsilon or 0) == pytest.approx(18, abs=0.01)
        assert len(made.rows(10)) == 10


def test_rules_hold_in_every_row(session: Session) -> None:
    made = session.synthesise(
        "people",
        rho="0.05",
        columns=["age", "job", "sex"],
        bins={"age": 10},
        impossible=[{"age": (0, 9), "job": ["cook", "clerk", "nurse"]}],
        follows={("job", "sex"): {"nurse": "F"}},
    ).release()
    frame = made.rows(4000).to_pandas()
    assert set(frame[frame.age < 10].job.dropna()) <= {"none"}
    assert set(frame[frame.job == "nurse"].sex) == {"F"}


def test_what_cannot_work_is_refused_before_anything_is_paid(session: Session) -> None:
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"columns": []}, InputError, "columns is empty"),
        ({"columns": "sex"}, InputError, "columns is a list of names"),
        ({"columns": ["sex"], "bins": 10}, InputError, "bins says it for each column"),
        ({"columns": ["sex"], "private_edges": "sex"}, InputError, "private_edges is a list of names"),
        ({"columns": ["sex"], "impossible": {"sex": "F"}}, InputError, "impossible is a list of combinations"),
        ({"columns": ["sex"], "follows": {"sex": {}}}, InputError, "follows is a mapping of two columns"),
        ({"columns": ["sex"], "epsilon": 1}, InputError, "say how much to spend, once"),
        ({"columns": ["sex", "sex"]}, InputError, "'sex' is named twice"),
        ({"columns": ["sexx"]}, InputError, 'did you mean "sex"'),
        ({"columns": ["free"]}, Refused, "column 'free' has no bounds"),
        ({"columns": ["many"], "bins": {"many": 10**9}}, Refused, "would have 1,000,000,000 cells"),
        ({"columns": ["sex"], "method": "copula"}, InputError, "aim, mst, independent"),
        ({"columns": ["sex"], "rho": None}, InputError, "say how much to spend"),
        ({"columns": ["sex"], "rho": "-1"}, InputError, "rho must be positive|greater than 0|rho"),
        ({"columns": ["sex"], "rho": "1e-13"}, Refused, "too small to be useful"),
        ({"columns": ["sex", "job"], "pairs": [("sex", "wage")]}, InputError, "no column 'wage'"),
        ({"columns": ["sex", "job"], "pairs": "some"}, InputError, 'pairs is "all"'),
        ({"columns": ["sex"], "rows": 0}, InputError, "rows must be"),
        ({"columns": ["sex", "job"], "impossible": [{"sex": ["F", "M"]}]}, InputError, "leaves nothing possible"),
        ({"columns": ["sex"], "impossible": [{"job": "cook"}]}, InputError, "a rule speaks of column 'job'"),
        ({"columns": ["many"], "most_cells": 10**9}, InputError, "most_cells must be a whole number from 2 to 100,000"),
        ({"columns": ["sex", "job"], "model_cells": 10**9}, InputError, "model_cells must be at most 10,000,000"),
        (
            {
                "columns": ["many", "income"],
                "method": "mst",
                "most_cells": 10**4,
                "bins": {"many": 5000, "income": 5000},
            },
            Refused,
            "may have 25,010,001 cells together",
        ),
        ({"columns": ["sex"], "method": "mst", "model_cells": 10**6}, InputError, "model_cells is of method 'aim'"),
    ]
    for changes, kind, told in wrong:
        with pytest.raises(kind, match=told):
            session.synthesise("people", **{"rho": "0.1", **changes})
    with pytest.raises(InputError, match="columns is missing"):
        session.synthesise("people", rho="0.1")  # type: ignore[call-arg]  # what is tried
    with pytest.raises(InputError, match="there is no colums of a synthetic table: did you mean columns"):
        session.synthesise("people", rho="0.1", colums=["sex"], columns=["sex"])  # type: ignore[call-arg]  # the same
    with pytest.raises(InputError, match="no table"):
        session.synthesise("peeple", rho="0.1", columns=["sex"])
    with pytest.raises(Denied):
        session.synthesise("people", rho="21", columns=["sex"]).release()
    assert spent(session) == 0


def test_an_empty_table_gives_noise_and_says_so(tmp_path: Path) -> None:
    with Session(policy_of(tmp_path, made_up_table(2000).slice(0, 0)), "ana") as session:
        made = session.synthesise("people", rho="0.1", columns=["sex", "job"]).release()
        assert made.units < 40
        assert len(made.rows(5)) == 5


def test_a_declared_number_of_rows_is_used(session: Session) -> None:
    made = session.synthesise("people", rho="0.1", columns=["sex"], rows=123).release()
    assert len(made.rows()) == 123


def test_other_bytes_are_no_synthetic_table(session: Session) -> None:
    from tacit.desk.release import release_of

    for wrong in (pa.table({"a": [1]}), b"not one"):
        with pytest.raises(InputError, match="not a synthetic table"):
            SyntheticTable.of(release_of(wrong, kind="rows" if isinstance(wrong, bytes) else None, facts={}))


def test_the_engine_counts_what_is_there(session: Session) -> None:
    """With next to no noise the measured tables are the true ones, missing values and all."""
    with pytest.raises(PolicyError):
        session.policy.table("nobody")
    made = session.synthesise("people", rho="19", columns=["job", "sex"], method="mst").release()
    frame = made_up_table(2000).to_pandas()
    truth = frame.groupby([frame.job.fillna("?"), "sex"]).size()
    table = made.marginal("job", "sex")
    found = dict(zip([*["none", "cook", "clerk", "nurse", "?"]], table.fitted[:, 0].tolist(), strict=True))
    for job, count in found.items():
        assert count == pytest.approx(truth.get((job, "F"), 0), abs=6)
    assert np.isfinite(table.low).all()
