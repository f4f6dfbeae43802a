"""`/v1/job-kinds` and `/v1/datasets/…/jobs`: jobs that plain settings describe, from a quote to the job that runs.

Settings are closed lists of declared keys: no code, no pickles, no paths. How far a job is, how to stop it and what it
released are told as of every job, under `/v1/jobs` and `/v1/releases`.
"""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from tacit.base import OverBudget, TacitError
from tacit.engine import Watch
from tacit.server.ask.planned import PlannedJob
from tacit.server.auth.identify import Asks, Looks, Serving
from tacit.server.curate.draft import Strict
from tacit.server.http.ask import Key, claim_key, documented
from tacit.server.problem import named_charge
from tacit.session.kinds import job_kinds

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["jobs"])

Text = Annotated[str, Field(max_length=1000)]
Plain = bool | int | float | Text | None
Setting = Plain | Annotated[list[Plain], Field(max_length=1000)]
EXAMPLE = {
    "kind": "train",
    "settings": {"model": "logistic", "table": "visits", "features": ["age", "cost"], "label": "ward", "epsilon": 1},
}
KINDS = documented(
    "Each kind of job, and every key that its settings may have.",
    {
        "items": [
            {
                "kind": "train",
                "title": "Train a model",
                "words": "A model, with noise in what it learns.",
                "makes": "model",
                "keys": [
                    {
                        "name": "epsilon",
                        "words": "What the model may cost one unit.",
                        "is": "number",
                        "shape": "number",
                        "options": [],
                        "required": True,
                        "default": None,
                        "example": 1,
                        "suggests": "",
                        "shown": True,
                        "only": {},
                    }
                ],
            }
        ]
    },
)
QUOTED = documented(
    "What it would cost, and what would be left. Free.",
    {
        "kind": "train",
        "title": "Train a model: logistic of visits",
        "cost": {"epsilon": "1", "delta": "0.000001"},
        "left": {"epsilon": "3", "delta": "0.000001"},
        "enough": True,
        "expected": [],
        "notes": [],
        "hints": [],
        "idempotency_key": "4b0e8c1f5a3d92670c1e7f3b5a9d2c4e6f8a0b1d",
        "answered": False,
        "versioned": True,
    },
)
TAKEN = documented(
    "It was taken, or runs already under this key: `GET /v1/jobs/{id}` says how far it is.",
    {"id": "0f3c5a", "state": "queued", "dataset": "clinic", "title": "Train a model", "idempotency_key": "4b0e8c"},
    status=202,
)


class JobBody(Strict, json_schema_extra={"examples": [EXAMPLE]}):
    """A kind of job and its settings, by the keys that `GET /v1/job-kinds` lists."""

    kind: Annotated[str, Field(min_length=1, max_length=100)]
    settings: Annotated[dict[Annotated[str, Field(max_length=100)], Setting], Field(max_length=100)]


@router.get("/job-kinds", responses=KINDS)
def list_job_kinds(who: Looks) -> JSONResponse:
    """The kinds of jobs that plain settings describe, and the keys of each."""
    return JSONResponse({"items": [kind.json() for kind in job_kinds()]})


@router.post("/datasets/{dataset}/jobs/quote", responses=QUOTED)
def quote_job(dataset: str, body: JobBody, who: Asks, service: Serving) -> JSONResponse:
    """What a job would cost, and what it would do. Free: it is planned and priced, and nothing is looked at."""
    planned = PlannedJob.of(service.datasets, who, dataset, body.kind, body.settings)
    told: dict[str, Any] = {"kind": body.kind, "title": planned.title, **planned.quote().json()}
    with suppress(TacitError):  # the data cannot be reached now: the charge has no name
        key = planned.key()
        told |= {**named_charge(key.name), "answered": key.answered, "versioned": key.versioned}
    service.metrics.question(dataset, "quoted")
    return JSONResponse(told)


@router.post("/datasets/{dataset}/jobs", status_code=202, responses=TAKEN)
def start_job(
    dataset: str, body: JobBody, request: Request, who: Asks, service: Serving, key: Key = None
) -> JSONResponse:
    """Start a job: it is paid for before anything is looked at, once under one key. Started again under its key, a job
    that was stopped or lost goes on where it was, and one that runs is told of."""
    planned = PlannedJob.of(service.datasets, who, dataset, body.kind, body.settings)
    own = planned.key()
    if key is not None and key != own.name:
        claim_key(service, who, dataset, key, body)
    request.state.key = charge = key or own.name
    quote = planned.quote()
    # what is refused is refused now, unless it may be charged already
    if not (quote.enough or own.answered or service.jobs.known(who, dataset, charge)):
        raise OverBudget(
            f"the budget has too little left for this job: {quote.lines[0]}; nothing was charged. Take a smaller "
            "price, or ask a curator for more"
        )

    def work(watch: Watch) -> str:
        return service.shelf.put(who, dataset, planned.title, planned.spend(key=charge, watch=watch))

    name = service.jobs.start(who, dataset, work, key=charge, title=planned.title)
    service.metrics.question(dataset, "asked")
    headers = {"Location": f"/v1/jobs/{name}", "Idempotency-Key": charge}
    return JSONResponse(service.jobs.find(who, name).json(), status_code=202, headers=headers)
