"""How a page is made: one environment of templates, everything escaped, and a frame that knows who looks.

A page of ours runs scripts and styles from `/static` alone, so nothing here may write either into the page itself.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.server.identify import COOKIE, guard_of
from tacit.server.people import Identity
from tacit.server.rights import RIGHTS, Right

__all__ = ["NAVIGATION", "Entry", "page", "wants_page"]


class Entry(NamedTuple):
    """A place in the navigation, shown to whoever has the right."""

    path: str
    label: str
    right: Right


NAVIGATION = (
    Entry("/ask", "Ask", "ask"),
    Entry("/budget", "Budget", "look"),
    Entry("/surveys", "Surveys", "look"),
    Entry("/curator", "Curator", "watch"),
    Entry("/lab", "Lab", "look"),
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
