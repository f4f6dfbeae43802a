"""`/lab` and `/v1/lab`: what a guarantee means, what two neighbours' answers look like, and what attacks do.

Nothing here touches a dataset: everything follows from the numbers that are sent, so each answer is worked out once.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from tacit.attack.registry import ATTACKS
from tacit.server.console.lab_densities import densities, playground
from tacit.server.console.lab_tradeoff import explored
from tacit.server.console.render import page
from tacit.server.identify import allowed
from tacit.server.people import Identity

__all__ = ["router"]

router = APIRouter()

Looks = Annotated[Identity, Depends(allowed("look"))]
Values = Annotated[str, Query(max_length=100, pattern=r"^[0-9]{1,4}(\.[0-9]{1,4})?(,[0-9]{1,4}(\.[0-9]{1,4})?){0,3}$")]

_explored, _densities = lru_cache(maxsize=512)(explored), lru_cache(maxsize=256)(densities)


@router.get("/lab", include_in_schema=False)
def lab(request: Request, who: Looks) -> Response:
    """The page."""
    return page(request, who, "lab.html", title="Lab", attacks=ATTACKS)


@router.get("/v1/lab/tradeoff", tags=["lab"])
def tradeoff(
    who: Looks,
    epsilon: Annotated[Decimal, Query(gt=0, le=20, max_digits=8, decimal_places=4)] = Decimal(1),
    delta: Annotated[Decimal, Query(ge=0, le=Decimal("0.1"), max_digits=20, decimal_places=16)] = Decimal("0.000001"),
    times: Annotated[int, Query(ge=1, le=100, description="How often such a release is made.")] = 1,
    prior: Annotated[Decimal, Query(gt=0, lt=1, max_digits=6, decimal_places=4)] = Decimal("0.5"),
) -> JSONResponse:
    """Odds, beliefs, the power of membership tests, and the trade-off curve of releases with this guarantee."""
    return JSONResponse(_explored(epsilon, delta, times, prior))


@router.get("/v1/lab/mechanisms", tags=["lab"])
def mechanisms(who: Looks) -> JSONResponse:
    """Mechanisms whose outputs can be listed, and the parameters that each has here."""
    return JSONResponse({"items": [each.json() for each in playground()]})


@router.get("/v1/lab/densities", tags=["lab"])
def two_neighbours(who: Looks, mechanism: Annotated[str, Query(max_length=60)], values: Values = "1") -> JSONResponse:
    """How likely each output is for two neighbours, and how far the two are apart, beside the claim."""
    found: dict[str, Any] = _densities(mechanism, tuple(map(float, values.split(","))))
    return JSONResponse(found)
