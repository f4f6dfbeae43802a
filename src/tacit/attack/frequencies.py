"""Membership from aggregate frequencies: was this genome in the study whose allele frequencies were published?

One frequency says nothing of anybody. Thousands of them, each a hair nearer to those who were in, add up: Homer et al.
(2008) showed it, and took the frequencies of whole studies offline; Sankararaman et al. (2009) gave the best test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from tacit.attack.population import Array, Chance, chance
from tacit.attack.reconstruction import DELTA, private_sums
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import InputError

__all__ = ["Accusation", "accuse", "expected_power", "homer", "log_ratio", "private_frequencies", "stage"]

Test = Literal["log ratio", "homer"]
TESTED = 200  # members, and outsiders, that are tried
CONTROLS = 1_000  # outsiders that set the threshold
SITES = (100, 300, 1_000, 3_000, 10_000)
POOLS = (200, 400, 800, 1_600, 3_200, 6_400)


@dataclass(frozen=True)
class Accusation:
    """Who is said to be a member, by a score above the threshold that at most `alarms` of the controls pass."""

    accused: Array
    scores: Array
    threshold: float

    @property
    def share(self) -> float:
        return float(self.accused.mean())


def accuse(
    genotypes: Any,
    *,
    published: Any,
    reference: Any,
    controls: Any,
    people: int,
    sigma: float = 0.0,
    alarms: float = 0.05,
    test: Test = "log ratio",
) -> Accusation:
    """Which of `genotypes` (a row a person, 0, 1 or 2 copies of the allele at each site) are in a study of `people`.

    `published` are the study's frequencies, `reference` those of the population, `controls` genotypes of people who
    are not in it. `sigma` is the known standard deviation of noise in `published`.
    """
    if not 0 < alarms < 1:
        raise InputError("alarms must be between 0 and 1: the share of outsiders that may be accused")
    if test not in ("log ratio", "homer"):
        raise InputError(f'there is no test "{test}": there are log ratio, homer')
    theirs, others = _genotypes(genotypes, "genotypes"), _genotypes(controls, "controls")
    pool, known = (_frequencies(each, theirs.shape[1]) for each in (published, reference))
    if others.shape[1] != theirs.shape[1]:
        raise InputError(f"controls have {others.shape[1]} sites, genotypes {theirs.shape[1]}: they must be the same")
    if ((known <= 0) | (known >= 1)).any():
        raise InputError("reference frequencies must lie strictly between 0 and 1: leave out sites that do not vary")

    def score(rows: Array) -> Array:
        if test == "homer":
            return homer(rows, pool, known)
        return log_ratio(rows, pool, known, people=people, sigma=sigma)

    threshold = float(np.quantile(score(others), 1 - alarms, method="higher"))
    scores = score(theirs)
    return Accusation(accused=scores > threshold, scores=scores, threshold=threshold)


def homer(genotypes: Array, published: Array, reference: Array) -> Array:
    """Σ |y − reference| − |y − published|, with y the person's own frequency: nearer to the study is larger."""
    own = genotypes / 2
    return np.asarray((np.abs(own - reference) - np.abs(own - published)).sum(axis=1))


def log_ratio(genotypes: Array, published: Array, reference: Array, *, people: int, sigma: float = 0.0) -> Array:
    """The log-likelihood ratio of "in the study" to "not", per person.

    Without noise Σ g·log(f/p) + (2 − g)·log((1 − f)/(1 − p)) (Sankararaman et al. 2009). With noise of `sigma` the
    frequencies are normal about p, or about p + (g − 2p)/2n for a member; terms without g are left out.
    """
    if people < 1 or sigma < 0:
        raise InputError("people must be at least 1, and sigma at least 0")
    if sigma == 0:
        # a frequency of 0 or 1 in the study excludes who differs; a finite floor keeps the sum a number
        inside = np.clip(published, 1e-9, 1 - 1e-9)
        one, none = np.log(inside / reference), np.log((1 - inside) / (1 - reference))
        return np.asarray(genotypes @ (one - none) + 2 * none.sum())
    variance = reference * (1 - reference) / (2 * people) + sigma**2
    return np.asarray((genotypes - 2 * reference) @ ((published - reference) / variance) / (2 * people))


def expected_power(*, sites: int, people: int, alarms: float = 0.05) -> float:
    """Of members found, without noise: Φ(√(sites/people) − z), for independent sites and large numbers of them."""
    return float(ndtr(sqrt(sites / people) + ndtri(alarms)))


def private_frequencies(counts: Any, *, people: int, epsilon: float) -> tuple[Array, float]:
    """Frequencies from allele `counts` with tacit's noise, and its standard deviation: all (epsilon, 10⁻⁶)-private.

    A person has at most 2 alleles at each of m sites, 2√m in length. The number of people is taken as public.
    """
    noisy, sigma = private_sums(counts, each=2, epsilon=epsilon)
    return noisy / (2 * people), sigma / (2 * people)


@dataclass(frozen=True)
class _Study:
    """Made-up people: members that are tried, outsiders, controls; the population's frequencies, the pool's counts."""

    members: Array
    outsiders: Array
    controls: Array
    reference: Array
    counts: Array
    people: int

    def found(self, sites: int, epsilon: float | None, test: Test = "log ratio") -> tuple[int, int, float]:
        """Members and outsiders accused at 5 % false alarms from the first `sites`, and the noise of a frequency."""
        if epsilon is None:
            published, sigma = self.counts[:sites] / (2 * self.people), 0.0
        else:
            published, sigma = private_frequencies(self.counts[:sites], people=self.people, epsilon=epsilon)
        told = accuse(
            np.concatenate([self.members, self.outsiders])[:, :sites],
            published=published,
            reference=self.reference[:sites],
            controls=self.controls[:, :sites],
            people=self.people,
            sigma=sigma,
            test=test,
        )
        inside, outside = np.split(told.accused, [len(self.members)])
        return int(inside.sum()), int(outside.sum()), sigma


