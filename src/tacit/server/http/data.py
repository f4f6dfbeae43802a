"""`/v1/datasets`: what there is, what is declared of it, and what was spent. Nothing here looks at data."""

import json
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from tacit.base import Denied, InputError
from tacit.ledger import Entry, Standing
from tacit.ledger.checkpoint import fingerprint
from tacit.loss import ZCDP, Approx, Loss, Meaning, Pure
from tacit.policy import Amount, Column, Currency, Limit, Policy, Table
from tacit.policy.decide import holder_of, limits_of
from tacit.server.ask.dataset import tables_of
from tacit.server.auth.identify import Looks, Serving, Watches
from tacit.server.auth.people import Identity
from tacit.server.http.ask import Positive

__all__ = [
    "budget_json",
    "history_json",
    "history_router",
    "keys_router",
    "meaning_of",
    "meaning_router",
    "router",
    "schema_json",
]

router = APIRouter(prefix="/v1/datasets")


SCHEMA: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Declared facts alone.",
        "content": {
            "application/json": {
                "example": {
                    "name": "clinic",
                    "people": "patients of a made-up clinic",
                    "privacy": {
                        "unit": "patient",
                        "relation": "add_remove",
                        "currency": "epsilon",
                        "delta": "1/1000000",
                    },
                    "tables": [
                        {
                            "name": "visits",
                            "public": False,
                            "columns": [{"name": "age", "type": "integer", "nullable": False, "bounds": ["0", "110"]}],
                        }
                    ],
                }
            }
        },
    }
}


@router.get("", tags=["datasets"])
def list_datasets(who: Looks, service: Serving) -> JSONResponse:
    """The datasets you may know of."""
    return JSONResponse({"items": [{"name": name} for name in service.datasets.names(who)]})


@router.get("/{dataset}", responses=SCHEMA, tags=["datasets"])
def one_dataset(dataset: str, who: Looks, service: Serving) -> JSONResponse:
    """What is declared of a dataset: tables, columns, types, bounds, keys. Nothing is read from the data."""
    return JSONResponse(schema_json(service.datasets.policy(who, dataset)))


@router.get("/{dataset}/budget", tags=["budget"])
def budget(dataset: str, who: Looks, service: Serving) -> JSONResponse:
    """What was spent and what is left: for analysts the limits that bind them, for curators and auditors all."""
    opened = service.datasets.find(who, dataset)
    standing = service.datasets.budget(who, dataset)
    found = budget_json(standing, opened.policy, who)
    try:
        found["left"] = service.datasets.left(who, dataset).json()
    except Denied:
        found["left"] = None  # this name may spend nothing
    return JSONResponse(found)


