"""The exact check of a privacy claim: both output laws are listed and compared with what was claimed."""

from collections import Counter
from collections.abc import Hashable, Iterable
from math import exp, inf, log

from scipy.stats import chi2

from tacit.loss import Approx, Pure
from tacit.mechanism import Example, Pmf

NEGLIGIBLE = 1e-280  # where a listed tail ends for one neighbour and goes on for the other
ROUNDING = 1e-9  # relative error of a pmf in floating point
DELTAS = (1e-2, 1e-5, 1e-9)


class ClaimError(AssertionError):
    """The laws contradict the claim, or stay too far below it to be a check."""


def max_log_ratio(p: Pmf, q: Pmf) -> float:
    """The smallest epsilon for which p and q are epsilon-close in both directions."""
    ratios = [0.0]
    for output in p.keys() | q.keys():
        a, b = p.get(output, 0.0), q.get(output, 0.0)
        if max(a, b) > NEGLIGIBLE:
            ratios.append(abs(log(a / b)) if min(a, b) > 0 else inf)
    return max(ratios)


def hockey_stick(p: Pmf, q: Pmf, epsilon: float) -> float:
    """The smallest delta for which p and q are (epsilon, delta)-close in both directions."""
    factor = exp(epsilon)
    outputs = p.keys() | q.keys()
    there = sum(max(0.0, p.get(o, 0.0) - factor * q.get(o, 0.0)) for o in outputs)
    back = sum(max(0.0, q.get(o, 0.0) - factor * p.get(o, 0.0)) for o in outputs)
    return max(there, back)


def check(example: Example) -> None:
    """Raise `ClaimError` if the claim is broken anywhere, or if it is called tight and is not within 1 %."""
    p, q = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
    for law in (p, q):
        if abs(sum(law.values()) - 1) > ROUNDING:
            raise ClaimError(f"{example.mechanism}: probabilities sum to {sum(law.values())}")
    if isinstance(example.claim, Pure):
        _compare(example, "epsilon", max_log_ratio(p, q), float(example.claim.bound))
    elif isinstance(example.claim, Approx):
        _curve(example, p, q, float(example.claim.bound), float(example.claim.slack))
    else:
        for delta in DELTAS:
            _curve(example, p, q, example.claim.epsilon(delta).upper, delta)


def _curve(example: Example, p: Pmf, q: Pmf, epsilon: float, delta: float) -> None:
    """The point (epsilon, delta) of the claimed curve; tight when either number is attained within 1 %."""
    found = hockey_stick(p, q, epsilon)
    if found > delta * (1 + 1e-6):
        raise ClaimError(f"{example.mechanism}: delta({epsilon}) is {found}, the claim is {delta}")
    if example.tight and found < 0.99 * delta and hockey_stick(p, q, 0.99 * epsilon) <= delta:
        raise ClaimError(f"{example.mechanism}: ({epsilon}, {delta}) is not attained within 1 % in either number")


def _compare(example: Example, name: str, found: float, claimed: float) -> None:
    if found > claimed * (1 + 1e-9) + 1e-15:
        raise ClaimError(f"{example.mechanism}: {name} is {found}, the claim is {claimed}")
    if example.tight and found < 0.99 * claimed:
        raise ClaimError(f"{example.mechanism}: {name} is {found}, more than 1 % below the claim {claimed}: not tight")


def p_value(law: Pmf, outputs: Iterable[Hashable]) -> float:
    """Pearson's chi-square test of listed outputs against a law; rare outputs are pooled."""
    counts = Counter(outputs)
    size = sum(counts.values())
    cells, rest_seen, rest_expected = [], sum(n for output, n in counts.items() if output not in law), 0.0
    for output, p in law.items():
        if size * p >= 25:
            cells.append((counts[output], size * p))
        else:
            rest_seen, rest_expected = rest_seen + counts[output], rest_expected + size * p
    if rest_expected >= 1:
        cells.append((rest_seen, rest_expected))
    elif rest_seen > 20:  # Pr[Poisson(1) > 20] < 1e-19
        return 0.0
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    return float(chi2.sf(statistic, max(1, len(cells) - 1)))
