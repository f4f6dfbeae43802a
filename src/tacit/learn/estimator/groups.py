"""Who pays for privacy: a private model's accuracy in each declared group, beside another's, itself paid for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, Relation
from tacit.desk import Release
from tacit.learn.estimator.bounds import Array
from tacit.learn.estimator.estimator import Estimator
from tacit.learn.estimator.examples import Examples, codes_of, column, column_names, matrix
from tacit.learn.estimator.job import FitJob, TableSpender, group_rows, stored_state
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, one_hot
from tacit.learn.estimator.sums import NoisySums, SumStep, priced
from tacit.loss import Loss
from tacit.noise import rng_or_default

__all__ = ["GroupLine", "GroupReport", "by_group", "group_shares", "group_weights"]

FINE = 64
NAME = "right answers by group"


@dataclass(frozen=True, kw_only=True)
class GroupLine:
    """One group: how many rows it has, about, and the accuracy of each model on them, with an interval for noise."""

    group: Any
    count: float
    accuracy: float
    low: float
    high: float
    reference: float | None = None
    reference_low: float | None = None
    reference_high: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupReport:
    """A line for each declared group. Intervals hold for all of them at once, with the stated confidence; they are
    about these rows, not about others like them."""

    lines: tuple[GroupLine, ...]
    confidence: float
    loss: Loss
    release: Release | None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        beside = "        reference   interval" if any(line.reference is not None for line in self.lines) else ""
        texts = [f"{'group':<16}{'rows':>9}{'accuracy':>10}   interval{beside}"]
        for line in self.lines:
            beside = ""
            if line.reference is not None:
                beside = f"  {line.reference:9.3f}   {line.reference_low:.3f} – {line.reference_high:.3f}"
            texts.append(
                f"{line.group!s:<16}{line.count:>9.0f}{line.accuracy:>10.3f}   {line.low:.3f} – {line.high:.3f}{beside}"
            )
        return "\n".join([*texts, *self.notes])

    def plot(self, path: Path | str | None = None) -> Any:
        """Each group with both accuracies and their intervals; with `path` also written there. Needs `tacit[plot]`."""
        from tacit.plot import GroupBar, groups, page, write

        bars = []
        for line in self.lines:
            bars.append(GroupBar(str(line.group), "private", line.accuracy, line.low, line.high))
            if line.reference is not None:
                assert line.reference_low is not None
                assert line.reference_high is not None
                bars.append(
                    GroupBar(str(line.group), "reference", line.reference, line.reference_low, line.reference_high)
                )
        chart = groups(bars, title=("Accuracy in each group", "points with their intervals, which are for the noise"))
        if path is not None:
            compared = any(line.reference is not None for line in self.lines)
            title = "Who pays for privacy" if compared else "Whom the model serves"
            write(page([[chart]], title=title, subtitle="; ".join(self.notes)), Path(path))
        return chart


def by_group(
    model: Any,
    X: Any,  # noqa: N803 - scikit-learn's name for it
    y: Any,
    *,
    groups: Any,
    names: Sequence[Any] | None = None,
    epsilon: Number,
    delta: Number = 1e-6,
    reference: Any = None,
    reference_rows: str | None = None,
    confidence: float = 0.95,
    relation: str = "add_remove",
    session: Any = None,
    table: str | None = None,
    units: Any = None,
) -> GroupReport:
    """The accuracy of a fitted model in each group of held-out rows, with noise, for (ε, δ).

    `groups` says of each row which group it is in, and `names` declares the groups; with a session `X` may be a table
    of its policy, `y` and `groups` columns of it. One row adds (1, ±1, ±1) in the place of its group: how many there
    are, and whether each model is right. A `reference` that is private itself (it has `loss_`) may stand beside it. One
    that is not promises nothing to the rows that it was fitted on, and its accuracy tells of them, whatever noise is
    added here: `reference_rows="public"` says that those rows are nobody's secret, and without it it is refused.
    """
    notes = []
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    if reference is not None and not hasattr(reference, "loss_"):
        if reference_rows != "public":
            raise InputError(
                "the reference has no loss_, so its accuracy tells of the rows that it was fitted on, and noise for "
                "the rows here does not cover those: fit it privately too, with a larger epsilon, or say "
                'reference_rows="public" if those rows are public'
            )
        notes.append("the reference was fitted on rows that are declared public")
    spender = None if session is None else TableSpender(session)
    if isinstance(X, str):
        if spender is None:
            raise InputError("a table is read through a session: pass session=, or rows as arrays")
        names = spender.group_names(X, groups) if names is None else names
    if names is None or len(names) < 1 or len(set(names)) < len(names):
        raise InputError("groups are declared, never read from the rows: pass names=[…], each of them once")
    models = [model] if reference is None else [model, reference]
    learned = _columns_of(models, X)
    blocks = tuple(SumBlock(left=len(names), weight=FINE) for _ in range(1 + len(models)))
    vector = SumVector(blocks, isqrt(FINE**2 * len(blocks) - 1) + 1)
    steps = (SumStep(name=NAME, vector=vector, share=Fraction(1)),)
    query: dict[str, Any] = {
        "model": "GroupReport",
        "groups": [repr(name) for name in names],
        "models": [_digest(each) for each in models],
        "columns": [y, groups] if isinstance(X, str) else [],
    }
    program = priced(
        steps,
        epsilon=epsilon,
        delta=delta,
        **(
            {"relation": Relation(relation), "query": query}
            if spender is None
            else spender.neighbours(X, table, query, delta)
        ),
    )

    def counted(examples: Examples, labels: Array) -> dict[str, Array]:
        sums = NoisySums(steps, program, examples.weight, examples.offsets)
        assert examples.target is not None
        where = one_hot(examples.target, len(names))
        one = np.full((len(where), 1), float(STEPS))
        factors = [(where, one)]
        for each in models:
            right = np.asarray(each.predict(examples.features)) == labels
            factors.append((where, np.where(right, STEPS, -STEPS).astype(float)[:, None]))
        return {"counts": np.hstack(sums.release(NAME, *factors))}

    if isinstance(X, str):
        assert spender is not None
        columns = learned
        scan = spender.scan(X, [*columns, y, groups])
        release: Release | None = spender.spend(
            FitJob(program, lambda run: counted(*group_rows(run, scan, columns, y, groups, names)))
        )
    else:
        if units is not None:
            raise InputError("units of rows in memory are not taken here: pass a table of the policy, or a row a unit")
        features = matrix(X)
        codes, labels = codes_of(groups, tuple(names), len(features)), column(y, len(features))
        examples = Examples.of(features, codes)
        if spender is None:
            state, release = counted(examples, labels), None
        else:
            spender.check_units(table, units)
            release = spender.spend(FitJob(program, lambda run: counted(examples, labels)))
    if release is not None:
        state = stored_state(release)
    noise = float(program.steps[0].mechanism.sigma) * vector.norm / FINE  # type: ignore[union-attr]  # Gaussian
    lines = _lines(state["counts"], names, noise, confidence)
    return GroupReport(lines=lines, confidence=confidence, loss=program.loss, release=release, notes=tuple(notes))


def _columns_of(models: Sequence[Any], X: Any) -> list[str]:  # noqa: N803
    """The columns that all models learned from, in their order; they see rows as arrays, so it is looked at here."""
    learned = [[str(name) for name in getattr(each, "feature_names_in_", [])] for each in models]
    given = learned[0] if isinstance(X, str) else column_names(X) or []
    if isinstance(X, str) and not given:
        raise InputError("the model was fitted on rows without names: pass rows as arrays here too, not a table")
    for each, names in zip(models, learned, strict=True):
        if given and names and names != given:
            raise InputError(
                f"columns must be those that each model learned from, in their order: {', '.join(names)}, not "
                + ", ".join(given)
            )
        size = len(given) if isinstance(X, str) else matrix(X).shape[1]
        if getattr(each, "n_features_in_", size) != size:
            raise InputError(f"X has {size} features, but a model is expecting {each.n_features_in_}")
    return given


def _digest(model: Any) -> str:
    """What tells one model from another, so that no report is taken for another's; of a stranger new each time."""
    return model.digest() if isinstance(model, Estimator) else rng_or_default(None).read(16).hex()


