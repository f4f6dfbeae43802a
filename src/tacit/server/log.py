"""One line of JSON for each request and event: who, which route, how it ended. No question, answer or duration."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

__all__ = ["Lines", "event", "no_paths", "to_stderr"]

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
