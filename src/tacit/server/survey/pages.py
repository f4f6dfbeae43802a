"""The pages of surveys: where people answer, on their own devices, and where the results are shown."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

import tacit.survey
from tacit.server.auth.identify import Serving
from tacit.server.console.render import KINDS, kept
from tacit.server.http.survey import Asked, seen
from tacit.server.problem import HttpProblem
from tacit.survey.question import Question
from tacit.survey.results import QuestionResult, meaning

__all__ = ["Bar", "Chart", "drawn", "router"]

WIDE = 1000.0
MOST = 40  # lines shown; the rest is in the files


@dataclass(frozen=True)
class Bar:
    """One estimate: its name, what is said of it, and places on the line."""

    answer: str
    said: str
    raw: str
    fill: float
    dot: float
    low: float
    high: float


@dataclass(frozen=True)
class Chart:
    """One question. `share` says that bars begin at 0; `more` lines are not shown."""

    finding: QuestionResult
    share: bool
    begin: str
    end: str
    bars: tuple[Bar, ...]
    more: int
    margin: str
    central: str
    way: str
    mean: str


def drawn(question: Question, finding: QuestionResult) -> Chart:
    """The chart of a finding; the largest shares first where there are many."""
    share = finding.unit == "share"
    lines = finding.lines if len(finding.lines) <= MOST else sorted(finding.lines, key=lambda x: -x.value)[:MOST]
    if share or question.range is None:
        low, high = 0.0, max([line.upper for line in lines], default=1.0)
        high = min(1.0, max(high, 0.05) * 1.05)
    else:
        low, high = (float(end) for end in question.range)

    def place(value: float) -> float:
        return round(WIDE * min(1.0, max(0.0, (value - low) / (high - low))), 1)

    def told(value: float) -> str:
        return f"{100 * value:.1f} %" if share else f"{value:.4g}"

    bars = tuple(
        Bar(
            answer=line.answer,
            said=f"{told(line.consistent)} ({told(line.lower)} to {told(line.upper)})",
            raw=told(line.value),
            fill=place(line.consistent),
            dot=place(line.value),
            low=place(line.lower),
            high=place(line.upper),
        )
        for line in lines
    )
    widest = max([(line.upper - line.lower) / 2 for line in lines], default=0.0)
    return Chart(
        finding=finding,
        share=share,
        begin=told(low),
        end=told(high),
        bars=bars,
        more=len(finding.lines) - len(lines),
        margin=_width(widest, share),
        central=_width(finding.central or 0.0, share),
        way=finding.way,
        mean=_mean(finding),
    )


def _mean(finding: QuestionResult) -> str:
    found = finding.mean
    return "" if found is None else f"{found.consistent:.4g} ({found.lower:.4g} to {found.upper:.4g})"


def _width(half: float, share: bool) -> str:
    return f"± {100 * half:.2g} points" if share else f"± {half:.2g}"


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
        raise HttpProblem(404, "no-route", "There is nothing here", "there is no such file")
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
