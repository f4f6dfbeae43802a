"""The risk report at work: a pseudonymised copy, shuffled columns, and a table drawn from tacit's private counts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.chance import Chance, chance
from tacit.attack.outcome import Attempt, Outcome
from tacit.attack.private import private_counts
from tacit.attack.risk import Risk, RiskReport, risk_report

__all__ = ["drawn", "people", "shuffled", "stage"]

KEYS: dict[str, Sequence[str]] = {
    "education": tuple(f"level {n}" for n in range(5)),
    "job": tuple(f"job {n}" for n in range(9)),
    "income": tuple(f"band {n}" for n in range(12)),
    "age": tuple(str(n) for n in range(18, 80)),
    "sex": ("F", "M"),
    "zip": tuple(str(19100 + n) for n in range(40)),
    "diagnosis": tuple(f"diagnosis {n}" for n in range(8)),
}
PARENTS = {"job": "education", "income": "education", "diagnosis": "sex"}  # what each is released together with


def people(count: int, dice: Chance) -> pa.Table:
    """Made-up people: job and income go with education, income and diagnosis with age, the rest with nothing."""
    level, age = dice.integers(0, 5, count), dice.integers(0, 62, count)
    places = {
        "education": level,
        "job": level + dice.integers(0, 5, count),
        "income": np.minimum(11, level + age // 15 + dice.integers(0, 4, count)),
        "age": age,
        "sex": dice.integers(0, 2, count),
        "zip": dice.integers(0, 40, count),
        "diagnosis": np.minimum(7, age // 12 + dice.integers(0, 4, count)),
    }
    return pa.table({name: np.array(KEYS[name])[place] for name, place in places.items()})


def shuffled(table: pa.Table, dice: Chance) -> pa.Table:
    """Each column in an order of its own: every marginal kept, no person left."""
    return pa.table({name: table.column(name).take(pa.array(dice.permutation(table.num_rows))) for name in KEYS})


def drawn(table: pa.Table, rows: int, dice: Chance, *, epsilon: float) -> pa.Table:
    """Rows drawn from private counts of columns and pairs of them; whatever is drawn costs no more than the counts."""
    alone = [name for name in KEYS if name not in PARENTS]
    each = epsilon / len(KEYS)
    places: dict[str, Any] = {}
    for name in [*alone, *PARENTS]:
        if name in alone:
            weight = private_counts(table, {name: KEYS[name]}, epsilon=each).clip(0) + 1e-9
            places[name] = dice.choice(len(weight), rows, p=weight / weight.sum())
            continue
        pair = {PARENTS[name]: KEYS[PARENTS[name]], name: KEYS[name]}
        weights = private_counts(table, pair, epsilon=each).clip(0) + 1e-9
        steps = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[places[PARENTS[name]]]
        places[name] = np.minimum((dice.random((rows, 1)) > steps).sum(axis=1), len(KEYS[name]) - 1)
    return pa.table({name: np.array(KEYS[name])[places[name]] for name in KEYS})


def stage(
    *,
    seed: int = 1,
    count: int = 2000,
    attempts: int = 500,
    epsilon: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """The three risks of three releases of the same table."""
    dice = chance(seed)
    original, control = people(count, dice), people(count, dice)
    tables: Mapping[str, pa.Table] = {
        "copy without names": original,
        "each column shuffled": shuffled(original, dice),
        f"drawn from tacit's counts, ε = {epsilon:g}": drawn(original, count, dice, epsilon=epsilon),
    }
    reports: dict[str, RiskReport] = {}
    for label, table in tables.items():
        reports[label] = risk_report(table, original, control, attempts=attempts, seed=seed)
        if progress is not None:
            progress(len(reports) / len(tables))
    copy, mixed, private = reports.values()
    first, _, last = tables
    kinds = {"singling out": "singling_out", "linking": "linkability", "inferring": "inference"}

    def draw() -> Any:
        from tacit.plot import Share, shares

        bars = []
        for kind, field in kinds.items():
            for label, report in reports.items():
                if report is not mixed:
                    found: Risk = getattr(report, field)
                    bars.append(Share(kind, label, report is private, found.value, found.low, found.high))
        title = ("What a release adds to guessing", " against ".join((first, last)))
        return shares(bars, title=title, axis="risk, beyond what people who are not in it bear", chance=0.0)

    return Outcome(
        name="risk",
        headline="A copy without names gives everybody away",
        measure="risk of being singled out, beyond that of people who are not in the release",
        chance=0.0,
        undefended=_attempt(first, copy.singling_out),
        defended=_attempt(last, private.singling_out),
        remarks=(
            f"the private counts cost ε = {epsilon:g} in all; rows drawn from them cost nothing more",
            f"shuffled columns: singling out {_said(mixed.singling_out)}, linking {_said(mixed.linkability)}, "
            f"inferring {_said(mixed.inference)}",
            f"intervals cover with 95 %, from {attempts} attempts on either side",
        ),
        facts={"epsilon": epsilon, "people": count, "attempts": attempts}
        | {
            label: {kind: [(it := getattr(report, field)).value, it.low, it.high] for kind, field in kinds.items()}
            for label, report in reports.items()
        },
        draw=draw,
    )


def _attempt(label: str, risk: Risk) -> Attempt:
    return Attempt(against=label, success=risk.value, low=risk.low, high=risk.high)


def _said(risk: Risk) -> str:
    return f"{risk.value:.1%} ({risk.low:.1%} to {risk.high:.1%})"