@router.get("/{dataset}/ledger", tags=["budget"])
def ledger(
    dataset: str,
    who: Watches,
    service: Serving,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> JSONResponse:
    """The entries of the dataset's chain, in order, as they were hashed: for curators and auditors."""
    opened = service.datasets.find(who, dataset)
    people = opened.policy.dataset.identity
    entries = list(islice(opened.ledger.log(people, after=after, limit=limit), limit))
    items = [{"seq": e.seq, "kind": e.kind, "time": e.time, "body": e.body, "digest": e.digest.hex()} for e in entries]
    more = entries[-1].seq if len(entries) == limit else None
    head = opened.ledger.standing(people)
    return JSONResponse(
        {
            "ledger": opened.ledger.store.ledger,
            "people": people,
            "head": {"seq": head.seq, "digest": head.head.hex()},
            "items": items,
            "next": more,
        }
    )


def schema_json(policy: Policy) -> dict[str, Any]:
    """A policy, already cut down to what the reader may know, as plain data."""
    privacy = policy.privacy
    return {
        "name": policy.dataset.name,
        "people": policy.dataset.identity,
        "privacy": {
            "unit": privacy.unit,
            "relation": privacy.relation.value,
            "currency": privacy.currency.value,
            "delta": str(privacy.delta),
            "budget": str(privacy.budget),
        },
        "tables": [_table(name, table) for name, table in policy.tables.items()],
    }


def _table(name: str, table: Table) -> dict[str, Any]:
    return {
        "name": name,
        "public": table.public,
        "unit": table.unit,
        "each_row_is_a_unit": table.each_row_is_a_unit,
        "clip_rows": None if table.clip_rows is None else str(table.clip_rows),
        "max_rows_per_unit": table.max_rows_per_unit,
        "max_groups": table.max_groups,
        "columns": [_column(name, column) for name, column in table.columns.items()],
    }


def _column(name: str, column: Column) -> dict[str, Any]:
    return {
        "name": name,
        "type": None if column.type is None else column.type.value,
        "nullable": column.nullable,
        "bounds": None if column.bounds is None else [str(end) for end in column.bounds],
        "step": None if column.step is None else str(column.step),
        "keys": None if column.keys is None else [_key(key) for key in column.keys],
    }


def _key(key: Any) -> Any:
    return key if isinstance(key, str | bool) or key is None else str(key)


def budget_json(standing: Standing, policy: Policy, who: Identity) -> dict[str, Any]:
    """An account as plain data, exact decimals as text; a limit is the smaller of the policy's and the recorded one.

    `period` (µs) is how long a window is; `seq` and `head` are the newest entry of its chain, which only grows.
    """
    currency = standing.currency
    declared: dict[str, Limit] = {}
    if tables_of(policy, who.name):
        declared = {limit.holder: limit for limit in limits_of(policy, *holder_of(policy, who.name))}
    holders = []
    for balance in standing.balances:
        other = declared.get(balance.holder)
        limit = balance.limit if other is None else _least(balance.limit, other.total)
        holders.append(
            {
                "holder": balance.holder,
                "limit": exactly(limit, currency),
                "each": None if balance.each is None else exactly(balance.each, currency),
                "spent": exactly(balance.window_spent, currency),
                "left": exactly(balance.window_spent.left(limit), currency),
                "spent_ever": exactly(balance.spent, currency),
                "last": None if balance.last is None else exactly(balance.last, currency),
            }
        )
    return {
        "people": standing.people,
        "unit": standing.unit,
        "relation": standing.relation.value,
        "currency": currency.value,
        "delta": str(standing.delta),
        "period": standing.period,
        "window": standing.window,
        "window_end": standing.window_end,
        "lifetime_limit": None if standing.lifetime is None else exactly(standing.lifetime, currency),
        "sealed": standing.sealed,
        "seq": standing.seq,
        "head": standing.head.hex(),
        "holders": holders,
    }


def _least(one: Amount, other: Amount) -> Amount:
    return Amount(min(one.spend, other.spend), min(one.delta, other.delta))


def exactly(amount: Amount, currency: Currency) -> dict[str, str]:
    """Exact decimals as text."""
    return {currency.value: _decimal(amount.spend, currency.decimals), "delta": _decimal(amount.delta, 30)}


def _decimal(value: int, digits: int) -> str:
    text = str(value).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


history_router = APIRouter(prefix="/v1/datasets", tags=["budget"])


MOST = 2000  # entries that are looked through


@history_router.get("/{dataset}/history")
def history(dataset: str, who: Looks, service: Serving) -> JSONResponse:
    """The newest charges in their order: for analysts their own, for curators and auditors everybody's."""
    opened = service.datasets.find(who, dataset)
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


meaning_router = APIRouter(prefix="/v1/datasets", tags=["ask"])

Slack = Annotated[Decimal, Query(ge=0, lt=1, max_digits=45, decimal_places=30, description="What a quote has as δ.")]
Prior = Annotated[Decimal, Query(gt=0, lt=1, max_digits=20, decimal_places=20, description="What somebody believed.")]


@meaning_router.get("/{dataset}/meaning")
def meaning(
    dataset: str,
    who: Looks,
    service: Serving,
    epsilon: Annotated[Positive | None, Query()] = None,
    rho: Annotated[Positive | None, Query()] = None,
    delta: Slack = Decimal(0),
    prior: Prior = Decimal("0.5"),
) -> JSONResponse:
    """What spending so much, as `epsilon` or `rho`, means for one person in the data. Nothing is looked at."""
    policy = service.datasets.find(who, dataset).policy
    found = meaning_of(policy, epsilon=_exactly(epsilon), rho=_exactly(rho), delta=Fraction(delta), prior=prior)
    return JSONResponse({**found.json(), "words": str(found).splitlines()[1:]})


def meaning_of(
    policy: Policy, *, epsilon: Fraction | None, rho: Fraction | None, delta: Fraction, prior: Decimal
) -> Meaning:
    """The meaning of one release that costs so much, stated at the policy's delta where there is a choice."""
    if (epsilon is None) == (rho is None):
        raise InputError("meaning takes one of epsilon and rho: say how much is spent")
    privacy = policy.privacy
    near: dict[str, Any] = {"relation": privacy.relation, "unit": privacy.unit}
    loss: Loss
    if epsilon is not None:
        loss = Approx(epsilon, delta, **near) if delta else Pure(epsilon, **near)
        return loss.meaning(prior, delta=delta)
    assert rho is not None
    loss = ZCDP(rho, delta=delta, **near)
    return loss.meaning(prior, delta=max(privacy.delta, 2 * delta) or Fraction(1, 10**6))


def _exactly(value: Decimal | None) -> Fraction | None:
    return None if value is None else Fraction(value)


keys_router = APIRouter(prefix="/v1", tags=["releases"])

KEYS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The public key, or none where certificates are not signed.",
        "content": {
            "application/json": {
                "example": {
                    "items": [
                        {
                            "id": "0123456789abcdef",
                            "algorithm": "Ed25519",
                            "public_key": "-----BEGIN PUBLIC KEY-----…",
                        }
                    ]
                }
            }
        },
    }
}


@keys_router.get("/keys", responses=KEYS)
def keys(service: Serving) -> JSONResponse:
    """The public key that certificates are signed with; `id` begins the SHA-256 of its 32 bytes."""
    if service.signer is None:
        return JSONResponse({"items": []})
    public = service.signer.public_key
    return JSONResponse({"items": [{"id": fingerprint(public), "algorithm": "Ed25519", "public_key": public}]})
