"""A problem as a page, for whoever came with a browser: what is wrong, and what to do."""

from fastapi import Request
from fastapi.responses import HTMLResponse

from tacit.base import TacitError
from tacit.server.console.door import door_page
from tacit.server.console.render import page
from tacit.server.identify import recognised, service_of
from tacit.server.people import Identity
from tacit.server.problem import Problem, problem_of

__all__ = ["problem_page"]


def problem_page(request: Request, error: TacitError) -> HTMLResponse:
    """The same status and words as `application/problem+json` has; somebody unknown is told how to come in."""
    told = problem_of(error)
    headers = dict(error.headers) if isinstance(error, Problem) else {}
    detail = str(told["detail"])
    message = detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "!", "?")) else ".")
    if told["status"] == 401:
        return door_page(request, status=401, headers=headers)
    words = {"heading": told["title"], "message": message, "code": told["status"]}
    return page(
        request, _who(request), "problem.html", title=told["title"], status=told["status"], headers=headers, **words
    )


def _who(request: Request) -> Identity | None:
    """Whoever is signed in, so that the page has its navigation. A page about a problem must not make another."""
    try:
        return recognised(request, service_of(request))
    except Exception:
        return None
