"""Made-up clients that answer in process, for tests."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.learn.federated import ClientKey, Cohort
from tacit.learn.federated.channel import Words
from tacit.learn.federated.masked_client import MaskedClient
from tacit.learn.federated.masked_sum import Exchange
from tacit.learn.federated.terms import SumTerms
from tacit.noise import SecureRng

RUN = bytes(range(16))
RNG = SecureRng()

POLICY = """
[dataset]
name = "phones"
[privacy]
unit = "client"
relation = "add_remove"
currency = "rho"
delta = 1e-6
population = 100000
budget = {budget}
[tables.phones]
source = "phones.parquet"
unit_column = "phone"
[tables.phones.columns]
phone = {{ type = "integer" }}
[analysts.cora]
limit = {limit}
"""

Messages = dict[int, dict[str, Any]]
Lie = Callable[[str, Messages], Messages]


def sum_terms(*, clients: int = 5, threshold: int = 4, lying: bool = False, size: int = 8, **more: Any) -> SumTerms:
    keys = client_keys(clients)
    return SumTerms(
        clients=clients,
        threshold=threshold,
        size=size,
        bits=16,
        run=RUN,
        round=more.pop("round", 1),
        server="lying" if lying else "curious",
        registered=tuple(key.public for key in keys) if lying else (),
        **more,
    )


def client_keys(count: int) -> list[ClientKey]:
    return [ClientKey(bytes([place]) * 32) for place in range(1, count + 1)]


def masked_clients(terms: SumTerms) -> dict[int, MaskedClient]:
    keys = client_keys(terms.clients)
    return {place: MaskedClient(terms, place, key=key) for place, key in enumerate(keys, start=1)}


def vectors(terms: SumTerms) -> dict[int, Words]:
    chance = np.random.default_rng(terms.clients)
    return {p: chance.integers(0, 2**16, terms.size).astype("<u2") for p in range(1, terms.clients + 1)}


def exchange_with(
    clients: Mapping[int, MaskedClient],
    words: Mapping[int, Words],
    *,
    gone: Mapping[str, Collection[int]] | None = None,
    lie: Lie | None = None,
) -> Exchange:
    """A network: `gone` says who is silent from which stage on, and `lie` changes what the server says."""
    out: set[int] = set()

    def exchange(stage: str, messages: Messages) -> Messages:
        out.update((gone or {}).get(stage, ()))
        told = messages if lie is None else lie(stage, messages)
        return {
            place: clients[place].answer(stage, message, words[place] if stage == "upload" else None)
            for place, message in told.items()
            if place not in out
        }

    return exchange


def small_cohort(**more: Any) -> Cohort:
    settings: dict[str, Any] = {"clients": 5, "survivors": 4, "clip": 1, "dimension": 6, "bits": 16}
    return Cohort(**settings | more)


def policy_in(folder: Path, *, limit: int = 1) -> Path:
    """A policy whose only table is the roster of who may take part; their data stay on the devices."""
    pq.write_table(pa.table({"phone": list(range(1, 21))}), folder / "phones.parquet")
    (folder / "tacit.toml").write_text(POLICY.format(limit=limit, budget=2 * limit))
    return folder / "tacit.toml"
