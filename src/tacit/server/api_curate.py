"""`/v1/sources`, `/v1/policies` and what a curator changes of a dataset: declare one, and say who may ask it."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from tacit.policy import Policy
from tacit.policy.analyst import Group
from tacit.policy.problem import duration, number
from tacit.policy.source import with_password
from tacit.server.asked import Positive
from tacit.server.declare_check import promised
from tacit.server.declare_draft import Draft, Source
from tacit.server.declare_edit import limits, with_analyst, without_analyst
from tacit.server.identify import Serving, allowed
from tacit.server.opened import Opened
from tacit.server.people import Identity

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["curate"])

Governs = Annotated[Identity, Depends(allowed("govern"))]
Watches = Annotated[Identity, Depends(allowed("watch"))]


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
    return JSONResponse(service.curating.sources.listed())


@router.post("/sources/schema")
def read_source(source: Source, who: Governs, service: Serving) -> JSONResponse:
    """Tables and columns of a source: names and types. Those of a text file are proposed from its values."""
    return JSONResponse(service.curating.schema(source).json())


@router.post("/policies/check")
def check_policy(draft: Draft, who: Governs, service: Serving) -> JSONResponse:
    """What is wrong with a draft, at which field; what is missing; and what its budget means."""
    return JSONResponse(service.curating.check(draft).json())


@router.post("/policies", status_code=201)
def save_policy(draft: Draft, who: Governs, service: Serving) -> JSONResponse:
    """Write the policy of a new dataset and serve it from now on."""
    name = service.curating.save(who, draft)
    return JSONResponse({"name": name}, status_code=201)


@router.get("/datasets/{dataset}/policy")
def one_policy(dataset: str, who: Watches, service: Serving) -> JSONResponse:
    """Who may ask a dataset and how much, and where its policy and its ledger disagree."""
    opened = service.desk.opened(who, dataset)
    found = _policy(opened.policy)
    found["differences"] = service.curating.differences(who, dataset)
    found["toml"] = _text(opened) if who.role == "curator" else None
    return JSONResponse(found)


@router.put("/datasets/{dataset}/analysts/{name}")
def set_analyst(dataset: str, name: str, allowance: Allowance, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody ask, or change what they may spend: in the policy's file and in the ledger."""
    given = _given(allowance)
    if "tables" in given and given["tables"] is not None:
        given["tables"] = tuple(given["tables"])
    told = service.curating.edit(
        who, dataset, lambda policy: with_analyst(policy, name, given), preview=allowance.preview
    )
    return JSONResponse({"changes": told, "applied": not allowance.preview})


@router.delete("/datasets/{dataset}/analysts/{name}")
def remove_analyst(dataset: str, name: str, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody ask no more. What they spent stays spent."""
    told = service.curating.edit(who, dataset, lambda policy: without_analyst(policy, name))
    return JSONResponse({"changes": told, "applied": True})


@router.put("/datasets/{dataset}/limits")
def set_limits(dataset: str, wish: Limits, who: Governs, service: Serving) -> JSONResponse:
    """Change what everybody together may spend: in the policy's file and in the ledger."""
    given = _given(wish)
    told = service.curating.edit(who, dataset, lambda policy: limits(policy, given), preview=wish.preview)
    return JSONResponse({"changes": told, "applied": not wish.preview})


@router.post("/datasets/{dataset}/apply")
def apply_policy(dataset: str, who: Governs, service: Serving) -> JSONResponse:
    """Record in the ledger what the policy's file says now."""
    return JSONResponse({"entries": service.curating.apply(who, dataset)})


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


def _text(opened: Opened) -> str | None:
    """The file itself, unless a password stands in it."""
    dataset = opened.policy.dataset
    sources = [dataset.source, dataset.ledger, *(table.source for table in opened.policy.tables.values())]
    if any(text is not None and with_password(text) for text in sources):
        return None
    try:
        return opened.path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
