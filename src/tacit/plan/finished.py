"""Gaussian questions paid for in ε: noise is shared out in ρ, then lowered until the program costs what was offered.

The ρ of (ε, δ) holds for whatever has that ρ. A program whose steps are all fixed is priced by its own loss, exactly
where it is Gaussian noise alone, and that comes to some 6 % less ε: so more ρ is within the offer. It is charged as the
finished program that it is, like any other. See docs/theory/gaussian.md.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from tacit.plan.mu_squared import Priced

__all__ = ["finished"]

ROUNDS = 4
SHORT, CLOSE = 1 - 1e-9, Fraction(1 - 1e-4)  # aim a little below the offer; so near to it is enough

P = TypeVar("P", bound=Priced)


def finished(within: Callable[[Fraction], P], rho: Fraction, epsilon: Fraction, delta: Fraction) -> P:
    """The plan `within(rho)` of the most ρ that costs at most (epsilon, delta), to a part in ten thousand.

    ε grows nearly as √ρ: so a few rounds come near. `rho` itself is within, and what is returned was checked to be.
    """
    best = found = within(rho)
    most = rho
    for _ in range(ROUNDS):
        cost = found.program.cost
        if cost.epsilon is None or cost.delta > delta:
            break
        if cost.epsilon <= epsilon and rho >= most:
            best, most = found, rho
            if cost.epsilon >= epsilon * CLOSE:
                break
        rho = Fraction(float(rho * (epsilon / cost.epsilon) ** 2) * SHORT)
        found = within(rho)
    return best
