"""What a connection has set: its own price and accuracy, and what PostgreSQL's clients set at the start."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any

from tacit.engine import Watch
from tacit.server.problem import Fault
from tacit.server.wire.value import OFF, ON

__all__ = ["REPORTED", "Settings", "alarm", "milliseconds"]

SPELLED = re.compile(r"(?P<number>\d{1,10}(?:\.\d{1,6})?)\s*(?P<unit>us|ms|s|min|h|d)?")
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "min": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
LONGEST_TIMEOUT = 2_147_483_647


def milliseconds(text: str, name: str = "statement_timeout") -> int:
    """A duration as PostgreSQL reads one: a number of milliseconds, or a number with a unit; 0 is none."""
    found = SPELLED.fullmatch(text.strip())
    value = float(found["number"]) * UNITS[found["unit"] or "ms"] if found is not None else -1.0
    if found is None or value > LONGEST_TIMEOUT:
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


STANDARD = {
    "server_version": "15.0 (tacit)",
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "session_authorization": "",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "default_table_access_method": "heap",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "search_path": "public",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "plan_cache_mode": "auto",
    "xmloption": "content",
}
ALIKE = {
    "on": "integer_datetimes standard_conforming_strings default_transaction_read_only transaction_read_only "
    "synchronous_commit enable_seqscan",
    "off": "is_superuser in_hot_standby row_security jit geqo",
    "0": "statement_timeout lock_timeout idle_in_transaction_session_timeout tcp_keepalives_idle tcp_user_timeout",
    "C": "lc_collate lc_ctype",
}
STANDARD |= {name: value for value, names in ALIKE.items() for name in names.split()}
FIXED = {"server_version", "server_version_num", "server_encoding", "integer_datetimes", "is_superuser"}
TOLD = (
    "server_version server_encoding client_encoding application_name DateStyle IntervalStyle TimeZone "
    "integer_datetimes standard_conforming_strings is_superuser session_authorization in_hot_standby "
    "default_transaction_read_only"
)
REPORTED = {spelled.lower(): spelled for spelled in TOLD.split()}
"""What a client is told of by ParameterStatus, as it spells it."""

PRICES = ("tacit.epsilon", "tacit.rho", "tacit.mu_squared", "tacit.error")
OWN = {**dict.fromkeys(PRICES, ""), "tacit.confidence": "0.95", "tacit.intervals": "off", "tacit.key": ""}
KEY = re.compile(r"[\x21-\x7e]{1,200}")
DURATIONS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
UTF8 = ("UTF8", "UNICODE", "SQLASCII")
LONGEST = 1000
MOST = 100


class Settings:
    """By name in small letters, each a text."""

    def __init__(self, user: str) -> None:
        self._start = {**STANDARD, **OWN, "session_authorization": user}
        self._now = dict(self._start)

    def show(self, name: str) -> str:
        key = name.lower()
        if key not in self._now:
            raise Fault("42704", f'there is no setting "{name}"', "SHOW ALL lists them; SHOW tacit.budget is ours")
        return self._now[key]

    def all(self) -> list[tuple[str, str]]:
        return sorted(self._now.items())

    def set(self, name: str, value: str | None) -> str:
        """Set it, or back to its default with None; the name in small letters."""
        key = name.lower()
        custom = "." in key and not key.startswith("tacit.")
        if key not in self._now and (not custom or len(self._now) > MOST + len(self._start)):
            hint = f"ours are {', '.join(OWN)}" if key.startswith("tacit.") else ""
            raise Fault("42704", f'there is no setting "{name}"', hint)
        if value is None:
            self._now[key] = self._start.get(key, "")
            return key
        if key in FIXED:
            raise Fault("55P02", f'"{key}" cannot be changed')
        if len(value) > LONGEST:
            raise Fault("22023", f'"{key}" is at most {LONGEST} characters long')
        self._now[key] = _checked(key, value.strip())
        if key in PRICES:
            self._now.update({other: "" for other in PRICES if other != key})
        return key

    def reset(self) -> None:
        self._now = dict(self._start)

    @property
    def timeout(self) -> int:
        """Milliseconds that a statement may take; 0 is as long as it needs."""
        return milliseconds(self._now["statement_timeout"])

    @property
    def intervals(self) -> bool:
        return self._now["tacit.intervals"] == "on"

    @property
    def key(self) -> str | None:
        """What the charge of the next question is called; None if the service is to name it."""
        return self._now["tacit.key"] or None

    def offer(self) -> dict[str, Any]:
        """The arguments of `ask` and `quote`."""
        named = {name.removeprefix("tacit."): self._now[name] for name in PRICES if self._now[name]}
        return {**named, "confidence": self._now["tacit.confidence"]}


def _checked(key: str, value: str) -> str:
    if key == "client_encoding":
        if re.sub(r"\W|_", "", value).upper() not in UTF8:
            raise Fault("22023", "only UTF8 is spoken here: set client_encoding to UTF8")
        return "UTF8"
    if key == "tacit.intervals":
        if value.lower() not in ON + OFF:
            raise Fault("22023", "tacit.intervals is on or off")
        return "on" if value.lower() in ON else "off"
    if key == "tacit.key" and not KEY.fullmatch(value):
        raise Fault("22023", "tacit.key is 1 to 200 signs of ASCII without spaces")
    if key in DURATIONS:
        return str(milliseconds(value, key))
    if key == "standard_conforming_strings" and value.lower() not in ON:
        raise Fault("22023", f'"{key}" can only be on')
    if key in PRICES or key == "tacit.confidence":
        try:
            number = Decimal(value)
        except InvalidOperation:
            number = Decimal("nan")
        top = 1 if key == "tacit.confidence" else Decimal(10) ** 12
        if not (number.is_finite() and 0 < number < top and number.adjusted() > -40 and len(value) < 60):
            raise Fault("22023", f"{key} is a number above 0{' and below 1' if top == 1 else ''}, such as 0.5")
    return value
