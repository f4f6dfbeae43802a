"""`tacit together`: what training over many devices costs and takes, before any device is asked."""

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Any

from tacit.base import InputError, exact
from tacit.cli.options import Json, flag, option
from tacit.cli.screen import facts, output, remark, up
from tacit.cli.settings import AskerOptions
from tacit.learn.federated import ClientKey, Cohort, Federation
from tacit.learn.federated.rehearsal import rehearse
from tacit.noise import rng_or_default

__all__ = ["TogetherOptions", "together"]


@dataclass(frozen=True, kw_only=True)
class TogetherOptions:
    """A plan, whose clients' keys are still to be handed out."""

    clients: Annotated[str, option("COUNT", "How many may take part.")]
    survivors: Annotated[str, option("COUNT", "How many must be left in every round, or nothing is released.")]
    dimension: Annotated[str, option("COUNT", "Numbers of the model.")]
    rounds: Annotated[str, option("COUNT", "How many rounds are paid for, all of them at the start.")]
    clip: Annotated[str, option("NUMBER", "The length to which each client's vector is cut.")] = "1"
    sigma: Annotated[str | None, option("NUMBER", "The noise that one client adds to each number.")] = None
    epsilon: Annotated[str | None, option("NUMBER", "Or the ε to keep to; the noise is found.")] = None
    delta: Annotated[str | None, option("NUMBER", "The δ of ε.")] = None
    noise: Annotated[str, option("WHERE", "Who adds noise: distributed, central or local.")] = "distributed"
    server: Annotated[str, option("TRUST", "curious: it keeps to the protocol. lying: it does as it likes.")] = (
        "curious"
    )
    colluding: Annotated[str, option("COUNT", "Clients that may tell the server what they know.")] = "0"
    bits: Annotated[str, option("COUNT", "Of a number that is sent, 2 to 32.")] = "16"
    table: Annotated[str, option("TABLE", "The policy's table that lists who may take part.")] = "clients"
    unit: Annotated[str, option("NAME", "What the policy calls one client.")] = "client"
    name: Annotated[str, option("NAME", "Tells one plan from another.")] = "federation"

    def plan(self) -> tuple[Federation, list[ClientKey | None]]:
        """The plan, and keys that are made up for it where the server may lie."""
        counts = ("clients", "survivors", "dimension", "colluding", "bits", "rounds")
        given: dict[str, Any] = {name: exact(getattr(self, name), f"--{name}", toward="decimal") for name in counts}
        rounds = given.pop("rounds")
        cohort = Cohort(**given, clip=self.clip, noise=self.noise, server=self.server)  # type: ignore[arg-type]  # checked there
        keys: list[ClientKey | None] = [None] * cohort.clients
        if cohort.server == "lying":
            keys = [ClientKey.draw(rng_or_default(None)) for _ in keys]
        plan = Federation(
            cohort=cohort,
            rounds=rounds,
            table=self.table,
            delta=self.delta,
            epsilon=self.epsilon,
            sigma=self.sigma,
            name=self.name,
            unit=self.unit,
            registered=tuple(key.public for key in keys if key is not None),
        )
        return plan, keys


def together(
    plan: TogetherOptions,
    asker: AskerOptions,
    lost: Annotated[str, option("SHARE", "Of clients that are lost at each stage of the rehearsal.")] = "0.02",
    quote: Annotated[bool, flag("--quote", "Only what it would cost a dataset, and what would be left.")] = False,
    as_json: Json = False,
) -> None:
    """Plan training over many devices: the noise, what all rounds cost one client, and a round that is rehearsed.

    The rehearsal is a whole round with made-up vectors in one process, secure sum and all: who is left, how far the
    mean is off, what a client sends and how long it works. Nothing is charged. The devices themselves are asked from
    Python or through Flower.

    Example: tacit together --clients 100 --survivors 80 --dimension 4096 --rounds 50 --epsilon 4 --delta 1e-6
    """
    own, keys = plan.plan()
    share = exact(lost, "--lost", toward="decimal")
    if not 0 <= share < 1:
        raise InputError(f"--lost is a share of clients: from 0 to below 1, not {lost}")
    if quote:
        with asker.open() as session:
            found = own.quote(session)
            output(as_json, found.json(), found)
        return
    cohort, run = own.cohort, rehearse(own, lost=float(share), keys=keys)
    epsilon = None if own.delta is None else own.loss.epsilon(own.delta).upper
    adding = 1 if cohort.noise == "central" else run.left
    alone = float(own.share) * sqrt(adding) / run.left
    fields = {
        "plan": own.json(), "sigma": float(own.share), "shares": cohort.shares, "epsilon": epsilon,
        "left": run.left, "error": run.error, "bytes sent": run.sent, "bytes received": run.told,
        "client seconds": run.client_seconds, "server seconds": run.server_seconds,
    }  # fmt: skip
    who = "the server adds" if cohort.noise == "central" else "each client adds"
    counted_on = f"; {cohort.shares:,} such shares are counted on" if cohort.noise == "distributed" else ""
    price = "" if epsilon is None else f" cost one {own.unit} ε = {up(epsilon)} at δ = {float(own.delta or 0):g}"
    plain = run.sent / (4 * cohort.dimension)
    lines = {
        "noise": f"σ = {float(own.share):.4g}, which {who} to each number{counted_on}",
        "price": f"{own.rounds:,} rounds{price or ': say --delta for their ε'}",
        "sent": f"{run.sent / 1000:,.1f} kB a client and round, {plain:.2f} times a plain vector",
        "received": f"{run.told / 1000:,.1f} kB a client and round, beside the model",
        "work": f"{run.client_seconds * 1000:,.1f} ms a client, {run.server_seconds * 1000:,.1f} ms the server",
        "rehearsal": f"{run.left:,} of {cohort.clients:,} clients were left",
        "error": f"{run.error:.3g} for each number of the mean; noise alone is {alone:.3g}",
    }
    output(as_json, fields, facts(lines), remark(f"with fewer than {cohort.survivors:,} left nothing is released"))
