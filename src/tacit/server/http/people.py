"""Coming in: `/v1/people`, one's own tokens, a browser's session by a one-time link or by an identity provider.

Signing in at a provider is an authorisation code with PKCE, state and nonce (OpenID Connect Core 1.0). All three come
from one secret in a cookie of the browser that began, so nothing is stored and nobody else's browser can finish it.
"""

import hmac
from datetime import timedelta
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from tacit.server.auth.identify import COOKIE, Governs, Looks, Serving, address_of, guard_of, same_site
from tacit.server.auth.oidc import CALLBACK, Provider, person_of, refusal
from tacit.server.auth.people import BROWSER_LIFE, Identity, Role
from tacit.server.auth.tokens import base64url, digest, secret
from tacit.server.console.pages import door_page
from tacit.server.curate.draft import Strict
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem

__all__ = ["FLOW", "browser_router", "oidc_router", "router"]

router = APIRouter(prefix="/v1", tags=["people"])


class Person(Strict, json_schema_extra={"examples": [{"name": "ben", "role": "analyst"}]}):
    """Somebody new."""

    name: str = Field(min_length=1, max_length=200)
    role: Role


class Wanted(Strict, json_schema_extra={"examples": [{"label": "laptop", "days": 30}]}):
    """A token to make."""

    label: str = Field(default="", max_length=100)
    days: int = Field(default=90, ge=1, le=3660)


@router.get("/me")
def me(request: Request, who: Looks) -> JSONResponse:
    """Who you are; in a browser also what to send as X-CSRF-Token."""
    session = request.cookies.get(COOKIE) if "authorization" not in request.headers else None
    return JSONResponse({"name": who.name, "role": who.role, "csrf": None if session is None else guard_of(session)})


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
    return JSONResponse({"items": [dict(token._mapping) for token in service.people.issued(name)]})


@router.delete("/people/{name}/tokens/{prefix}")
def revoke_token(name: str, prefix: str, who: Looks, service: Serving) -> JSONResponse:
    """Make a token useless, at once: your own, or as a curator anybody's."""
    _own(who, name)
    if prefix not in [token.prefix for token in service.people.issued(name)]:
        raise HttpProblem(404, "no-token", "There is no such token", "name it by the 12 characters after tacit_")
    return JSONResponse(dict(service.people.revoke(prefix)._mapping))


@router.post("/people/{name}/link", status_code=201)
def sign_in_link(name: str, who: Governs, service: Serving) -> JSONResponse:
    """A link that signs somebody in once, shown this once."""
    return JSONResponse({"path": f"/signin?link={service.people.link(name)}"}, status_code=201)


def _own(who: Identity, name: str) -> None:
    if name != who.name and who.role != "curator":
        raise HttpProblem(403, "role", "Your role does not allow this", "only curators see other people's tokens")


browser_router = APIRouter(include_in_schema=False)


@browser_router.get("/signin")
def door(request: Request, link: Annotated[str, Query(max_length=100)] = "") -> Response:
    """A button. To look at the page uses nothing up, since programs look at links before people do."""
    return door_page(request, link=link)


@browser_router.post("/signin")
async def sign_in(request: Request, service: Serving) -> Response:
    """A session for whoever has a link that was not used. Its name is new, whatever cookie came along."""
    if not same_site(request):
        raise HttpProblem(403, "forged", "This did not come from our own pages", "open the sign-in link itself")
    sent = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=5)
    link, old = (sent.get("link") or [""])[0], request.cookies.get(COOKIE)
    session = await run_in_threadpool(service.people.sign_in, link, instead_of=old)
    if session is None:
        await run_in_threadpool(service.failures.take, address_of(request))
        detail = "ask a curator for a new one: this link was used or has expired"
        raise HttpProblem(403, "link", "This link does not work", detail)
    return _with_session(RedirectResponse("/", status_code=303), session, service)


@browser_router.post("/signout")
def sign_out(request: Request, who: Looks, service: Serving) -> Response:
    """End the session."""
    session = request.cookies.get(COOKIE)
    if session is not None:
        service.people.sign_out(session)
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/")
    return answer


def _with_session(answer: Response, session: str, service: Service) -> Response:
    life, secure = int(BROWSER_LIFE.total_seconds()), service.config.secure
    answer.set_cookie(COOKIE, session, max_age=life, httponly=True, secure=secure, samesite="strict", path="/")
    return answer


oidc_router = APIRouter(include_in_schema=False)
FLOW = "tacit_oidc"
LIFE = 600  # seconds that somebody may take to sign in


def _provider(service: Service) -> Provider:
    assert service.oidc is not None  # the routes are only there with one
    return service.oidc


def _derived(flow: str, what: str) -> str:
    return base64url(digest(f"tacit oidc {what} {flow}"))


@oidc_router.get("/signin/oidc")
def begin(service: Serving) -> Response:
    """To the provider, with a secret of this browser's own."""
    flow = secret()
    challenge = base64url(digest(_derived(flow, "verifier")))
    place = _provider(service).question(
        state=_derived(flow, "state"), nonce=_derived(flow, "nonce"), challenge=challenge
    )
    answer, secure = RedirectResponse(place, status_code=303), service.config.secure
    answer.set_cookie(FLOW, flow, max_age=LIFE, httponly=True, secure=secure, samesite="lax", path=CALLBACK)
    return answer


@oidc_router.get(CALLBACK)
def finish(
    request: Request,
    service: Serving,
    code: Annotated[str, Query(max_length=4096)] = "",
    state: Annotated[str, Query(max_length=200)] = "",
    iss: Annotated[str | None, Query(max_length=1000)] = None,
    error: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    """Back from the provider: a session for whoever it names, if this browser began it."""
    people, provider, flow = service.people, _provider(service), request.cookies.get(FLOW, "")
    try:
        if not flow or not hmac.compare_digest(state.encode(), _derived(flow, "state").encode()):
            raise refusal("this sign-in did not begin in this browser, or took too long")
        if not provider.named(iss):
            raise refusal("this answer is not from our identity provider")
        if error or not code:
            raise refusal("the identity provider did not let you in")
        claims = provider.claims(code=code, verifier=_derived(flow, "verifier"), nonce=_derived(flow, "nonce"))
        who = person_of(claims, service.config, people)
    except Exception:
        service.failures.take(address_of(request))
        raise
    session = people.sign_in(people.link(who.name), instead_of=request.cookies.get(COOKIE))
    if session is None:
        raise refusal("you may not come in")
    answer = HTMLResponse(ARRIVED)
    answer.delete_cookie(FLOW, path=CALLBACK)
    return _with_session(answer, session, service)


# A page and no redirect: a browser that comes from another site does not send a strict cookie on the way.
ARRIVED = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tacit</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><p>You are signed in. <a href="/">Go on</a></p></body></html>'
)
