"""Was this record in the training data? Membership inference on a model, by its losses and by shadow models.

`loss_threshold`: a model loses less on what it has seen (Yeom et al. 2018). `likelihood_ratio` (LiRA, Carlini et al.
2022): how confident are models of the same kind on this very record, trained with it and without it, and which of the
two does the target resemble? The private model is trained as `tacit.learn` trains.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import exp, floor
from typing import Any, Protocol

import numpy as np

from tacit.attack.population import Array, chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.attack.trained import Trainer, classifier, size_of
from tacit.base import InputError, Number, between, non_negative, whole
from tacit.learn import ArrayRows, Training
from tacit.learn.need import need_torch
from tacit.loss import Loss
from tacit.noise import Rng

__all__ = [
    "Classifier",
    "Roc",
    "Shadows",
    "advantage_at_most",
    "confidence",
    "found_at_most",
    "likelihood_ratio",
    "loss_threshold",
    "shadows",
    "stage",
]


@dataclass(frozen=True, eq=False)
class Roc:
    """The scores that an attack gave to members and to others; it calls a member whoever scores above a threshold."""

    members: Array
    others: Array

    def __post_init__(self) -> None:
        for name in ("members", "others"):
            scores = np.sort(np.asarray(getattr(self, name), dtype=float).ravel())
            if not scores.size or np.isnan(scores).any():
                raise InputError(f"the scores of {name} must be at least one number and none may be NaN")
            object.__setattr__(self, name, scores)

    def threshold(self, false_alarms: float) -> float:
        """The least threshold that at most this share of the others scores above."""
        if not 0 <= false_alarms <= 1:
            raise InputError(f"false_alarms is a share, between 0 and 1, not {false_alarms}")
        allowed = floor(false_alarms * self.others.size * (1 + 1e-12))
        return -np.inf if allowed >= self.others.size else float(self.others[-1 - allowed])

    def count(self, false_alarms: float) -> int:
        """How many members are found with at most this share of false alarms."""
        at = self.threshold(false_alarms)
        return self.members.size - (0 if at == -np.inf else int(np.searchsorted(self.members, at, side="right")))

    def found(self, false_alarms: float) -> float:
        """The share of members found (true positives) with at most this share of false alarms."""
        return self.count(false_alarms) / self.members.size

    @property
    def auc(self) -> float:
        """The chance that a member scores above somebody else, a tie being half a chance."""
        from scipy.stats import rankdata  # takes long to import

        ranks = rankdata(np.concatenate([self.members, self.others]))[: self.members.size]
        own = self.members.size * (self.members.size + 1) / 2
        return float((ranks.sum() - own) / (self.members.size * self.others.size))

    @property
    def advantage(self) -> float:
        """The most by which the share of members found exceeds that of false alarms (Yeom et al. 2018)."""
        at = np.unique(np.concatenate([self.members, self.others]))
        above = [1 - np.searchsorted(scores, at, side="right") / scores.size for scores in (self.members, self.others)]
        return float(max(0.0, (above[0] - above[1]).max()))


def found_at_most(false_alarms: float, *, epsilon: Number, delta: Number) -> float:
    """The most members any attack finds at these false alarms under (ε, δ)-DP (Kairouz, Oh and Viswanath 2015)."""
    odds, slack = exp(float(non_negative(epsilon, "epsilon"))), float(non_negative(delta, "delta"))
    return max(0.0, min(1.0, odds * false_alarms + slack, 1 - (1 - slack - false_alarms) / odds))


def advantage_at_most(loss: Loss, *, delta: Number) -> tuple[float, float]:
    """The most advantage that the guarantee allows, and the most that its (ε, δ) alone would.

    The first is the δ at ε = 0; the second (e^ε − 1 + 2δ)/(e^ε + 1), which is more.
    """
    slack = float(between(delta, "delta", 0, 1))
    odds = exp(loss.epsilon(delta).upper)
    return loss.delta(0).upper, min(1.0, (odds - 1 + 2 * slack) / (odds + 1))


LEAST = 1e-15  # probabilities nearer than this to 0 or 1 are told apart no further
AT = 0.01  # the share of false alarms at which members are counted


class Classifier(Protocol):
    """Any model that tells the probability of each class: this package's, scikit-learn's, a wrapper of yours."""

    def predict_proba(self, x: Any) -> Any: ...


Records = tuple[Array, Array]
Train = Callable[[Array, Array], Classifier]


def confidence(model: Classifier, x: Array, y: Array) -> Array:
    """log(p/(1 − p)) for the probability p that the model gives to the true class of each record.

    Classes are the columns in the order of `model.classes_` where the model has it, else labels are column numbers.
    """
    given = np.asarray(model.predict_proba(x), dtype=float)
    if given.ndim != 2 or len(given) != len(y):
        raise InputError("predict_proba must give a row for each record and a column for each class")
    names = list(getattr(model, "classes_", range(given.shape[1])))
    places = {name: place for place, name in enumerate(names)}
    # a class that the model never saw has no column: its probability is 0
    column = np.array([places.get(label, -1) for label in np.asarray(y).tolist()], dtype=int)
    right = np.where(column >= 0, given[np.arange(len(y)), column], 0.0)
    wrong = np.where(column >= 0, given.sum(axis=1) - right, 1.0)
    return np.log(np.maximum(right, LEAST)) - np.log(np.maximum(wrong, LEAST))


def loss_threshold(model: Classifier, *, members: Records, others: Records) -> Roc:
    """The attack that calls a member whatever the model has a low loss on, judged on known members and others."""
    return Roc(*(confidence(model, *records) for records in (members, others)))


@dataclass(frozen=True, eq=False)
class Shadows:
    """Models of the attacker's own: the confidence of each (a row) on each record, and whether that was `inside`."""

    scores: Array
    inside: Array

    def __post_init__(self) -> None:
        if self.scores.shape != self.inside.shape or self.scores.ndim != 2 or self.inside.dtype != bool:
            raise InputError("shadows need scores and inside of one shape, (models, records), and inside boolean")
        if min(self.inside.sum(axis=0).min(), (~self.inside).sum(axis=0).min()) < 2:
            raise InputError("every record needs two shadow models with it and two without: train more of them")

    def spread(self, *, inside: bool) -> tuple[Array, float]:
        """Mean of each record over the models with (or without) it, and one deviation pooled over all records."""
        chosen = self.inside if inside else ~self.inside
        count = chosen.sum(axis=0)
        mean = (self.scores * chosen).sum(axis=0) / count
        square = ((self.scores - mean) ** 2 * chosen).sum() / (count - 1).sum()
        return mean, float(np.sqrt(max(square, LEAST)))


