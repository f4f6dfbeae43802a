"""`/v1/requests`: an analyst wishes for access or more budget, and a curator decides."""

from fractions import Fraction
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from tacit.server.asked import Positive
from tacit.server.declare_edit import with_analyst
from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity
from tacit.server.problem import Problem
from tacit.server.requests import Request

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["requests"])

Asks = Annotated[Identity, Depends(allowed("ask"))]
Looks = Annotated[Identity, Depends(allowed("look"))]
Governs = Annotated[Identity, Depends(allowed("govern"))]


class Wish(BaseModel):
    """Why somebody wants to ask a dataset, and how much they would like to spend in all."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"amount": 1, "reason": "the yearly report on wards"}]}
    )
    amount: Positive | None = None
    reason: str = Field(min_length=1, max_length=2000)


class Decision(BaseModel):
    """Yes, with the limit that the analyst has from now on; or no."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"approve": True, "limit": 0.5}]})
    approve: bool
    limit: Positive | None = None
    each: Positive | None = None
    tables: list[Annotated[str, Field(max_length=1000)]] | None = Field(default=None, max_length=200)
    note: str = Field(default="", max_length=2000)


@router.post("/datasets/{dataset}/requests", status_code=202)
def make_request(dataset: str, wish: Wish, who: Asks, service: Serving) -> JSONResponse:
    """Ask for access to a dataset, or for more of its budget. The answer does not say whether there is one."""
    if len(dataset) > 200 or not dataset.isprintable() or "\0" in wish.reason:
        raise Problem(422, "input", "An argument is wrong", "a name or a reason is too long, or has strange characters")
    return JSONResponse(service.requests.ask(who, dataset, amount=wish.amount, reason=wish.reason).json(), 202)


@router.get("/requests")
def list_requests(
    who: Looks,
    service: Serving,
    state: Literal["open", "approved", "refused", "withdrawn"] | None = None,
    mine: bool = False,
    cursor: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JSONResponse:
    """Your requests, the newest first; curators and auditors see everybody's."""
    owner = who.name if mine or who.role == "analyst" else None
    found = service.requests.listed(owner=owner, state=state, after=cursor, limit=limit)
    more = found[-1].id if len(found) == limit else None
    return JSONResponse({"items": [_shown(each, who) for each in found], "next": more})


@router.delete("/requests/{request}")
def withdraw_request(request: str, who: Asks, service: Serving) -> JSONResponse:
    """Take your request back."""
    return JSONResponse(service.requests.withdraw(who, request).json())


@router.post("/requests/{request}/decision")
def decide_request(request: str, decision: Decision, who: Governs, service: Serving) -> JSONResponse:
    """Approve, which changes the policy and records it in the ledger; or refuse."""
    if not decision.approve:
        return JSONResponse(service.requests.refuse(who, request, note=decision.note).json())
    if decision.limit is None:
        raise Problem(422, "input", "An argument is wrong", "limit is missing: what may the analyst spend in all?")
    given = {"limit": Fraction(decision.limit)}
    if decision.each is not None:
        given["each"] = Fraction(decision.each)
    tables = {} if decision.tables is None else {"tables": tuple(decision.tables)}

    def grant(wish: Request) -> None:
        service.curating.edit(who, wish.dataset, lambda policy: with_analyst(policy, wish.owner, {**given, **tables}))

    return JSONResponse(service.requests.approve(who, request, note=decision.note, grant=grant).json())


def _shown(request: Request, who: Identity) -> dict[str, object]:
    """An approval on its way is open to whoever waits for it."""
    told = request.json()
    if who.role == "analyst" and told["state"] == "approving":
        told |= {"state": "open", "decider": None, "decided": None, "note": None}
    return told
