"""The console's pages: frames with names and rights; what is in them comes by the interface that programs use.

A page of ours runs scripts and styles from `/static` alone, so nothing here may write either into the page itself.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit.attack.registry import ATTACKS
from tacit.base import TacitError
from tacit.policy.choose import choose_budget
from tacit.policy.kind import ColumnType
from tacit.server.auth import identify
from tacit.server.auth.people import ROLES, Identity
from tacit.server.problem import HttpProblem, problem_of

__all__ = ["door_page", "file_of", "page", "problem_page", "router", "templates_of", "wants_page"]

router = APIRouter(include_in_schema=False)


# path, label, and the right that it is shown by
NAVIGATION = (
    ("/ask", "Ask", "ask"),
    ("/jobs", "Jobs", "ask"),
    ("/budget", "Budget", "look"),
    ("/surveys", "Surveys", "look"),
    ("/markets", "Markets", "look"),
    ("/curator", "Curator", "watch"),
    ("/lab", "Lab", "look"),
)


def templates_of(package: str) -> Environment:
    """The templates of a package, which escape everything."""
    loader = PackageLoader(package)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


_templates = templates_of("tacit.server.console")


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
    session = request.cookies.get(identify.COOKIE)
    may = {right for right, roles in identify.RIGHTS.items() if who is not None and who.role in roles}
    text = _templates.get_template(template).render(
        title=title,
        who=who,
        here=request.url.path,
        csrf="" if session is None or who is None else identify.guard_of(session),
        navigation=[(path, label) for path, label, right in NAVIGATION if right in may],
        may=may,
        **context,
    )
    return HTMLResponse(text, status_code=status, headers={"Vary": "Accept, Cookie", **(headers or {})})


def wants_page(request: Request) -> bool:
    """Whether a person with a browser is looking, and not a program."""
    return "text/html" in request.headers.get("accept", "").lower()


# --- files that pages are made of

FOLDER = Path(__file__).parent / "static"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,60}\.(js|css|svg)")
KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}


@router.get("/static/vega.js")
def vega(request: Request) -> Response:
    """What draws charts in the browser: the bundle that was installed with the package."""
    try:
        from tacit.plot.page import script

        return _kept(request, script(), KINDS["js"])
    except (ImportError, TacitError):
        detail = "charts need more on the service: pip install 'tacit[plot]'"
        raise HttpProblem(501, "no-plot", "No charts here", detail) from None


@router.get("/static/{name}")
def static(name: str, request: Request) -> Response:
    """A script, a style or a picture."""
    return file_of(request, name, FOLDER)


def file_of(request: Request, name: str, *folders: Path) -> Response:
    """One file of these folders. A browser may keep it, and asks whether it is still the same."""
    found = NAME.fullmatch(name)
    path = next((folder / name for folder in folders if found and (folder / name).is_file()), None)
    if found is None or path is None:
        raise HttpProblem(404, "no-route", "There is nothing here", "there is no such file")
    return _kept(request, path.read_bytes(), KINDS[found[1]])


def _kept(request: Request, content: bytes, kind: str) -> Response:
    """Bytes that are sent once and again only when they changed."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


# --- pages


@router.get("/")
def home(who: identify.Looks) -> Response:
    """To the first page that this person has."""
    return RedirectResponse("/ask" if who.role in identify.RIGHTS["ask"] else "/budget", status_code=303)


@router.get("/ask")
def ask(request: Request, who: identify.Asks, service: identify.Serving) -> Response:
    """Questions and answers."""
    place, wire = service.config.wire_address, ""
    if place is not None:  # where psql comes in, as the reader's machine would call it
        wire = f"{request.url.hostname if place[0] in ('0.0.0.0', '::') else place[0]}:{place[1]}"
    return page(request, who, "ask.html", title="Ask", wire=wire)


