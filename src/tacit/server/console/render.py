"""How a page is made: one environment of templates, everything escaped, and a frame that knows who looks.

A page of ours runs scripts and styles from `/static` alone, so nothing here may write either into the page itself.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.base import TacitError
from tacit.server.auth.identify import COOKIE, RIGHTS, Right, guard_of
from tacit.server.auth.people import Identity
from tacit.server.problem import HttpProblem

__all__ = ["NAVIGATION", "MenuEntry", "page", "router", "wants_page"]


class MenuEntry(NamedTuple):
    """A place in the navigation, shown to whoever has the right."""

    path: str
    label: str
    right: Right


NAVIGATION = (
    MenuEntry("/ask", "Ask", "ask"),
    MenuEntry("/budget", "Budget", "look"),
    MenuEntry("/surveys", "Surveys", "look"),
    MenuEntry("/curator", "Curator", "watch"),
    MenuEntry("/lab", "Lab", "look"),
)

_templates = Environment(
    loader=PackageLoader("tacit.server.console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(
    request: Request,
    who: Identity | None,
    template: str,
    *,
    title: str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **context: Any,
) -> HTMLResponse:
    """A page in the frame of all pages. `who` is nobody before they signed in."""
    session = request.cookies.get(COOKIE)
    text = _templates.get_template(template).render(
        title=title,
        who=who,
        here=request.url.path,
        csrf="" if session is None or who is None else guard_of(session),
        navigation=[each for each in NAVIGATION if who is not None and who.role in RIGHTS[each.right]],
        **context,
    )
    return HTMLResponse(text, status_code=status, headers={"Vary": "Accept, Cookie", **(headers or {})})


def wants_page(request: Request) -> bool:
    """Whether a person with a browser is looking, and not a program."""
    return "text/html" in request.headers.get("accept", "").lower()


router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "static"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,60}\.(js|css|svg)")
KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}


@router.get("/static/vega.js")
def vega(request: Request) -> Response:
    """What draws charts in the browser: the bundle that was installed with the package."""
    try:
        from tacit.plot.page import script

        return kept(request, script(), KINDS["js"])
    except (ImportError, TacitError):
        detail = "charts need more on the service: pip install 'tacit[plot]'"
        raise HttpProblem(501, "no-plot", "No charts here", detail) from None


@router.get("/static/{name}")
def static(name: str, request: Request) -> Response:
    """One file. A browser may keep it, and asks whether it is still the same."""
    found = NAME.fullmatch(name)
    path = FOLDER / name
    if found is None or not path.is_file():
        raise HttpProblem(404, "no-route", "There is nothing here", "there is no such file")
    return kept(request, path.read_bytes(), KINDS[found[1]])


def kept(request: Request, content: bytes, kind: str) -> Response:
    """Bytes that are sent once and again only when they changed."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)
