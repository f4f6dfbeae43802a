"""`/v1/surveys`: what a device has to know, the reports it sends, and what they say together; and the pages of surveys,
where people answer, on their own devices, and where the results are shown."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool

import tacit.server.survey
import tacit.survey
from tacit.policy.declaration import number
from tacit.server.auth.identify import Governs, Looks, Serving, address_of, allowed, service_of
from tacit.server.console.pages import file_of, templates_of
from tacit.server.curate.draft import flagged
from tacit.server.http.ask import CSV, JSON, documented, media
from tacit.server.survey.collect import EXCHANGE, SCHEMA
from tacit.server.survey.draft import Count, SurveyDraft, Trial, checked, forecast, save
from tacit.server.survey.surveys import Surveys
from tacit.survey.certificate import certificate_of
from tacit.survey.invitation import Invitations
from tacit.survey.question import Question
from tacit.survey.results import QuestionResult, meaning
from tacit.survey.survey import Survey

__all__ = ["pages_router", "router"]

router = APIRouter(prefix="/v1/surveys", tags=["surveys"])

SENT, EXCHANGED = (
    {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}} for schema in (SCHEMA, EXCHANGE)
)
TAKEN = documented("It is on disk.", {"counted": True})
KINDS: dict[int | str, dict[str, Any]] = {200: {"description": "Estimates.", "content": {JSON: {}, CSV: {}}}}


def surveys_of(request: Request) -> Surveys:
    """The surveys that are served; every request about them is counted by its address."""
    found = service_of(request).surveys
    found.rate.take(address_of(request))
    return found


Asked = Annotated[Surveys, Depends(surveys_of)]


def _seen(surveys: Surveys, name: str, request: Request) -> Survey:
    """The survey of this name, if whoever asks may see its results: everybody, or those who are known."""
    survey = surveys.named(name)
    if not survey.public_results:
        allowed("look")(request)
    return survey


@router.get("")
def list_surveys(who: Looks, service: Serving) -> JSONResponse:
    """Every survey, with how many answered, and whether it is open, closed, or opens later."""
    surveys, found = service.surveys, []
    for name, survey in surveys.every().items():
        invitations = None  # anybody may answer
        if survey.invitations is not Invitations.NONE:
            made, used = surveys.store.invited(survey)
            invitations = {"kind": survey.invitations.value, "made": made, "used": used}
        told = {
            "survey": name,
            "title": survey.title,
            "submissions": surveys.store.size(survey),
            "state": surveys.standing(survey),
            "opens": survey.opens and survey.opens.isoformat(),
            "closes": survey.closes and survey.closes.isoformat(),
            "epsilon": number(survey.epsilon),
            "questions": len(survey.questions),
            "public_results": survey.public_results,
            "invitations": invitations,
        }
        found.append(told)
    return JSONResponse({"items": found})


@router.post("", status_code=201)
def save_survey(draft: SurveyDraft, who: Governs, service: Serving) -> JSONResponse:
    """Write the file of a new survey, and take reports on it from now on."""
    return JSONResponse({"survey": save(service.surveys, who, draft)}, status_code=201)


@router.post("/draft")
def try_survey(asked: Trial, who: Governs, service: Serving) -> JSONResponse:
    """What is wrong with a draft, at which field; its file; and what so many answers to it would tell.

    Nothing is kept. A forecast is given as soon as questions and epsilon are there.
    """
    found = checked(service.surveys, asked.survey)
    told, problems = (None, []) if found.sketch is None else forecast(found.sketch, asked)
    every = [flagged(problem) for problem in (*found.problems, *problems)]
    return JSONResponse({"valid": found.survey is not None, "problems": every, "toml": found.text, "forecast": told})


@router.get("/{survey}")
def terms(survey: str, surveys: Asked) -> JSONResponse:
    """The questions, and everything a device needs to randomise their answers. No one has to say who they are."""
    return JSONResponse(surveys.terms(surveys.named(survey)))


@router.post("/{survey}/invitations", status_code=201)
def invite(survey: str, wanted: Count, who: Governs, service: Serving) -> JSONResponse:
    """Make invitation codes. They are told this once: the service keeps their digests alone."""
    surveys = service.surveys
    codes = surveys.invite(surveys.named(survey), wanted.count)
    return JSONResponse({"survey": survey, "codes": codes}, status_code=201)


@router.post("/{survey}/token", openapi_extra=EXCHANGED)
async def exchange(survey: str, request: Request) -> JSONResponse:
    """A token for a code: the signature on a form that hides it. The code is used up; the same form may ask again."""
    surveys = service_of(request).surveys
    known = await run_in_threadpool(surveys.named, survey)
    body = await request.body()
    signature = await run_in_threadpool(surveys.exchange, known, body, address=address_of(request))
    return JSONResponse({"signature": signature})


@router.post("/{survey}/reports", responses=TAKEN, openapi_extra=SENT)
async def report(survey: str, request: Request) -> Response:
    """Take what one device sent: randomised reports, never answers. No one has to say who they are.

    It is on disk when this answers. The same `id` again is thanked again and counted once: `counted` is false then.
    """
    request.state.unlogged = True  # a line of the log would say when somebody answered
    surveys = service_of(request).surveys
    told = await surveys.take(survey, await request.body(), address=address_of(request))
    return Response(told, media_type=JSON)


@router.get("/{survey}/results", responses=KINDS)
def results(survey: str, request: Request, surveys: Asked, form: Literal["json", "csv"] | None = None) -> Response:
    """Estimates with intervals, raw and consistent, as JSON or CSV: by Accept, or by `form`."""
    known = _seen(surveys, survey, request)
    kind = media(request, (JSON, CSV)) if form is None else {"json": JSON, "csv": CSV}[form]
    found = surveys.results(known)
    if kind == CSV:
        headers = {"Vary": "Accept", "Content-Disposition": f'attachment; filename="{known.name}.csv"'}
        return Response(found.csv(), media_type=CSV, headers=headers)
    return JSONResponse(found.json(), headers={"Vary": "Accept"})


@router.get("/{survey}/certificate")
def certificate(survey: str, request: Request, surveys: Asked, service: Serving) -> Response:
    """What respondents were promised, how reports were made, and what was counted, signed if the service has a key."""
    known = _seen(surveys, survey, request)
    tallies = surveys.store.counted(known).tallies
    return JSONResponse(certificate_of(surveys.results(known), tallies, signer=service.signer))


# --- pages

pages_router = APIRouter(include_in_schema=False)

OWN = Path(tacit.server.survey.__file__).parent / "static"
DEVICE = Path(tacit.survey.__file__).parent / "static"
WIDE = 1000.0
MOST = 40  # lines shown; the rest is in the files

_templates = templates_of("tacit.server.survey")


@pages_router.get("/survey-static/{name}")
def static(name: str, request: Request) -> Response:
    """A script or a style of the pages, and the module that runs on devices."""
    return file_of(request, name, OWN, DEVICE)


@pages_router.get("/s/worker.js")
def worker(request: Request) -> Response:
    """What keeps the pages for when there is no network; it has to lie above them."""
    return file_of(request, "worker.js", OWN)


@pages_router.get("/s/{survey}")
def respond(survey: str, surveys: Asked) -> Response:
    """Where somebody answers. The page is all that is needed: it works without a network from then on."""
    known = surveys.named(survey)
    terms = json.dumps(surveys.terms(known)).replace("<", "\\u003c")  # so that no text can end the element
    return _page("respond.html", known, title=known.title, terms=terms)


@pages_router.get("/s/{survey}/results")
def results_page(survey: str, request: Request, surveys: Asked) -> Response:
    """What the reports say together."""
    known = _seen(surveys, survey, request)
    found = surveys.results(known)
    charts = [_chart(known.questions[finding.name], finding) for finding in found.findings]
    return _page("results.html", known, title=f"Results: {known.title}", results=found, charts=charts)


def _page(template: str, known: Survey, **context: Any) -> HTMLResponse:
    told = {"known": known, "meaning": meaning(float(known.epsilon)), **context}
    return HTMLResponse(_templates.get_template(template).render(**told))


def _chart(question: Question, finding: QuestionResult) -> dict[str, Any]:
    """One question's bars, with their places on the line; the largest shares first where there are many. `share` says
    that bars begin at 0; `more` lines are not shown."""
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

    def width(half: float) -> str:
        return f"± {100 * half:.2g} points" if share else f"± {half:.2g}"

    bars = [
        {
            "answer": line.answer,
            "said": f"{told(line.consistent)} ({told(line.lower)} to {told(line.upper)})",
            "raw": told(line.value),
            "fill": place(line.consistent),
            "dot": place(line.value),
            "low": place(line.lower),
            "high": place(line.upper),
        }
        for line in lines
    ]
    mean, more = finding.mean, len(finding.lines) - len(lines)
    return {
        "finding": finding,
        "share": share,
        "begin": told(low),
        "end": told(high),
        "bars": bars,
        "more": more,
        "margin": width(max([(line.upper - line.lower) / 2 for line in lines], default=0.0)),
        "central": width(finding.central or 0.0),
        "mean": "" if mean is None else f"{mean.consistent:.4g} ({mean.lower:.4g} to {mean.upper:.4g})",
    }
