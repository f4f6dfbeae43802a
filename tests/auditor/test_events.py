"""An event is a set of outputs: whether an output lies in it does not depend on the other outputs of its batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.auditor import events
from tacit.auditor.events import Event, Score, classifier
from tacit.auditor.outputs import Outputs
from tacit.auditor.search import Goal, search
from tacit.auditor.sequences import number_scores, part_events, shape_scores


def runs(rng: np.random.Generator) -> Any:
    """Sequences of different lengths, with None, truth values and numbers that do not add exactly."""
    found = []
    for _ in range(120):
        length = int(rng.integers(1, 12))
        row: list[Any] = [None if rng.random() < 0.4 else bool(rng.random() < 0.5) for _ in range(length)]
        found.append(tuple(row + [float(x) for x in rng.normal(size=int(rng.integers(0, 9))).round(1)]))
    return found


KINDS: dict[str, Callable[[np.random.Generator], Any]] = {
    "numbers": lambda rng: rng.normal(size=120),
    "whole numbers": lambda rng: rng.integers(0, 5, size=120),
    "vectors": lambda rng: rng.normal(size=(120, 5)).round(1),
    "truth values": lambda rng: rng.random((120, 6)) < 0.5,
    "special values": lambda rng: np.where(rng.random(120) < 0.2, np.nan, rng.normal(size=120)),
    "histograms": lambda rng: [{k: int(rng.integers(9)) for k in "abc" if rng.random() < 0.7} for _ in range(120)],
    "runs": runs,
}


def scores_and_events(left: Outputs, right: Outputs) -> tuple[list[Score], list[Event]]:
    scores = [*number_scores(left, right), *shape_scores(left, right)]
    parts = part_events(left, right)
    weighed = classifier(left, right, scores, parts)
    scores += [weighed] if weighed is not None else []
    found = [*parts, events.shaped(left.shapes[:2]), search(left, right, Goal(fresh=100, delta=0.0, tail=0.05)).event]
    for score in scores:
        edges = events.cuts(score.of(left), score.of(right))
        for cut in edges[:: max(1, len(edges) // 3)].tolist():
            found += [events.above(score, cut), events.below(score, cut), events.equals(score, cut)]
            found += [events.between(score, cut - 1, cut), events.among(score, [cut, cut + 1])]
        chosen = np.arange(len(edges) + 1) % 2 == 0
        found.append(events.both(events.bins(score, edges, chosen), events.shaped(left.shapes)))
    return scores, found


@pytest.mark.parametrize("kind", KINDS)
def test_membership_is_a_matter_of_the_output_alone(kind: str) -> None:
    rng = np.random.default_rng(7)
    batches = [KINDS[kind](rng) for _ in range(3)]
    left, right, fresh = map(Outputs.of, batches)
    scores, found = scores_and_events(left, right)
    assert found
    for place in range(0, len(fresh), 7):
        alone = Outputs.of(batches[2][place : place + 1])
        for score in scores:
            assert np.array_equal(score.of(alone), score.of(fresh)[place : place + 1], equal_nan=True), score.words
        for event in found:
            assert event.contains(alone)[0] == event.contains(fresh)[place], event.words


def test_a_score_without_value_is_outside() -> None:
    score = Score("it", lambda outputs: outputs.column(0))
    nothing = Outputs.of([None])
    for event in (
        events.above(score, -1), events.below(score, 1), events.between(score, -1, 1), events.equals(score, 0),
        events.among(score, [0]), events.bins(score, np.array([0.0]), np.array([True, True])),
    ):  # fmt: skip
        assert not event.contains(nothing).any()


def test_words() -> None:
    score = Score("the output", lambda outputs: outputs.column(0))
    event = events.bins(score, np.array([0.0, 1.0, 2.0]), np.array([True, False, True, True]))
    assert event.words == "the output lies in (−∞, 0) or [1, ∞)"
    assert event.contains(Outputs.of([-1.0, 0.0, 0.5, 1.0, 5.0])).tolist() == [True, False, False, True, True]
    assert events.above(score, 2.5).words == "the output is at least 2.5"
    assert events.among(score, [2, 1]).words == "the output is one of 1 or 2"


def test_thresholds_reach_into_the_tails() -> None:
    x = np.arange(100_000, dtype=float) / 1000
    found = events.cuts(x, x + 50)
    assert found[0] <= 0.001
    assert found[-1] >= 149.9
    assert len(found) < 300
