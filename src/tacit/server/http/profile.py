"""`/v1/datasets/{dataset}/profiles`: what profiles of its tables cost, which were made, and to make one.

A profile is the dataset's own release: its budget pays, no analyst's does, and only a curator may make one.
"""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from tacit.base import Denied, OverBudget, TacitError
from tacit.desk.release import release_from_bytes
from tacit.engine import Watch
from tacit.policy.decide import CURATOR
from tacit.policy.declaration import number
from tacit.server.ask.datasets import OpenDataset
from tacit.server.auth.identify import Governs, Serving, Watches
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Strict
from tacit.server.http.ask import TAKEN, documented
from tacit.server.problem import HttpProblem

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["curate"])

LISTED = documented(
    "The tables of people, and what a profile of each costs.",
    {
        "currency": "rho",
        "items": [
            {
                "table": "visits",
                "price": "0.05",
                "quote": {"cost": {"rho": "0.05", "delta": "0"}, "left": {"rho": "0.95"}, "enough": True},
                "refused": None,
                "made": {"entry": 7, "time": "2026-01-01T00:00:00Z"},
                "current": True,
            }
        ],
    },
)


class ProfileBody(Strict, json_schema_extra={"examples": [{"table": "visits"}]}):
    """Of which table."""

    table: Annotated[str, Field(min_length=1, max_length=1000)]


@router.get("/datasets/{dataset}/profiles", responses=LISTED)
def list_profiles(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """What a profile of each table costs the dataset, and which were made; `current` is whether the newest is of the
    data as they are. Free: nothing is looked at."""
    opened = service.datasets.find(who, dataset)
    tables = [name for name, table in opened.policy.tables.items() if not table.public]
    items = [_profile(opened, who, name) for name in tables]
    return JSONResponse({"currency": opened.policy.privacy.currency.value, "items": items})


def _profile(opened: OpenDataset, who: Identity, table: str) -> dict[str, Any]:
    price = opened.policy.tables[table].profile
    if price is None:
        return {"table": table, "price": None, "quote": None, "refused": None, "made": None, "current": False}
    session = opened.session(who)
    job = session.profile_job(table)
    stored = opened.ledger.newest(opened.policy.dataset.identity, CURATOR, job.program)
    made = None
    if stored is not None:
        made = {"entry": stored.seq, "time": release_from_bytes(stored.release).facts.get("time")}
    told: dict[str, Any] = {"quote": None, "refused": None}
    try:
        told["quote"] = session.quote(job).json()
    except Denied as refused:
        told["refused"] = str(refused)
    current = False
    with suppress(TacitError):  # it is refused, or the data cannot be reached now
        current = session.idempotency_key(job).answered
    return {"table": table, "price": number(price), **told, "made": made, "current": current}


@router.post("/datasets/{dataset}/profile", status_code=202, responses=TAKEN)
def make_profile(dataset: str, body: ProfileBody, who: Governs, service: Serving) -> JSONResponse:
    """Make the profile of a table, as a job: how many people have how many rows, and sums how large, with noise. The
    dataset pays what the table declares as `profile`, once for the same data."""
    opened = service.datasets.find(who, dataset)
    declared = opened.policy.tables.get(body.table)
    if declared is None or declared.profile is None:
        detail = f'add profile = … to the table "{body.table}" in the policy: what a profile may cost the dataset'
        raise HttpProblem(422, "no-profile", "This table declares no profile", detail)
    session = opened.session(who)
    job = session.profile_job(body.table)
    if not session.quote(job).enough and not session.idempotency_key(job).answered:  # what is refused is refused now
        raise OverBudget(
            f'the budget of the dataset has too little left for the profile of "{body.table}": raise it, or lower what '
            "the table declares as profile; nothing was charged"
        )

    def work(watch: Watch) -> str:
        found = service.datasets.profile(who, dataset, body.table, watch=watch)
        if not found.cached:
            service.curation.journal.write(who, dataset, f"made the profile of {body.table}")
        return service.shelf.put(who, dataset, f"the profile of {body.table}", found)

    name = service.jobs.start(who, dataset, work)
    headers = {"Location": f"/v1/jobs/{name}"}
    return JSONResponse(service.jobs.find(who, name).json(), status_code=202, headers=headers)
