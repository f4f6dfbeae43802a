"""The exact check of a privacy claim: both output laws are listed and compared with what was claimed."""

from collections import Counter
from collections.abc import Hashable, Iterable

from scipy.stats import chi2

from tacit.auditor.exact import audit_exact, exact
from tacit.mechanism import Example, Pmf


class ClaimError(AssertionError):
    """The laws contradict the claim, or stay too far below it to be a check."""


def max_log_ratio(p: Pmf, q: Pmf) -> float:
    """The smallest epsilon for which p and q are epsilon-close in both directions."""
    return exact(p, q).epsilon


def hockey_stick(p: Pmf, q: Pmf, epsilon: float) -> float:
    """The smallest delta for which p and q are (epsilon, delta)-close in both directions."""
    return exact(p, q).divergence(epsilon)


def check(example: Example) -> None:
    """Raise `ClaimError` if the claim is broken anywhere, or if it is called tight and is not within 1 %.

    A point (epsilon, delta) is tight when either number is attained within 1 %.
    """
    found = audit_exact(example)
    if found.status == "violated":
        raise ClaimError(str(found))
    for point in found.points if example.tight else ():
        if point.delta == 0:
            attained = point.found.epsilon >= 0.99 * point.claimed
        else:
            near = point.found.divergence(point.claimed) >= 0.99 * point.delta
            attained = near or point.found.divergence(0.99 * point.claimed) > point.delta
        if not attained:
            raise ClaimError(f"{found}: not attained within 1 % in either number, so not tight")


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