def stage(
    *,
    seed: int = 1,
    people: int = 400,
    sites: int = 3_000,
    epsilon: float = 1.0,
    progress: Progress = silent,
) -> Outcome:
    """Who was in a study of `people` whose frequencies at `sites` are published, exactly or by tacit."""
    if people < TESTED or not 1 <= sites <= max(SITES):
        raise InputError(f"the stage needs at least {TESTED} people and 1 to {max(SITES)} sites")
    source = chance(seed)
    main = _study(source, people, max(SITES))
    found, alarms, _ = main.found(sites, None)
    private, private_alarms, sigma = main.found(sites, epsilon)
    by_sites: dict[str, list[float]] = {"log ratio": [], "tacit": [], "homer": []}
    for number, some in enumerate(SITES):
        for name, line in by_sites.items():
            test: Test = "homer" if name == "homer" else "log ratio"
            line.append(main.found(some, epsilon if name == "tacit" else None, test)[0] / TESTED)
        progress(0.6 * (number + 1) / len(SITES))
    by_pool: dict[str, list[float]] = {"log ratio": [], "tacit": []}
    for number, size in enumerate(POOLS):
        study = _study(source, size, sites)
        for name, line in by_pool.items():
            line.append(study.found(sites, epsilon if name == "tacit" else None)[0] / TESTED)
        progress(0.6 + 0.4 * (number + 1) / len(POOLS))
    ceiling = min(1.0, exp(min(epsilon, 700)) * 0.05 + float(DELTA))
    return Outcome(
        name="frequencies",
        headline="In the study or not, from averages over everybody in it",
        measure=f"share of members found at 5 % false alarms, from {sites:,} frequencies of {people:,} people",
        chance=0.05,
        undefended=Attempt.counted("exact frequencies", found, TESTED),
        defended=Attempt.counted(f"tacit, epsilon {epsilon:g} for all frequencies", private, TESTED),
        remarks=(
            f"of {TESTED} outsiders, {alarms} were accused with exact frequencies, {private_alarms} with tacit's",
            f"tacit spends epsilon {epsilon:g}, delta 1e-06 on all {sites:,} frequencies; at that budget no test finds "
            f"more than {ceiling:.1%} of the members at 5 % false alarms",
            f"what it costs: noise of standard deviation {sigma:.2f} on a frequency; ten times the people have a tenth",
        ),
        facts={"people": people, "sites": sites, "epsilon": epsilon, "delta": float(DELTA), "noise": sigma}
        | {"by_sites": by_sites, "by_pool": by_pool, "expected": expected_power(sites=sites, people=people)},
        draw=lambda: _draw(by_sites, by_pool, people=people, sites=sites, epsilon=epsilon),
    )


def _study(source: Chance, people: int, sites: int) -> _Study:
    """Independent sites in Hardy–Weinberg proportions. Members that are not tried are only counted."""
    reference = source.uniform(0.05, 0.95, sites)

    def drawn(count: int) -> Array:
        return source.binomial(2, reference, (count, sites)).astype(np.float32)

    members = drawn(TESTED)
    rest = source.binomial(2 * (people - TESTED), reference)
    counts = members.sum(axis=0, dtype=np.int64) + rest
    return _Study(members, drawn(TESTED), drawn(CONTROLS), reference, counts, people)


def _genotypes(rows: Any, name: str) -> Array:
    found = np.asarray(rows)
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(f"{name} must be a matrix with a row for each person and a column for each site")
    if not ((found == 0) | (found == 1) | (found == 2)).all():
        raise InputError(f"{name} must hold 0, 1 and 2 only: copies of the allele")
    return found


def _frequencies(values: Any, sites: int) -> Array:
    found = np.asarray(values, dtype=float)
    if found.shape != (sites,) or not np.isfinite(found).all():
        raise InputError(f"frequencies must be {sites} finite numbers, one for each site")
    return found


def _draw(
    by_sites: dict[str, list[float]], by_pool: dict[str, list[float]], *, people: int, sites: int, epsilon: float
) -> Any:
    from tacit.plot import LabelledCurve, curves
    from tacit.plot.page import beside

    def panel(x: Sequence[float], lines: dict[str, list[float]], theory: list[float], title: str, axis: str) -> Any:
        names = {"log ratio": "log ratio, exact", "homer": "Homer's distance, exact", "tacit": "log ratio, tacit"}
        drawn = [LabelledCurve(label=names[name], x=x, y=line) for name, line in lines.items()]
        drawn.insert(2, LabelledCurve(label="log ratio, exact, in theory", x=x, y=theory))
        return curves(
            drawn,
            title=(title, f"epsilon {epsilon:g} for all frequencies together"),
            axes=(axis, "members found at 5 % false alarms"),
            chance=0.05,
            logarithmic=True,
            width=330,
        )

    left = [expected_power(sites=some, people=people) for some in SITES]
    right = [expected_power(sites=sites, people=size) for size in POOLS]
    return beside(
        [
            panel(SITES, by_sites, left, f"More sites, {people:,} people", "sites (SNPs) published"),
            panel(POOLS, by_pool, right, f"More people, {sites:,} sites", "people in the study"),
        ]
    )