# path, whose it is, template, title, what is in it
PAGES: tuple[tuple[str, identify.Right, str, str, dict[str, Any]], ...] = (
    ("/jobs", "ask", "jobs.html", "Jobs", {}),
    ("/budget", "look", "budget.html", "Budget", {}),
    ("/surveys", "look", "surveys.html", "Surveys", {}),
    ("/surveys/new", "govern", "surveys_new.html", "New survey", {}),
    ("/markets", "look", "markets.html", "Markets", {}),
    ("/curator", "watch", "curator.html", "Curator", {}),
    ("/curator/people", "govern", "curator_people.html", "People", {"roles": ROLES}),
    ("/curator/releases", "watch", "curator_releases.html", "Releases", {}),
    ("/curator/requests", "watch", "curator_requests.html", "Requests", {"datasets": ()}),
    ("/lab", "look", "lab.html", "Lab", {"attacks": ATTACKS}),
)


def _plain(right: identify.Right, template: str, title: str, context: Mapping[str, Any]) -> Callable[..., Response]:
    def plain(request: Request, who: Annotated[Identity, Depends(identify.allowed(right))]) -> Response:
        return page(request, who, template, title=title, **context)

    return plain


for _path, _right, _template, _title, _context in PAGES:
    _page = _plain(_right, _template, _title, _context)
    router.add_api_route(_path, _page, methods=["GET"], response_model=None)


@router.get("/curator/declare")
def declare(request: Request, who: identify.Governs, service: identify.Serving) -> Response:
    """A new dataset, step by step."""
    ready = service.config.data is not None or bool(service.config.sources)
    types = [kind.value for kind in ColumnType]
    return page(request, who, "curator_declare.html", title="Declare a dataset", ready=ready, types=types)


CHOICE = {"people": "10000", "rows": "1", "questions": "50", "error": "50", "belief": "90"}  # where the page begins


@router.get("/curator/choose")
def choose(request: Request, who: identify.Watches) -> Response:
    """Which budget? From the accuracy wanted, the odds tolerated and the number of questions."""
    given = {name: request.query_params.get(name, start)[:40].replace(",", "") for name, start in CHOICE.items()}
    choice, problem = None, ""
    try:
        choice = choose_budget(**given)
        choice.budget  # noqa: B018 - what it costs to work out is spent here, where an error is caught
    except TacitError as error:
        problem = str(error)
    status = 400 if problem else 200
    told: dict[str, Any] = {"given": given, "choice": choice, "problem": problem}
    return page(request, who, "curator_choose.html", title="Choose a budget", status=status, **told)


@router.get("/curator/datasets/{dataset}")
def one_dataset(dataset: str, request: Request, who: identify.Watches, service: identify.Serving) -> Response:
    """Who may ask one dataset and how much; its ledger, and what was changed."""
    service.datasets.find(who, dataset)
    return page(request, who, "curator_dataset.html", title=dataset, dataset=dataset)


@router.get("/requests")
def requests(request: Request, who: identify.Looks, service: identify.Serving) -> Response:
    """One's own wishes; those who watch have a page of everybody's."""
    if who.role in identify.RIGHTS["watch"]:
        return RedirectResponse("/curator/requests", status_code=303)
    return page(request, who, "curator_requests.html", title="Requests", datasets=service.datasets.names(who))


def door_page(
    request: Request, *, link: str = "", status: int = 200, headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """How to come in. A browser that was sent here by another site did not show its session: it tries again itself."""
    refused, provider = status == 401, identify.service_of(request).oidc is not None
    sent = refused and request.headers.get("sec-fetch-site") == "cross-site"
    told = {"link": link, "refused": refused, "provider": provider, "sent": sent}
    return page(request, None, "signin.html", title="Sign in", status=status, headers=headers, **told)


def problem_page(request: Request, error: TacitError) -> HTMLResponse:
    """The same status and words as `application/problem+json` has; somebody unknown is told how to come in."""
    told = problem_of(error)
    headers = dict(error.headers) if isinstance(error, HttpProblem) else {}
    detail = str(told["detail"])
    message = detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "!", "?")) else ".")
    if told["status"] == 401:
        return door_page(request, status=401, headers=headers)
    who = None
    with suppress(Exception):  # the page has their navigation; a page about a problem must not make another
        who = identify.recognised(request, identify.service_of(request))
    words = {"heading": told["title"], "message": message, "code": told["status"], "status": told["status"]}
    return page(request, who, "problem.html", title=told["title"], headers=headers, **words)
