"""`/v1/datasets/…/quote` and `…/ask`: a question, at once or as a job; and `/v1/jobs`."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from hashlib import sha256
from io import BytesIO
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from tacit.base import Number, TacitError
from tacit.desk import ChargeKey
from tacit.engine import Watch
from tacit.server.ask.jobs import Job
from tacit.server.ask.opened import Basis
from tacit.server.auth.identify import Asks, Looks, Serving
from tacit.server.auth.people import Identity
from tacit.server.db import keys
from tacit.server.memory import Answered, Quoted
from tacit.server.ops.service import Service
from tacit.server.problem import Problem
from tacit.session import Quote, Release

__all__ = ["ANSWERED", "ARROW", "CSV", "HTML", "JSON", "Question", "answered", "media", "quoted", "router"]

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
HTML = "text/html"
SQL = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"

# digits are bounded, so that no number can be written that takes long to read
Positive = Annotated[Decimal, Field(gt=0, le=10**12, max_digits=45, decimal_places=30)]
Share = Annotated[Decimal, Field(gt=0, lt=1, max_digits=20, decimal_places=20)]


class Question(BaseModel):
    """A question in SQL, and one of: what to spend as `epsilon` or `rho`, or the `error` to reach."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"sql": SQL, "epsilon": 0.5}, {"sql": SQL, "error": 100}]},
    )

    sql: str = Field(min_length=1, max_length=50_000)
    epsilon: Positive | None = None
    rho: Positive | None = None
    error: Positive | None = None
    confidence: Share = Decimal("0.95")

    def offer(self) -> dict[str, Number | None]:
        """The arguments of `quote` and `ask`."""
        return {"epsilon": self.epsilon, "rho": self.rho, "error": self.error}


ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, with an interval for each noisy number.",
        "content": {
            JSON: {
                "example": {
                    "id": "5f2c9d0e8a7b4c61b0f3d2e1a4958677",
                    "key": "4b0e8c1f5a3d92670c1e7f3b5a9d2c4e6f8a0b1d",
                    "cached": False,
                    "columns": ["ward", "visits"],
                    "rows": [["east", 15895], ["north", 12031]],
                    "intervals": {"visits": [[15775.0, 11911.0], [16015.0, 12151.0]]},
                    "confidence": 0.95,
                    "notes": ["what one patient adds beyond its clip is scaled down"],
                    "facts": {"dataset": "clinic", "unit": "patient", "cost": {"epsilon": "0.5", "delta": "0"}},
                }
            },
            CSV: {"example": "ward,visits,visits_low,visits_high\neast,15895,15775,16015\n"},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


def media(request: Request, forms: tuple[str, ...] = (JSON, CSV, ARROW)) -> str:
    """The form of the answer that the caller likes best, by the weights of Accept. Settled before anything is paid."""
    accept = request.headers.get("accept", "*/*") or "*/*"
    best, weight = "", 0.0
    for part in accept.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        here = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        try:
            quality = float(here)
        except ValueError:
            quality = 0.0
        offered = [form for form in forms if kind in (form, form.split("/")[0] + "/*", "*/*")]
        if offered and quality > weight:
            best, weight = offered[0], quality
    if not best:
        raise Problem(406, "accept", "This format is not offered", f"accept {' or '.join(forms)}")
    return best


def answered(release: Release, form: str, *, name: str, cached: bool, key: str | None = None, **more: Any) -> Response:
    """A release in one of the forms, with the key of its charge where it was asked for just now."""
    headers = {"Tacit-Release": name, "Tacit-Cached": str(cached).lower(), "Vary": "Accept"}
    if key is not None:
        headers["Idempotency-Key"] = key
        more["key"] = key
    if form == JSON:
        return JSONResponse({"id": name, **more, "cached": cached, **release.json()}, headers=headers)
    if form == ARROW:
        return Response(release.to_bytes(), media_type=ARROW, headers=headers)
    out = BytesIO()
    release.to_csv(out)
    return Response(out.getvalue(), media_type=CSV, headers=headers)


router = APIRouter(prefix="/v1")
OURS = re.compile(r"[0-9a-f]{40}")  # how keys look that the service made

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Names the charge: the same key with the same question never pays twice. Left out, the service "
        "names it, and says how: in `key` of the quote, the answer, the job and the problem.",
        examples=["7d1f0c52-first-try"],
    ),
]
Prefer = Annotated[str | None, Header(description="`respond-async` answers at once with a job.", max_length=200)]

QUOTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What it would cost, the error to expect, and what would be left. Free.",
        "content": {
            "application/json": {
                "example": {
                    "cost": {"epsilon": "0.5", "delta": "0"},
                    "left": {"epsilon": "1.5", "delta": "0.000001"},
                    "enough": True,
                    "expected": [{"column": "visits", "error": 120.0, "words": "± 120"}],
                    "notes": [],
                    "hints": [],
                    "columns": [{"name": "ward", "type": "text"}, {"name": "visits", "type": "integer"}],
                    "key": "4b0e8c1f5a3d92670c1e7f3b5a9d2c4e6f8a0b1d",
                    "answered": False,
                    "versioned": True,
                }
            }
        },
    }
}
TAKEN: dict[int | str, dict[str, Any]] = {
    202: {
        "description": "It was taken as a job (`Prefer: respond-async`).",
        "content": {
            "application/json": {"example": {"id": "0f3c5a", "state": "queued", "dataset": "clinic", "key": "4b0e8c"}}
        },
    }
}


@router.post("/datasets/{dataset}/quote", responses=QUOTED, tags=["ask"])
def quote(dataset: str, question: Question, request: Request, who: Asks, service: Serving) -> JSONResponse:
    """What a question would cost. Free: nothing is looked at."""
    opened = service.desk.opened(who, dataset)
    take = service.desk.quoting(who, dataset, question.sql, **question.offer(), confidence=question.confidence)
    key = partial(_key, service, who, dataset, question)
    if (place := getattr(request.state, "place", None)) is not None:
        with suppress(Problem):
            service.memory.keep((who, media(request), *place), Quoted(opened=opened, take=take, key=key))
    return quoted(service, dataset, take, key)


def quoted(service: Service, dataset: str, take: Callable[[], Quote], key: Callable[[], ChargeKey]) -> JSONResponse:
    """A quote as it is sent, with the name of the charge; without where the data cannot be reached now."""
    found = take()
    more: dict[str, Any] = {"columns": [{"name": name, "type": kind} for name, kind in found.columns]}
    with suppress(TacitError):
        named = key()
        more |= {"key": named.name, "answered": named.answered, "versioned": named.versioned}
    service.metrics.question(dataset, "quoted")
    return JSONResponse({**found.json(), **more})


def _key(service: Service, who: Identity, dataset: str, question: Question) -> ChargeKey:
    return service.desk.key(who, dataset, question.sql, **question.offer(), confidence=question.confidence)


@router.post("/datasets/{dataset}/ask", responses={**ANSWERED, **TAKEN}, tags=["ask"])
async def ask(
    dataset: str,
    question: Question,
    request: Request,
    who: Asks,
    service: Serving,
    key: Key = None,
    prefer: Prefer = None,
) -> Response:
    """The answer, after it is paid for. While the data are known to be the same, asked again it is free, with the same
    noise; under the same key it is always free."""
    work = partial(_ask, dataset, question, request, who, service, key, prefer)
    return await service.asking.run(who.name, work, getattr(request.state, "gone", lambda: False))


