"""`/v1/sources`, `/v1/policies` and what a curator changes of a dataset: declare one, and say who may ask it."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from tacit.base import InputError
from tacit.desk.state import SavedJob, jobs_folder, saved_jobs
from tacit.policy import Policy
from tacit.policy.declaration import duration, number
from tacit.policy.privacy import Group
from tacit.policy.source import with_password
from tacit.server.ask.datasets import OpenDataset
from tacit.server.auth.identify import Asks, Governs, Looks, Serving, Watches
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Draft, SourceDraft, Strict, promised
from tacit.server.curate.edit import Edit, limits, with_analyst, without_analyst
from tacit.server.curate.requests import AccessRequest, request_json
from tacit.server.http.ask import Positive, paged
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem

__all__ = ["requests_router", "router"]

router = APIRouter(prefix="/v1", tags=["curate"])
requests_router = APIRouter(prefix="/v1", tags=["requests"])


class LimitBody(Strict):
    """What one analyst may spend, and of which tables."""

    limit: Positive | None = None
    each: Positive | None = None
    tables: list[Annotated[str, Field(max_length=1000)]] | None = Field(default=None, max_length=200)


class Allowance(LimitBody, json_schema_extra={"examples": [{"limit": 0.5, "each": 0.1}]}):
    """What one analyst may spend: null takes a limit away, and what is not named stays as it is."""

    preview: bool = Field(default=False, description="Only say what would change.")


class LimitsBody(Strict, json_schema_extra={"examples": [{"budget": 2, "preview": True}]}):
    """What everybody together may spend; what is not named stays as it is."""

    budget: Positive | None = None
    each: Positive | None = None
    lifetime: Positive | None = None
    preview: bool = Field(default=False, description="Only say what would change.")


@router.get("/sources")
def list_sources(who: Governs, service: Serving) -> JSONResponse:
    """Files and databases that can be declared, by name."""
    return JSONResponse(service.curation.sources.listed())


@router.post("/sources/schema")
def read_source(source: SourceDraft, who: Governs, service: Serving) -> JSONResponse:
    """Tables and columns of a source: names and types. Those of a text file are proposed from its values."""
    return JSONResponse(service.curation.schema(source).json())


@router.post("/policies/check")
def check_policy(draft: Draft, who: Governs, service: Serving) -> JSONResponse:
    """What is wrong with a draft, at which field; what is missing; and what its budget means."""
    return JSONResponse(service.curation.check(draft).json())


@router.post("/policies", status_code=201)
def save_policy(draft: Draft, who: Governs, service: Serving) -> JSONResponse:
    """Write the policy of a new dataset and serve it from now on."""
    return JSONResponse({"name": service.curation.save(who, draft)}, status_code=201)


@router.get("/datasets/{dataset}/policy")
def one_policy(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """Who may ask a dataset and how much, and where its policy and its ledger disagree."""
    opened = service.datasets.find(who, dataset)
    policy, privacy = opened.policy, opened.policy.privacy
    found = {
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
        "differences": service.curation.differences(who, dataset),
        "toml": _text(opened) if who.role == "curator" else None,
    }
    return JSONResponse(found)


@router.put("/datasets/{dataset}/analysts/{name}")
def set_analyst(dataset: str, name: str, allowance: Allowance, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody ask, or change what they may spend: in the policy's file and in the ledger."""
    return _edited(service, who, dataset, lambda it: with_analyst(it, name, _given(allowance)), allowance.preview)