def shadows(
    train: Train,
    x: Array,
    y: Array,
    *,
    count: int = 64,
    seed: int = 1,
    progress: Progress = silent,
) -> Shadows:
    """`count` models, each trained by `train(x, y)` on a random half of the records."""
    inside = chance(seed).random((whole(count, "count", least=4), len(y))) < 0.5
    scores = np.empty(inside.shape)
    for model, members in enumerate(inside):
        scores[model] = confidence(train(x[members], y[members]), x, y)
        progress((model + 1) / count)
    return Shadows(scores, inside)


def likelihood_ratio(observed: Array, shadows: Shadows, *, online: bool = True) -> Array:
    """LiRA's score of each record, given the target's confidence on it: the higher, the likelier a member.

    Online: the log of how much likelier the confidence is among shadows with the record than among those without.
    Offline, the shadows with the record are not looked at: deviations above the mean of those without.
    """
    seen = np.asarray(observed, dtype=float)
    if seen.shape != shadows.scores.shape[1:]:
        raise InputError(f"the shadows know {shadows.scores.shape[1]} records, observed has shape {seen.shape}")
    without, width = shadows.spread(inside=False)
    if not online:
        return np.asarray((seen - without) / width)
    among, wide = shadows.spread(inside=True)
    return np.asarray(((seen - without) / width) ** 2 / 2 - ((seen - among) / wide) ** 2 / 2 + np.log(width / wide))


def stage(
    *,
    seed: int = 1,
    records: int = 800,
    features: int = 200,
    shadow_models: int = 40,
    targets: int = 5,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    rng: Rng | None = None,
    progress: Progress = silent,
) -> Outcome:
    """Five kinds of records, a quarter of them mislabelled; logistic regression on half of them, private and not."""
    x, y, means = _population(records, features, seed)
    fresh = _population(4 * records, features, seed + 1, means)
    model = classifier(features, len(means))
    plan = Training(
        rows=ArrayRows(x, y, classes=len(means)),
        batch=records // 2,
        rate=1,
        steps=20,
        epsilon=epsilon,
        delta=delta,
        parameters=size_of(model),
    )
    ways: dict[str, Train] = {
        "undefended": Trainer(model, classes=len(means), steps=120, optimise=_descent(3.0)).fit,
        "private": Trainer(model, classes=len(means), steps=20, optimise=_descent(1.5), plan=plan, rng=rng).fit,
    }
    rocs, right = {}, {}
    for turn, (way, fit) in enumerate(ways.items()):

        def tell(share: float, turn: int = turn) -> None:
            progress((turn + share) / 2)

        known = shadows(fit, x, y, count=shadow_models, seed=seed + 2, progress=tell)
        inside = chance(seed + 3).random((targets, len(y))) < 0.5
        models = [fit(x[members], y[members]) for members in inside]
        seen = np.array([confidence(model, x, y) for model in models])
        scores = {
            "loss threshold": seen,
            "LiRA, offline": np.array([likelihood_ratio(row, known, online=False) for row in seen]),
            "LiRA, online": np.array([likelihood_ratio(row, known) for row in seen]),
        }
        rocs[way] = {name: Roc(score[inside], score[~inside]) for name, score in scores.items()}
        right[way] = float(np.mean([model.predict_proba(fresh[0]).argmax(axis=1) == fresh[1] for model in models]))
    return _outcome(rocs, right, plan.loss, delta)


