"""Which budget? From what people can say: how near answers shall be, how many there are, which odds they tolerate.

Everything is worked out for noisy counts with discrete Gaussian noise in ρ, which is what most questions are made of.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import Any

from tacit.base import InputError, Relation, cached_property, exact, positive, special, whole
from tacit.base.number import Number, short
from tacit.loss import ZCDP, Loss, Meaning, calibrate, explain
from tacit.mechanism import DiscreteGaussian
from tacit.policy.account import Currency

__all__ = ["CONFIDENCE", "BudgetChoice", "choose_budget"]

CONFIDENCE = Fraction(95, 100)
MOST_PEOPLE, MOST_QUESTIONS = 10**12, 10**9


@dataclass(frozen=True, kw_only=True)
class BudgetChoice:
    """`questions` counts within ± `error` at 95 %, of about `people` who count for up to `rows` rows each. After them
    nobody who thought it 50 % likely that a person is there may think it more than `belief` likely, but for `delta`."""

    people: int
    error: Fraction
    rows: int
    questions: int
    belief: Fraction
    unit: str = "person"

    @property
    def delta(self) -> Fraction:
        """A hundredth of one in so many people, or less."""
        return Fraction(1, 10 ** (-int(-log10(self.people) // 1) + 2))

    @cached_property
    def price(self) -> Fraction:
        """What one count costs."""
        noise = DiscreteGaussian.from_error(self.error, confidence=CONFIDENCE)
        found = noise.loss(self.rows).cost().rho
        assert found is not None  # Gaussian noise has one
        return found

    @property
    def wanted(self) -> Fraction:
        """What all of them cost."""
        return self.price * self.questions

    @cached_property
    def allowed(self) -> Fraction:
        """The largest budget that keeps the odds."""
        odds = float(special.logit(float(self.belief)))
        most = calibrate(lambda rho: self.promise(Fraction(rho)), epsilon=odds, delta=self.delta, increasing=True)
        return Fraction(most.value)

    @property
    def fits(self) -> bool:
        return self.wanted <= self.allowed

    @property
    def share(self) -> str:
        """What is wanted, of what the odds allow."""
        part = self.wanted / self.allowed
        return f"{short(100 * part, up=True)} % of" if part < 10 else f"{short(part, up=True)} times"

    @property
    def budget(self) -> Fraction:
        """What to write into a policy: what is wanted, rounded up, or what is allowed, rounded down."""
        rounded = Fraction(short(self.wanted, up=True))
        return min(rounded, self.allowed) if self.fits else Fraction(short(self.allowed, up=False))

    @property
    def possible(self) -> int:
        """How many such questions the odds allow."""
        return int(self.allowed / self.price)

    @cached_property
    def nearest(self) -> float:
        """The error of each count if all the questions share what the odds allow."""
        noise = DiscreteGaussian.from_loss(ZCDP(self.allowed / self.questions), sensitivity=self.rows)
        return noise.error(CONFIDENCE)

    def promise(self, rho: Fraction) -> Loss:
        """What a policy with this budget promises: half of δ is for questions that need one of their own."""
        return Currency.RHO.loss(rho, self.delta / 2, relation=Relation.ADD_REMOVE, unit=self.unit)

    def meaning(self, rho: Fraction) -> Meaning:
        """What so much spent tells of one person."""
        return explain(self.promise(rho), delta=self.delta)

    @property
    def toml(self) -> str:
        """The lines of a policy."""
        return (
            f'[privacy]\nunit = "{self.unit}"\ncurrency = "rho"\nbudget = {short(self.budget, up=False)}\n'
            f"delta = {float(self.delta):g}\n"
        )

    def words(self) -> Iterator[str]:
        """The answer in sentences, the most important first."""
        asked = f"{self.questions:,} counts within ± {float(self.error):,g}"
        price = short(self.wanted, up=True)
        if self.fits:
            yield f"Both fit. {asked} cost ρ = {price}, and the odds would allow {self.possible:,}."
        else:
            yield f"Not both. {asked} cost ρ = {price}, and the odds allow {short(self.allowed, up=False)}."
            if self.possible:
                yield f"Ask less: the odds allow {self.possible:,} such counts."
            many = ", which tells little of so few people" if 4 * self.nearest > self.people else ""
            yield f"Take a larger error: {self.questions:,} counts within ± {self.nearest:,.0f} keep the odds{many}."
            yield f"Or tolerate other odds. {self.meaning(self.wanted).sentence}"
        share = 100 * float(self.error) / self.people
        yield (
            f"± {float(self.error):,g} is {share:.2g} % of all {self.people:,}, and as many in each smaller group: "
            "there it is a larger share."
        )

    def json(self) -> dict[str, Any]:
        meaning = self.meaning(self.budget)
        return {
            "fits": self.fits,
            "budget": {"rho": short(self.budget, up=False), "delta": float(self.delta)},
            "epsilon": meaning.epsilon,
            "price": short(self.price, up=True),
            "wanted": short(self.wanted, up=True),
            "allowed": short(self.allowed, up=False),
            "possible_questions": self.possible,
            "nearest_error": self.nearest,
            "meaning": meaning.json(),
            "words": list(self.words()),
            "policy": self.toml,
        }


def choose_budget(
    *, people: Number, error: Number, questions: Number, belief: Number, rows: Number = 1, unit: str = "person"
) -> BudgetChoice:
    """The choice, checked. `belief` is in per cent: above 50, which only no answer at all keeps, and below 100."""
    tolerated = exact(belief, "belief", toward="decimal")
    if not 51 <= tolerated < 100:
        raise InputError(
            f"belief must be in per cent, at least 51 and below 100, not {float(tolerated):g}: no answer keeps it at 50"
        )
    made = BudgetChoice(
        people=_most(people, "people", MOST_PEOPLE),
        error=positive(error, "error", toward="decimal"),
        questions=_most(questions, "questions", MOST_QUESTIONS),
        belief=tolerated / 100,
        rows=_most(rows, "rows", 10**6),
        unit=unit,
    )
    if made.error < made.rows:
        raise InputError(
            f"an error of ± {float(made.error):g} is less than what one {unit} counts ({made.rows:,} rows): no private "
            "answer is so near. Take a larger error, or fewer rows of each"
        )
    return made


def _most(value: Number, name: str, most: int) -> int:
    found = whole(value, name, least=1)
    if found > most:
        raise InputError(f"{name} must be at most {most:,}, not {found:,}")
    return found