def _ask(
    dataset: str,
    question: Question,
    request: Request,
    who: Identity,
    service: Service,
    key: str | None,
    prefer: str | None,
    watch: Watch,
) -> Response:
    form = media(request)
    service.desk.opened(who, dataset)
    charge = _charge(service, who, dataset, key, question)
    request.state.key = charge  # told with whatever comes of it

    def work(watch: Watch) -> tuple[str, Release]:
        found = service.desk.ask(
            who, dataset, question.sql, **question.offer(), confidence=question.confidence, key=charge, watch=watch
        )
        return service.shelf.lay(who, dataset, question.sql, found), found

    service.metrics.question(dataset, "asked")
    if prefer is not None and "respond-async" in [part.strip().lower() for part in prefer.split(",")]:
        service.desk.quote(who, dataset, question.sql, **question.offer(), confidence=question.confidence)
        name = service.jobs.start(who, dataset, lambda watch: work(watch)[0], key=charge)
        headers = {"Location": f"/v1/jobs/{name}", "Preference-Applied": "respond-async"}
        return JSONResponse(_job(service.jobs.find(who, name)), status_code=202, headers=headers)
    place = getattr(request.state, "place", None) if key is None and service.desk.inline(dataset) else None
    basis = None if place is None else _basis(service, who, dataset, question)
    name, found = work(watch)
    if place is not None and basis is not None and basis == _basis(service, who, dataset, question):
        again = answered(found, form, name=name, cached=True, key=charge)
        kept = Answered(basis=basis, body=bytes(again.body), headers=tuple(again.raw_headers))
        service.memory.keep((who, form, *place), kept)
    return answered(found, form, name=name, cached=found.cached, key=charge)


def _charge(service: Service, who: Identity, dataset: str, key: str | None, question: Question) -> str:
    """The name of the charge: the caller's, which then belongs to this very question; or ours, which is the same for
    everything that is spelled another way and means the same."""
    if key is not None and not OURS.fullmatch(key):
        _claim(service, who, dataset, key, question)
        return key
    name = _key(service, who, dataset, question).name
    if key is not None and key != name:
        _claim(service, who, dataset, key, question)
    return key or name


def _basis(service: Service, who: Identity, dataset: str, question: Question) -> Basis | None:
    """What the answer rests on. Taken before and after: data that changed on the way belong to neither state."""
    try:
        return service.desk.basis(who, dataset, question.sql, **question.offer(), confidence=question.confidence)
    except TacitError:
        return None  # asking says what is wrong


def _claim(service: Service, who: Identity, dataset: str, key: str, question: Question) -> None:
    """A key belongs to the question it was first used for: another one is refused, before anything is charged."""
    asked = sha256(json.dumps(question.model_dump(mode="json"), sort_keys=True).encode()).digest()
    place = (keys.c.owner == who.name) & (keys.c.dataset == dataset) & (keys.c.key == key)
    if service.state.insert_once(keys, owner=who.name, dataset=dataset, key=key, question=asked):
        return
    with service.state.reading() as connection:
        first = connection.execute(select(keys.c.question).where(place)).scalar_one()
    if first != asked:
        raise Problem(
            422,
            "key-reused",
            "This key is another question's",
            "this Idempotency-Key was used with another question or offer: nothing was charged; choose a new key",
        )


@router.get("/jobs", tags=["jobs"])
def list_jobs(who: Looks, service: Serving) -> JSONResponse:
    """Your newest jobs."""
    return JSONResponse({"items": [_job(job) for job in service.jobs.listed(who)]})


@router.get("/jobs/{job}", tags=["jobs"])
def one_job(job: str, who: Looks, service: Serving) -> JSONResponse:
    """How far a job is; when it is done, the release it made."""
    return JSONResponse(_job(service.jobs.find(who, job)))


@router.delete("/jobs/{job}", tags=["jobs"])
def cancel_job(job: str, who: Looks, service: Serving) -> JSONResponse:
    """Stop a job. Nothing is given back: what was charged stays charged. Asked again with its `key` as Idempotency-Key,
    the question is answered under that charge."""
    return JSONResponse(_job(service.jobs.cancel(who, job)))


def _job(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = {"id": job.id, "dataset": job.dataset, "state": job.state, "created": job.created}
    if job.key is not None:
        found["key"] = job.key
    if job.share is not None:
        found["progress"] = job.share
    if job.release is not None:
        found["release"] = f"/v1/releases/{job.release}"
    if job.problem is not None:
        found["problem"] = job.problem
    return found
