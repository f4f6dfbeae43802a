"""`/static`: scripts and styles of the console, by name out of one folder. Nobody has to sign in to see them."""

import re
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request, Response

from tacit.base import TacitError
from tacit.server.problem import Problem

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "static"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,60}\.(js|css|svg)")
KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}


@router.get("/static/vega.js")
def vega(request: Request) -> Response:
    """What draws charts in the browser: the bundle that was installed with the package."""
    try:
        from tacit.plot.bundle import script

        return kept(request, script(), KINDS["js"])
    except (ImportError, TacitError):
        detail = "charts need more on the service: pip install 'tacit[plot]'"
        raise Problem(501, "no-plot", "No charts here", detail) from None


@router.get("/static/{name}")
def static(name: str, request: Request) -> Response:
    """One file. A browser may keep it, and asks whether it is still the same."""
    found = NAME.fullmatch(name)
    path = FOLDER / name
    if found is None or not path.is_file():
        raise Problem(404, "no-route", "There is nothing here", "there is no such file")
    return kept(request, path.read_bytes(), KINDS[found[1]])


def kept(request: Request, content: bytes, kind: str) -> Response:
    """Bytes that are sent once and again only when they changed."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)
