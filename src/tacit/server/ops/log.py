"""Counters for Prometheus: what was asked of the service and what was spent. Nothing in them depends on data.

There are no times and no sizes of answers. A question whose engine failed counts as answered, since whether an engine
fails may depend on the rows it reads.
"""

import json
import logging
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["Lines", "Metrics", "event", "no_paths", "outcome_of", "to_stderr"]


def outcome_of(status: int) -> str:
    """answered, rejected or unavailable. 500 is what an engine's failure looks like, so it is no class of its own."""
    if status == 503:
        return "unavailable"
    return "rejected" if 400 <= status < 500 else "answered"


class Metrics:
    """Counts since this worker started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._questions: Counter[tuple[str, str]] = Counter()

    def request(self, method: str, route: str, status: int) -> None:
        """One more request; `route` is the pattern, never the path."""
        with self._lock:
            self._requests[method, route, outcome_of(status)] += 1

    def question(self, dataset: str, kind: str) -> None:
        """One more question of a kind: quoted, or asked."""
        with self._lock:
            self._questions[dataset, kind] += 1

    def text(self, spent: Mapping[tuple[str, str], tuple[float, float]]) -> str:
        """Prometheus' text format. `spent` is, by dataset and currency, what was ever spent and the limit."""
        with self._lock:
            requests, questions = sorted(self._requests.items()), sorted(self._questions.items())
        lines = [
            *_family("tacit_requests_total", "counter", "Requests by route and how they ended."),
            *(_line("tacit_requests_total", {"method": m, "route": r, "outcome": o}, n) for (m, r, o), n in requests),
            *_family("tacit_questions_total", "counter", "Questions by dataset and kind."),
            *(_line("tacit_questions_total", {"dataset": d, "kind": k}, n) for (d, k), n in questions),
            *_family("tacit_spent", "gauge", "What was ever charged to a dataset, in its currency."),
            *(_line("tacit_spent", {"dataset": d, "currency": c}, ever) for (d, c), (ever, _) in spent.items()),
            *_family("tacit_limit", "gauge", "What may be charged to a dataset in a window."),
            *(_line("tacit_limit", {"dataset": d, "currency": c}, most) for (d, c), (_, most) in spent.items()),
        ]
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, words: str) -> Iterable[str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


LOGGER = logging.getLogger("tacit.server")


class Lines(logging.Formatter):
    """A record as JSON. Only what `event` was given is in it; an exception is named and not quoted."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name == LOGGER.name else record.name,
        }
        line |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=True)


def event(name: str, *, level: int = logging.INFO, **facts: Any) -> None:
    """Write down that something happened. Facts are names and numbers that are not data."""
    LOGGER.log(level, name, extra={"facts": facts})


def no_paths() -> None:
    """Silence logs that others keep, whoever listens to them: the web server's has paths and queries in it, and that of
    sqlglot the text of statements that it does not know."""
    for name in ("uvicorn.access", "sqlglot"):
        logging.getLogger(name).disabled = True


def to_stderr() -> None:
    """Send what is logged, by us and by the web server, to standard error in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name in (LOGGER.name, "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == LOGGER.name else logging.WARNING)
