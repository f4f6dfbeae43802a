"""The console's pages: frames with names and rights; what is in them comes by the interface that programs use."""

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from tacit.base import TacitError
from tacit.policy.kind import ColumnType
from tacit.server.auth.identify import RIGHTS, Asks, Governs, Looks, Serving, Watches, recognised, service_of
from tacit.server.auth.people import ROLES, Identity
from tacit.server.console.render import page
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem, problem_of

__all__ = ["door_page", "problem_page", "router"]

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(who: Looks) -> Response:
    """To the first page that this person has."""
    return RedirectResponse("/ask" if who.role in RIGHTS["ask"] else "/budget", status_code=303)


@router.get("/ask")
def ask(request: Request, who: Asks, service: Serving) -> Response:
    """Questions and answers."""
    return page(request, who, "ask.html", title="Ask", wire=_wire(request, service))


@router.get("/budget")
def budget(request: Request, who: Looks) -> Response:
    """What was spent and what is left."""
    asks, everybody = who.role in RIGHTS["ask"], who.role in RIGHTS["watch"]
    return page(request, who, "budget.html", title="Budget", asks=asks, everybody=everybody)


def _wire(request: Request, service: Service) -> str:
    """Where psql comes in, as the reader's machine would call it; nothing if it does not."""
    place = service.config.wire_address
    if place is None:
        return ""
    everywhere = place[0] in ("0.0.0.0", "::")
    return f"{request.url.hostname if everywhere else place[0]}:{place[1]}"


@router.get("/curator")
def overview(request: Request, who: Watches) -> Response:
    """All datasets, and what waits for a decision."""
    return page(request, who, "curator.html", title="Curator")


@router.get("/curator/declare")
def declare(request: Request, who: Governs, service: Serving) -> Response:
    """A new dataset, step by step."""
    ready = service.config.data is not None or bool(service.config.sources)
    types = [kind.value for kind in ColumnType]
    return page(request, who, "curator_declare.html", title="Declare a dataset", ready=ready, types=types)


@router.get("/curator/datasets/{dataset}")
def one_dataset(dataset: str, request: Request, who: Watches, service: Serving) -> Response:
    """Who may ask one dataset and how much; its ledger, and what was changed."""
    service.datasets.find(who, dataset)
    return page(request, who, "curator_dataset.html", title=dataset, dataset=dataset)


@router.get("/curator/people")
def people(request: Request, who: Governs) -> Response:
    """Who may come in."""
    return page(request, who, "curator_people.html", title="People", roles=ROLES)


@router.get("/curator/releases")
def releases(request: Request, who: Watches) -> Response:
    """Releases and their certificates."""
    return page(request, who, "curator_releases.html", title="Releases")


@router.get("/curator/requests")
def decisions(request: Request, who: Watches) -> Response:
    """Everybody's wishes, to decide about."""
    return page(request, who, "curator_requests.html", title="Requests", datasets=())


@router.get("/requests")
def requests(request: Request, who: Looks, service: Serving) -> Response:
    """One's own wishes; those who watch have a page of everybody's."""
    if who.role in RIGHTS["watch"]:
        return RedirectResponse("/curator/requests", status_code=303)
    return page(request, who, "curator_requests.html", title="Requests", datasets=service.datasets.names(who))


@router.get("/surveys")
def surveys(request: Request, who: Looks) -> Response:
    """Every survey: where to answer it, what came of it."""
    return page(request, who, "surveys.html", title="Surveys", governs=who.role in RIGHTS["govern"])


@router.get("/surveys/new")
def new_survey(request: Request, who: Governs) -> Response:
    """A survey, filled in on a page."""
    return page(request, who, "surveys_new.html", title="New survey")


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


def problem_page(request: Request, error: TacitError) -> HTMLResponse:
    """The same status and words as `application/problem+json` has; somebody unknown is told how to come in."""
    told = problem_of(error)
    headers = dict(error.headers) if isinstance(error, HttpProblem) else {}
    detail = str(told["detail"])
    message = detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "!", "?")) else ".")
    if told["status"] == 401:
        return door_page(request, status=401, headers=headers)
    words = {"heading": told["title"], "message": message, "code": told["status"]}
    return page(
        request, _who(request), "problem.html", title=told["title"], status=told["status"], headers=headers, **words
    )


def _who(request: Request) -> Identity | None:
    """Whoever is signed in, so that the page has its navigation. A page about a problem must not make another."""
    try:
        return recognised(request, service_of(request))
    except Exception:
        return None
