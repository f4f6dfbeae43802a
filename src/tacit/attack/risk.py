"""How risky a synthetic or anonymised table is: singling out, linking, and inferring an attribute.

These are the three risks of the Article 29 Working Party (2014). Each is measured as by Giomi and others (2023): what
an attacker with the release achieves against people it was made from, beyond what the same attacker achieves
against people it was not made from. The predicates that single out are tested for isolating one of the former and
one of the latter, after Cohen and Nissim (2020), so guesses that are merely rare earn nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.attack.population import Chance, Data, Floats, Records, chance, chosen, comparable, table_of
from tacit.attack.posterior import private_counts
from tacit.attack.registry import Attempt, Outcome, Progress, bars, interval, silent
from tacit.base import InputError

__all__ = ["Risk", "RiskReport", "drawn", "people", "risk_report", "shuffled", "stage"]

CONFIDENCE = 0.975  # of each of two rates, so that both hold with 95 %


@dataclass(frozen=True, kw_only=True)
class Risk:
    """`attacked` and `control` are the shares of attempts that succeeded against either group of people.

    `value` is how much of what control leaves open the release gives away, (attacked - control) / (1 - control), and
    `low` and `high` the ends of an interval that covers it with at least 95 %.
    """

    value: float
    low: float
    high: float
    attacked: float
    control: float
    attempts: int

    @classmethod
    def counted(cls, hits: int, others: int, attempts: int) -> "Risk":
        """From the successes against people of the release, `hits`, and against `others`."""
        low, high = interval(hits, attempts, CONFIDENCE)
        least, most = interval(others, attempts, CONFIDENCE)
        rate, control = hits / attempts, others / attempts
        return cls(
            value=_beyond(rate, control),
            low=_beyond(low, most),
            high=_beyond(high, least) if least < 1 else 1.0,
            attacked=rate,
            control=control,
            attempts=attempts,
        )


@dataclass(frozen=True, kw_only=True)
class RiskReport:
    """The three risks, and for each secret the risk that it is inferred."""

    singling_out: Risk
    linkability: Risk
    inference: Risk
    secrets: dict[str, Risk] = field(default_factory=dict)


def risk_report(
    released: Data,
    original: Data,
    control: Data,
    *,
    secrets: Sequence[str] | None = None,
    linked: tuple[Sequence[str], Sequence[str]] | None = None,
    attempts: int = 500,
    tolerance: float = 0.05,
    seed: int = 1,
    progress: Progress = silent,
) -> RiskReport:
    """Attack `released`, which was made from `original`; `control` are as many other people from the same population.

    `secrets` are the columns to infer from the rest, `linked` two sets of columns that two files of the attacker have;
    without them all columns, and the first half and the second. A number is inferred if it is right within `tolerance`
    of how far numbers of its column lie apart. Nobody is attacked twice in one of the three, and `seed` fixes who is.
    """
    ours = table_of(original, "original")
    columns = ours.column_names
    tables = [table_of(released, "released"), ours, table_of(control, "control")]
    shown, people, others = comparable(tables)
    if len(columns) < 2:
        raise InputError("one column leaves nothing to link or infer from: at least two are needed")
    if len(others) < len(people):
        raise InputError("control must have at least as many rows as original: chance isolates more in fewer rows")
    if attempts < 1 or not 0 <= tolerance < 1:
        raise InputError(f"attempts is {attempts} and tolerance {tolerance}: at least 1, and a share below 1")
    secret = [columns.index(name) for name in chosen(ours, secrets or columns, "secrets")]
    half = len(columns) // 2
    sides = linked or (columns[:half], columns[half:])
    left, right = ([columns.index(name) for name in chosen(ours, side, "linked")] for side in sides)
    if set(left) & set(right):
        raise InputError("linked: the two sides must not share a column")
    if tables[2].equals(tables[0]):
        raise InputError("control is the released table itself: take people who are not in it, or nothing is a risk")
    dice = chance(seed)
    people, others = (side.take(dice.permutation(len(side))[: len(people)]) for side in (people, others))
    singled = _single_out(shown, people, others, min(attempts, len(shown)), dice)
    progress(0.3)
    tries = min(attempts, len(people))
    rows = [[_linked(shown, side.cells[n], left, right) for n in range(tries)] for side in (people, others)]
    progress(0.6)
    guesses = [
        [_inferred(shown, side.cells[n], secret[n % len(secret)], tolerance) for n in range(tries)]
        for side in (people, others)
    ]
    progress(1.0)
    return RiskReport(
        singling_out=singled,
        linkability=Risk.counted(sum(rows[0]), sum(rows[1]), tries),
        inference=Risk.counted(sum(guesses[0]), sum(guesses[1]), tries),
        secrets={
            columns[column]: Risk.counted(sum(mine[0]), sum(mine[1]), len(mine[0]))
            for place, column in enumerate(secret)
            if (mine := [side[place :: len(secret)] for side in guesses])[0]
        },
    )


def _beyond(rate: float, control: float) -> float:
    return 0.0 if control >= 1 else min(1.0, max(0.0, (rate - control) / (1 - control)))


def _single_out(shown: Records, people: Records, others: Records, attempts: int, dice: Chance) -> Risk:
    """Describe released rows until each is the only one of its kind, and count whom else that describes just one of."""
    hits = strangers = 0
    for row in dice.permutation(len(shown))[:attempts]:
        within = [np.ones(len(side), bool) for side in (shown, people, others)]
        for column in dice.permutation(len(shown.names)):
            low, high = shown.band(column, shown.cells[row, column])
            for mask, side in zip(within, (shown, people, others), strict=True):
                mask &= (side.cells[:, column] >= low) & (side.cells[:, column] <= high)
            if within[0].sum() == 1:
                hits += within[1].sum() == 1
                strangers += within[2].sum() == 1
                break
    return Risk.counted(int(hits), int(strangers), attempts)


def _linked(shown: Records, target: Floats, left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether one released row is nearest to what either file knows of a person, which links the two."""
    return bool((shown.nearest(target, left) & shown.nearest(target, right)).sum() == 1)


def _inferred(shown: Records, target: Floats, secret: int, tolerance: float) -> bool:
    """Whether the released rows nearest in everything else have the person's secret."""
    known = [column for column in range(len(shown.names)) if column != secret]
    said = shown.cells[shown.nearest(target, known), secret]
    if shown.numeric[secret]:
        return bool(abs(np.median(said) - target[secret]) <= tolerance * shown.reach(secret))
    values, counts = np.unique(said, return_counts=True)
    return bool(values[counts.argmax()] == target[secret])


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
    progress: Progress = silent,
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
        progress(len(reports) / len(tables))
    copy, mixed, private = reports.values()
    first, _, last = tables
    kinds = {"singling out": "singling_out", "linking": "linkability", "inferring": "inference"}

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
            label: {kind: [(it := getattr(report, name)).value, it.low, it.high] for kind, name in kinds.items()}
            for label, report in reports.items()
        },
        draw=bars(
            [
                (kind, _attempt(label, getattr(report, name)), report is private)
                for kind, name in kinds.items()
                for label, report in reports.items()
                if report is not mixed
            ],
            title=("What a release adds to guessing", " against ".join((first, last))),
            axis="risk, beyond what people who are not in it bear",
        ),
    )


def _attempt(label: str, risk: Risk) -> Attempt:
    return Attempt(against=label, success=risk.value, low=risk.low, high=risk.high)


def _said(risk: Risk) -> str:
    return f"{risk.value:.1%} ({risk.low:.1%} to {risk.high:.1%})"
