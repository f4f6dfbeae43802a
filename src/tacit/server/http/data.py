"""`/v1/datasets`: what there is, what is declared of it, and what was spent. Nothing here looks at data."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from tacit.base import Denied, InputError
from tacit.ledger import Entry, Standing
from tacit.ledger.checkpoint import fingerprint
from tacit.loss import Meaning
from tacit.policy import Amount, Column, Currency, Policy, Table
from tacit.policy.decide import holder_of, limits_of
from tacit.server.auth.identify import Looks, Serving, Watches
from tacit.server.auth.people import Identity
from tacit.server.http.ask import Positive, documented, paged

__all__ = ["history_json", "router"]

router = APIRouter(prefix="/v1")

SCHEMA = documented(
    "Declared facts alone.",
    {
        "name": "clinic",
        "people": "patients of a made-up clinic",
        "privacy": {"unit": "patient", "relation": "add_remove", "currency": "epsilon", "delta": "1/1000000"},
        "tables": [
            {
                "name": "visits",
                "public": False,
                "columns": [{"name": "age", "type": "integer", "nullable": False, "bounds": ["0", "110"]}],
            }
        ],
    },
)


@router.get("/datasets", tags=["datasets"])
def list_datasets(who: Looks, service: Serving) -> JSONResponse:
    """The datasets you may know of."""
    return JSONResponse({"items": [{"name": name} for name in service.datasets.names(who)]})


@router.get("/datasets/{dataset}", responses=SCHEMA, tags=["datasets"])
def one_dataset(dataset: str, who: Looks, service: Serving) -> JSONResponse:
    """What is declared of a dataset: tables, columns, types, bounds, keys. Nothing is read from the data."""
    policy = service.datasets.policy(who, dataset)  # cut down to what the reader may know
    return JSONResponse(
        {
            "name": policy.dataset.name,
            "people": policy.dataset.identity,
            "privacy": {
                "unit": policy.privacy.unit,
                "relation": policy.privacy.relation.value,
                "currency": policy.privacy.currency.value,
                "delta": str(policy.privacy.delta),
                "budget": str(policy.privacy.budget),
            },
            "tables": [_table(name, table) for name, table in policy.tables.items()],
        }
    )


@router.get("/datasets/{dataset}/budget", tags=["budget"])
def budget(dataset: str, who: Looks, service: Serving) -> JSONResponse:
    """What was spent and what is left: for analysts the limits that bind them, for curators and auditors all."""
    policy = service.datasets.find(who, dataset).policy
    found = _budget(service.datasets.budget(who, dataset), policy, who)
    try:
        found["left"] = service.datasets.left(who, dataset).json()
    except Denied:
        found["left"] = None  # this name may spend nothing
    return JSONResponse(found)


@router.get("/datasets/{dataset}/ledger", tags=["budget"])
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
    newest, named = opened.ledger.standing(people), {"ledger": opened.ledger.store.ledger, "people": people}
    head = {"seq": newest.seq, "digest": newest.head.hex()}
    return JSONResponse({**named, "head": head, **paged(items, limit, "seq")})


def _table(name: str, table: Table) -> dict[str, Any]:
    return {
        "name": name,
        "public": table.public,
        "unit_column": table.unit_column,
        "unit": table.unit_column,  # its former name
        "link": None if table.link is None else asdict(table.link),
        "each_row_is_a_unit": table.each_row_is_a_unit,
        "clip_rows": _text(table.clip_rows),
        "max_rows_per_unit": table.max_rows_per_unit,
        "max_groups": table.max_groups,
        "columns": [_column(name, column) for name, column in table.columns.items()],
    }


def _column(name: str, column: Column) -> dict[str, Any]:
    keys = None
    if column.group_keys is not None:
        keys = [key if isinstance(key, str | bool) or key is None else str(key) for key in column.group_keys]
    return {
        "name": name,
        "type": None if column.type is None else column.type.value,
        "nullable": column.nullable,
        "bounds": None if column.bounds is None else [str(end) for end in column.bounds],
        "step": _text(column.step),
        "group_keys": keys,
        "keys": keys,  # their former name
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _budget(standing: Standing, policy: Policy, who: Identity) -> dict[str, Any]:
    """An account as plain data, exact decimals as text; a limit is the smaller of the policy's and the recorded one.

    `period` (µs) is how long a window is; `seq` and `head` are the newest entry of its chain, which only grows.
    """
    currency = standing.currency
    declared = {limit.holder: limit for limit in policy.terms().limits}
    with suppress(Denied):  # who comes as anybody ("*") has no line of their own in the policy
        declared |= {limit.holder: limit for limit in limits_of(policy, *holder_of(policy, who.name))}
    holders = []
    for balance in standing.balances:
        limit, spent = balance.limit, balance.window_spent
        if (other := declared.get(balance.holder)) is not None:
            limit = Amount(min(limit.spend, other.total.spend), min(limit.delta, other.total.delta))
        amounts = {"limit": limit, "each": balance.each, "spent": spent, "left": spent.left(limit)}
        amounts |= {"spent_ever": balance.spent, "last": balance.last}
        told = {name: None if amount is None else amount.json(currency) for name, amount in amounts.items()}
        holders.append({"holder": balance.holder, **told})
    return {
        "people": standing.people,
        "unit": standing.unit,
        "relation": standing.relation.value,
        "currency": currency.value,
        "delta": str(standing.delta),
        "period": standing.period,
        "window": standing.window,
        "window_end": standing.window_end,
        "lifetime_limit": None if standing.lifetime is None else standing.lifetime.json(currency),
        "sealed": standing.sealed,
        "seq": standing.seq,
        "head": standing.head.hex(),
        "holders": holders,
    }


MOST = 2000  # entries that are looked through


@router.get("/datasets/{dataset}/history", tags=["budget"])
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
            spent = Amount(int(body["spend"]), int(body["delta"])).json(currency)
            found[entry.seq] = {"seq": entry.seq, "time": entry.time, "analyst": body["analyst"], "spent": spent}
    return list(found.values())


Slack = Annotated[Decimal, Query(ge=0, lt=1, max_digits=45, decimal_places=30, description="What a quote has as δ.")]
Prior = Annotated[Decimal, Query(gt=0, lt=1, max_digits=20, decimal_places=20, description="What somebody believed.")]


@router.get("/datasets/{dataset}/meaning", tags=["ask"])
def meaning(
    dataset: str,
    who: Looks,
    service: Serving,
    epsilon: Annotated[Positive | None, Query()] = None,
    rho: Annotated[Positive | None, Query()] = None,
    mu_squared: Annotated[Positive | None, Query()] = None,
    delta: Slack = Decimal(0),
    prior: Prior = Decimal("0.5"),
) -> JSONResponse:
    """What spending so much, in one of the currencies, means for one person in the data. Nothing is looked at."""
    policy = service.datasets.find(who, dataset).policy
    offered = {Currency.EPSILON: epsilon, Currency.RHO: rho, Currency.MU_SQUARED: mu_squared}
    found = meaning_of(policy, offered, delta=Fraction(delta), prior=prior)
    return JSONResponse({**found.json(), "words": str(found).splitlines()[1:]})


def meaning_of(
    policy: Policy, offered: Mapping[Currency, Decimal | None], *, delta: Fraction, prior: Decimal
) -> Meaning:
    """The meaning of one release that costs so much, stated at the policy's delta where there is a choice."""
    privacy = policy.privacy
    given = [(currency, Fraction(spend)) for currency, spend in offered.items() if spend is not None]
    if len(given) != 1:
        raise InputError("meaning takes one of epsilon, rho and mu_squared: say how much is spent")
    ((currency, spend),) = given
    loss = currency.loss(spend, delta, relation=privacy.relation, unit=privacy.unit)
    at = delta if currency is Currency.EPSILON else max(privacy.delta, 2 * delta) or Fraction(1, 10**6)
    return loss.meaning(prior, delta=at)


KEYS = documented(
    "The public key, or none where certificates are not signed.",
    {"items": [{"id": "0123456789abcdef", "algorithm": "Ed25519", "public_key": "-----BEGIN PUBLIC KEY-----…"}]},
)


@router.get("/keys", responses=KEYS, tags=["releases"])
def keys(service: Serving) -> JSONResponse:
    """The public key that certificates are signed with; `id` begins the SHA-256 of its 32 bytes."""
    public = [] if service.signer is None else [service.signer.public_key]
    items = [{"id": fingerprint(key), "algorithm": "Ed25519", "public_key": key} for key in public]
    return JSONResponse({"items": items})
