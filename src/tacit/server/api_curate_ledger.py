"""Whether a dataset's ledger is whole, and what curators changed: for those who watch."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity

__all__ = ["router"]

router = APIRouter(prefix="/v1/datasets", tags=["curate"])

Watches = Annotated[Identity, Depends(allowed("watch"))]


@router.post("/{dataset}/verification", status_code=202)
def start_verification(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """Walk the whole ledger in the background: every hash, every balance. `GET` tells how far it is."""
    opened = service.desk.opened(who, dataset)
    return JSONResponse(service.checks.start(who, dataset, opened.policy.ledger()), status_code=202)


@router.get("/{dataset}/verification")
def last_verification(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """The newest verification: running, whole, damaged, failed or lost; `null` if there was none."""
    service.desk.opened(who, dataset)
    return JSONResponse({"last": service.checks.last(dataset)})


@router.get("/{dataset}/changes")
def list_changes(
    dataset: str,
    who: Watches,
    service: Serving,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JSONResponse:
    """What curators changed through the service, the newest first."""
    service.desk.opened(who, dataset)
    items = service.curating.journal.page(dataset, before=before, limit=limit)
    return JSONResponse({"items": items, "next": items[-1]["number"] if len(items) == limit else None})
