"""Every currency, on every store: charged to the last step, refused beyond, played again and priced again."""

from fractions import Fraction

import pytest

from support.books import opened, terms
from tacit.base import Denied, OverBudget, Sensitivity
from tacit.ledger.recompute import recompute
from tacit.ledger.verify import verify
from tacit.loss import Filter
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, analyst_holder
from tacit.program import Adaptive, Program, Step

ONE, HALF = Sensitivity.scalar(1), Fraction(1, 2)
LAPLACE = Program(steps=(Step(name="count", mechanism=DiscreteLaplace(scale=Fraction(7, 2)), sensitivity=ONE),))
NOISE = DiscreteGaussian(sigma=Fraction(2))
SAMPLED = Program(steps=(Step(name="train", mechanism=NOISE, sensitivity=ONE, rate=HALF),))
ADAPTIVE = Program(steps=(Adaptive(name="search", limit=Fraction(1, 10)),))


@pytest.mark.parametrize("currency", Currency)
def test_an_account_is_filled_to_the_last_step_and_no_further(where: str, currency: Currency) -> None:
    price = Amount.of(LAPLACE.cost, currency)
    total = Amount(3 * price.spend + price.spend - 1)  # one unit of the grid short of four
    limits = tuple(Limit(holder=holder, total=total) for holder in (DATASET, analyst_holder("alice")))
    with opened(where, terms(currency=currency, limits=limits[1:], total=10**9)) as ledger:
        payer = Account(people="patients", analyst="alice", limits=limits)
        for number in range(3):
            receipt = ledger.charge(payer, LAPLACE.cost, LAPLACE, f"key {number}")
            assert receipt.amount == price
        with pytest.raises(OverBudget, match=f"{currency}"):
            ledger.charge(payer, LAPLACE.cost, LAPLACE, "one more")
        standing = ledger.standing("patients")
        assert standing.currency is currency
        balance = standing.balance(DATASET)
        assert balance is not None
        assert balance.spent == Amount(3 * price.spend)
    with opened(where) as ledger:
        assert ledger.standing("patients").currency is currency
    assert verify(where).ok
    (found,) = recompute(where)
    assert (found.currency, found.charged, found.now) == (currency, balance.spent, balance.spent)


@pytest.mark.parametrize(("program", "known"), [(SAMPLED, None), (ADAPTIVE, "rho")])
def test_what_has_no_mu_squared_is_refused_there(where: str, program: Program, known: str | None) -> None:
    with opened(where, terms(currency=Currency.MU_SQUARED)) as ledger:
        limits = tuple(Limit(holder=holder, total=Amount(10**18)) for holder in (DATASET, analyst_holder("alice")))
        payer = Account(people="patients", analyst="alice", limits=limits)
        if known is not None:
            with pytest.raises(Denied, match=f"paid for in mu_squared, and the program has only {known}"):
                ledger.charge(payer, program.cost, program, "k")
        whole = program.loss.cost(Fraction(1, 10**6))
        assert whole.mu_squared is not None  # as one (ε, δ)-DP mechanism, its δ apart
        assert whole.delta == Fraction(1, 10**6)


def test_a_ledger_in_mu_squared_is_a_filter_of_gaussian_dp(where: str) -> None:
    """Charges of adaptive strengths fit as long as Σμ² does: to the step, as the filter of the same (ε, δ) says."""
    limit = Filter(epsilon=2, delta="1e-6", method="gdp").limit.amount
    total = Amount.at_most(limit, Fraction(0), Currency.MU_SQUARED)
    limits = tuple(Limit(holder=holder, total=total) for holder in (DATASET, analyst_holder("alice")))
    payer = Account(people="patients", analyst="alice", limits=limits)
    with opened(where, terms(currency=Currency.MU_SQUARED, limits=limits[1:], total=10**6)) as ledger:
        rule, asked = Filter(epsilon=2, delta="1e-6", method="gdp"), 0
        for sigma in (3, 4, 40, 5, 6, 7, 5, 9, 30, 2, 3, 8, 100, 1):
            program = Program(
                steps=(Step(name="n", mechanism=DiscreteGaussian(sigma=sigma), sensitivity=ONE),), query=str(asked)
            )
            fits, asked = rule.fits(program.cost), asked + 1
            if fits:
                rule.spend(program.cost)
                ledger.charge(payer, program.cost, program, f"key {asked}")
            else:
                with pytest.raises(OverBudget):
                    ledger.charge(payer, program.cost, program, f"key {asked}")
        balance = ledger.standing("patients").balance(DATASET)
    assert balance is not None
    assert balance.spent == Amount(int(rule.spent.amount * 10**18))
    assert verify(where).ok
