"""The tour of the mechanisms: four textbook questions, each from made-up data to an answer with its error and cost."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from tacit.base import Relation, Sensitivity
from tacit.cli.demo import WHY
from tacit.cli.demo.data import AGE_BANDS, AGE_LIMIT, GENDERS, REGIONS, SMALL_MARKET, bidders, people, smokers
from tacit.cli.screen import announce, bar, bullets, check_outputs, plain_table, print_json
from tacit.loss import Pure
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.postprocess import clamp
from tacit.mechanism.randomized_response import CoinFlipSurvey
from tacit.mechanism.selection import Exponential

__all__ = [
    "Age",
    "Histogram",
    "Pricing",
    "Tour",
    "TourAnswer",
    "TourSurvey",
    "answers",
    "epsilon",
    "money",
    "show_mechanisms",
]

CONFIDENCE = 0.95
PERSON = "person"
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Age:
    """The average of whole ages 0–100 over a public number of people: they move by at most 100/n together."""

    mechanism: Laplace
    truth: Fraction
    private: float
    loss: Pure

    @classmethod
    def ask(cls, epsilon: str) -> "Age":
        age = people().age
        # the sum of whole ages is whole, so the mean lies on the lattice of 1/n: noise there rounds nothing
        truth, step = Fraction(int(age.sum()), age.size), Fraction(1, age.size)
        neighbours: dict[str, Any] = {"relation": Relation.REPLACE, "unit": PERSON}
        sensitivity = Sensitivity.scalar(AGE_LIMIT * step)
        mechanism = Laplace.from_loss(Pure(epsilon, **neighbours), sensitivity=sensitivity, granularity=step)
        private = mechanism.sample(truth)
        return cls(mechanism, truth, private, mechanism.loss(sensitivity, **neighbours))

    @property
    def error(self) -> float:
        return self.mechanism.error(CONFIDENCE)


@dataclass(frozen=True)
class Histogram:
    """Counts by age band × gender × region. A person is in one cell, so all cells together cost what one costs."""

    mechanism: DiscreteLaplace
    truth: Array
    noisy: Array
    private: Array
    loss: Pure
    replace_loss: Pure

    @classmethod
    def ask(cls, epsilon: str) -> "Histogram":
        truth = people().cells()
        joins = Sensitivity(l1=Fraction(1), linf=Fraction(1))
        moves = Sensitivity(l1=Fraction(2), linf=Fraction(1))
        mechanism = DiscreteLaplace.from_loss(Pure(epsilon, unit=PERSON), sensitivity=joins)
        noisy = mechanism.sample(truth)
        replaced = mechanism.loss(moves, relation=Relation.REPLACE, unit=PERSON)
        return cls(mechanism, truth, noisy, clamp(noisy), mechanism.loss(joins, unit=PERSON), replaced)

    @property
    def error(self) -> float:
        """For one cell. Clamping at zero moves an answer towards any true count, so the bound survives it."""
        return self.mechanism.error(CONFIDENCE)

    @property
    def error_everywhere(self) -> float:
        """For all cells at once."""
        return self.mechanism.error(CONFIDENCE, dimension=self.truth.size)


@dataclass(frozen=True)
class Pricing:
    """One price for everybody: who values the good at the price or more buys. Money is in cents.

    Another bidder adds at most the price to the revenue at each price and lowers none: the score is monotone.
    """

    mechanism: Exponential
    prices: tuple[int, ...]
    revenues: tuple[int, ...]
    chosen: int
    loss: Pure

    @classmethod
    def ask(cls, epsilon: str, valuations: Array, prices: tuple[int, ...]) -> "Pricing":
        revenues = tuple(price * int((valuations >= price).sum()) for price in prices)
        mechanism = Exponential.from_loss(Pure(epsilon, unit="bidder"), sensitivity=max(prices), monotone=True)
        loss = mechanism.loss(max(prices), unit="bidder")
        return cls(mechanism, prices, revenues, int(mechanism.sample(revenues)), loss)

    @property
    def best(self) -> int:
        return max(range(len(self.prices)), key=self.revenues.__getitem__)

    @property
    def error(self) -> float:
        """How far below the best revenue the choice may fall."""
        return float(self.mechanism.error(CONFIDENCE, candidates=len(self.prices)))

    def chances(self) -> list[float]:
        pmf = self.mechanism.pmf(self.revenues)
        return [pmf.get(index, 0.0) for index in range(len(self.prices))]


@dataclass(frozen=True)
class TourSurvey:
    """An awkward question. Each respondent flips a coin at home: heads, the truth; tails, what a second coin says."""

    mechanism: CoinFlipSurvey
    respondents: int
    truth: float
    reported: float
    private: float
    low: float
    high: float
    loss: Pure

    @classmethod
    def ask(cls) -> "TourSurvey":
        answers = smokers()
        mechanism = CoinFlipSurvey(truth=Fraction(1, 2))
        reports = np.asarray(mechanism.sample(answers))
        found = mechanism.estimate(reports, CONFIDENCE)
        loss = mechanism.loss(relation=Relation.REPLACE, unit="respondent")
        truth, reported = float(answers.mean()), float(reports.mean())
        return cls(mechanism, answers.size, truth, reported, found.value, found.lower, found.upper, loss)


@dataclass(frozen=True)
class Tour:
    """All four questions, asked."""

    ages: tuple[Age, Age]
    histogram: Histogram
    small_market: Pricing
    market: Pricing
    survey: TourSurvey

    @classmethod
    def ask(cls) -> "Tour":
        """Answer everything once. The noise differs every time."""
        small = (*SMALL_MARKET, SMALL_MARKET[-1] + 1)  # one cent above the highest valuation: nobody buys
        return cls(
            ages=(Age.ask("0.5"), Age.ask("1")),
            histogram=Histogram.ask("0.5"),
            small_market=Pricing.ask("0.5", np.array(SMALL_MARKET), small),
            market=Pricing.ask("0.5", bidders(), tuple(range(10, 1001, 10))),
            survey=TourSurvey.ask(),
        )

    def people_loss(self) -> Pure:
        """What the same people paid for both averages and the histogram, in the one relation all three have."""
        first, second = self.ages
        total = first.loss + second.loss + self.histogram.replace_loss
        assert isinstance(total, Pure)  # as every part of it
        return total


# --- as lines of a table


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
        cost = {
            "epsilon": float(self.loss.bound),
            "delta": 0,
            "relation": self.loss.relation.value,
            "unit": self.loss.unit,
        }
        return {"question": self.question.replace("\n", ", "), "confidence": CONFIDENCE, **self.facts, "cost": cost}


def answers(tour: Tour) -> list[TourAnswer]:
    """Every line of the tour, in order."""
    return [
        *(_age(age) for age in tour.ages),
        *_histogram(tour.histogram),
        _pricing(tour.small_market, "Best price for 3 bidders\npaying $1.00, $1.01 and $3.01"),
        _pricing(tour.market, f"Best price for 500 bidders\nout of {len(tour.market.prices)} prices up to $10"),
        _survey(tour.survey),
    ]


def epsilon(loss: Pure) -> str:
    """A pure loss as people write it: 0.5, 1, 1.099."""
    return f"{float(loss.bound):.4g}"


def money(cents: float) -> str:
    """Dollars and cents below 100 dollars, whole dollars above."""
    return f"${cents / 100:,.2f}" if cents < 10_000 else f"${cents / 100:,.0f}"


def _age(age: Age) -> TourAnswer:
    truth, scale = float(age.truth), float(age.mechanism.scale)
    return TourAnswer(
        f"Average age\n10,000 people, noise scale {scale:g}",
        f"{truth:.3f}",
        f"{age.private:.3f}",
        f"± {age.error:.2f}",
        age.loss,
        {"truth": truth, "private": age.private, "error": age.error, "scale": scale},
    )


def _histogram(histogram: Histogram) -> list[TourAnswer]:
    labels = [f"{band}, {gender}, {region}" for band in AGE_BANDS for gender in GENDERS for region in REGIONS]
    truth, private, noisy = histogram.truth.ravel(), histogram.private.ravel(), histogram.noisy.ravel()
    worst, scale = int(np.abs(private - truth).max()), float(histogram.mechanism.scale)
    cells = [
        {"cell": label, "truth": int(t), "private": int(p), "before_clamping": int(z)}
        for label, t, p, z in zip(labels, truth, private, noisy, strict=True)
    ]
    whole = TourAnswer(
        f"Age × gender × region histogram\n{truth.size} cells, noise scale {scale:g} in each",
        f"{truth.size} counts",
        f"{private.size} counts\n≤ {worst} off",
        f"± {histogram.error_everywhere:.0f}\nevery cell",
        histogram.loss,
        {"scale": scale, "error": histogram.error_everywhere, "cells": cells},
    )
    lines = [whole]
    for index in (int(truth.argmax()), int(noisy.argmin())):
        t, p, z = int(truth[index]), int(private[index]), int(noisy[index])
        facts: dict[str, object] = {"truth": t, "private": p, "error": histogram.error}
        shown = f"{p}" if p == z else f"{p}\n(was {z})"
        lines.append(TourAnswer(f"… {labels[index]}", f"{t}", shown, f"± {histogram.error:.0f}", histogram.loss, facts))
    return lines


def _pricing(pricing: Pricing, question: str) -> TourAnswer:
    best, chosen = pricing.prices[pricing.best], pricing.prices[pricing.chosen]
    top, earned = pricing.revenues[pricing.best], pricing.revenues[pricing.chosen]
    floor = max(0.0, top - pricing.error)
    return TourAnswer(
        question,
        f"{money(best)}\nearns {money(top)}",
        f"{money(chosen)}\nearns {money(earned)}",
        f"earns ≥ {money(floor)}" if floor else "none",
        pricing.loss,
        {
            "truth": best / 100,
            "private": chosen / 100,
            "revenue_of_truth": top / 100,
            "revenue_of_private": earned / 100,
            "revenue_at_least": floor / 100,
        },
    )


def _survey(survey: TourSurvey) -> TourAnswer:
    return TourAnswer(
        f"Who smokes? A coin-flip survey\n{survey.respondents:,} asked, {survey.reported:.1%} said yes",
        f"{survey.truth:.1%}",
        f"{survey.private:.1%}",
        f"± {(survey.high - survey.low) / 2:.1%}",
        survey.loss,
        {
            "truth": survey.truth,
            "private": survey.private,
            "low": survey.low,
            "high": survey.high,
            "reported_yes": survey.reported,
        },
    )


# --- on the terminal


def show_mechanisms(console: Console, *, plot: Path | None = None, as_json: bool = False) -> None:
    """Four textbook questions, each by one mechanism; `plot` names a picture to write as well."""
    check_outputs(plot=plot)
    with bar("asking"):
        tour = Tour.ask()
    lines = answers(tour)
    if as_json:
        print_json(console, _facts(tour, lines))
    else:
        _show(console, tour, lines)
    if plot:
        from tacit.cli.demo.picture import draw

        draw(tour, plot)
        announce(console, "picture", plot, quiet=as_json)


def _facts(tour: Tour, lines: list[TourAnswer]) -> dict[str, object]:
    total = tour.people_loss()
    paid = {"epsilon": float(total.bound), "relation": total.relation.value, "unit": total.unit}
    return {"answers": [line.json() for line in lines], "paid_by_the_same_people": paid}


def _show(console: Console, tour: Tour, lines: list[TourAnswer]) -> None:
    console.print(Text(f"\n{WHY}Here are four questions answered so that no single person shows:\n"))
    table = plain_table()
    table.add_column("Question", min_width=31)
    table.add_column("True answer", justify="right", style="dim")
    table.add_column("Private", justify="right", style="bold")
    table.add_column("95 % error", justify="right")
    table.add_column("Cost ε", justify="right", style="cyan", no_wrap=True)
    for line in lines:
        head, _, detail = line.question.partition("\n")
        question = Text.assemble(head, "\n" if detail else "", (detail, "dim"))
        table.add_row(question, line.truth, line.private, line.error, epsilon(line.loss))
    console.print(table)
    console.print()
    console.print(bullets(_notes(tour)))


def _notes(tour: Tour) -> list[str]:
    together = epsilon(tour.people_loss())
    return [
        "True answers, and what a price earns, are shown only because the data are made up. The noise is always new.",
        "ε bounds what an answer tells about one unit: no odds move by more than e^ε. For the averages one person's "
        "age changes; for the histogram and the prices one person joins or leaves; in the survey one answer changes.",
        f"The averages and the histogram are about the same people, so their costs add: ε = {together} "
        "for a person who changes (in the histogram that is to leave one cell and to join another: twice 0.5).",
        "Three bidders are too few to hide in: any price may come, even $3.02, which nobody pays.",
    ]
