"""The application: routes, what surrounds them, and how every error looks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from socket import socket
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from tacit.base import TacitError
from tacit.policy import DATASET
from tacit.server.auth.identify import Serving, Watches
from tacit.server.console import lab, pages
from tacit.server.console.pages import problem_page, wants_page
from tacit.server.http import ask, curate, data, jobs, market, people, profile, release, survey
from tacit.server.http.guard import Guard
from tacit.server.ops.listen import secured
from tacit.server.ops.log import event
from tacit.server.ops.service import Service
from tacit.server.problem import MEDIA, HttpProblem, response
from tacit.server.wire import WireTally, serve_wire

__all__ = ["application"]

ABOUT = """Ask real data real questions; answers are differentially private, and priced before they are paid for.

Send `Authorization: Bearer <token>`. Errors are `application/problem+json`. A quote is free; an answer is paid for
before anything is looked at. Every charge has a key: asked again with it as `Idempotency-Key`, a question is never paid
for twice. Without it, it is free while the data are known to be the same."""

PROBLEM = {
    "type": "urn:tacit:problem:over-budget",
    "title": "The budget does not allow it",
    "status": 403,
    "detail": 'analyst:ana of "patients" has 0.1 epsilon left now, and this program costs 0.5 epsilon',
}
EVERY: dict[int | str, dict[str, Any]] = {
    "default": {"description": "What is wrong, and what to do.", "content": {MEDIA: {"example": PROBLEM}}}
}
ROUTERS = (
    data.router,
    ask.router,
    jobs.router,
    market.router,
    release.router,
    profile.router,
    people.router,
    people.browser_router,
    pages.router,
    curate.router,
    curate.requests_router,
    lab.router,
    survey.router,
    survey.pages_router,
)


def application(service: Service, *, wire: Sequence[socket] | None = None) -> FastAPI:
    """The application over what is open. It closes it when it ends. `wire` has the sockets of the PostgreSQL protocol;
    None if they are to be opened here: each of several workers has its own, and the system shares out who comes."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, int]]:
        event("started", datasets=len(service.config.datasets))
        doors = await _wire(service, wire)
        app.state.wire = doors[0] if doors else None
        yield {"connections": 0 if service.config.behind_proxy else service.config.connections}  # see `PatientProtocol`
        for door in doors:
            door.close()
        await run_in_threadpool(service.close)
        event("stopped")

    app = FastAPI(
        title="tacit",
        version="1",
        description=ABOUT,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=EVERY,
    )
    app.state.service = service
    for router in ROUTERS:
        app.include_router(router)
    if service.oidc is not None:
        app.include_router(people.oidc_router)
    app.add_api_route("/healthz", healthz, methods=["GET"], tags=["operations"])
    app.add_api_route("/metrics", metrics, methods=["GET"], tags=["operations"], response_class=PlainTextResponse)
    app.add_exception_handler(TacitError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _framework)
    config = service.config
    app.add_middleware(Guard, metrics=service.metrics, secure=config.secure, most=config.body)
    return app


async def _wire(service: Service, sockets: Sequence[socket] | None) -> list[asyncio.Server]:
    """The door for PostgreSQL's clients, if there is one, at each of its addresses."""
    place, guarded = service.config.wire_address, secured(service.config)
    if place is None:
        return []
    tally = WireTally(service.rate, service.failures, service.metrics)
    serve = partial(serve_wire, service.datasets, service.people, ssl=guarded, shelf=service.shelf, tally=tally)
    serve = partial(serve, elsewhere=service.running.stop_by_key)
    if sockets is None:
        return [await serve(host=place[0], port=place[1], reuse_port=service.config.workers > 1)]
    return [await serve(sock=each) for each in sockets]


async def healthz(service: Serving) -> JSONResponse:
    """Whether this worker can do its work; if not, why: `database`, `rules`, `engine`, `ledger` or `slow`."""
    reasons = await service.health.reasons()
    if reasons:
        return JSONResponse({"status": "unavailable", "reasons": reasons}, status_code=503)
    return JSONResponse({"status": "ok"})


def metrics(who: Watches, service: Serving) -> PlainTextResponse:
    """Counters in Prometheus' text format, for curators and auditors. Nothing in them depends on data."""
    spent = {}
    for dataset in service.datasets.names(who):
        standing = service.datasets.budget(who, dataset)
        if (balance := standing.balance(DATASET)) is not None:
            scale = 10**standing.currency.decimals
            spent[dataset, standing.currency.value] = (balance.spent.spend / scale, balance.limit.spend / scale)
    return PlainTextResponse(service.metrics.text(spent), media_type="text/plain; version=0.0.4")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TacitError)
    key = getattr(request.state, "key", None)
    return problem_page(request, error) if wants_page(request) else response(error, key=key)


async def _malformed(request: Request, error: Exception) -> Response:
    """What was wrong with a request, by place; what was sent is not repeated."""
    assert isinstance(error, RequestValidationError)
    found = ["/".join(str(step) for step in one["loc"]) + ": " + one["msg"] for one in error.errors()[:10]]
    return await _refused(request, HttpProblem(422, "request", "The request is malformed", "; ".join(found)))


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: ("no-route", "There is nothing here"), 405: ("method", "This method is not allowed here")}
    name, title = names.get(error.status_code, ("request", "The request cannot be read"))
    return await _refused(request, HttpProblem(error.status_code, name, title, title.lower(), error.headers))
