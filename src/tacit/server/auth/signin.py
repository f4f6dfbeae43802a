"""Coming in with a browser: a one-time link, and a session in a cookie."""

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from tacit.server.auth.identify import COOKIE, Looks, Serving, guard_of, same_site
from tacit.server.auth.people import BROWSER_LIFE
from tacit.server.console.pages import door_page
from tacit.server.problem import HttpProblem

__all__ = ["router"]

router = APIRouter()


@router.get("/signin", include_in_schema=False)
def door(request: Request, link: Annotated[str, Query(max_length=100)] = "") -> Response:
    """A button. To look at the page uses nothing up, since programs look at links before people do."""
    return door_page(request, link=link)


@router.post("/signin", include_in_schema=False)
async def sign_in(request: Request, service: Serving) -> Response:
    """A session for whoever has a link that was not used. Its name is new, whatever cookie came along."""
    if not same_site(request):
        raise HttpProblem(403, "forged", "This did not come from our own pages", "open the sign-in link itself")
    sent = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=5)
    link, old = (sent.get("link") or [""])[0], request.cookies.get(COOKIE)
    address = request.client.host if request.client else "?"
    session = await run_in_threadpool(service.people.sign_in, link, instead_of=old)
    if session is None:
        await run_in_threadpool(service.failures.take, address)
        raise HttpProblem(
            403, "link", "This link does not work", "ask a curator for a new one: this link was used or has expired"
        )
    answer = RedirectResponse("/", status_code=303)
    life = int(BROWSER_LIFE.total_seconds())
    answer.set_cookie(
        COOKIE, session, max_age=life, httponly=True, secure=service.config.secure, samesite="strict", path="/"
    )
    return answer


@router.post("/signout", include_in_schema=False)
def sign_out(request: Request, who: Looks, service: Serving) -> Response:
    """End the session."""
    session = request.cookies.get(COOKIE)
    if session is not None:
        service.people.sign_out(session)
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/")
    return answer


@router.get("/v1/me", tags=["people"])
def me(request: Request, who: Looks) -> JSONResponse:
    """Who you are; in a browser also what to send as X-CSRF-Token."""
    session = request.cookies.get(COOKIE) if "authorization" not in request.headers else None
    return JSONResponse({"name": who.name, "role": who.role, "csrf": None if session is None else guard_of(session)})
