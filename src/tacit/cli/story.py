"""The tour in SQL: a made-up clinic with a policy, and questions until the budget is spent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import Denied, InputError
from tacit.cli.demo_data import DRUGS, WARDS, Visits, visits
from tacit.loss import Cost
from tacit.session import Quote, Release, Session

__all__ = ["ANALYST", "Story", "Turn", "built"]

ANALYST = "ana"
POLICY = f"""\
[dataset]
name = "clinic"
people = "patients of a made-up clinic"
ledger = "clinic.ledger"

[privacy]
unit = "patient"
currency = "epsilon"
budget = 3
delta = 1e-6

[tables.visits]
source = "visits.parquet"
unit = "patient_id"
clip_rows = 20  # more rows of one patient are scaled down to this

[tables.visits.columns]
patient_id = {{ type = "integer" }}
ward = {{ type = "text", keys = [{", ".join(f'"{ward}"' for ward in WARDS)}], nullable = false }}
drug = {{ type = "text", nullable = false }}
age = {{ type = "integer", bounds = [0, 110], nullable = false }}
cost = {{ type = "decimal", bounds = [0, 5000], step = 0.01, nullable = false }}

[analysts.{ANALYST}]
limit = 2
"""

BY_WARD = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
OLD = "SELECT COUNT(DISTINCT patient_id) AS patients FROM visits WHERE age >= 65"
BY_DRUG = "SELECT drug, COUNT(*) AS visits FROM visits GROUP BY drug ORDER BY visits DESC"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One question: what was offered, and the answer or why there is none; beside it the truth, and what is left."""

    sql: str
    offer: Mapping[str, float]
    answer: Release | None
    left: Cost
    refused: str = ""
    truth: Mapping[str, list[float]] | None = None

    def json(self) -> dict[str, Any]:
        answer = None if self.answer is None else {**self.answer.json(), "cached": self.answer.cached}
        return {
            "sql": self.sql,
            "offer": dict(self.offer),
            "answer": answer,
            "refused": self.refused or None,
            "left": self.left.json(),
        }


@dataclass(frozen=True, kw_only=True)
class Story:
    """A quote, then questions in turn."""

    rows: int
    patients: int
    limit: Cost
    quote: Quote
    turns: tuple[Turn, ...]

    @classmethod
    def told(cls, folder: Path) -> "Story":
        """Build the clinic in `folder` and ask."""
        data = built(folder)
        with Session(folder / "tacit.toml", ANALYST) as session:
            limit = session.left()
            quote = session.quote(BY_WARD, epsilon=0.5)
            turns = (
                _asked(session, BY_WARD, {"epsilon": 0.5}, _by_ward(data)),
                _asked(session, BY_WARD, {"epsilon": 0.5}),
                _asked(session, OLD, {"error": 25}, _old(data)),
                _asked(session, BY_DRUG, {"epsilon": 0.8}),
                _asked(session, BY_WARD, {"epsilon": 1}),
            )
        patients = len(np.unique(data.patient))
        return cls(rows=len(data.patient), patients=patients, limit=limit, quote=quote, turns=turns)

    def json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "patients": self.patients,
            "limit": self.limit.json(),
            "quote": self.quote.json(),
            "turns": [turn.json() for turn in self.turns],
        }


def built(folder: Path) -> Visits:
    """Write the visits and their policy into a folder that has neither."""
    for name in ("visits.parquet", "tacit.toml", "clinic.ledger"):
        if (folder / name).exists():
            raise InputError(f"{name} exists already in {folder}: name a folder without it")
    data = visits()
    table = pa.table(
        {
            "patient_id": data.patient,
            "ward": pa.array(WARDS).take(pa.array(data.ward)),
            "drug": pa.array(DRUGS).take(pa.array(data.drug)),
            "age": data.age,
            "cost": data.cents / 100,
        }
    )
    pq.write_table(table, folder / "visits.parquet")
    (folder / "tacit.toml").write_text(POLICY, encoding="utf-8")
    return data


def _asked(
    session: Session,
    sql: str,
    offer: Mapping[str, float],
    truth: Mapping[str, list[float]] | None = None,
) -> Turn:
    answer, refused = None, ""
    try:
        answer = session.ask(sql, epsilon=offer.get("epsilon"), error=offer.get("error"))
    except Denied as error:
        refused = str(error)
    return Turn(sql=sql, offer=offer, answer=answer, refused=refused, left=session.left(), truth=truth)


def _by_ward(data: Visits) -> dict[str, list[float]]:
    inside = [data.ward == ward for ward in range(len(WARDS))]
    means = [float(data.cents[rows].mean()) / 100 for rows in inside]
    return {"visits": [float(rows.sum()) for rows in inside], "cost": means}


def _old(data: Visits) -> dict[str, list[float]]:
    return {"patients": [float(len(np.unique(data.patient[data.age >= 65])))]}
