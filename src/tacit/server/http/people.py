"""`/v1/people`: who may come in, for curators; and one's own tokens, for everybody."""

from datetime import timedelta
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from tacit.server.auth.identify import Governs, Looks, Serving
from tacit.server.auth.people import Identity, IssuedToken
from tacit.server.problem import HttpProblem

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["people"])


class Person(BaseModel):
    """Somebody new."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "ben", "role": "analyst"}]})
    name: str = Field(min_length=1, max_length=200)
    role: Literal["curator", "analyst", "auditor"]


class Wanted(BaseModel):
    """A token to make."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"label": "laptop", "days": 30}]})
    label: str = Field(default="", max_length=100)
    days: int = Field(default=90, ge=1, le=3660)


@router.get("/people")
def list_people(who: Governs, service: Serving) -> JSONResponse:
    """Everybody, and whether they may come in."""
    items = [{"name": one.name, "role": one.role, "may_come_in": let_in} for one, let_in in service.people.everybody()]
    return JSONResponse({"items": items})


@router.post("/people", status_code=201)
def add_person(person: Person, who: Governs, service: Serving) -> JSONResponse:
    """Add a person. What they may ask is set in each dataset's policy."""
    made = service.people.add(person.name, person.role)
    return JSONResponse({"name": made.name, "role": made.role}, status_code=201)


@router.delete("/people/{name}")
def bar_person(name: str, who: Governs, service: Serving) -> JSONResponse:
    """Let somebody in no more. The name stays theirs."""
    if name == who.name:
        raise HttpProblem(409, "yourself", "You cannot do this to yourself", "ask another curator to do it")
    service.people.bar(name)
    return JSONResponse({"name": name, "may_come_in": False})


@router.post("/people/{name}/tokens", status_code=201)
def issue_token(name: str, wanted: Wanted, who: Governs, service: Serving) -> JSONResponse:
    """A token for somebody, shown this once."""
    token = service.people.issue(name, label=wanted.label, life=timedelta(days=wanted.days))
    return JSONResponse({"token": token.text, "prefix": token.prefix, "person": name}, status_code=201)


@router.get("/people/{name}/tokens")
def list_tokens(name: str, who: Looks, service: Serving) -> JSONResponse:
    """The tokens of somebody: your own, or as a curator anybody's. Never the tokens themselves."""
    _own(who, name)
    return JSONResponse({"items": [_issued(token) for token in service.people.issued(name)]})


@router.delete("/people/{name}/tokens/{prefix}")
def revoke_token(name: str, prefix: str, who: Looks, service: Serving) -> JSONResponse:
    """Make a token useless, at once: your own, or as a curator anybody's."""
    _own(who, name)
    if prefix not in [token.prefix for token in service.people.issued(name)]:
        raise HttpProblem(404, "no-token", "There is no such token", "name it by the 12 characters after tacit_")
    return JSONResponse(_issued(service.people.revoke(prefix)))


@router.post("/people/{name}/link", status_code=201)
def sign_in_link(name: str, who: Governs, service: Serving) -> JSONResponse:
    """A link that signs somebody in once, shown this once."""
    return JSONResponse({"path": f"/signin?link={service.people.link(name)}"}, status_code=201)


def _own(who: Identity, name: str) -> None:
    if name != who.name and who.role != "curator":
        raise HttpProblem(403, "role", "Your role does not allow this", "only curators see other people's tokens")


def _issued(token: IssuedToken) -> dict[str, Any]:
    times = {"created": token.created, "expires": token.expires, "revoked": token.revoked}
    return {"prefix": token.prefix, "person": token.person, "label": token.label, **times}
