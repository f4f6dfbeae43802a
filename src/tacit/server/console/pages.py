"""The console's pages: frames with names and rights; what is in them comes by the interface that programs use."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from tacit.server.console.render import page
from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity
from tacit.server.rights import RIGHTS
from tacit.server.service import Service

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Looks = Annotated[Identity, Depends(allowed("look"))]
Asks = Annotated[Identity, Depends(allowed("ask"))]


@router.get("/")
def home(who: Looks) -> Response:
    """To the first page that this person has."""
    return RedirectResponse("/ask" if who.role in RIGHTS["ask"] else "/budget", status_code=303)


@router.get("/ask")
def ask(request: Request, who: Asks, service: Serving) -> Response:
    """Questions and answers."""
    return page(request, who, "ask.html", title="Ask", wire=_wire(request, service))


@router.get("/budget")
def budget(request: Request, who: Looks) -> Response:
    """What was spent and what is left."""
    asks, everybody = who.role in RIGHTS["ask"], who.role in RIGHTS["watch"]
    return page(request, who, "budget.html", title="Budget", asks=asks, everybody=everybody)


def _wire(request: Request, service: Service) -> str:
    """Where psql comes in, as the reader's machine would call it; nothing if it does not."""
    place = service.config.wire_address
    if place is None:
        return ""
    everywhere = place[0] in ("0.0.0.0", "::")
    return f"{request.url.hostname if everywhere else place[0]}:{place[1]}"
