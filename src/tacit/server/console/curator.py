"""`/curator` and `/requests`: pages of those who govern and watch, and of whoever wishes for more."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from tacit.policy.types import ColumnType
from tacit.server.console.render import page
from tacit.server.identify import Serving, allowed
from tacit.server.people import ROLES, Identity
from tacit.server.rights import RIGHTS

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Looks = Annotated[Identity, Depends(allowed("look"))]
Watches = Annotated[Identity, Depends(allowed("watch"))]
Governs = Annotated[Identity, Depends(allowed("govern"))]


@router.get("/curator")
def overview(request: Request, who: Watches) -> Response:
    """All datasets, and what waits for a decision."""
    return page(request, who, "curator.html", title="Curator")


@router.get("/curator/declare")
def declare(request: Request, who: Governs, service: Serving) -> Response:
    """A new dataset, step by step."""
    ready = service.config.data is not None or bool(service.config.sources)
    types = [kind.value for kind in ColumnType]
    return page(request, who, "curator_declare.html", title="Declare a dataset", ready=ready, types=types)


@router.get("/curator/datasets/{dataset}")
def one_dataset(dataset: str, request: Request, who: Watches, service: Serving) -> Response:
    """Who may ask one dataset and how much; its ledger, and what was changed."""
    service.desk.opened(who, dataset)
    return page(request, who, "curator_dataset.html", title=dataset, dataset=dataset)


@router.get("/curator/people")
def people(request: Request, who: Governs) -> Response:
    """Who may come in."""
    return page(request, who, "curator_people.html", title="People", roles=ROLES)


@router.get("/curator/releases")
def releases(request: Request, who: Watches) -> Response:
    """Releases and their certificates."""
    return page(request, who, "curator_releases.html", title="Releases")


@router.get("/curator/requests")
def decisions(request: Request, who: Watches) -> Response:
    """Everybody's wishes, to decide about."""
    return page(request, who, "curator_requests.html", title="Requests", datasets=())


@router.get("/requests")
def requests(request: Request, who: Looks, service: Serving) -> Response:
    """One's own wishes; those who watch have a page of everybody's."""
    if who.role in RIGHTS["watch"]:
        return RedirectResponse("/curator/requests", status_code=303)
    return page(request, who, "curator_requests.html", title="Requests", datasets=service.desk.datasets(who))
