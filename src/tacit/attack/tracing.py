"""Why noise is needed at all: whoever answers many averages fairly well can be traced, whatever rule made the answers.

The test is an inner product (Dwork, Smith, Steinke, Ullman and Vadhan 2015), and its proof a fingerprinting code
(Boneh and Shaw 1998; Tardos 2008; Bun, Ullman and Vadhan 2014): see docs/theory/tracing.md for the law behind `fewest`.
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp, pi, sinh, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.attack.opting_out import FairQuestion, all_or_none
from tacit.attack.population import Array, Chance, Floats, chance
from tacit.attack.reconstruction import DELTA, noise_for
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import InputError, between, whole
from tacit.mechanism import DiscreteLaplace

__all__ = ["RULES", "fewest", "needed", "shared", "stage", "trace", "traceable"]

TESTED = 100  # members, and outsiders, that are tried
CONTROLS = 1_000
ALARMS = 0.05
PEOPLE = (10, 30, 100, 300, 1_000, 3_000)
ATTRIBUTES = (10, 100, 1_000, 10_000)
USEFUL = 0.1  # the error of an average that is still called useful: root mean square, against the population

Rule = Callable[[Array, int, Chance], Floats]  # from the sums over so many people

# what somebody publishes of the averages of 0s and 1s, without a thought of privacy
RULES: dict[str, Rule] = {
    "exact averages": lambda sums, people, _: sums / people,
    "rounded to a tenth": lambda sums, people, _: np.round(sums / people, 1),
    "off by 0.1": lambda sums, people, dice: sums / people + dice.normal(scale=USEFUL, size=len(sums)),
    "the majority alone": lambda sums, people, _: np.sign(2 * sums - people) / 2 + 0.5,
}


def shared(count: int, dice: Chance) -> Floats:
    """The shares of `count` attributes in the population, with density 1/(π√(p(1 − p))): Tardos' choice."""
    return np.asarray(np.sin(dice.uniform(0, pi / 2, count)) ** 2)


def trace(rows: Any, *, published: Any, population: Any) -> Floats:
    """For each row of 0 and 1 the inner product Σ (x − p)(q − p)/√(p(1 − p)): large for who is in the averages q.

    It knows the population's shares p and nothing of how q was made.
    """
    own, told, known = (np.asarray(each, dtype=float) for each in (rows, published, population))
    if own.ndim != 2 or not ((own == 0) | (own == 1)).all():
        raise InputError("rows must be a matrix of 0 and 1 with a row for each person")
    if told.shape != known.shape or told.shape != own.shape[1:] or not np.isfinite(told).all():
        raise InputError(f"published and population must hold {own.shape[1]} finite numbers, one for each attribute")
    if ((known <= 0) | (known >= 1)).any():
        raise InputError("population must lie strictly between 0 and 1: leave out attributes that do not vary")
    return np.asarray((own - known) @ ((np.clip(told, 0, 1) - known) / np.sqrt(known * (1 - known))))


def fewest(attributes: int, *, epsilon: float, delta: float = 0.0, error: float = USEFUL) -> float:
    """Below so many people no release of all averages has this error and (epsilon, delta) for replacing one of them.

    The error is the root mean square: against the population, over attributes and shares as in `shared`, and against
    the truth where all people agree. The proof is in docs/theory/tracing.md.
    """
    if not 0 < error < 0.5:
        raise InputError("error must lie between 0 and 1/2: an average of 0s and 1s is within 1/2 of one half anyway")
    spread = sqrt(attributes) * error
    return attributes * (1 - 2 * error) / (pi * ((sinh(epsilon) + sqrt(delta)) * spread + sqrt(delta) * attributes))


def needed(attributes: int, *, epsilon: float, error: float = USEFUL, pure: bool = False) -> float:
    """People with whom tacit's averages have this error, of which sampling them is a part: 1/8 over their number."""
    if pure:
        noise = DiscreteLaplace(scale=Fraction(attributes) / Fraction(epsilon)).standard_deviation
    else:
        noise = noise_for(attributes, epsilon=epsilon).standard_deviation
    sampling = 1 / 8  # error² = sampling/people + (noise/people)²
    return (sampling + sqrt(sampling**2 + 4 * error**2 * noise**2)) / (2 * error**2)


