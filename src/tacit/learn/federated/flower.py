"""Flower carries the messages: a mod for its clients, a strategy for its server, a grid of clients in one process.

The mod answers the stages of a secure sum, and asks the app behind it for a trained model once in a round. Nothing
else leaves a device: no metrics, no weights, and no message of another kind is answered. Flower's telemetry is off.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.base import Aborted, InputError
from tacit.learn.federated.client import Client
from tacit.learn.federated.federation import FederatedRun, Federation
from tacit.learn.federated.terms import ClientKey, Message

if TYPE_CHECKING:
    from flwr.app import ArrayRecord, ConfigRecord, Context
    from flwr.app import Message as FlowerMessage
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid

    from tacit.desk import ContentRelease, Spender

__all__ = ["InProcessGrid", "PrivateAverage", "need_flower", "private_mod"]

RECORD, ARRAYS, TRAIN = "tacit", "arrays", "train"


def need_flower() -> ModuleType:
    """Flower's `flwr.app`, with its telemetry off, or an error that says how to get it."""
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # read once, when flwr is imported
    try:
        return import_module("flwr.app")
    except ImportError:
        raise InputError("federated training by Flower needs flwr: pip install 'tacit[federated]'") from None


def private_mod(
    plan: Federation,
    place: "Callable[[Context], int]",
    *,
    key: "Callable[[Context], ClientKey] | None" = None,
    state: "Callable[[Context], Path] | None" = None,
) -> "Callable[[FlowerMessage, Context, Any], FlowerMessage]":
    """A mod for `ClientApp(mods=[…])`. `place` gives a device's place in the cohort, from 1; `key` and `state` its
    signing key, and the file in which it keeps the last round it took part in."""

    app = need_flower()
    if plan.cohort.server == "lying" and state is None:
        raise InputError(
            "a lying server could ask two processes of one device at a time: give state=, a file of its own"
        )

    def mod(message: "FlowerMessage", context: "Context", call_next: Any) -> "FlowerMessage":
        if RECORD not in message.content.config_records or not message.metadata.message_type.startswith(TRAIN):
            raise Aborted("this device answers the rounds of its plan and nothing else")
        asked = dict(message.content.config_records[RECORD])
        number, stage = int(asked.pop("number")), str(asked.pop("stage"))
        client = Client(
            plan,
            place(context),
            key=None if key is None else key(context),
            state=None if state is None else state(context),
        )
        kept = context.state.config_records.get(RECORD)
        if kept is not None:
            client.remember(int(kept["last"]), bytes(kept["secrets"]))

        def trained() -> Any:
            try:
                return _update(message, call_next(message, context))
            except Exception:  # whatever it says may be of private data, and Flower would send it to the server
                raise Aborted("the app on this device failed") from None

        try:
            answer = client.answer(number, stage, asked, trained)
        finally:
            context.state.config_records[RECORD] = app.ConfigRecord({"last": client.last, "secrets": client.secrets()})
        told = app.ConfigRecord(answer | {"place": client.place})
        return app.Message(app.RecordDict({RECORD: told}), reply_to=message)

    return mod


def _update(asked: "FlowerMessage", replied: "FlowerMessage") -> Any:
    """How far training moved the model, as one vector."""
    if replied.has_error() or ARRAYS not in replied.content.array_records:
        raise Aborted("the app on this device gave no arrays")
    before, after = _flat(asked.content.array_records[ARRAYS]), _flat(replied.content.array_records[ARRAYS])
    if before.shape != after.shape:
        raise Aborted("the app on this device changed the shape of the model")
    return after - before


def _flat(arrays: "ArrayRecord") -> Any:
    return np.concatenate([np.asarray(each, dtype=np.float64).reshape(-1) for each in arrays.to_numpy_ndarrays()])


