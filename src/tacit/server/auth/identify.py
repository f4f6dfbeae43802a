"""Who is calling: a token in the Authorization header, or a browser's session, guarded against forged requests."""

import hmac
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from fastapi import Depends, Request

from tacit.server.auth.people import Identity, Role
from tacit.server.auth.tokens import digest
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem

__all__ = ["COOKIE", "RIGHTS", "Asks", "Governs", "Looks", "Right", "Serving", "Watches"]
__all__ += ["address_of", "allowed", "guard_of", "recognised", "same_site", "service_of"]

Right = Literal["look", "ask", "watch", "govern"]

RIGHTS: Mapping[Right, frozenset[Role]] = {
    "look": frozenset({"curator", "analyst", "auditor"}),  # datasets, what is declared, one's own budget and releases
    "ask": frozenset({"curator", "analyst"}),  # a curator too only as the policy allows that name
    "watch": frozenset({"curator", "auditor"}),  # the ledger's entries, everybody's balances, metrics
    "govern": frozenset({"curator"}),  # people and their tokens
}


COOKIE = "tacit_session"
GUARD = "X-CSRF-Token"
SAFE = ("GET", "HEAD", "OPTIONS")
STRANGER = "sign in, or send `Authorization: Bearer <token>` with a token that is still valid"


def service_of(request: Request) -> Service:
    """What this worker holds open."""
    found: Service = request.app.state.service
    return found


async def _serving(request: Request) -> Service:
    return service_of(request)  # one that is not async would be called in a thread, which takes longer than all of it


Serving = Annotated[Service, Depends(_serving)]


def address_of(request: Request) -> str:
    """Where a request comes from, as far as we are told."""
    return request.client.host if request.client else "?"


def allowed(right: Right) -> Callable[[Request], Identity]:
    """A dependency that lets in who has this right, and counts everybody."""

    def identified(request: Request) -> Identity:
        service = service_of(request)
        who = recognised(request, service)
        if who is None:
            if "authorization" in request.headers:
                # only who shows a wrong token is counted and held up: others at the same address may be on their way in
                service.failures.take(address_of(request))
            realm = {"WWW-Authenticate": 'Bearer realm="tacit"'}
            raise HttpProblem(401, "who", "You are not signed in", STRANGER, realm)
        request.state.who = who.name
        service.rate.take(who.name)
        if who.role not in RIGHTS[right]:
            detail = f"ask a {' or '.join(sorted(RIGHTS[right]))}: your role here is {who.role}"
            raise HttpProblem(403, "role", "Your role does not allow this", detail)
        return who

    return identified


Looks = Annotated[Identity, Depends(allowed("look"))]
Asks = Annotated[Identity, Depends(allowed("ask"))]
Watches = Annotated[Identity, Depends(allowed("watch"))]
Governs = Annotated[Identity, Depends(allowed("govern"))]


def recognised(request: Request, service: Service) -> Identity | None:
    """Whoever shows a token or a session that is good now; a `HttpProblem` if a browser was made to send it."""
    header, session = request.headers.get("authorization"), request.cookies.get(COOKIE)
    if header is not None:
        scheme, _, token = header.partition(" ")
        return service.people.by_token(token.strip()) if scheme.lower() == "bearer" else None
    if session is None:
        return None
    who = service.people.by_session(session)
    if who is not None and request.method not in SAFE:
        sent = request.headers.get(GUARD, "")
        if not (hmac.compare_digest(sent.encode(), guard_of(session).encode()) and same_site(request)):
            detail = f"reload the page; a program sends {GUARD} as `GET /v1/me` gives it"
            raise HttpProblem(403, "forged", "This did not come from our own pages", detail)
    return who


def guard_of(session: str) -> str:
    """What a page of ours sends along and another site's cannot know."""
    return digest(f"tacit guard {session}").hex()


def same_site(request: Request) -> bool:
    """Whether a browser says that the request comes from a page of this very service; no browser, no saying."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")
