"""The pages of surveys: where people answer, on their own devices, and where the results are shown."""

import json
import re
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

import tacit.survey
from tacit.server.api_survey import Asked, seen
from tacit.server.console.static import KINDS, kept
from tacit.server.identify import Serving
from tacit.server.problem import Problem
from tacit.server.survey.bars import drawn
from tacit.survey.results import meaning

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

OWN = Path(__file__).parent / "static"
DEVICE = Path(tacit.survey.__file__).parent / "static"
NAME = re.compile(r"[a-z][a-z0-9-]{0,60}\.(js|css)")

_templates = Environment(
    loader=PackageLoader("tacit.server.survey"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@router.get("/survey-static/{name}")
def static(name: str, request: Request) -> Response:
    """A script or a style of the pages, and the module that runs on devices."""
    found = NAME.fullmatch(name)
    path = next((place / name for place in (OWN, DEVICE) if found and (place / name).is_file()), None)
    if found is None or path is None:
        raise Problem(404, "no-route", "There is nothing here", "there is no such file")
    return kept(request, path.read_bytes(), KINDS[found[1]])


@router.get("/s/worker.js")
def worker(request: Request) -> Response:
    """What keeps the pages for when there is no network; it has to lie above them."""
    return kept(request, (OWN / "worker.js").read_bytes(), KINDS["js"])


@router.get("/s/{survey}")
def respond(survey: str, surveys: Asked) -> Response:
    """Where somebody answers. The page is all that is needed: it works without a network from then on."""
    known = surveys.named(survey)
    terms = json.dumps(surveys.terms(known), ensure_ascii=True).replace(
        "<", "\\u003c"
    )  # so that no text can end the element
    told = {"known": known, "terms": terms, "meaning": meaning(float(known.epsilon))}
    return _page("respond.html", title=known.title, **told)


@router.get("/s/{survey}/results")
async def results(survey: str, request: Request, surveys: Asked, service: Serving) -> Response:
    """What the reports say together."""
    known = await run_in_threadpool(surveys.named, survey)
    await run_in_threadpool(seen, known, request, service)
    found = await run_in_threadpool(surveys.results, known)
    charts = [drawn(known.questions[finding.name], finding) for finding in found.findings]
    told = {"known": known, "results": found, "charts": charts, "meaning": meaning(float(known.epsilon))}
    return _page("results.html", title=f"Results: {known.title}", **told)


def _page(template: str, **context: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(template).render(**context))
