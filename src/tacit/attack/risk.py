"""How risky a synthetic or anonymised table is: singling out, linking, and inferring an attribute.

These are the three risks of the Article 29 Working Party (2014). Each is measured as by Giomi and others (2023): what
an attacker with the release achieves against people it was made from, beyond what the same attacker achieves
against people it was not made from. The predicates that single out are tested for isolating one of the former and
one of the latter, after Cohen and Nissim (2020), so guesses that are merely rare earn nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.attack.chance import Chance, chance
from tacit.attack.classes import Data, chosen, table_of
from tacit.attack.outcome import interval
from tacit.attack.posterior import Floats
from tacit.attack.records import Records, comparable
from tacit.base import InputError

__all__ = ["Risk", "RiskReport", "risk_report"]

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
    progress: Callable[[float], None] | None = None,
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
    tell = progress or (lambda share: None)
    singled = _single_out(shown, people, others, min(attempts, len(shown)), dice)
    tell(0.3)
    tries = min(attempts, len(people))
    rows = [[_linked(shown, side.cells[n], left, right) for n in range(tries)] for side in (people, others)]
    tell(0.6)
    guesses = [
        [_inferred(shown, side.cells[n], secret[n % len(secret)], tolerance) for n in range(tries)]
        for side in (people, others)
    ]
    tell(1.0)
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
