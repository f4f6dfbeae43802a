"""The page in front of the door: a button for whoever has a link, and for everybody else how to get one."""

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import HTMLResponse

from tacit.server.console.render import page
from tacit.server.identify import service_of

__all__ = ["door_page"]


def door_page(
    request: Request, *, link: str = "", status: int = 200, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """How to come in. A browser that was sent here by another site did not show its session: it tries again itself."""
    return page(
        request,
        None,
        "signin.html",
        title="Sign in",
        status=status,
        headers=headers,
        link=link,
        refused=status == 401,
        provider=service_of(request).oidc is not None,
        sent=status == 401 and request.headers.get("sec-fetch-site") == "cross-site",
    )
