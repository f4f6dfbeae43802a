"""A holdout that is asked again and again ends up in the model: pure chance is reported as skill (Dwork et al. 2015).

Labels are coin flips, and so are the features: nothing can be learned. The analyst keeps features that agree with the
label on the training rows and on the held rows, lets them vote, and reports how right they are on the held rows.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.attack.population import Chance, Floats, Integers, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import InputError, whole
from tacit.learn.thresholdout import FINE, Thresholdout
from tacit.noise import Rng, rng_or_default

__all__ = ["Coins", "ReuseReport", "chosen_features", "stage"]

KEPT = (1, 5, 20, 100, 500)  # features that vote


@dataclass(frozen=True, eq=False)
class Coins:
    """Rows of ±1: whether each feature agrees with the row's label. What a feature says of a row is its agreement times
    the label, so these are all that counts."""

    agree: Integers

    @classmethod
    def flipped(cls, rows: int, features: int, dice: Chance) -> "Coins":
        return cls((2 * dice.integers(0, 2, (rows, features), dtype=np.int8) - 1).astype(np.int8))

    @property
    def shares(self) -> Floats:
        """How often each feature agrees."""
        return np.asarray((1 + self.agree.mean(axis=0, dtype=np.float64)) / 2)

    def right(self, features: Integers, signs: Floats) -> int:
        """How many rows the vote of these features is right on; a tie counts as right on every other row."""
        votes = self.agree[:, features].astype(np.int32) @ signs.astype(np.int32)
        ties = np.flatnonzero(votes == 0)
        return int((votes > 0).sum()) + len(ties) // 2


@dataclass(frozen=True, kw_only=True)
class ReuseReport:
    """What an analyst reports, and what is true on fresh rows, by the number of features."""

    claimed: tuple[float, ...]
    true: tuple[float, ...]


def chosen_features(train: Floats, held: Floats) -> Integers:
    """Features that lean the same way on both, the surest first."""
    a, b = train - 0.5, held - 0.5
    both = np.flatnonzero(a * b > 0)
    return np.asarray(both[np.argsort(-(np.abs(a) + np.abs(b))[both], kind="stable")])


def stage(
    *,
    seed: int = 1,
    rows: int = 10_000,
    features: int = 2000,
    budget: int = 20,
    threshold: float = 0.06,
    sigma: float = 0.001,
    rng: Rng | None = None,
    progress: Progress = silent,
) -> Outcome:
    """The same analyst twice: with the held rows in hand, and with Thresholdout in front of them."""
    count, wide = whole(rows, "rows", least=20), whole(features, "features", least=20)
    dice = chance(seed)
    train, held, fresh = (Coins.flipped(count, wide, dice) for _ in range(3))
    progress(0.4)
    settings = Thresholdout(size=count, threshold=threshold, sigma=sigma, budget=budget)
    run = settings.start(rng_or_default(rng))
    shares = train.shares
    naive = _reported(train, fresh, chosen_features(shares, held.shares), held.right)
    progress(0.6)

    def asked(right_in_train: int, right_in_held: int) -> float:
        return run.ask(Fraction(right_in_train, count), lambda: right_in_held * FINE)[0]

    counts = [np.rint(each.shares * count).astype(np.int64).tolist() for each in (train, held)]
    answers = np.array([asked(*pair) for pair in zip(*counts, strict=True)])
    progress(0.9)

    def through(picked: Integers, signs: Floats) -> int:
        return round(asked(train.right(picked, signs), held.right(picked, signs)) * count)

    careful = _reported(train, fresh, chosen_features(shares, answers), through)
    return _outcome(naive, careful, settings, run.left, count, wide)


def _reported(train: Coins, fresh: Coins, order: Integers, judged: Any) -> ReuseReport:
    if not len(order):
        raise InputError("no feature leans one way on both halves: take more features")
    claimed, true = [], []
    lean = np.sign(train.shares - 0.5)
    for many in KEPT:
        picked = order[:many]
        claimed.append(judged(picked, lean[picked]) / len(train.agree))
        true.append(fresh.right(picked, lean[picked]) / len(fresh.agree))
    return ReuseReport(claimed=tuple(claimed), true=tuple(true))


def _outcome(
    naive: ReuseReport, careful: ReuseReport, settings: Thresholdout, left: int, rows: int, features: int
) -> Outcome:
    epsilon, asked = settings.loss().epsilon(0).upper, features + len(KEPT)
    against = "a holdout that is asked freely", "the same holdout behind Thresholdout"

    def draw() -> Any:
        from tacit.plot import LabelledCurve, curves

        return curves(
            [
                LabelledCurve("reported, asked freely", KEPT, naive.claimed),
                LabelledCurve("reported, behind Thresholdout", KEPT, careful.claimed),
                LabelledCurve("true, on fresh rows", KEPT, naive.true),
            ],
            title=("Labels are coin flips: nothing can be learned", f"accuracy that is reported, {rows:,} held rows"),
            axes=("features that vote", "accuracy"),
            chance=0.5,
            logarithmic=True,
            domain=(0.45, 0.75),
        )

    return Outcome(
        name="reused-holdout",
        headline="A holdout that is asked often says what you want to hear",
        measure=f"accuracy reported of {KEPT[-1]} features chosen among {features:,} that are pure chance",
        chance=0.5,
        undefended=Attempt.counted(against[0], round(naive.claimed[-1] * rows), rows),
        defended=Attempt.counted(against[1], round(careful.claimed[-1] * rows), rows),
        remarks=(
            f"on fresh rows both are right {naive.true[-1]:.1%} and {careful.true[-1]:.1%} of the time",
            f"{asked:,} queries were asked of Thresholdout, {settings.budget - left} of them paid for; all of them "
            f"together cost a held row ε = {epsilon:.3g}",
        ),
        facts={
            "rows": rows, "features": features, "kept": list(KEPT), "epsilon": epsilon, "paid": settings.budget - left,
            "naive": {"claimed": list(naive.claimed), "true": list(naive.true)},
            "careful": {"claimed": list(careful.claimed), "true": list(careful.true)},
        },
        draw=draw,
    )  # fmt: skip
