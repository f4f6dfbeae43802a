"""`/v1/sources`, `/v1/policies` and what a curator changes of a dataset: declare one, and say who may ask it."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from tacit.policy import Policy
from tacit.policy.declaration import duration, number
from tacit.policy.privacy import Group
from tacit.policy.source import with_password
from tacit.server.ask.dataset import OpenDataset
from tacit.server.ask.running import RunningQuestion
from tacit.server.auth.identify import Asks, Governs, Looks, Serving, Watches
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Draft, Source, promised
from tacit.server.curate.edit import limits, with_analyst, without_analyst
from tacit.server.curate.requests import AccessRequest
from tacit.server.http.ask import Positive
from tacit.server.problem import HttpProblem

__all__ = ["ledger_router", "requests_router", "router", "running_router"]

router = APIRouter(prefix="/v1", tags=["curate"])


class Allowance(BaseModel):
    """What one analyst may spend: null takes a limit away, and what is not named stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"limit": 0.5, "each": 0.1}]})
    limit: Positive | None = None
    each: Positive | None = None
    tables: list[Annotated[str, Field(max_length=1000)]] | None = Field(default=None, max_length=200)
    preview: bool = Field(default=False, description="Only say what would change.")


class Limits(BaseModel):
    """What everybody together may spend; what is not named stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"budget": 2, "preview": True}]})
    budget: Positive | None = None
    each: Positive | None = None
    lifetime: Positive | None = None
    preview: bool = Field(default=False, description="Only say what would change.")


@router.get("/sources")
def list_sources(who: Governs, service: Serving) -> JSONResponse:
    """Files and databases that can be declared, by name."""
    return JSONResponse(service.curation.sources.listed())


@router.post("/sources/schema")
def read_source(source: Source, who: Governs, service: Serving) -> JSONResponse:
    """Tables and columns of a source: names and types. Those of a text file are proposed from its values."""
    return JSONResponse(service.curation.schema(source).json())


@router.post("/policies/check")
def check_policy(draft: Draft, who: Governs, service: Serving) -> JSONResponse:
    """What is wrong with a draft, at which field; what is missing; and what its budget means."""
    return JSONResponse(service.curation.check(draft).json())


@router.post("/policies", status_code=201)
def save_policy(draft: Draft, who: Governs, service: Serving) -> JSONResponse:
    """Write the policy of a new dataset and serve it from now on."""
    name = service.curation.save(who, draft)
    return JSONResponse({"name": name}, status_code=201)


@router.get("/datasets/{dataset}/policy")
def one_policy(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """Who may ask a dataset and how much, and where its policy and its ledger disagree."""
    opened = service.datasets.find(who, dataset)
    found = _policy(opened.policy)
    found["differences"] = service.curation.differences(who, dataset)
    found["toml"] = _text(opened) if who.role == "curator" else None
    return JSONResponse(found)


@router.put("/datasets/{dataset}/analysts/{name}")
def set_analyst(dataset: str, name: str, allowance: Allowance, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody ask, or change what they may spend: in the policy's file and in the ledger."""
    given = _given(allowance)
    if "tables" in given and given["tables"] is not None:
        given["tables"] = tuple(given["tables"])
    told = service.curation.edit(
        who, dataset, lambda policy: with_analyst(policy, name, given), preview=allowance.preview
    )
    return JSONResponse({"changes": told, "applied": not allowance.preview})


