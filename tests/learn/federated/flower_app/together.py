"""A Flower app of two parts, each in processes of Flower's own: devices that train, and who leads them.

Device number 3 fails when it is asked to train. The server leaves `result.json` in the folder of the policy.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from tacit.learn.federated import Cohort, Federation
from tacit.learn.federated.flower import PrivateAverage, private_mod
from tacit.session import Session

SIZE, CLIENTS = 20, 4
COHORT = Cohort(clients=CLIENTS, survivors=3, clip=1, dimension=SIZE, bits=24)
PLAN = Federation(cohort=COHORT, rounds=1, table="phones", sigma="1/100")


def target(place: int) -> Any:
    """What a device's own data say."""
    return np.full(SIZE, place / 10 / np.sqrt(SIZE))


def place_of(context: Context) -> int:
    return int(context.node_config["place"])


def state_of(context: Context) -> Path:
    """The last round it took part in, on the device's own disk."""
    return Path(str(context.run_config["folder"])) / f"device {place_of(context)}"


client = ClientApp(mods=[private_mod(PLAN, place_of, state=state_of)])
server = ServerApp()


@client.train()  # type: ignore[untyped-decorator]  # of a package without types here
def train(message: Message, context: Context) -> Message:
    if place_of(context) == 3:
        raise ValueError("the secret of this device")
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    moved = weights + target(place_of(context))
    return Message(RecordDict({"arrays": ArrayRecord([moved])}), reply_to=message)


@server.main()  # type: ignore[untyped-decorator]  # of a package without types here
def main(grid: Grid, context: Context) -> None:
    folder = Path(str(context.run_config["folder"]))
    while len(list(grid.get_node_ids())) < CLIENTS:
        time.sleep(0.2)
    with Session(folder / "tacit.toml", "cora") as session:
        before = session.left().rho or 0
        strategy = PrivateAverage(PLAN, session, timeout=600)
        arrays = strategy.start(grid, ArrayRecord([np.zeros(SIZE)]))
        paid = float(before - (session.left().rho or 0))
    found = {
        "released": arrays.to_numpy_ndarrays()[0].tolist(),
        "wanted": np.mean([target(place) for place in (1, 2, 4)], axis=0).tolist(),
        "aborted": strategy.aborted,
        "paid": paid,
        "price": float(PLAN.program.cost.rho or 0),
    }
    part = folder / "result.part"
    part.write_text(json.dumps(found))
    part.replace(folder / "result.json")
