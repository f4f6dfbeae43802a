"""The tour as lines of a table: for each question the true answer, the private one, its error bar and its cost."""

from dataclasses import dataclass

import numpy as np

from tacit.cli.demo_data import AGE_BANDS, GENDERS, REGIONS
from tacit.cli.tour import CONFIDENCE, Age, Histogram, Pricing, Survey, Tour
from tacit.loss import Pure

__all__ = ["Answer", "answers", "epsilon", "money"]


@dataclass(frozen=True)
class Answer:
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


def answers(tour: Tour) -> list[Answer]:
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


def _age(age: Age) -> Answer:
    truth, scale = float(age.truth), float(age.mechanism.scale)
    return Answer(
        f"Average age\n10,000 people, noise scale {scale:g}",
        f"{truth:.3f}",
        f"{age.private:.3f}",
        f"± {age.error:.2f}",
        age.loss,
        {"truth": truth, "private": age.private, "error": age.error, "scale": scale},
    )


def _histogram(histogram: Histogram) -> list[Answer]:
    labels = [f"{band}, {gender}, {region}" for band in AGE_BANDS for gender in GENDERS for region in REGIONS]
    truth, private, noisy = histogram.truth.ravel(), histogram.private.ravel(), histogram.noisy.ravel()
    worst, scale = int(np.abs(private - truth).max()), float(histogram.mechanism.scale)
    cells = [
        {"cell": label, "truth": int(t), "private": int(p), "before_clamping": int(z)}
        for label, t, p, z in zip(labels, truth, private, noisy, strict=True)
    ]
    whole = Answer(
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
        lines.append(Answer(f"… {labels[index]}", f"{t}", shown, f"± {histogram.error:.0f}", histogram.loss, facts))
    return lines


def _pricing(pricing: Pricing, question: str) -> Answer:
    best, chosen = pricing.prices[pricing.best], pricing.prices[pricing.chosen]
    top, earned = pricing.revenues[pricing.best], pricing.revenues[pricing.chosen]
    floor = max(0.0, top - pricing.error)
    return Answer(
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


def _survey(survey: Survey) -> Answer:
    return Answer(
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