def _descent(rate: float) -> Callable[[Any], Any]:
    return partial(need_torch().optim.SGD, lr=rate, momentum=0.9)


def _population(records: int, features: int, seed: int, means: Array | None = None) -> tuple[Array, Array, Array]:
    """Points round five centres; a quarter get a label of chance, which a model can only learn by heart."""
    source = chance(seed)
    if means is None:
        means = source.normal(size=(5, features))
        means /= np.linalg.norm(means, axis=1, keepdims=True)
    kind = source.integers(len(means), size=records)
    x = means[kind] + source.normal(size=(records, features)) / np.sqrt(features)
    return x, np.where(source.random(records) < 0.25, source.integers(len(means), size=records), kind), means


def _outcome(rocs: dict[str, dict[str, Roc]], right: dict[str, float], loss: Loss, delta: float) -> Outcome:
    epsilon, best = loss.epsilon(delta).upper, {way: found["LiRA, online"] for way, found in rocs.items()}
    power, (most, plain_most) = loss.tradeoff().power, advantage_at_most(loss, delta=delta)
    against = {"undefended": "the model trained without noise", "private": f"the model trained with ε = {epsilon:.3g}"}
    attempts = {way: Attempt.counted(against[way], roc.count(AT), roc.members.size) for way, roc in best.items()}

    def draw() -> Any:
        from tacit.plot.privacy import RocLine, roc

        alarms = np.geomspace(1e-3, 1, 61).tolist()
        lines = [
            RocLine(f"{name}, {way}", alarms, [r.found(a) for a in alarms], defended=way == "private")
            for name in ("LiRA, online", "loss threshold")
            for way, r in ((way, found[name]) for way, found in rocs.items())
        ]
        bound = [found_at_most(a, epsilon=epsilon, delta=delta) for a in alarms]
        return roc(
            lines,
            bounds={
                f"no attack passes: ({epsilon:.3g}, {delta:g})-DP": (alarms, bound),
                "no attack passes: the noise of this training": (alarms, [power(a) for a in alarms]),
            },
            title=(
                "Who was in the training data?",
                "both axes logarithmic; at the far left a handful of false alarms decides",
            ),
        )

    measures = {
        f"{way}, {name}": {
            "auc": r.auc,
            "advantage": r.advantage,
            "found at 1 % false alarms": r.found(0.01),
            "found at 0.1 % false alarms": r.found(0.001),
        }
        for way, found in rocs.items()
        for name, r in found.items()
    }
    return Outcome(
        name="membership-in-models",
        headline="A model remembers who it was trained on",
        measure="members found with 1 % false alarms (LiRA, shadow models)",
        chance=AT,
        undefended=attempts["undefended"],
        defended=attempts["private"],
        remarks=(
            f"the private training spends ε = {epsilon:.3g} at δ = {delta:g} in all; no attack on it can find more "
            f"than {power(AT):.1%} of the members at 1 % false alarms",
            f"the advantage on the private model is {best['private'].advantage:.3f}; the guarantee allows {most:.3f}",
            f"right on new records: {right['undefended']:.0%} without privacy, {right['private']:.0%} with "
            "(a quarter of the labels are wrong on purpose)",
            "intervals take the guesses as independent; the same records serve several target models",
        ),
        facts={
            "epsilon": epsilon,
            "delta": delta,
            "accuracy": right,
            "attacks": measures,
            "found at most, 1 %": power(0.01),
            "found at most, 0.1 %": power(0.001),
            "advantage at most": most,
            "advantage at most by (ε, δ)": plain_most,
        },
        draw=draw,
    )
