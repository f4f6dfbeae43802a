"""Signing in at an identity provider: authorisation code with PKCE, state and nonce (OpenID Connect Core 1.0).

All three come from one secret in a cookie of the browser that began, so nothing is stored and nobody else's browser can
finish it. Who signed in is somebody whom the list of people knows, or whom a group at the provider gives a role;
curators and auditors need such a group in any case. The provider's own name for them is kept at the first time: a name
that it gives to somebody else later lets nobody in.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from sqlalchemy import select

from tacit.base import InputError
from tacit.server.auth.identify import COOKIE, Serving
from tacit.server.auth.oidc_provider import CALLBACK, Provider, refusal
from tacit.server.auth.people import BROWSER_LIFE, Identity, People
from tacit.server.auth.tokens import secret
from tacit.server.db import now, subjects
from tacit.server.ops.config import Config
from tacit.server.ops.service import Service

__all__ = ["FLOW", "person_of", "router"]

FLOW = "tacit_oidc"
LIFE = 600  # seconds that somebody may take to sign in
NAME = 200  # characters of a name at most

router = APIRouter(include_in_schema=False)


def _derived(flow: str, what: str) -> str:
    return urlsafe_b64encode(sha256(f"tacit oidc {what} {flow}".encode()).digest()).rstrip(b"=").decode()


@router.get("/signin/oidc")
def begin(service: Serving) -> Response:
    """To the provider, with a secret of this browser's own."""
    provider, flow = _provider(service), secret()
    challenge = sha256(_derived(flow, "verifier").encode()).digest()
    place = provider.question(
        state=_derived(flow, "state"),
        nonce=_derived(flow, "nonce"),
        challenge=urlsafe_b64encode(challenge).rstrip(b"=").decode(),
    )
    answer = RedirectResponse(place, status_code=303)
    answer.set_cookie(
        FLOW, flow, max_age=LIFE, httponly=True, secure=service.config.secure, samesite="lax", path=CALLBACK
    )
    return answer


@router.get(CALLBACK)
def finish(
    request: Request,
    service: Serving,
    code: Annotated[str, Query(max_length=4096)] = "",
    state: Annotated[str, Query(max_length=200)] = "",
    iss: Annotated[str | None, Query(max_length=1000)] = None,
    error: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    """Back from the provider: a session for whoever it names, if this browser began it."""
    address = request.client.host if request.client else "?"
    try:
        who = _signed_in(request.cookies.get(FLOW, ""), service, code=code, state=state, iss=iss, error=error)
    except Exception:
        service.failures.take(address)
        raise
    people = service.people
    session = people.sign_in(people.link(who.name), instead_of=request.cookies.get(COOKIE))
    if session is None:
        raise refusal("you may not come in")
    answer = HTMLResponse(ARRIVED)
    answer.delete_cookie(FLOW, path=CALLBACK)
    life = int(BROWSER_LIFE.total_seconds())
    answer.set_cookie(
        COOKIE, session, max_age=life, httponly=True, secure=service.config.secure, samesite="strict", path="/"
    )
    return answer


# A page and no redirect: a browser that comes from another site does not send a strict cookie on the way.
ARRIVED = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tacit</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><p>You are signed in. <a href="/">Go on</a></p></body></html>'
)


def _provider(service: Service) -> Provider:
    assert service.oidc is not None  # the routes are only there with one
    return service.oidc


def _signed_in(flow: str, service: Service, *, code: str, state: str, iss: str | None, error: str) -> Identity:
    provider = _provider(service)
    if not flow or not hmac.compare_digest(state.encode(), _derived(flow, "state").encode()):
        raise refusal("this sign-in did not begin in this browser, or took too long")
    if not provider.named(iss):
        raise refusal("this answer is not from our identity provider")
    if error or not code:
        raise refusal("the identity provider did not let you in")
    claims = provider.claims(code=code, verifier=_derived(flow, "verifier"), nonce=_derived(flow, "nonce"))
    return person_of(claims, service.config, service.people)


def person_of(claims: Mapping[str, Any], config: Config, people: People) -> Identity:
    """Who in our list the provider speaks of; somebody new is added only if a group of theirs has a role here."""
    name = claims.get(config.oidc_claim)
    if not isinstance(name, str) or not 0 < len(name) <= NAME:
        raise refusal(f'the identity provider says no "{config.oidc_claim}" of you')
    if config.oidc_claim == "email" and claims.get("email_verified") is not True:
        raise refusal("the identity provider has not verified your email address")
    roles = _roles(claims, config)
    known = {who.name for who, _ in people.everybody()}
    mine = _bound(str(claims["sub"]), config, people)
    if mine is None:
        if name not in known:
            _add(name, roles, people)
        people.state.insert_once(
            subjects, issuer=config.oidc_issuer, subject=str(claims["sub"]), person=name, created=now()
        )
        mine = _bound(str(claims["sub"]), config, people)
    if mine != name:
        raise refusal(f'"{name}" is not who you were, or who this was, at the identity provider before')
    found = people.named(name)
    if found is None:
        raise refusal("you may not come in")
    if found.role != "analyst" and found.role not in roles:
        raise refusal(f"you are {found.role} here, and no group of yours at the identity provider is")
    return found


def _bound(subject: str, config: Config, people: People) -> str | None:
    """The person whom this subject has been before: a subject is one person, and a person one subject."""
    mine = (subjects.c.issuer == config.oidc_issuer) & (subjects.c.subject == subject)
    with people.state.reading() as connection:
        return connection.execute(select(subjects.c.person).where(mine)).scalar_one_or_none()


def _roles(claims: Mapping[str, Any], config: Config) -> list[str]:
    """The roles that the person's groups have, in the order of the config."""
    groups = claims.get(config.oidc_groups)
    mine = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    pairs = (pair.rpartition("=") for pair in config.oidc_roles)
    return [role for group, _, role in pairs if group in mine]


def _add(name: str, roles: list[str], people: People) -> None:
    if not roles:
        raise refusal(f'nobody is called "{name}" here, so a curator has to add you first')
    try:
        people.add(name, roles[0])
    except InputError:
        raise refusal("your name at the identity provider cannot be a name here") from None
