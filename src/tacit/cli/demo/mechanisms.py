"""The tour of the mechanisms: four textbook questions, each from made-up data to an answer with its error and cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Column
from rich.text import Text

from tacit.base import Relation, Sensitivity
from tacit.base.bar import progress_bar
from tacit.cli.demo import WHY
from tacit.cli.demo.data import AGE_BANDS, AGE_LIMIT, GENDERS, REGIONS, SMALL_MARKET, bidders, people, smokers
from tacit.cli.screen import bullets, check_outputs, output, table, write_out
from tacit.loss import Pure
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.postprocess import clamp
from tacit.mechanism.randomized_response import CoinFlipSurvey
from tacit.mechanism.selection import Exponential

__all__ = ["Age", "Histogram", "PricingTour", "Tour", "TourAnswer", "TourSurvey", "epsilon", "money", "show_mechanisms"]

CONFIDENCE = 0.95
PERSON = "person"
Array = np.ndarray[Any, np.dtype[Any]]


def epsilon(loss: Pure) -> str:
    """A pure loss as people write it: 0.5, 1, 1.099."""
    return f"{float(loss.bound):.4g}"


def money(cents: float) -> str:
    """Dollars and cents below 100 dollars, whole dollars above."""
    return f"${cents / 100:,.2f}" if cents < 10_000 else f"${cents / 100:,.0f}"


@dataclass(frozen=True)
class TourAnswer:
    """One line. The texts are for people and may hold a second line; `facts` has the same numbers for a program."""

    question: str
    truth: str
    private: str
    error: str
    loss: Pure
    facts: dict[str, object]

    def json(self) -> dict[str, object]:
        about = {"relation": self.loss.relation.value, "unit": self.loss.unit}
        cost = {"epsilon": float(self.loss.bound), "delta": 0, **about}
        return {"question": self.question.replace("\n", ", "), "confidence": CONFIDENCE, **self.facts, "cost": cost}


class Age:
    """The average of whole ages 0–100 over a public number of people: they move by at most 100/n together."""

    def __init__(self, epsilon: str) -> None:
        age = people().age
        # the sum of whole ages is whole, so the mean lies on the lattice of 1/n: noise there rounds nothing
        self.truth, step = Fraction(int(age.sum()), age.size), Fraction(1, age.size)
        neighbours: dict[str, Any] = {"relation": Relation.REPLACE, "unit": PERSON}
        sensitivity = Sensitivity.scalar(AGE_LIMIT * step)
        self.mechanism = Laplace.from_loss(Pure(epsilon, **neighbours), sensitivity=sensitivity, granularity=step)
        self.private = self.mechanism.sample(self.truth)
        self.loss = self.mechanism.loss(sensitivity, **neighbours)
        self.error = self.mechanism.error(CONFIDENCE)

    def answer(self) -> TourAnswer:
        truth, scale = float(self.truth), float(self.mechanism.scale)
        return TourAnswer(
            f"Average age\n10,000 people, noise scale {scale:g}",
            f"{truth:.3f}",
            f"{self.private:.3f}",
            f"± {self.error:.2f}",
            self.loss,
            {"truth": truth, "private": self.private, "error": self.error, "scale": scale},
        )


class Histogram:
    """Counts by age band × gender × region. A person is in one cell, so all cells together cost what one costs.

    `error` is of one cell: clamping at zero moves an answer towards any true count, so the bound survives it.
    `error_everywhere` is of all cells at once.
    """

    def __init__(self, epsilon: str) -> None:
        joins = Sensitivity(l1=Fraction(1), linf=Fraction(1))
        moves = Sensitivity(l1=Fraction(2), linf=Fraction(1))
        self.truth = people().cells()
        self.mechanism = DiscreteLaplace.from_loss(Pure(epsilon, unit=PERSON), sensitivity=joins)
        self.noisy = self.mechanism.sample(self.truth)
        self.private = clamp(self.noisy)
        self.loss = self.mechanism.loss(joins, unit=PERSON)
        self.replace_loss = self.mechanism.loss(moves, relation=Relation.REPLACE, unit=PERSON)
        self.error = self.mechanism.error(CONFIDENCE)
        self.error_everywhere = self.mechanism.error(CONFIDENCE, dimension=self.truth.size)

    def answers(self) -> list[TourAnswer]:
        """The whole, the largest cell, and the one that noise took lowest."""
        labels = [f"{band}, {gender}, {region}" for band in AGE_BANDS for gender in GENDERS for region in REGIONS]
        counts = [
            tuple(map(int, cell)) for cell in zip(*map(np.ravel, (self.truth, self.private, self.noisy)), strict=True)
        ]
        size, worst, scale = len(counts), max(abs(p - t) for t, p, _ in counts), float(self.mechanism.scale)
        cells = [
            {"cell": label, "truth": truth, "private": private, "before_clamping": noisy}
            for label, (truth, private, noisy) in zip(labels, counts, strict=True)
        ]
        lines = [
            TourAnswer(
                f"Age × gender × region histogram\n{size} cells, noise scale {scale:g} in each",
                f"{size} counts",
                f"{size} counts\n≤ {worst} off",
                f"± {self.error_everywhere:.0f}\nevery cell",
                self.loss,
                {"scale": scale, "error": self.error_everywhere, "cells": cells},
            )
        ]
        for index in (int(self.truth.argmax()), int(self.noisy.argmin())):
            truth, private, noisy = counts[index]
            facts: dict[str, object] = {"truth": truth, "private": private, "error": self.error}
            shown = f"{private}" if private == noisy else f"{private}\n(was {noisy})"
            lines.append(TourAnswer(f"… {labels[index]}", f"{truth}", shown, f"± {self.error:.0f}", self.loss, facts))
        return lines


class PricingTour:
    """One price for everybody: who values the good at the price or more buys. Money is in cents.

    Another bidder adds at most the price to the revenue at each price and lowers none: the score is monotone. `error`
    is how far below the best revenue the choice may fall.
    """

    def __init__(self, epsilon: str, valuations: Array, prices: tuple[int, ...]) -> None:
        self.prices = prices
        self.revenues = tuple(price * int((valuations >= price).sum()) for price in prices)
        self.mechanism = Exponential.from_loss(Pure(epsilon, unit="bidder"), sensitivity=max(prices), monotone=True)
        self.chosen = int(self.mechanism.sample(self.revenues))
        self.loss = self.mechanism.loss(max(prices), unit="bidder")
        self.best = max(range(len(prices)), key=self.revenues.__getitem__)
        self.error = float(self.mechanism.error(CONFIDENCE, candidates=len(prices)))
        self.floor = max(0.0, self.revenues[self.best] - self.error)

    def chances(self) -> list[float]:
        pmf = self.mechanism.pmf(self.revenues)
        return [pmf.get(index, 0.0) for index in range(len(self.prices))]

    def answer(self, question: str) -> TourAnswer:
        best, chosen = self.prices[self.best], self.prices[self.chosen]
        top, earned = self.revenues[self.best], self.revenues[self.chosen]
        facts: dict[str, object] = {
            "truth": best / 100,
            "private": chosen / 100,
            "revenue_of_truth": top / 100,
            "revenue_of_private": earned / 100,
            "revenue_at_least": self.floor / 100,
        }
        least = f"earns ≥ {money(self.floor)}" if self.floor else "none"
        truth, private = (
            f"{money(price)}\nearns {money(revenue)}" for price, revenue in ((best, top), (chosen, earned))
        )
        return TourAnswer(question, truth, private, least, self.loss, facts)


class TourSurvey:
    """An awkward question. Each respondent flips a coin at home: heads, the truth; tails, what a second coin says."""

    def __init__(self) -> None:
        answers = smokers()
        mechanism = CoinFlipSurvey(truth=Fraction(1, 2))
        reports = np.asarray(mechanism.sample(answers))
        found = mechanism.estimate(reports, CONFIDENCE)
        self.respondents, self.truth, self.reported = answers.size, float(answers.mean()), float(reports.mean())
        self.private, self.low, self.high = found.value, found.lower, found.upper
        self.loss = mechanism.loss(relation=Relation.REPLACE, unit="respondent")

    def answer(self) -> TourAnswer:
        return TourAnswer(
            f"Who smokes? A coin-flip survey\n{self.respondents:,} asked, {self.reported:.1%} said yes",
            f"{self.truth:.1%}",
            f"{self.private:.1%}",
            f"± {(self.high - self.low) / 2:.1%}",
            self.loss,
            {name: getattr(self, name) for name in ("truth", "private", "low", "high")}
            | {"reported_yes": self.reported},
        )


class Tour:
    """All four questions, asked once. The noise differs every time."""

    def __init__(self) -> None:
        small = (*SMALL_MARKET, SMALL_MARKET[-1] + 1)  # one cent above the highest valuation: nobody buys
        self.ages = Age("0.5"), Age("1")
        self.histogram = Histogram("0.5")
        self.small_market = PricingTour("0.5", np.array(SMALL_MARKET), small)
        self.market = PricingTour("0.5", bidders(), tuple(range(10, 1001, 10)))
        self.survey = TourSurvey()

    def people_loss(self) -> Pure:
        """What the same people paid for both averages and the histogram, in the one relation all three have."""
        first, second = self.ages
        total = first.loss + second.loss + self.histogram.replace_loss
        assert isinstance(total, Pure)  # as every part of it
        return total

    def answers(self) -> list[TourAnswer]:
        """Every line, in order."""
        return [
            *(age.answer() for age in self.ages),
            *self.histogram.answers(),
            self.small_market.answer("Best price for 3 bidders\npaying $1.00, $1.01 and $3.01"),
            self.market.answer(f"Best price for 500 bidders\nout of {len(self.market.prices)} prices up to $10"),
            self.survey.answer(),
        ]


# --- on the terminal


def show_mechanisms(*, plot: Path | None = None, as_json: bool = False) -> None:
    """Four textbook questions, each by one mechanism; `plot` names a picture to write as well."""
    check_outputs(plot=plot)
    with progress_bar("asking"):
        tour = Tour()
    total, answers = tour.people_loss(), tour.answers()
    paid = {"epsilon": float(total.bound), "relation": total.relation.value, "unit": total.unit}
    told = {"answers": [line.json() for line in answers], "paid_by_the_same_people": paid}
    output(as_json, told, _parts(answers, epsilon(total)))

    def draw(path: Path) -> None:
        from tacit.cli.demo.picture import draw

        draw(tour, path)

    write_out("picture", plot, draw, quiet=as_json)


def _parts(answers: list[TourAnswer], paid: str) -> Iterator[Any]:
    rows: list[tuple[str | Text, ...]] = []
    for line in answers:
        head, _, detail = line.question.partition("\n")
        question = Text.assemble(head, "\n" if detail else "", (detail, "dim"))
        rows.append((question, line.truth, line.private, line.error, epsilon(line.loss)))
    heads = Column("Question", min_width=31), Column("True answer", justify="right", style="dim")
    more = Column("Private", justify="right", style="bold"), "95 % error"
    cost = Column("Cost ε", justify="right", style="cyan", no_wrap=True)
    yield Text(f"\n{WHY}Here are four questions answered so that no single person shows:\n")
    yield from (table(*heads, *more, cost, rows=rows), "")
    notes = (
        "True answers, and what a price earns, are shown only because the data are made up. The noise is always new.",
        "ε bounds what an answer tells about one unit: no odds move by more than e^ε. For the averages one "
        "person's age changes; for the histogram and the prices one person joins or leaves; in the survey one "
        "answer changes.",
        "The averages and the histogram are about the same people, so their costs add: ε = "
        f"{paid} for a person who changes (in the histogram that is to leave one cell and "
        "to join another: twice 0.5).",
        "Three bidders are too few to hide in: any price may come, even $3.02, which nobody pays.",
    )
    yield bullets(notes)
