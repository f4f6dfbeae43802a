"""Run by test_flower.py in the environment that has flwr: clients of one process learn a mean together.

Prints JSON: what was released, what would have been without privacy, who was left, and what was paid.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from tacit.learn.federated import Cohort, Federation
from tacit.learn.federated.flower import InProcessGrid, PrivateAverage, private_mod
from tacit.session import Session


def simulated(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    clients, size, rounds = settings["clients"], settings["size"], settings["rounds"]
    cohort = Cohort(
        clients=clients, survivors=settings["survivors"], clip=1, dimension=size, bits=24, noise=settings["noise"]
    )
    plan = Federation(cohort=cohort, rounds=rounds, table="phones", sigma=settings["sigma"])
    targets = np.random.default_rng(1).normal(size=(clients, size)) / np.sqrt(size) / 2 + 0.5 / np.sqrt(size)
    asked: list[str] = []

    app = ClientApp(mods=[private_mod(plan, lambda context: int(context.node_config["partition-id"]) + 1)])

    @app.train()  # type: ignore[untyped-decorator]  # of a package without types here
    def train(message: Message, context: Context) -> Message:
        asked.append(message.metadata.group_id)
        if settings.get("fails") == context.node_id:
            raise ValueError("the secret of this device")
        (weights,) = message.content["arrays"].to_numpy_ndarrays()
        moved = weights + (targets[context.node_id - 1] - weights)
        return Message(RecordDict({"arrays": ArrayRecord([moved])}), reply_to=message)

    def lost(node: int, message: Message) -> bool:
        stage = message.content["tacit"]["stage"]
        return [int(message.metadata.group_id), stage, node] in settings["lost"]

    with Session(folder / "tacit.toml", "cora") as session:
        strategy = PrivateAverage(plan, session)
        began = time.process_time()
        arrays = strategy.start(InProcessGrid(app, clients, lost=lost), ArrayRecord([np.zeros(size)]))
        took = time.process_time() - began
        left, limit = session.left().rho, session.policy.analysts["cora"].limit
    return {
        "released": arrays.to_numpy_ndarrays()[0].tolist(),
        "wanted": targets.mean(0).tolist(),
        "aborted": strategy.aborted,
        "asked": len(asked),
        "paid": float((limit or 0) - (left or 0)),
        "price": float(plan.program.cost.rho or 0),
        "seconds": took,
    }


if __name__ == "__main__":
    print(json.dumps(simulated(Path(sys.argv[1]), json.loads(sys.argv[2]))))
