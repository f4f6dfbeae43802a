"""`/v1/datasets/…/quote` and `…/ask`: a question, at once or as a job; and `/v1/jobs`."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from sqlalchemy import select

from tacit.base import TacitError
from tacit.engine import Watch
from tacit.server.ask.datasets import PricedQuestion
from tacit.server.auth.identify import Asks, Looks, Serving
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Strict
from tacit.server.db import keys
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem, named_charge
from tacit.session import Release, TableRelease
from tacit.sql.explain import TITLES
from tacit.sql.offer import OfferTerms

__all__ = [
    "ANSWERED", "CSV", "HTML", "JSON", "TAKEN", "Key", "Positive", "answered", "claim_key", "documented",
    "media", "paged", "router",
]  # fmt: skip

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
HTML = "text/html"
SQL = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"

# digits are bounded, so that no number can be written that takes long to read
Positive = Annotated[Decimal, Field(gt=0, le=10**12, max_digits=45, decimal_places=30)]
Share = Annotated[Decimal, Field(gt=0, lt=1, max_digits=20, decimal_places=20)]


class QuestionBody(Strict, json_schema_extra={"examples": [{"sql": SQL, "epsilon": 0.5}, {"sql": SQL, "error": 100}]}):
    """A question in SQL, and one of: what to spend as `epsilon`, `rho` or `mu_squared`, or the `error` to reach."""

    sql: str = Field(min_length=1, max_length=50_000)
    epsilon: Positive | None = None
    rho: Positive | None = None
    mu_squared: Positive | None = None
    error: Positive | None = None
    confidence: Share = Decimal("0.95")

    def priced(self, service: Service, who: Identity, dataset: str) -> PricedQuestion:
        """This question as somebody asks it of a dataset."""
        offer: OfferTerms = {
            "epsilon": self.epsilon,
            "rho": self.rho,
            "mu_squared": self.mu_squared,
            "error": self.error,
            "confidence": self.confidence,
        }
        return service.datasets.question(who, dataset, self.sql, **offer)


def paged(items: list[dict[str, Any]], limit: int, name: str = "id") -> dict[str, Any]:
    """A page of a list, and after what the next begins."""
    return {"items": items, "next": items[-1][name] if len(items) == limit else None}


def documented(
    description: str, example: dict[str, Any], *, others: Mapping[str, Any] | None = None, status: int = 200
) -> dict[int | str, dict[str, Any]]:
    """How OpenAPI tells of an answer in JSON, and of its `others` by media type."""
    return {status: {"description": description, "content": {JSON: {"example": example}, **(others or {})}}}


ANSWERED = documented(
    "The answer, with an interval for each noisy number.",
    {
        "id": "5f2c9d0e8a7b4c61b0f3d2e1a4958677",
        "idempotency_key": "4b0e8c1f5a3d92670c1e7f3b5a9d2c4e6f8a0b1d",
        "cached": False,
        "columns": ["ward", "visits"],
        "rows": [["east", 15895], ["north", 12031]],
        "intervals": {"visits": [[15775.0, 11911.0], [16015.0, 12151.0]]},
        "confidence": 0.95,
        "notes": ["what one patient adds beyond its clip is scaled down"],
        "facts": {"dataset": "clinic", "unit": "patient", "cost": {"epsilon": "0.5", "delta": "0"}},
    },
    others={
        CSV: {"example": "ward,visits,visits_low,visits_high\neast,15895,15775,16015\n"},
        ARROW: {"schema": {"type": "string", "format": "binary"}},
    },
)


def media(request: Request, forms: tuple[str, ...] = (JSON, CSV, ARROW)) -> str:
    """The form of the answer that the caller likes best, by the weights of Accept. Settled before anything is paid."""
    best, weight = "", 0.0
    for part in (request.headers.get("accept") or "*/*").split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        try:
            quality = float(next((each[2:] for each in parameters if each.startswith("q=")), "1"))
        except ValueError:
            quality = 0.0
        offered = [form for form in forms if kind in (form, form.split("/")[0] + "/*", "*/*")]
        if offered and quality > weight:
            best, weight = offered[0], quality
    if not best:
        raise HttpProblem(406, "accept", "This format is not offered", f"accept {' or '.join(forms)}")
    return best


def answered(release: Release, form: str, *, name: str, cached: bool, key: str | None = None, **more: Any) -> Response:
    """A release in one of the forms, with the key of its charge where it was asked for just now. One that is no table
    has JSON alone, and is downloaded as a file."""
    headers = {"Tacit-Release": name, "Tacit-Cached": str(cached).lower(), "Vary": "Accept"}
    if key is not None:
        headers["Idempotency-Key"] = key
        more |= named_charge(key)
    if form == JSON:
        return JSONResponse({"id": name, **more, "cached": cached, **release.json()}, headers=headers)
    if not isinstance(release, TableRelease):
        raise HttpProblem(406, "accept", "This is no table", f"accept {JSON}, or GET /v1/releases/{name}/file")
    if form == ARROW:
        return Response(release.to_bytes(), media_type=ARROW, headers=headers)
    return Response(release.file().content, media_type=CSV, headers=headers)


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
        "names it, and says how: in `idempotency_key` of the quote, the answer, the job and the problem.",
        examples=["7d1f0c52-first-try"],
    ),
]
Prefer = Annotated[str | None, Header(description="`respond-async` answers at once with a job.", max_length=200)]

QUOTED = documented(
    "What it would cost, the error to expect, and what would be left. Free.",
    {
        "cost": {"epsilon": "0.5", "delta": "0"},
        "left": {"epsilon": "1.5", "delta": "0.000001"},
        "enough": True,
        "expected": [{"column": "visits", "error": 120.0, "words": "± 120"}],
        "notes": [],
        "hints": [],
        "columns": [{"name": "ward", "type": "text"}, {"name": "visits", "type": "integer"}],
        "idempotency_key": "4b0e8c1f5a3d92670c1e7f3b5a9d2c4e6f8a0b1d",
        "answered": False,
        "versioned": True,
    },
)
TAKEN = documented(
    "It was taken as a job (`Prefer: respond-async`).",
    {"id": "0f3c5a", "state": "queued", "dataset": "clinic", "idempotency_key": "4b0e8c"},
    status=202,
)


class SqlBody(Strict, json_schema_extra={"examples": [{"sql": SQL}]}):
    """A question in SQL, without an offer."""

    sql: str = Field(min_length=1, max_length=50_000)


EXPLAINED = documented(
    "How it is understood: whose rows it reads, how far each person counts, and what is done after the noise. Free.",
    {
        "findings": [
            {"kind": "unit", "unit": "patient", "people": None, "words": "every patient, all their rows together"}
        ],
        "columns": [{"name": "ward", "type": "text"}, {"name": "visits", "type": "integer"}],
        "titles": {"unit": "who is protected"},
    },
)


@router.post("/datasets/{dataset}/explain", responses=EXPLAINED, tags=["ask"])
def explain(dataset: str, question: SqlBody, who: Asks, service: Serving) -> JSONResponse:
    """How a question is understood. Free, without an offer: nothing is looked at."""
    found = service.datasets.explain(who, dataset, question.sql)
    titles = {finding.kind: TITLES[finding.kind] for finding in found.findings}
    return JSONResponse({**found.json(), "titles": titles})


@router.post("/datasets/{dataset}/quote", responses=QUOTED, tags=["ask"])
def quote(dataset: str, question: QuestionBody, who: Asks, service: Serving) -> JSONResponse:
    """What a question would cost. Free: nothing is looked at."""
    asked = question.priced(service, who, dataset)
    found = asked.quote()
    more: dict[str, Any] = {"columns": [{"name": name, "type": kind} for name, kind in found.columns]}
    with suppress(TacitError):  # the data cannot be reached now: the charge has no name
        key = asked.key()
        more |= {**named_charge(key.name), "answered": key.answered, "versioned": key.versioned}
    service.metrics.question(dataset, "quoted")
    return JSONResponse({**found.json(), **more})


@router.post("/datasets/{dataset}/ask", responses={**ANSWERED, **TAKEN}, tags=["ask"])
async def ask(
    dataset: str,
    question: QuestionBody,
    request: Request,
    who: Asks,
    service: Serving,
    key: Key = None,
    prefer: Prefer = None,
) -> Response:
    """The answer, after it is paid for. While the data are known to be the same, asked again it is free, with the same
    noise; under the same key it is always free."""

    def work(watch: Watch) -> Response:
        form = media(request)
        service.datasets.find(who, dataset)
        if key is not None and not OURS.fullmatch(key):
            claim_key(service, who, dataset, key, question)  # from now on it belongs to this very question
            request.state.key = charge = key  # told with whatever comes of it
            asked = question.priced(service, who, dataset)
        else:
            asked = question.priced(service, who, dataset)
            name = asked.key().name  # the same for everything that is spelled another way and means the same
            if key is not None and key != name:
                claim_key(service, who, dataset, key, question)
            request.state.key = charge = key or name

        def answer(watch: Watch) -> tuple[str, TableRelease]:
            found = service.datasets.answer(asked, key=charge, watch=watch)
            return service.shelf.put(who, dataset, question.sql, found), found

        service.metrics.question(dataset, "asked")
        if prefer is not None and "respond-async" in [part.strip().lower() for part in prefer.split(",")]:
            asked.quote()  # what is refused is refused now
            name = service.jobs.start(who, dataset, lambda watch: answer(watch)[0], key=charge)
            headers = {"Location": f"/v1/jobs/{name}", "Preference-Applied": "respond-async"}
            return JSONResponse(service.jobs.find(who, name).json(), status_code=202, headers=headers)
        name, found = answer(watch)
        return answered(found, form, name=name, cached=found.cached, key=charge)

    return await service.pool.run(who.name, work, getattr(request.state, "gone", lambda: False))


def claim_key(service: Service, who: Identity, dataset: str, key: str, question: Strict) -> None:
    """A key belongs to the question it was first used for: another one is refused, before anything is charged."""
    asked = sha256(json.dumps(question.model_dump(mode="json"), sort_keys=True).encode()).digest()
    place = {"owner": who.name, "dataset": dataset, "key": key}
    if service.state.insert_once(keys, **place, question=asked):
        return
    first = service.state.find(select(keys.c.question).filter_by(**place))
    if first is None or first.question != asked:
        detail = "this Idempotency-Key was used with another question or offer: nothing was charged; choose a new key"
        raise HttpProblem(422, "key-reused", "This key is another question's", detail)


@router.get("/jobs", tags=["jobs"])
def list_jobs(who: Looks, service: Serving) -> JSONResponse:
    """Your newest jobs."""
    return JSONResponse({"items": [job.json() for job in service.jobs.listed(who)]})


@router.get("/jobs/{job}", tags=["jobs"])
def one_job(job: str, who: Looks, service: Serving) -> JSONResponse:
    """How far a job is; when it is done, the release it made."""
    return JSONResponse(service.jobs.find(who, job).json())


@router.delete("/jobs/{job}", tags=["jobs"])
def cancel_job(job: str, who: Looks, service: Serving) -> JSONResponse:
    """Stop a job. Nothing is given back: what was charged stays charged. Asked again with its `key` as Idempotency-Key,
    the question is answered under that charge."""
    return JSONResponse(service.jobs.cancel(who, job).json())