@router.delete("/datasets/{dataset}/analysts/{name}")
def remove_analyst(dataset: str, name: str, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody ask no more. What they spent stays spent."""
    told = service.curation.edit(who, dataset, lambda policy: without_analyst(policy, name))
    return JSONResponse({"changes": told, "applied": True})


@router.put("/datasets/{dataset}/limits")
def set_limits(dataset: str, wish: Limits, who: Governs, service: Serving) -> JSONResponse:
    """Change what everybody together may spend: in the policy's file and in the ledger."""
    given = _given(wish)
    told = service.curation.edit(who, dataset, lambda policy: limits(policy, given), preview=wish.preview)
    return JSONResponse({"changes": told, "applied": not wish.preview})


@router.post("/datasets/{dataset}/apply")
def apply_policy(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Record in the ledger what the policy's file says now."""
    return JSONResponse({"entries": service.curation.apply(who, dataset)})


def _given(body: BaseModel) -> dict[str, Any]:
    """What was named, in the policy's own kinds of numbers."""
    named = {name: getattr(body, name) for name in body.model_fields_set - {"preview"}}
    return {name: Fraction(value) if isinstance(value, Decimal) else value for name, value in named.items()}


def _policy(policy: Policy) -> dict[str, Any]:
    privacy = policy.privacy
    return {
        "name": policy.dataset.name,
        "people": policy.dataset.identity,
        "file": policy.file,
        "unit": privacy.unit,
        "currency": privacy.currency.value,
        "budget": number(privacy.budget),
        "delta": number(privacy.delta),
        "each": _number(privacy.each),
        "reset": None if privacy.reset is None else duration(privacy.reset),
        "lifetime": _number(privacy.lifetime),
        "promise": promised(policy),
        "tables": list(policy.tables),
        "analysts": [
            {"name": name, **_holder(analyst), "groups": list(analyst.groups)}
            for name, analyst in policy.analysts.items()
        ],
        "groups": [{"name": name, **_holder(group)} for name, group in policy.groups.items()],
    }


def _holder(holder: Group) -> dict[str, Any]:
    tables = None if holder.tables is None else list(holder.tables)
    return {"limit": _number(holder.limit), "each": _number(holder.each), "tables": tables}


def _number(value: Fraction | None) -> str | None:
    return None if value is None else number(value)


def _text(opened: OpenDataset) -> str | None:
    """The file itself, unless a password stands in it."""
    dataset = opened.policy.dataset
    sources = [dataset.source, dataset.ledger, *(table.source for table in opened.policy.tables.values())]
    if any(text is not None and with_password(text) for text in sources):
        return None
    try:
        return opened.path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


ledger_router = APIRouter(prefix="/v1/datasets", tags=["curate"])


@ledger_router.post("/{dataset}/verification", status_code=202)
def start_verification(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """Walk the whole ledger in the background: every hash, every balance. `GET` tells how far it is."""
    opened = service.datasets.find(who, dataset)
    return JSONResponse(service.checks.start(who, dataset, opened.policy.ledger()), status_code=202)


@ledger_router.get("/{dataset}/verification")
def last_verification(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """The newest verification: running, whole, damaged, failed or lost; `null` if there was none."""
    service.datasets.find(who, dataset)
    return JSONResponse({"last": service.checks.last(dataset)})


@ledger_router.get("/{dataset}/changes")
def list_changes(
    dataset: str,
    who: Watches,
    service: Serving,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JSONResponse:
    """What curators changed through the service, the newest first."""
    service.datasets.find(who, dataset)
    items = service.curation.journal.page(dataset, before=before, limit=limit)
    return JSONResponse({"items": items, "next": items[-1]["number"] if len(items) == limit else None})


requests_router = APIRouter(prefix="/v1", tags=["requests"])


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


@requests_router.post("/datasets/{dataset}/requests", status_code=202)
def make_request(dataset: str, wish: Wish, who: Asks, service: Serving) -> JSONResponse:
    """Ask for access to a dataset, or for more of its budget. The answer does not say whether there is one."""
    if len(dataset) > 200 or not dataset.isprintable() or "\0" in wish.reason:
        raise HttpProblem(
            422, "input", "An argument is wrong", "a name or a reason is too long, or has strange characters"
        )
    return JSONResponse(service.requests.ask(who, dataset, amount=wish.amount, reason=wish.reason).json(), 202)


@requests_router.get("/requests")
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


@requests_router.delete("/requests/{request}")
def withdraw_request(request: str, who: Asks, service: Serving) -> JSONResponse:
    """Take your request back."""
    return JSONResponse(service.requests.withdraw(who, request).json())


@requests_router.post("/requests/{request}/decision")
def decide_request(request: str, decision: Decision, who: Governs, service: Serving) -> JSONResponse:
    """Approve, which changes the policy and records it in the ledger; or refuse."""
    if not decision.approve:
        return JSONResponse(service.requests.refuse(who, request, note=decision.note).json())
    if decision.limit is None:
        raise HttpProblem(422, "input", "An argument is wrong", "limit is missing: what may the analyst spend in all?")
    given = {"limit": Fraction(decision.limit)}
    if decision.each is not None:
        given["each"] = Fraction(decision.each)
    tables = {} if decision.tables is None else {"tables": tuple(decision.tables)}

    def grant(wish: AccessRequest) -> None:
        service.curation.edit(who, wish.dataset, lambda policy: with_analyst(policy, wish.owner, {**given, **tables}))

    return JSONResponse(service.requests.approve(who, request, note=decision.note, grant=grant).json())


def _shown(request: AccessRequest, who: Identity) -> dict[str, object]:
    """An approval on its way is open to whoever waits for it."""
    told = request.json()
    if who.role == "analyst" and told["state"] == "approving":
        told |= {"state": "open", "decider": None, "decided": None, "note": None}
    return told


running_router = APIRouter(prefix="/v1/datasets", tags=["curate"])


@running_router.get("/{dataset}/running")
def list_running(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Questions that are being answered: who asked which, and since when (µs). For curators alone: how long a question
    takes depends on the data."""
    service.datasets.find(who, dataset)
    return JSONResponse({"items": [_question_shown(each) for each in service.running.listed(dataset)]})


@running_router.delete("/{dataset}/running/{question}")
def stop_running(dataset: str, question: str, who: Governs, service: Serving) -> JSONResponse:
    """Stop one, soon. What was charged for it stays charged, and whoever asked is told that it was stopped."""
    service.datasets.find(who, dataset)
    found = service.running.stop(dataset, question)
    if found is None:
        raise HttpProblem(404, "no-question", "There is no such question", "no question of this name runs now")
    service.curation.journal.write(who, dataset, f"stopped a question of {found.owner}")
    return JSONResponse(_question_shown(found))


def _question_shown(found: RunningQuestion) -> dict[str, Any]:
    return {"id": found.id, "owner": found.owner, "sql": found.sql, "since": found.since}
