"""`/v1/surveys`: what a device has to know, the reports it sends, and what they say together."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from tacit.policy.declaration import number
from tacit.server.auth.identify import Governs, Looks, Serving, allowed, service_of
from tacit.server.curate.draft import flagged
from tacit.server.http.ask import CSV, JSON, media
from tacit.server.ops.service import Service
from tacit.server.survey.collect import EXCHANGE, SCHEMA
from tacit.server.survey.draft import Count, SurveyDraft, Trial, forecast
from tacit.server.survey.save import checked, save
from tacit.server.survey.surveys import Surveys
from tacit.survey.certificate import certificate_of
from tacit.survey.invitation import Invitations
from tacit.survey.survey import Survey

__all__ = ["Asked", "Looks", "router", "seen", "surveys_of"]

router = APIRouter(prefix="/v1/surveys", tags=["surveys"])

SENT: dict[str, Any] = {"requestBody": {"required": True, "content": {JSON: {"schema": SCHEMA}}}}
EXCHANGED: dict[str, Any] = {"requestBody": {"required": True, "content": {JSON: {"schema": EXCHANGE}}}}
TAKEN: dict[int | str, dict[str, Any]] = {
    200: {"description": "It is on disk.", "content": {JSON: {"example": {"counted": True}}}}
}
KINDS: dict[int | str, dict[str, Any]] = {200: {"description": "Estimates.", "content": {JSON: {}, CSV: {}}}}


def surveys_of(request: Request) -> Surveys:
    """The surveys that are served; every request about them is counted by its address."""
    found = service_of(request).surveys
    found.rate.take(request.client.host if request.client else "?")
    return found


Asked = Annotated[Surveys, Depends(surveys_of)]


def seen(survey: Survey, request: Request, service: Service) -> None:
    """Whoever asks may see the results of this survey: everybody, or those who are known."""
    if not survey.public_results:
        allowed("look")(request)


@router.get("")
def list_surveys(who: Looks, service: Serving) -> JSONResponse:
    """Every survey, with how many answered, and whether it is open, closed, or opens later."""
    surveys = service.surveys
    found = [
        {
            "survey": name,
            "title": survey.title,
            "submissions": surveys.store.size(survey),
            "state": surveys.standing(survey),
            "opens": None if survey.opens is None else survey.opens.isoformat(),
            "closes": None if survey.closes is None else survey.closes.isoformat(),
            "epsilon": number(survey.epsilon),
            "questions": len(survey.questions),
            "public_results": survey.public_results,
            "invitations": _invitations(surveys, survey),
        }
        for name, survey in surveys.every().items()
    ]
    return JSONResponse({"items": found})


def _invitations(surveys: Surveys, survey: Survey) -> dict[str, Any] | None:
    """How many codes there are and how many were used; None where anybody may answer."""
    if survey.invitations is Invitations.NONE:
        return None
    made, used = surveys.store.invited(survey)
    return {"kind": survey.invitations.value, "made": made, "used": used}


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
    address = request.client.host if request.client else "?"
    body = await request.body()
    signature = await run_in_threadpool(lambda: surveys.exchange(known, body, address=address))
    return JSONResponse({"signature": signature})


@router.post("/{survey}/reports", responses=TAKEN, openapi_extra=SENT)
async def report(survey: str, request: Request) -> Response:
    """Take what one device sent: randomised reports, never answers. No one has to say who they are.

    It is on disk when this answers. The same `id` again is thanked again and counted once: `counted` is false then.
    """
    request.state.unlogged = True  # a line of the log would say when somebody answered
    surveys = service_of(request).surveys
    address = request.client.host if request.client else "?"
    return Response(await surveys.take(survey, await request.body(), address=address), media_type=JSON)


@router.get("/{survey}/results", responses=KINDS)
async def results(
    survey: str, request: Request, surveys: Asked, service: Serving, form: Literal["json", "csv"] | None = None
) -> Response:
    """Estimates with intervals, raw and consistent, as JSON or CSV: by Accept, or by `form`."""
    known = await run_in_threadpool(surveys.named, survey)
    await run_in_threadpool(seen, known, request, service)
    kind = media(request, (JSON, CSV)) if form is None else {"json": JSON, "csv": CSV}[form]
    found = await run_in_threadpool(surveys.results, known)
    if kind == CSV:
        headers = {"Vary": "Accept", "Content-Disposition": f'attachment; filename="{known.name}.csv"'}
        return Response(found.csv(), media_type=CSV, headers=headers)
    return JSONResponse(found.json(), headers={"Vary": "Accept"})


@router.get("/{survey}/certificate")
async def certificate(survey: str, request: Request, surveys: Asked, service: Serving) -> Response:
    """What respondents were promised, how reports were made, and what was counted, signed if the service has a key."""
    known = await run_in_threadpool(surveys.named, survey)
    await run_in_threadpool(seen, known, request, service)

    def made() -> dict[str, Any]:
        return certificate_of(surveys.results(known), surveys.store.counted(known).tallies, signer=service.signer)

    return JSONResponse(await run_in_threadpool(made))
