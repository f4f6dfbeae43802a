"""The short way of reports: the one request that thousands of devices make, before any other route is looked at."""

import re
from types import SimpleNamespace

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.base import TacitError
from tacit.server.problem import response
from tacit.server.survey.opened import Surveys

__all__ = ["ReportLane"]

PATH = re.compile(r"/v1/surveys/([a-z][a-z0-9_-]{0,39})/reports")
ROUTE = SimpleNamespace(path="/v1/surveys/{survey}/reports")


class ReportLane:
    """Stands before the routes, behind the limits; it does what `POST /v1/surveys/{survey}/reports` says.

    A request with a query goes the long way, and finds the same there.
    """

    def __init__(self, app: ASGIApp, *, surveys: Surveys) -> None:
        self.app, self.surveys = app, surveys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if place is None or scope["query_string"]:
            await self.app(scope, receive, send)
            return
        scope["route"] = ROUTE
        scope["state"]["unlogged"] = True  # a line of the log would say when somebody answered
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return  # the caller went away
            body, more = body + message.get("body", b""), message.get("more_body", False)
        try:
            told = await self.surveys.take(place[1], body, address=(scope["client"] or ("?",))[0])
        except TacitError as error:
            await response(error)(scope, receive, send)
            return
        await Response(told, media_type="application/json")(scope, receive, send)
