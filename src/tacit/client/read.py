"""What a service sends, as the values that a local session gives."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tacit.client.door import JSON, Lost, Reply
from tacit.loss import Cost
from tacit.plan.price import Priced
from tacit.session import Quote, Release
from tacit.session.expect import Expected

__all__ = ["Quoted", "plain", "quote_of", "read", "release_of"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, repr=False)
class Quoted(Quote):
    """A quote from elsewhere. The plan stays there, so it has no `priced`; `columns` are the answer's, with types."""

    columns: tuple[tuple[str, str], ...] = ()
    priced: Priced = field(init=False, compare=False)


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


def quote_of(reply: Reply) -> Quoted:
    """A quote."""
    said = plain(reply)
    return Quoted(
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
        columns=tuple((str(column["name"]), str(column["type"])) for column in said["columns"]),
    )


def release_of(reply: Reply) -> Release:
    """An answer from its Arrow stream: the types of its columns, intervals, notes and facts are the service's own."""
    found = Release.from_bytes(reply.body)
    found.table.validate(full=True)  # bytes from elsewhere may lie about what they hold
    return replace(found, cached=reply.cached)
