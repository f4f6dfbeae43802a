"""The tour as one picture of four panels."""

from pathlib import Path

from tacit.cli.demo.data import AGE_BANDS, GENDERS, REGIONS
from tacit.cli.demo.mechanisms import Age, Histogram, PricingTour, Tour, TourSurvey, epsilon, money
from tacit.plot import Cell, Panel, Rate, choice, counts, law, page, rates, write

__all__ = ["draw"]

REACH = 0.11  # years on either side of the true average that the picture shows
EVERY = 10  # lattice steps from one point of a drawn curve to the next


def draw(tour: Tour, path: Path) -> None:
    """Write the picture of these answers to `path`."""
    rows = [[_ages(tour.ages), _pricing(tour.market)], [_histogram(tour.histogram), _survey(tour.survey)]]
    title = "Four questions, answered so that no single person shows"
    write(page(rows, title=title, subtitle="tacit demo: every private answer beside the truth it stands for"), path)


def _ages(ages: tuple[Age, ...]) -> Panel:
    return law(
        {f"ε = {epsilon(age.loss)}": _curve(age) for age in ages},
        answers={f"ε = {epsilon(age.loss)}": (age.private, age.error) for age in ages},
        truth=float(ages[0].truth),
        title=("Average age of 10,000 people", "Shaded: how likely each answer was. Twice the ε, half the error."),
        axis="average age in years",
    )


def _curve(age: Age) -> dict[float, float]:
    """Answer → probability, near the truth."""
    truth, step, half = float(age.truth), float(age.mechanism.lattice.granularity), age.mechanism.weights()
    last = round(REACH / step)
    return {truth + z * step: half[abs(z)] for z in range(-last, last + 1, EVERY)}


def _pricing(pricing: PricingTour) -> Panel:
    best, chosen = pricing.best, pricing.chosen
    return choice(
        [price / 100 for price in pricing.prices],
        [revenue / 100 for revenue in pricing.revenues],
        pricing.chances(),
        chosen=chosen,
        floor=pricing.floor / 100,
        title=(
            "Which price earns most from 500 bidders?",
            f"Chosen {money(pricing.prices[chosen])}, best {money(pricing.prices[best])}, ε = {epsilon(pricing.loss)}. "
            "The bigger a dot, the likelier that price.",
        ),
        axes=("price in dollars", "revenue in dollars"),
    )


def _histogram(histogram: Histogram) -> Panel:
    cells = [
        Cell(band, region, gender, int(histogram.private[a, g, r]), int(histogram.truth[a, g, r]), histogram.error)
        for a, band in enumerate(AGE_BANDS)
        for g, gender in enumerate(GENDERS)
        for r, region in enumerate(REGIONS)
    ]
    scale = float(histogram.mechanism.scale)
    how = (
        f"{len(cells)} cells, noise of scale {scale:g} in each, ε = {epsilon(histogram.loss)} for all of them. "
        "Each panel has its own scale."
    )
    return counts(cells, title=("People by age, gender and region", how), axes=("age", "people"))


def _survey(survey: TourSurvey) -> Panel:
    return rates(
        [
            Rate("said yes, coins and all", survey.reported),
            Rate("who smokes: estimate", survey.private, survey.low, survey.high),
        ],
        truth=survey.truth,
        title=(
            "Who smokes? A coin-flip survey",
            f"{survey.respondents:,} people flip coins, ε = {epsilon(survey.loss)}: yes-rate = ¼ + half the smokers.",
        ),
        axis="share of respondents",
    )
