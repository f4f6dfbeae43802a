"""`/v1/releases/…/chart`: an answer as a Vega-Lite specification, for a page to draw."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from tacit.server.api_release import release_of
from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity
from tacit.server.problem import Problem
from tacit.session import Release

__all__ = ["router"]

router = APIRouter(prefix="/v1/releases", tags=["releases"])

Looks = Annotated[Identity, Depends(allowed("look"))]
Width = Annotated[int, Query(ge=200, le=2000, description="Pixels, with the labels.")]
Colour = Annotated[str, Query(pattern="^[0-9a-f]{6}$", description="Six hexadecimal digits.")]


@router.get("/{release}/chart")
def chart(
    release: str, who: Looks, service: Serving, width: Width = 640, accent: Colour = "0072b2", ink: Colour = "333333"
) -> JSONResponse:
    """Each noisy number with the interval that covers its noise. Free: it is made from the release alone."""
    found = release_of(service, who, release).release
    if not found.intervals or not found.table.num_rows:
        raise Problem(404, "no-chart", "Nothing to draw", "this answer has no rows, or no noisy numbers in it")
    return JSONResponse(_drawn(found, width, f"#{accent}", f"#{ink}"))


def _drawn(found: Release, width: int, accent: str, ink: str) -> dict[str, object]:
    try:
        from tacit.plot.fitted import fitted
    except ImportError as missing:
        detail = f"charts need {missing.name}, which is not installed on the service: pip install 'tacit[plot]'"
        raise Problem(501, "no-plot", "No charts here", detail) from None
    rows = [
        {name: str(value) if isinstance(value, list) else value for name, value in row.items()} for row in found.rows()
    ]
    return fitted(rows, found.intervals, width=width, accent=accent, ink=ink)