def stage(
    *,
    seed: int = 1,
    people: int = 50,
    attributes: int = 3_000,
    epsilon: float = 1.0,
    progress: Progress = silent,
) -> Outcome:
    """Who was among `people` whose averages of many attributes are published, by several rules and by tacit."""
    count, many = whole(people, "people", least=1), whole(attributes, "attributes", least=10)
    epsilon = float(between(epsilon, "epsilon", 0, 100))
    dice = chance(seed)
    rules: dict[str, Rule] = RULES | {f"tacit, ε = {epsilon:g} for all": _private(many, epsilon)}
    lines: dict[str, list[float]] = {name: [] for name in rules}
    hits, tried = _found(count, many, rules, dice)
    for number, size in enumerate(PEOPLE):
        found, of = _found(size, many, rules, dice)
        for name, line in lines.items():
            line.append(found[name] / of)
        progress((number + 1) / len(PEOPLE))
    ceiling = exp(epsilon) * ALARMS + float(DELTA)
    tiny = {size: FairQuestion("", all_or_none(size), Fraction(size)).best_private for size in (10, 1_000)}
    sizes = _sizes(epsilon)
    rough, ours = "off by 0.1", f"tacit, ε = {epsilon:g} for all"
    return Outcome(
        name="tracing",
        headline="Many averages tell who was asked, however they are rounded",
        measure=f"share of {count:,} members found at 5 % false alarms, from {many:,} averages",
        chance=ALARMS,
        undefended=Attempt.counted(f"averages {rough}", hits[rough], tried),
        defended=Attempt.counted(ours, hits[ours], tried),
        remarks=(
            f"also found: {hits['rounded to a tenth'] / tried:.0%} from averages rounded to a tenth, "
            f"{hits['the majority alone'] / tried:.0%} from nothing but what the majority is; the attacker knows the "
            "population and not the rule",
            f"at ε = {epsilon:g} no test finds more than {min(1.0, ceiling):.1%} of the members at 5 % false alarms",
            f"for {ATTRIBUTES[-1]:,} averages right to {USEFUL:g}: below {sizes['no release at all'][-1]:,.0f} people "
            f"no release has ε = {epsilon:g} and δ = 1e-06, tacit needs {sizes['tacit'][-1]:,.0f}",
            f"for one count: at ε = 1/n nobody tells n zeros from n ones more than {1 / (1 + exp(-1)):.1%} of the "
            f"time, and with tacit's noise {tiny[10]:.1%} for n = 10, {tiny[1_000]:.1%} for n = 1,000",
        ),
        facts={"people": count, "attributes": many, "epsilon": epsilon, "delta": float(DELTA), "sizes": list(PEOPLE)}
        | {"found": lines, "attribute counts": list(ATTRIBUTES), "people needed": sizes, "count at 1/n": tiny},
        draw=lambda: _draw(lines, sizes, many, epsilon),
    )


def traceable(attributes: int, *, epsilon: float, error: float = USEFUL) -> float:
    """Up to so many people the test finds more members than (epsilon, 10⁻⁶) allows, in averages with normal errors.

    A member scores √attributes/(π·people·error) more than an outsider, in standard deviations.
    """
    ceiling = exp(epsilon) * ALARMS + float(DELTA)
    return float("inf") if ceiling >= 1 else sqrt(attributes) / (pi * error * float(ndtri(ceiling) - ndtri(ALARMS)))


def _sizes(epsilon: float) -> dict[str, list[float]]:
    """How many people averages that are right to USEFUL take, for each of ATTRIBUTES."""
    delta = float(DELTA)
    return {
        "no release at all": [fewest(many, epsilon=epsilon, delta=delta) for many in ATTRIBUTES],
        "traced": [traceable(many, epsilon=epsilon) for many in ATTRIBUTES],
        "tacit": [needed(many, epsilon=epsilon) for many in ATTRIBUTES],
        "tacit, δ = 0": [needed(many, epsilon=epsilon, pure=True) for many in ATTRIBUTES],
    }


def _private(attributes: int, epsilon: float) -> Rule:
    noise = noise_for(attributes, epsilon=epsilon)
    return lambda sums, people, _: noise.sample(sums) / people


def _found(people: int, attributes: int, rules: dict[str, Rule], dice: Chance) -> tuple[dict[str, int], int]:
    """Members accused by each rule at 5 % false alarms, and how many were tried: TESTED at least, study by study."""
    hits, tried = dict.fromkeys(rules, 0), 0
    while tried < TESTED:
        population = shared(attributes, dice)
        members = dice.random((people, attributes)) < population
        others = dice.random((CONTROLS, attributes)) < population
        sums = members.sum(axis=0)
        some = members[:TESTED]
        for name, rule in rules.items():
            published = rule(sums, people, dice)
            scores = trace(np.concatenate([some, others]), published=published, population=population)
            limit = np.quantile(scores[len(some) :], 1 - ALARMS, method="higher")
            hits[name] += int((scores[: len(some)] > limit).sum())
        tried += len(some)
    return hits, tried


def _draw(lines: dict[str, list[float]], sizes: dict[str, list[float]], attributes: int, epsilon: float) -> Any:
    from tacit.plot import LabelledCurve, curves
    from tacit.plot.page import beside

    found = curves(
        [LabelledCurve(name, PEOPLE, line) for name, line in lines.items()],
        title=(f"Who is in {attributes:,} averages", "the same inner product against each"),
        axes=("people in the study", "members found at 5 % false alarms"),
        chance=ALARMS,
        logarithmic=True,
        width=330,
    )
    names = {
        "no release at all": f"below: no release has ε = {epsilon:g}",
        "traced": "below: traced, if off by 0.1",
        "tacit": f"tacit has it, ε = {epsilon:g}, δ = 1e-6",
        "tacit, δ = 0": f"tacit has it, ε = {epsilon:g}, δ = 0",
    }
    size = curves(
        [LabelledCurve(names[name], ATTRIBUTES, line) for name, line in sizes.items()],
        title=("How many people it takes", "averages that are right to 0.1"),
        axes=("averages published", "people"),
        logarithmic=True,
        upward=True,
        domain=None,
        width=330,
    )
    return beside([found, size])
