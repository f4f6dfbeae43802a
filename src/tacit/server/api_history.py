"""`/v1/datasets/…/history`: who spent how much when, from the newest entries of the ledger. Analysts see their own."""

import json
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from tacit.ledger import Entry
from tacit.policy import Amount, Currency
from tacit.server.api_data import exactly
from tacit.server.identify import Serving, allowed
from tacit.server.people import Identity

__all__ = ["history_json", "router"]

router = APIRouter(prefix="/v1/datasets", tags=["budget"])

Looks = Annotated[Identity, Depends(allowed("look"))]

MOST = 2000  # entries that are looked through


@router.get("/{dataset}/history")
def history(dataset: str, who: Looks, service: Serving) -> JSONResponse:
    """The newest charges in their order: for analysts their own, for curators and auditors everybody's."""
    opened = service.desk.opened(who, dataset)
    people = opened.policy.dataset.identity
    standing = opened.ledger.standing(people)
    first = max(0, standing.seq - MOST)
    entries = opened.ledger.log(people, after=first, limit=MOST)
    items = history_json(entries, standing.currency, None if who.role != "analyst" else who.name)
    return JSONResponse({"currency": standing.currency.value, "whole": first == 0, "items": items})


def history_json(entries: Iterable[Entry], currency: Currency, analyst: str | None) -> list[dict[str, Any]]:
    """Charges that stand, of one analyst or of all; what a charge was for is not in it."""
    found: dict[int, dict[str, Any]] = {}
    for entry in entries:
        if entry.kind not in ("charge", "void"):
            continue
        body = json.loads(entry.body)
        if entry.kind == "void":
            found.pop(body["charge"], None)
        elif analyst is None or body["analyst"] == analyst:
            spent = exactly(Amount(int(body["spend"]), int(body["delta"])), currency)
            found[entry.seq] = {"seq": entry.seq, "time": entry.time, "analyst": body["analyst"], "spent": spent}
    return list(found.values())