class PrivateAverage:
    """A strategy for Flower's server: federated averaging by the rounds of a plan, which is charged first.

    `start` gives the arrays at the end. `after` is told each round's number and arrays, all of which are released.
    """

    def __init__(
        self,
        plan: Federation,
        session: "Spender",
        *,
        rate: float = 1.0,
        after: "Callable[[int, ArrayRecord], None] | None" = None,
        timeout: float = 600,
    ) -> None:
        self.plan, self.session, self.rate, self.timeout = plan, session, rate, timeout
        self._after = after
        self.release: ContentRelease | None = None
        self.aborted: list[int] = []

    def start(
        self, grid: "Grid", initial_arrays: "ArrayRecord", train_config: "ConfigRecord | None" = None
    ) -> "ArrayRecord":
        """Charge the plan, then run it. A round with too few left stays paid and moves nothing; the next goes on."""
        names = list(initial_arrays.keys())
        shapes = [each.shape for each in initial_arrays.to_numpy_ndarrays()]
        weights = _flat(initial_arrays)
        if weights.shape != (self.plan.cohort.dimension,):
            raise InputError(f"the model has {weights.size:,} numbers: say Cohort(dimension={weights.size})")

        def loop(run: FederatedRun) -> None:
            weights = run.weights.get("weights", _flat(initial_arrays))
            run.keep(weights=weights)  # every round may break off
            for each in run:
                arrays = _shaped(weights, names, shapes)
                with suppress(Aborted):
                    weights = weights + self.rate * each.mean(self._exchange(grid, each.number, arrays, train_config))
                    run.keep(weights=weights)
                if not each.survivors:
                    self.aborted.append(each.number)
                if self._after is not None:
                    self._after(each.number, _shaped(weights, names, shapes))

        self.release = self.plan.run(self.session, loop)
        return _shaped(self.plan.weights_in(self.release)["weights"], names, shapes)

    def _exchange(self, grid: "Grid", number: int, arrays: "ArrayRecord", config: "ConfigRecord | None") -> Any:
        nodes: dict[int, int] = {}  # by place

        def exchange(stage: str, messages: dict[int, dict[str, Any]]) -> dict[int, Message]:
            everybody = {node: next(iter(messages.values())) for node in grid.get_node_ids()}
            told = {nodes[place]: message for place, message in messages.items()} if nodes else everybody
            sent = [self._message(node, number, stage, told[node], arrays, config) for node in told]
            answers: dict[int, Message] = {}
            for reply in grid.send_and_receive(sent, timeout=self.timeout):
                if reply.has_error() or RECORD not in reply.content.config_records:
                    continue
                answer, node = dict(reply.content.config_records[RECORD]), reply.metadata.src_node_id
                place = answer.pop("place", None)
                if type(place) is int and nodes.setdefault(place, node) == node:
                    answers[place] = answer
            return answers

        return exchange

    def _message(
        self, node: int, number: int, stage: str, told: Message, arrays: "ArrayRecord", config: "ConfigRecord | None"
    ) -> "FlowerMessage":
        app = need_flower()
        content = app.RecordDict({RECORD: app.ConfigRecord({**told, "number": number, "stage": stage})})
        if stage in ("upload", "vector"):
            content[ARRAYS] = arrays
            content["config"] = app.ConfigRecord({**(config or {}), "server-round": number})
        return app.Message(content, dst_node_id=node, message_type=TRAIN, group_id=str(number))


def _shaped(weights: Any, names: list[str], shapes: list[tuple[int, ...]]) -> "ArrayRecord":
    app = need_flower()
    found, start = {}, 0
    for name, shape in zip(names, shapes, strict=True):
        size = int(np.prod(shape))
        found[name] = app.Array(np.ascontiguousarray(weights[start : start + size].reshape(shape)))
        start += size
    return app.ArrayRecord(found)


class InProcessGrid:
    """Clients of one process, one after the other: a simulation without ray, as far as `PrivateAverage` asks a grid.

    `lost` says whose answer does not arrive, by node and message.
    """

    def __init__(
        self,
        app: "ClientApp",
        nodes: int,
        *,
        lost: "Callable[[int, FlowerMessage], bool]" = lambda node, message: False,
    ) -> None:
        flower = need_flower()
        from flwr.supercore.task_identity import TaskIdentity

        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 0  # as Flower's own servers do
        self._app, self._lost = app, lost
        self._contexts = {
            node: flower.Context(
                run_id=1, node_id=node, node_config={"partition-id": node - 1}, state=flower.RecordDict(), run_config={}
            )
            for node in range(1, nodes + 1)
        }

    def get_node_ids(self) -> Iterable[int]:
        return list(self._contexts)

    def send_and_receive(
        self, messages: "Iterable[FlowerMessage]", *, timeout: float | None = None
    ) -> "Iterable[FlowerMessage]":
        for message in messages:
            node = message.metadata.dst_node_id
            if self._lost(node, message):
                continue
            with suppress(Aborted):
                yield self._app(message, self._contexts[node])
