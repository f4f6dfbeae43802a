"""What a service sends, as the values that a local session gives."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tacit.client.door import JSON, Lost, Reply
from tacit.loss import Cost
from tacit.session import Quote, Release
from tacit.session.certificate import Certificate
from tacit.session.expect import Expected
from tacit.session.hints import Hint

__all__ = ["certificate_of", "plain", "quote_of", "read", "release_of"]

T = TypeVar("T")
NAME = re.compile(r"[0-9A-Za-z_-]{1,100}")


def read(made: Callable[[Reply], T], reply: Reply) -> T:
    """What `made` makes of an answer; `Lost` if it is none that a service of ours gives."""
    try:
        return made(reply)
    except Exception:  # whatever unfit bytes lead to: Arrow, JSON and our own types each have errors of their own
        pass
    raise Lost("what came back cannot be read: it is no answer of a tacit service, or of one that is newer than this")


def plain(reply: Reply) -> dict[str, Any]:
    """An answer in JSON."""
    found = json.loads(reply.body)
    if reply.status != 200 or reply.kind != JSON or not isinstance(found, dict):
        raise ValueError("not ours")
    return found


def quote_of(reply: Reply) -> Quote:
    """A quote. The plan stays where it is, so it has no `priced`."""
    said = plain(reply)
    return Quote(
        cost=Cost.from_json(said["cost"]),
        expected=tuple(
            Expected(
                column=str(line["column"]),
                error=None if line["error"] is None else float(line["error"]),
                words=str(line["words"]),
            )
            for line in said["expected"]
        ),
        left=Cost.from_json(said["left"]),
        enough=said["enough"] is True,
        notes=tuple(str(note) for note in said["notes"]),
        hints=tuple(Hint.from_json(hint) for hint in said["hints"]),
        columns=tuple((str(column["name"]), str(column["type"])) for column in said["columns"]),
    )


def release_of(reply: Reply) -> Release:
    """An answer from its Arrow stream: the types of its columns, intervals, notes and facts are the service's own."""
    found = Release.from_bytes(reply.body)
    found.table.validate(full=True)  # bytes from elsewhere may lie about what they hold
    return replace(found, cached=reply.cached, name=reply.release if NAME.fullmatch(reply.release) else "")


def certificate_of(reply: Reply) -> Certificate:
    """A certificate. Whether it is true is for `tacit verify` to say."""
    return Certificate.of(plain(reply))
