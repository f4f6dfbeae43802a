"""`/v1/releases`: answers that were given, their certificates, and the proof that they were paid for."""

import json
import re
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from tacit.base import Denied, InputError
from tacit.desk import TableRelease
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.certificate.page import CONTENT_POLICY
from tacit.ledger.chain import genesis
from tacit.server.ask.datasets import OpenDataset, tables_of
from tacit.server.ask.shelf import May, ShelvedRelease
from tacit.server.auth.identify import Asks, Looks, Serving
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Strict
from tacit.server.http.ask import ANSWERED, HTML, JSON, answered, documented, media, paged
from tacit.server.ops.service import Service
from tacit.server.problem import HttpProblem
from tacit.session.kinds import file_with_certificate, forms_of

__all__ = ["release_of", "router"]

router = APIRouter(prefix="/v1/releases", tags=["releases"])

FILE_NAME = re.compile(r"[^A-Za-z0-9_]+")  # what a file name is not made of

FRAMED = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

Cursor = Annotated[str | None, Query(max_length=64, description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]
CERTIFIED = documented(
    "Everything that is stated, and a signature over it.",
    {
        "certificate": {"format": "tacit certificate 2", "guarantee": {"epsilon": "0.5", "delta": "0"}},
        "public_key": "-----BEGIN PUBLIC KEY-----…",
        "signature": "5f2c…",
    },
    others={HTML: {"schema": {"type": "string"}}},
)


class Sharing(Strict, json_schema_extra={"examples": [{"shared": True}]}):
    """Whether a release is shown to everybody who may ask the tables it was made from."""

    shared: bool


@router.get("")
def list_releases(
    who: Looks, service: Serving, cursor: Cursor = None, limit: Limit = 50, shared: bool = False
) -> JSONResponse:
    """Your releases, the newest first; with `shared=true`, what others share with you."""
    if shared:
        found = service.shelf.shared(who, _may(service, who), after=cursor, limit=limit)
    else:
        found = service.shelf.listed(who, after=cursor, limit=limit)
    return JSONResponse(paged([shelved.head() for shelved in found], limit))


@router.get("/{release}", responses=ANSWERED)
def one_release(release: str, request: Request, who: Looks, service: Serving) -> Response:
    """An answer again, as JSON, CSV or Arrow. Free."""
    form, found = media(request), release_of(service, who, release)
    more: dict[str, Any] = {"sql": found.sql, "shared": found.shared, "owner": found.owner}
    return answered(found.release, form, name=found.id, cached=True, **more)


@router.get("/{release}/certificate", responses=CERTIFIED)
def certificate(release: str, request: Request, who: Looks, service: Serving) -> Response:
    """How an answer was made and what it promises, signed; `GET /v1/keys` has the key. A browser gets a page.

    It is always the same for the same release and key, and `tacit verify` checks it without a network.
    """
    form = media(request, (JSON, HTML))
    made = _certified(service, who, release_of(service, who, release))
    if form == HTML:
        page = {"Content-Security-Policy": f"{CONTENT_POLICY}; frame-ancestors 'none'", "Vary": "Accept"}
        return HTMLResponse(made.html(), headers=page)
    return JSONResponse(made.json(), headers={"Vary": "Accept"})


def _certified(service: Service, who: Identity, shelved: ShelvedRelease) -> Certificate:
    opened = _paid_from(service, who, shelved)
    named = replace(shelved.release, name=shelved.id)
    try:
        return named.certificate(ledger=opened.ledger, signing_key=service.signer, sql=shelved.sql)
    except InputError as error:
        raise HttpProblem(409, "no-certificate", "This cannot be certified", str(error)) from None


@router.get(
    "/{release}/file",
    responses={200: {"description": "The file.", "content": {"*/*": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
def file(release: str, who: Looks, service: Serving, certificate: bool = True) -> Response:
    """A release as a file: a model as safetensors, a table as CSV. Free. Where the file has a place for a certificate,
    it is in it, unless `certificate=false`."""
    shelved = release_of(service, who, release)
    found = shelved.release.file()
    content = found.content
    if certificate and not isinstance(shelved.release, TableRelease):
        content = file_with_certificate(shelved.release, content, _certified(service, who, shelved))
    return Response(content, media_type=found.media, headers=_attached(shelved, found.ending))


def _attached(shelved: ShelvedRelease, ending: str) -> dict[str, str]:
    """That it is a file, and how it is called."""
    name = f"{FILE_NAME.sub('-', shelved.dataset).strip('-') or 'release'}-{shelved.id[:8]}{ending}"
    return {"Content-Disposition": f'attachment; filename="{name}"', "Vary": "Accept"}


@router.get("/{release}/forms")
def list_forms(release: str, who: Looks, service: Serving) -> JSONResponse:
    """The other forms that a release has, such as a report, or rows that are drawn from it."""
    found = release_of(service, who, release)
    return JSONResponse({"items": [form.json() for form in forms_of(found.release)]})


@router.get(
    "/{release}/forms/{form}",
    responses={200: {"description": "The file, or a page.", "content": {"*/*": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
def one_form(release: str, form: str, who: Looks, service: Serving) -> Response:
    """A release in another form: it follows from what was released, and is free. Rows are drawn anew each time."""
    shelved = release_of(service, who, release)
    known = {each.name: each for each in forms_of(shelved.release)}
    if form not in known:
        detail = f"this release has {', '.join(known) or 'no other forms'}"
        raise HttpProblem(404, "no-form", "There is no such form", detail)
    found = known[form]
    content = found.make(shelved.release, _certified(service, who, shelved))
    if found.media == "text/html":  # a page of ours may show it in a frame, where it can run and load nothing
        shown = {"Content-Security-Policy": f"{FRAMED}; frame-ancestors 'self'", "X-Frame-Options": "SAMEORIGIN"}
        return HTMLResponse(content, headers=shown)
    return Response(content, media_type=found.media, headers=_attached(shelved, found.ending))


@router.get("/{release}/proof")
def proof(release: str, who: Looks, service: Serving) -> JSONResponse:
    """The entry of the ledger that paid for your release, with what its hash is made of.

    SHA-256 of `before`, `seq`, `time` and the hash of `body` is `digest`; whoever keeps the digest can later ask an
    auditor whether the chain still has it.
    """
    shelved = _own(service, who, release, "only its owner sees the proof of a charge")
    opened = _paid_from(service, who, shelved)
    people = opened.policy.dataset.identity
    entries = list(opened.ledger.log(people, after=max(0, shelved.entry - 2), limit=2))
    own = next((entry for entry in entries if entry.seq == shelved.entry), None)
    if own is None or json.loads(own.body).get("analyst") != who.name:
        detail = "the ledger has no such charge of yours: tell an auditor"
        raise HttpProblem(409, "no-entry", "Not in the ledger", detail)
    ledger, head = opened.ledger.store.ledger, opened.ledger.standing(people)
    before = next((entry.digest for entry in entries if entry.seq == shelved.entry - 1), genesis(ledger, people))
    found = {"ledger": ledger, "people": people, "seq": own.seq, "time": own.time, "body": own.body}
    found |= {"before": before.hex(), "digest": own.digest.hex()}
    return JSONResponse({**found, "head": {"seq": head.seq, "digest": head.head.hex()}})


@router.put("/{release}/sharing")
def share(release: str, wish: Sharing, who: Asks, service: Serving) -> JSONResponse:
    """Show your release to everybody who may ask the tables it was made from, or no longer."""
    shelved = _own(service, who, release, "only its owner can share a release")
    tables: set[str] = set()
    if wish.shared:  # those it was made from, as the ledger has them in the program that was paid for
        opened = _paid_from(service, who, shelved)
        entries = opened.ledger.log(opened.policy.dataset.identity, after=shelved.entry - 1, limit=1)
        try:
            tables = {str(table) for table in json.loads(next(iter(entries)).body)["program"]["tables"]}
        except (StopIteration, KeyError, TypeError, ValueError):
            detail = "the ledger does not say what this release was made from"
            raise HttpProblem(409, "no-entry", "Not in the ledger", detail) from None
    service.shelf.share(who, release, shared=wish.shared, tables=tables)
    return JSONResponse({"id": release, "shared": wish.shared})


def release_of(service: Service, who: Identity, release: str) -> ShelvedRelease:
    """A release that this person may see."""
    return service.shelf.find(who, release, _may(service, who))


def _own(service: Service, who: Identity, release: str, rule: str) -> ShelvedRelease:
    shelved = release_of(service, who, release)
    if shelved.owner != who.name:
        raise HttpProblem(403, "not-yours", "Not your release", rule)
    return shelved


def _paid_from(service: Service, who: Identity, shelved: ShelvedRelease) -> OpenDataset:
    """The dataset of a release, if it still has the ledger that the release was paid from."""
    opened = service.datasets.find(who, shelved.dataset)
    if shelved.release.facts.get("ledger", {}).get("id") != opened.ledger.store.ledger:
        detail = "the dataset has another ledger now than it had then"
        raise HttpProblem(409, "other-ledger", "Paid for elsewhere", detail)
    return opened


def _may(service: Service, who: Identity) -> May:
    def may(dataset: str, tables: set[str]) -> bool:
        try:
            policy = service.datasets.find(who, dataset).policy
        except Denied:
            return False
        return who.role != "analyst" or tables <= tables_of(policy, who)

    return may


Width = Annotated[int, Query(ge=200, le=2000, description="Pixels, with the labels.")]
Colour = Annotated[str, Query(pattern="^[0-9a-f]{6}$", description="Six hexadecimal digits.")]


@router.get("/{release}/chart")
def chart(
    release: str, who: Looks, service: Serving, width: Width = 640, accent: Colour = "0072b2", ink: Colour = "333333"
) -> JSONResponse:
    """Each noisy number with the interval that covers its noise. Free: it is made from the release alone."""
    found = release_of(service, who, release).release
    if not isinstance(found, TableRelease) or not found.intervals or not found.table.num_rows:
        raise HttpProblem(404, "no-chart", "Nothing to draw", "this answer has no rows, or no noisy numbers in it")
    try:
        from tacit.plot.answers import fitted
    except ImportError as missing:
        detail = f"charts need {missing.name}, which is not installed on the service: pip install 'tacit[plot]'"
        raise HttpProblem(501, "no-plot", "No charts here", detail) from None
    rows = [{name: str(x) if isinstance(x, list) else x for name, x in row.items()} for row in found.rows()]
    colours = {"accent": f"#{accent}", "ink": f"#{ink}"}
    return JSONResponse(fitted(rows, found.intervals, noise_only=found.noise_only, width=width, **colours))
