"""What an analyst should know about an answer beside its numbers, and how it was made, as data."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tacit.ledger import Receipt
from tacit.mechanism import KeySelection
from tacit.plan.bounded import Bounded
from tacit.plan.expression import Column
from tacit.plan.price import RELATIVE, Priced
from tacit.policy import Grant, Policy
from tacit.session.certificate_software import software
from tacit.session.release import Released

__all__ = ["facts_of", "notes_of"]


def notes_of(priced: Priced, policy: Policy, released: Sequence[Released] = ()) -> tuple[str, ...]:
    """Biases that no interval covers, in words."""
    unit, found = policy.privacy.unit, []
    clips = [clip for part in priced.planned.parts for clip in part.clips if not clip.exempt]
    if any(clip.bound is None for clip in clips):
        found.append(f"how much one {unit} may count is chosen privately, for a part of the price")
    if clips:
        found.append(f"what one {unit} adds beyond its clip is scaled down: sums and counts may be a little too small")
        relative = {recipe.function for recipe in priced.planned.recipes} & RELATIVE
        if relative:
            found.append(f"a {unit} with more rows than that weighs less in averages, variances and quantiles")
    for task, step in zip(priced.tasks, priced.program.steps, strict=True):
        if task.kind == "select" and isinstance(step.mechanism, KeySelection):
            needed = step.mechanism.needed()
            found.append(
                f"groups are shown only if enough {unit}s are in them: one of {needed:,} who are in no other group is "
                "shown with 95 % probability, smaller ones are likely missing"
            )
    found += _missing(priced)
    texts = {recipe.asked for recipe in priced.planned.recipes if recipe.function == "quantile"}
    extremes = [text for text in texts if text.upper().startswith(("MIN", "MAX"))]
    if extremes:
        found.append(
            f"{', '.join(sorted(extremes))}: the 0.5 % or 99.5 % quantile, since a true extreme is one {unit}'s"
        )
    if released and not len(released[0].groups) and priced.question.keys:
        found.append("no group had enough units to be shown")
    return tuple(found)


def _missing(priced: Priced) -> list[str]:
    """Why there is a group that nobody declared: NULL."""
    keys = [key for key in priced.planned.parts[0].keys if key.values is not None and None in key.values]
    named = sorted({_called(priced, key.name) for key in keys})
    if not named:
        return []
    return [
        f"rows whose {' or '.join(named)} is missing, or not among the declared keys, are the group NULL (–); "
        "a policy leaves them out by nullable = false"
    ]


def facts_of(
    priced: Priced, policy: Policy, grant: Grant, receipt: Receipt, bounds: Mapping[int, Bounded]
) -> dict[str, Any]:
    """How the answer was made and paid for. `delta` is where the dataset states its promise; `whole` is the δ of a
    program that was priced as one finished mechanism."""
    privacy = policy.privacy
    clips = []
    for number, part in enumerate(priced.planned.parts):
        for place, clip in enumerate(part.clips):
            bound = bounds[number].clips[place].bound
            origin = "none needed" if clip.exempt else "chosen privately" if clip.bound is None else "declared"
            rows = float(bound / clip.row) if clip.by_rows and bound is not None else None
            clips.append(
                {"measures": list(clip.names), "norm": clip.norm, "bound": str(bound), "rows": rows, "origin": origin}
            )
    return {
        "dataset": policy.dataset.name,
        "people": receipt.people,
        "population": privacy.population,
        "analyst": receipt.analyst,
        "unit": privacy.unit,
        "relation": privacy.relation.value,
        "currency": privacy.currency.value,
        "delta": str(privacy.delta),
        "cost": grant.cost.json(),
        "policy": grant.policy,
        "program": receipt.program,
        "ledger": {"id": receipt.ledger, "entry": receipt.seq, "digest": receipt.digest.hex(), "key": receipt.key},
        "time": datetime.fromtimestamp(receipt.time / 1e6, UTC).isoformat(),
        "tables": list(priced.program.tables),
        "steps": [step.json() for step in priced.program.steps],
        "whole": None if priced.program.delta is None else str(priced.program.delta),
        "clips": clips,
        "keys": {
            _called(priced, key.name): "declared" if key.values is not None else "selected"
            for key in priced.planned.parts[0].keys  # those with bounds are listed there too
        },
        "software": software(),
    }


def _called(priced: Priced, key: str) -> str:
    """A key by the name it has in the answer, if it is there."""
    return next((name for name, made in priced.question.output if isinstance(made, Column) and made.name == key), key)
