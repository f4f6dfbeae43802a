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
        ever, most = ({key: both[place] for key, both in spent.items()}.items() for place in (0, 1))
        asked, paid = ("method", "route", "outcome"), ("dataset", "currency")
        return (
            _family("tacit_requests_total", "counter", "Requests by route and how they ended.", asked, requests)
            + _family(
                "tacit_questions_total", "counter", "Questions by dataset and kind.", ("dataset", "kind"), questions
            )
            + _family("tacit_spent", "gauge", "What was ever charged to a dataset, in its currency.", paid, ever)
            + _family("tacit_limit", "gauge", "What may be charged to a dataset in a window.", paid, most)
        )


ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Samples = Iterable[tuple[tuple[str, ...], float]]


def _family(name: str, kind: str, words: str, labels: tuple[str, ...], samples: Samples) -> str:
    lines = [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
    for texts, value in samples:
        inside = ",".join(f'{label}="{text.translate(ESCAPED)}"' for label, text in zip(labels, texts, strict=True))
        lines.append(f"{name}{{{inside}}} {value:.17g}")
    return "\n".join(lines) + "\n"


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