@router.delete("/datasets/{dataset}/analysts/{name}")
def remove_analyst(dataset: str, name: str, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody ask no more. What they spent stays spent."""
    return _edited(service, who, dataset, lambda policy: without_analyst(policy, name))


@router.put("/datasets/{dataset}/limits")
def set_limits(dataset: str, wish: LimitsBody, who: Governs, service: Serving) -> JSONResponse:
    """Change what everybody together may spend: in the policy's file and in the ledger."""
    return _edited(service, who, dataset, lambda policy: limits(policy, _given(wish)), wish.preview)


@router.post("/datasets/{dataset}/apply")
def apply_policy(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Record in the ledger what the policy's file says now."""
    return JSONResponse({"entries": service.curation.apply(who, dataset)})


def _edited(
    service: Service, who: Identity, dataset: str, wanted: Callable[[Policy], Edit], preview: bool = False
) -> JSONResponse:
    told = service.curation.edit(who, dataset, wanted, preview=preview)
    return JSONResponse({"changes": told, "applied": not preview})


def _given(body: BaseModel) -> dict[str, Any]:
    """The limits and tables that were named, as a policy holds them."""
    named = body.model_fields_set & {"budget", "lifetime", "limit", "each", "tables"}
    kinds: dict[type, Callable[[Any], Any]] = {Decimal: Fraction, list: tuple, type(None): lambda none: none}
    values = {name: getattr(body, name) for name in named}
    return {name: kinds[type(value)](value) for name, value in values.items()}


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


@router.post("/datasets/{dataset}/verification", status_code=202)
def start_verification(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """Walk the whole ledger in the background: every hash, every balance. `GET` tells how far it is."""
    opened = service.datasets.find(who, dataset)
    return JSONResponse(service.checks.start(who, dataset, opened.policy.ledger()), status_code=202)


@router.get("/datasets/{dataset}/verification")
def last_verification(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """The newest verification: running, whole, damaged, failed or lost; `null` if there was none."""
    service.datasets.find(who, dataset)
    return JSONResponse({"last": service.checks.last(dataset)})


@router.get("/datasets/{dataset}/changes")
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
    return JSONResponse(paged(items, limit, "number"))


class Wish(Strict, json_schema_extra={"examples": [{"amount": 1, "reason": "the yearly report on wards"}]}):
    """Why somebody wants to ask a dataset, and how much they would like to spend in all."""

    amount: Positive | None = None
    reason: str = Field(min_length=1, max_length=2000)


class Decision(LimitBody, json_schema_extra={"examples": [{"approve": True, "limit": 0.5}]}):
    """Yes, with the limit that the analyst has from now on; or no."""

    approve: bool
    note: str = Field(default="", max_length=2000)


@requests_router.post("/datasets/{dataset}/requests", status_code=202)
def make_request(dataset: str, wish: Wish, who: Asks, service: Serving) -> JSONResponse:
    """Ask for access to a dataset, or for more of its budget. The answer does not say whether there is one."""
    if len(dataset) > 200 or not dataset.isprintable() or "\0" in wish.reason:
        raise InputError("a name or a reason is too long, or has strange characters")
    made = service.requests.ask(who, dataset, amount=wish.amount, reason=wish.reason)
    return JSONResponse(request_json(made), 202)


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
    return JSONResponse(paged([_shown(each, who) for each in found], limit))


@requests_router.delete("/requests/{request}")
def withdraw_request(request: str, who: Asks, service: Serving) -> JSONResponse:
    """Take your request back."""
    return JSONResponse(request_json(service.requests.withdraw(who, request)))


@requests_router.post("/requests/{request}/decision")
def decide_request(request: str, decision: Decision, who: Governs, service: Serving) -> JSONResponse:
    """Approve, which changes the policy and records it in the ledger; or refuse."""
    if not decision.approve:
        return JSONResponse(request_json(service.requests.refuse(who, request, note=decision.note)))
    if decision.limit is None:
        raise InputError("limit is missing: what may the analyst spend in all?")
    given = {name: value for name, value in _given(decision).items() if value is not None}

    def grant(wish: AccessRequest) -> None:
        service.curation.edit(who, wish.dataset, lambda policy: with_analyst(policy, wish.owner, given))

    return JSONResponse(request_json(service.requests.approve(who, request, note=decision.note, grant=grant)))


def _shown(request: AccessRequest, who: Identity) -> dict[str, object]:
    """An approval on its way is open to whoever waits for it."""
    told = request_json(request)
    if who.role == "analyst" and told["state"] == "approving":
        told |= {"state": "open", "decider": None, "decided": None, "note": None}
    return told


@router.get("/datasets/{dataset}/running")
def list_running(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Questions that are being answered: who asked which, and since when (µs). For curators alone: how long a question
    takes depends on the data."""
    service.datasets.find(who, dataset)
    return JSONResponse({"items": [each.json() for each in service.running.listed(dataset)]})


@router.delete("/datasets/{dataset}/running/{question}")
def stop_running(dataset: str, question: str, who: Governs, service: Serving) -> JSONResponse:
    """Stop one, soon. What was charged for it stays charged, and whoever asked is told that it was stopped."""
    service.datasets.find(who, dataset)
    found = service.running.stop(dataset, question)
    if found is None:
        raise HttpProblem(404, "no-question", "There is no such question", "no question of this name runs now")
    service.curation.journal.write(who, dataset, f"stopped a question of {found.owner}")
    return JSONResponse(found.json())


@router.get("/datasets/{dataset}/saved-jobs")
def list_saved_jobs(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Long jobs of the curators' own code, which runs elsewhere: how far each is, whether it runs, and the `chart` of a
    stream: the noisy counts that it told, with their margins."""
    found = ((job.json(), job.chart()) for job in _saved(service, who, dataset))
    return JSONResponse({"items": [job if chart is None else job | {"chart": chart} for job, chart in found]})


@router.delete("/datasets/{dataset}/saved-jobs/{entry}")
def stop_saved_job(dataset: str, entry: int, who: Governs, service: Serving) -> JSONResponse:
    """Stop one when it next saves how far it is. Its code, run again, goes on from there and pays nothing."""
    found = next((job for job in _saved(service, who, dataset) if job.entry == entry and job.running), None)
    if found is None:
        raise HttpProblem(404, "no-job", "There is no such job", "no job under this entry of the ledger runs now")
    found.stop()
    service.curation.journal.write(who, dataset, f"stopped a job of {found.analyst}")
    return JSONResponse(found.json())


def _saved(service: Service, who: Identity, dataset: str) -> list[SavedJob]:
    policy = service.datasets.find(who, dataset).policy
    return saved_jobs(jobs_folder(policy), policy.dataset.identity)
