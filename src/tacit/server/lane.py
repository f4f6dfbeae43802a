"""The short way of a request that was made before: quotes, and answers that are on the shelf.

Who asks is looked up anew, the rate is counted, and the rules and the data must be what they were; then an answer is
sent again as it was, and a quote is worked out from its plan and the account as it stands. All else goes the long way,
which alone plans, decides and charges. So the short way can neither allow nor charge anything.
"""

import re
from types import SimpleNamespace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.base import TacitError
from tacit.server.auth.identify import RIGHTS, recognised
from tacit.server.http.ask import media, quoted
from tacit.server.memory import Answered
from tacit.server.ops.service import Service
from tacit.server.problem import Problem, response

__all__ = ["Lane"]

PATH = re.compile(r"/v1/datasets/([^/]+)/(ask|quote)")
OWN = {b"idempotency-key", b"prefer"}  # a request with these is never the same as another
ROUTES = {kind: SimpleNamespace(path=f"/v1/datasets/{{dataset}}/{kind}") for kind in ("ask", "quote")}


class Lane:
    """Stands before the routes, behind the limits."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if place is None or scope["query_string"] or any(name in OWN for name, _ in scope["headers"]):
            await self.app(scope, receive, send)
            return
        first = await receive()
        if first["type"] != "http.request" or first.get("more_body"):
            await self.app(scope, _again(first, receive), send)
            return
        request, dataset, kind = Request(scope), place[1], place[2]
        kept = (kind, dataset, request.headers.get("content-type", ""), first.get("body", b""))
        scope["state"]["place"] = kept
        if self.service.state.inline and self.service.rate.inline and self.service.desk.inline(dataset):
            answer = self._short(request, kept)
        else:
            answer = await run_in_threadpool(self._short, request, kept)
        if answer is None:
            await self.app(scope, _again(first, receive), send)
            return
        scope["route"] = ROUTES[kind]
        await answer(scope, receive, send)

    def _short(self, request: Request, kept: tuple[str, str, str, bytes]) -> Response | None:
        """The response, if this very request was answered before and everything is as it was then."""
        service, dataset = self.service, kept[1]
        try:
            who = recognised(request, service)
            form = media(request)
            if who is None or who.role not in RIGHTS["ask"]:
                return None
            found = service.memory.find((who, form, *kept))
            if found is None:
                return None
            opened = service.desk.opened(who, dataset)
            same = found.basis.holds(opened) if isinstance(found, Answered) else found.opened is opened
            if not same:
                return None
        except (TacitError, OSError):
            return None  # the long way says what is wrong
        try:
            service.rate.take(who.name)
        except Problem as refusal:
            return response(refusal)
        request.state.who = who.name
        if isinstance(found, Answered):
            service.metrics.question(dataset, "asked")
            again = Response(found.body)
            again.raw_headers = list(found.headers)
            return again
        try:
            return quoted(service, dataset, found.take, found.key)
        except TacitError as error:
            return response(error)


def _again(first: Message, receive: Receive) -> Receive:
    """The message that was taken, and then the rest."""
    taken = False

    async def both() -> Message:
        nonlocal taken
        if taken:
            return await receive()
        taken = True
        return first

    return both
