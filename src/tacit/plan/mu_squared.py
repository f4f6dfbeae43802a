"""Questions paid for in μ² of Gaussian DP: noise is shared out in ρ, then scaled until its μ² is what was offered."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar

from tacit.base import RefusalKind, Refused
from tacit.loss import Filter
from tacit.program import Program

__all__ = ["Priced", "filled", "mu_squared_of"]

ROUNDS = 12
SHORT, CLOSE = 1 - 1e-11, Fraction(1 - 1e-6)  # aim a little below the budget; so near to it is enough


class Priced(Protocol):
    """What has a program."""

    @property
    def program(self) -> Program: ...


P = TypeVar("P", bound=Priced)


def filled(within: Callable[[Fraction], P], most: Fraction) -> P:
    """The plan `within(rho)` whose μ² fills a budget of `most`.

    Gaussian noise of ρ has a μ² a little above 2ρ, other mechanisms have more, always in nearly the same proportion: so
    a few rounds of the rule of three come near, and what is returned was checked to be within.
    """
    rho, best = most / 2, None
    for _ in range(ROUNDS):
        found = within(rho)
        needs = found.program.cost.mu_squared
        if needs is None:
            raise Refused(
                "this question has a step that no mu_squared is known for: ask it of a dataset paid in rho",
                kind=RefusalKind.UNSUPPORTED,
            )
        if needs <= most:
            best = found
            if needs >= most * CLOSE:
                break
        rho = Fraction(float(rho * most / needs) * SHORT)
    if best is None:
        raise Refused(
            f"no noise for this question is found that costs at most mu_squared {float(most):g}", kind=RefusalKind.OFFER
        )
    return best


@lru_cache(maxsize=256)
def mu_squared_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The most μ² that is within (ε, δ), to a part in 10^9; never more."""
    return Filter(epsilon=epsilon, delta=delta, method="gdp").limit.amount
