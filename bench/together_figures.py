"""The pictures of learning together: votes with noise and what comes of them, single budgets, a stream beside a tree.

python -m bench.together_figures docs/images
"""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading

from tacit.base import Relation
from tacit.learn import Counter, GNMax, IndividualDescent, IndividualFilter, Stream, Teachers
from tacit.learn.individual import descended
from tacit.learn.stream_state import StreamState
from tacit.loss import ZCDP, calibrate
from tacit.noise import rng_or_default
from tacit.plot import LabelledCurve, curves, page, write
from tacit.program import Program

SIGMA = 12  # of the noise on votes
SPREAD = 1.96
ANSWERS, SPLITS = 100, 10
PARTS = slice(0, 1197), slice(1197, 1497), slice(1497, None)  # private, public, for testing


def votes(place: Path) -> None:
    """What a hundred teachers say of two pictures, and how far the noise reaches."""
    pictures, digits = load_digits(return_X_y=True)
    teachers = Teachers.fit(
        lambda: KNeighborsClassifier(1), (pictures[:1197], digits[:1197]), count=100, classes=range(10)
    )
    said = teachers.votes(pictures[1197:], range(10))
    order = np.argsort(np.sort(said, axis=1)[:, -1] - np.sort(said, axis=1)[:, -2])
    panels = []
    for at, words in (
        (order[-20], "teachers agree: noise changes nothing"),
        (order[20], "teachers do not: noise decides"),
    ):
        line = LabelledCurve(
            "votes, and where noise may put them (95 %)",
            list(range(10)),
            said[at].tolist(),
            (said[at] - SPREAD * SIGMA).tolist(),
            (said[at] + SPREAD * SIGMA).tolist(),
        )
        panels.append(
            curves(
                [line],
                title=(words, f"a picture of a {digits[1197 + at]}"),
                axes=("digit", "votes"),
                domain=(-30, 120),
                width=300,
            )
        )
    write(
        page([panels], title="Votes of a hundred teachers", subtitle=""),
        place / "pate.svg",
    )


def students(place: Path) -> None:
    """What students learn from a hundred labels, by what the labels cost."""
    pictures, digits = load_digits(return_X_y=True)
    pictures, at = pictures / 16, (1, 2, 3, 4, 6, 8)
    sigmas = [
        calibrate(lambda s: ZCDP(ANSWERS * GNMax(sigma=s).answer_rho(1)), epsilon=e, delta=1e-5).value for e in at
    ]
    rng, found = rng_or_default(None), []
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(len(digits))
        (private, public, test), y = (pictures[order[part]] for part in PARTS), digits[order]
        known = (private, y[PARTS[0]])
        teachers = Teachers.fit(lambda: KNeighborsClassifier(1), known, count=100, classes=range(10))
        said = teachers.votes(public, range(10))
        rows = []
        for sigma in sigmas:
            rule, labels = GNMax(sigma=sigma), np.full(len(public), -1)
            labels[:ANSWERS] = [rule.answer(row, rng) for row in said[:ANSWERS]]
            alone = LogisticRegression(max_iter=500).fit(public[:ANSWERS], labels[:ANSWERS])
            spread = LabelSpreading(kernel="knn", alpha=0.5, max_iter=100).fit(public, labels)
            right = (labels[:ANSWERS] == y[PARTS[1]][:ANSWERS]).mean()
            rows.append([spread.score(test, y[PARTS[2]]), alone.score(test, y[PARTS[2]]), right])
        found.append(rows)
    mean = np.mean(found, axis=0)
    print("epsilon", at, "sigma", [round(float(s), 2) for s in sigmas], "\n", mean.T.round(3))
    lines = [
        LabelledCurve(words, list(at), mean[:, column].tolist(), None, None)
        for column, words in enumerate(
            (
                "a student that also looks at public inputs without a label",
                "a student of the labels",
                "labels that are right",
            )
        )
    ]
    chart = curves(
        lines,
        title=("What a hundred labels teach", f"digits, 100 teachers, mean of {SPLITS} splits"),
        axes=("ε of all labels, δ = 1e-5", "share that is right"),
    )
    write(
        page([[chart]], title="Labels with noise, and who learns from them", subtitle=""), place / "pate-students.svg"
    )


def budgets(place: Path) -> None:
    """What single rows have spent while a model learns from all of them."""
    pictures, digits = load_digits(return_X_y=True)
    plan, full = IndividualDescent(mu="0.32", steps=30, sigma="13.98", rate=3), 20
    seen: list[Any] = []
    real = IndividualFilter.take

    def watched(self: IndividualFilter, vectors: Any, clip: float, at: slice = slice(None)) -> Any:
        found = real(self, vectors, clip, at)
        if at.stop == len(self.spent):
            seen.append(self.spent / self.cap)
        return found

    with patch.object(IndividualFilter, "take", watched):
        descended(plan, pictures[:1437], digits[:1437], tuple(range(10)), rng_or_default(None))
    spent, steps = np.array(seen), list(range(1, plan.steps + 1))
    lines = [
        LabelledCurve(words, steps, np.quantile(spent, share, axis=1).tolist(), None, None)
        for words, share in (
            ("a row that is hard to learn (95 of 100 spend less)", 0.95),
            ("a row in the middle", 0.5),
            ("a row that is learnt early (5 of 100 spend less)", 0.05),
        )
    ]
    lines.append(
        LabelledCurve(
            "if everybody paid for the whole clip", steps, [min(1.0, step / full) for step in steps], None, None
        )
    )
    chart = curves(
        lines,
        title=("Each row pays for what it says", "share of its budget that a row has spent"),
        axes=("step", "spent"),
    )
    write(page([[chart]], title="Rows that are learnt early stay in", subtitle=""), place / "individual-budgets.svg")


def stream(place: Path) -> None:
    """A year of arrivals, told day by day."""
    counter = Counter(steps=365, sigma=20)
    chance = np.random.default_rng(3)
    daily = chance.poisson(5, counter.steps)
    program = Program(steps=(counter.step(),), tables=("t",), relation=Relation.ADD_REMOVE, unit="row")
    stub: Any = SimpleNamespace(program=program, save=lambda *told: None)
    with tempfile.TemporaryDirectory() as folder, StreamState.begin(Path(folder) / "s.stream", "r") as state:
        own = Stream(counter, state, stub)
        for day, many in enumerate(daily):
            own.tick([f"{day} {each}" for each in range(many)])
        ticks = own.ticks[::7]
    at, told = [tick.step for tick in ticks], np.array([tick.count for tick in ticks])
    margin, tree = np.array([tick.margin for tick in ticks]), SPREAD * counter.tree_error
    lines = [
        LabelledCurve(
            "a binary tree of the same price: 95 %", at, told.tolist(), (told - tree).tolist(), (told + tree).tolist()
        ),
        LabelledCurve(
            "the noisy count, and where the truth is in 95 %",
            at,
            told.tolist(),
            (told - margin).tolist(),
            (told + margin).tolist(),
        ),
        LabelledCurve("the truth, which nobody is told", at, np.cumsum(daily)[::7].tolist(), None, None),
    ]
    chart = curves(
        lines,
        title=("A running count, told every day for a year", "the whole year costs each person one price"),
        axes=("day", "people so far"),
        domain=None,
    )
    write(page([[chart]], title="A stream", subtitle=""), place / "stream.svg")


if __name__ == "__main__":
    for draw in (votes, students, budgets, stream):
        draw(Path(sys.argv[1]))
