"""`/surveys`: what is asked of people who do not sign in, and for curators a form that makes a survey."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from tacit.server.console.render import page
from tacit.server.identify import allowed
from tacit.server.people import Identity
from tacit.server.rights import RIGHTS

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Looks = Annotated[Identity, Depends(allowed("look"))]
Governs = Annotated[Identity, Depends(allowed("govern"))]


@router.get("/surveys")
def surveys(request: Request, who: Looks) -> Response:
    """Every survey: where to answer it, what came of it."""
    return page(request, who, "surveys.html", title="Surveys", governs=who.role in RIGHTS["govern"])


@router.get("/surveys/new")
def new_survey(request: Request, who: Governs) -> Response:
    """A survey, filled in on a page."""
    return page(request, who, "surveys_new.html", title="New survey")