def _lines(counts: Array, names: Sequence[Any], noise: float, confidence: float) -> tuple[GroupLine, ...]:
    """Accuracies, and intervals that hold for all numbers at once: each may fail for its part of 1 − confidence."""
    reach = noise * float(-ndtri((1 - confidence) / 2 / counts.size))
    found = []
    for name, (count, *ahead) in zip(names, counts, strict=True):
        parts = [_accuracy(count, each, reach) for each in ahead]
        more = dict(zip(("reference", "reference_low", "reference_high"), parts[1], strict=True)) if parts[1:] else {}
        value, low, high = parts[0]
        found.append(GroupLine(group=name, count=max(float(count), 0.0), accuracy=value, low=low, high=high, **more))
    return tuple(found)


def _accuracy(count: float, ahead: float, reach: float) -> tuple[float, float, float]:
    """(1 + ahead/count)/2 and its least and greatest value where both are within reach."""
    value = 0.5 + ahead / max(count, 1.0) / 2
    if count - reach <= 0:
        return float(np.clip(value, 0, 1)), 0.0, 1.0
    corners = [0.5 + (ahead + a) / (count + b) / 2 for a in (-reach, reach) for b in (-reach, reach)]
    low, value, high = np.clip([min(corners), value, max(corners)], 0, 1)
    return float(value), float(low), float(high)


def group_shares(sizes: Mapping[Any, float], *, squared: bool = True) -> dict[Any, Fraction]:
    """How to split a budget over questions about single groups so that all have the same relative error.

    `sizes` are public guesses. Where ρ or μ² is paid, error falls with the root of what is paid, so shares go as 1/n²;
    with `squared=False`, for Laplace noise and ε, as 1/n.
    """
    if not sizes or any(not size > 0 for size in sizes.values()):
        raise InputError("sizes must say a positive number for each group")
    parts = {name: Fraction(1) / Fraction(size) ** (2 if squared else 1) for name, size in sizes.items()}
    whole = sum(parts.values(), Fraction(0))
    return {name: part / whole for name, part in parts.items()}


def group_weights(groups: Any, sizes: Mapping[Any, float], *, strength: float = 1.0) -> Array:
    """Weights of rows, for `fit(sample_weight=…)`, by which small groups count as much as large ones.

    `sizes` are public guesses; the smallest group has weight 1 and others (least/size)^strength, so nobody's part in a
    sum grows and the noise stays as it is. Rows of a group that is not listed have weight 0.
    """
    least = min(sizes.values(), default=0)
    if not least > 0 or not 0 <= strength <= 1:
        raise InputError("sizes must be positive, and strength from 0 to 1")
    named = np.asarray(groups)
    found = np.zeros(len(named))
    for name, size in sizes.items():
        found[np.asarray(named == name, dtype=bool)] = (least / size) ** strength
    return found
