"""`statement_timeout`: a question that takes longer is stopped, as if the client had asked for that.

What was charged stays charged, and the hint of the error names the key under which it is not paid for again. So a short
timeout is no way to a cheap answer; nor to a precise time, since the desk rounds the end of a stopped question up as
well.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tacit.engine import Watch
from tacit.server.wire.fault import Fault

__all__ = ["alarm", "milliseconds"]

SPELLED = re.compile(r"(?P<number>\d{1,10}(?:\.\d{1,6})?)\s*(?P<unit>us|ms|s|min|h|d)?")
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
MOST = 2_147_483_647


def milliseconds(text: str, name: str = "statement_timeout") -> int:
    """A duration as PostgreSQL reads one: a number of milliseconds, or a number with a unit; 0 is none."""
    found = SPELLED.fullmatch(text.strip())
    value = float(found["number"]) * UNITS[found["unit"] or "ms"] if found is not None else -1.0
    if found is None or value > MOST:
        raise Fault("22023", f"{name} is a duration, such as 500, '500ms' or '2min'; 0 is none")
    return max(1, round(value)) if value else 0


@contextmanager
def alarm(watch: Watch, limit: int) -> Iterator[None]:
    """Stop what is watched after so many milliseconds, unless it is over by then."""
    if not limit:
        yield
        return
    timer = threading.Timer(limit / 1000, watch.stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
