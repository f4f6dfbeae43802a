"""`/v1/datasets/…/running`: what runs now, in every worker, for its curators to see and to stop."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity
from tacit.server.problem import Problem
from tacit.server.running import RunningQuestion

__all__ = ["router"]

router = APIRouter(prefix="/v1/datasets", tags=["curate"])

Governs = Annotated[Identity, Depends(allowed("govern"))]


@router.get("/{dataset}/running")
def list_running(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Questions that are being answered: who asked which, and since when (µs). For curators alone: how long a question
    takes depends on the data."""
    service.desk.opened(who, dataset)
    return JSONResponse({"items": [_shown(each) for each in service.running.listed(dataset)]})


@router.delete("/{dataset}/running/{question}")
def stop_running(dataset: str, question: str, who: Governs, service: Serving) -> JSONResponse:
    """Stop one, soon. What was charged for it stays charged, and whoever asked is told that it was stopped."""
    service.desk.opened(who, dataset)
    found = service.running.stop(dataset, question)
    if found is None:
        raise Problem(404, "no-question", "There is no such question", "no question of this name runs now")
    service.curating.journal.write(who, dataset, f"stopped a question of {found.owner}")
    return JSONResponse(_shown(found))


def _shown(found: RunningQuestion) -> dict[str, Any]:
    return {"id": found.id, "owner": found.owner, "sql": found.sql, "since": found.since}
