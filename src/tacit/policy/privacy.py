"""What is promised to the people of a dataset, and how much of it may ever be spent."""

from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction

from tacit.base import Problem, Relation
from tacit.loss import Loss
from tacit.policy import kind
from tacit.policy.account import Amount, Currency, Limit
from tacit.policy.declaration import Declaration, declared, number, setting

__all__ = ["ANYBODY", "LEAST", "MONEY", "Analyst", "Group", "Privacy", "name_of"]

MONEY = kind.number(above=0, most=10**6)
LEAST = kind.number(least=0, most=10**6)


@declared
class Privacy(Declaration):
    """The unit, the currency, and the total."""

    currency: Currency = setting(
        "What questions are paid in. `rho` (zero-concentrated DP) suits Gaussian noise and many "
        "questions, and everything that tacit does has one; `mu_squared` (Gaussian DP, μ²) holds about 15 % more of "
        "the same questions, and has no room for sampled or adaptive programs; `epsilon` suits Laplace noise "
        "and a few numbers in all (about a dozen). It cannot be changed once the ledger is opened.",
        kind.choice(Currency),
        example='"rho"',
    )
    budget: Fraction = setting("The most that all analysts together may spend, in the currency.", MONEY, example="0.5")
    delta: Fraction = setting(
        "The δ of the promise (ε, δ): the chance that it fails. Far below 1 divided by the number of "
        "people. `rho` and `mu_squared` need one; `epsilon` does without unless a mechanism has its own.",
        kind.number(least=0, below=1),
        example="1e-6",
        default=Fraction(0),
    )
    slack: Fraction | None = setting(
        "The part of `delta` that questions may spend as their own δ (finding groups privately does). "
        "Default: half of `delta` for rho and mu_squared, which need the rest to be stated as (ε, δ); all of it for "
        "epsilon.",
        kind.number(least=0, below=1),
        example="5e-7",
        default=None,
    )
    unit: str = setting(
        "One protected person, as a noun for people to read.", kind.name, example='"patient"', default="person"
    )
    relation: Relation = setting(
        "What is hidden: that a unit is there at all (`add_remove`), or what its data says, the number of"
        " units being public (`replace`).",
        kind.choice(Relation),
        example='"add_remove"',
        default=Relation.ADD_REMOVE,
    )
    each: Fraction | None = setting("The most that one question may cost.", MONEY, example="0.05", default=None)
    least: Fraction | None = setting(
        "The least that one question costs. A cheaper one is raised to it and has the smaller noise. It limits how "
        "many questions there can be, not what one of them shows. 0 is no such limit. Default: a thousandth of the "
        "smallest limit that binds the analyst.",
        LEAST,
        example="0.001",
        default=None,
    )
    population: int | None = setting(
        "About how many units there are, if that is public. Only used to warn of a `delta` that is too large.",
        kind.whole,
        example="10000",
        default=None,
    )
    reset: timedelta | None = setting(
        "Give everybody a fresh budget after this time. The people are the same, so they pay again: the "
        "promise is then about each window, and `lifetime` about all of them.",
        kind.span,
        example='"90 days"',
        default=None,
    )
    lifetime: Fraction | None = setting(
        "With `reset`: the most that may be spent over all windows together.", MONEY, example="2", default=None
    )
    lifetime_slack: Fraction | None = setting(
        "With `lifetime`: the most δ of their own that questions may spend over all windows together. "
        "Default: `slack` × `lifetime` ÷ `budget`.",
        kind.number(least=0, below=1),
        example="2e-6",
        default=None,
    )
    deadline: timedelta | None = setting(
        "Answer on a clock: every new question is answered this long after it was charged, at that moment and no "
        "other, so that the time of an answer says nothing. What is not finished by then fails at the same moment, "
        "and is paid for. Default: as soon as an answer is there.",
        kind.short,
        example='"30 seconds"',
        default=None,
    )

    @property
    def own_delta(self) -> Fraction:
        """The δ that programs may spend themselves."""
        if self.slack is not None:
            return self.slack
        return self.delta / 2 if self.currency.concentrated else self.delta

    @property
    def own_delta_ever(self) -> Fraction:
        """The same over all windows together."""
        if self.lifetime_slack is not None:
            return self.lifetime_slack
        return self.own_delta * (self.lifetime or self.budget) / self.budget

    @property
    def total(self) -> Amount:
        return Amount.at_most(self.budget, self.own_delta, self.currency)

    @property
    def ever(self) -> Amount | None:
        """What no reset touches."""
        return None if self.lifetime is None else Amount.at_most(self.lifetime, self.own_delta_ever, self.currency)

    @property
    def promise(self) -> Loss:
        """What a window's whole budget, spent, means for one unit; read it at `delta`."""
        return self._loss(self.budget, self.own_delta)

    @property
    def promise_ever(self) -> tuple[Loss, Fraction] | None:
        """What the lifetime's budget means, and the δ to read it at: other windows' own δ comes on top."""
        if self.lifetime is None:
            return None
        return self._loss(self.lifetime, self.own_delta_ever), self.delta - self.own_delta + self.own_delta_ever

    def _loss(self, amount: Fraction, slack: Fraction) -> Loss:
        return self.currency.loss(amount, slack, relation=self.relation, unit=self.unit)

    def contradictions(self) -> Iterator[Problem]:
        rest = self.currency.concentrated  # of δ, beside what programs spend themselves
        if rest and not self.delta:
            told = f"delta is missing: {self.currency} is stated as (ε, δ) at a delta above 0. Write one far below 1 "
            told += "divided by the "
            yield Problem(("delta",), f"{told}number of people, such as delta = 1e-6")
        elif self.own_delta > self.delta or (rest and self.own_delta == self.delta):
            most = "less than" if rest else "at most"
            yield Problem(("slack",), f"slack = {number(self.own_delta)} must be {most} delta = {number(self.delta)}")
        for word in ("budget", "each", "lifetime"):
            value = getattr(self, word)
            if value is not None and not Amount.at_most(value, Fraction(0), self.currency).spend:
                yield Problem((word,), f"{word} = {number(value)} is too small to be counted")
        if self.each is not None and self.each > self.budget:
            yield Problem(
                ("each",), f"each = {number(self.each)} is more than the budget of {number(self.budget)}: lower it"
            )
        if self.least is not None and self.least > (self.each or self.budget):
            most = "each" if self.each is not None else "the budget"
            yield Problem(
                ("least",),
                f"least = {number(self.least)} is more than {most}, {number(self.each or self.budget)}: lower it",
            )
        if self.lifetime is not None and self.reset is None:
            yield Problem(
                ("lifetime",), "lifetime is for budgets that are reset: add reset = …, or write it as the budget"
            )
        elif self.lifetime is not None and self.lifetime < self.budget:
            yield Problem(
                ("lifetime",),
                f"lifetime = {number(self.lifetime)} is less than the budget of one window, {number(self.budget)}",
            )
        if self.lifetime_slack is not None and self.lifetime is None:
            yield Problem(("lifetime_slack",), "lifetime_slack needs lifetime beside it")
        elif self.lifetime is not None and self.delta - self.own_delta + self.own_delta_ever >= 1:
            told = "over a lifetime delta would reach 1: nothing would be promised. Lower delta, slack or lifetime"
            yield Problem((), told)


ANYBODY = "*"


@declared
class Group(Declaration):
    """Analysts who share a limit."""

    limit: Fraction | None = setting(
        "The most that they may spend, together if it is a group. Default: the dataset's budget.",
        MONEY,
        example="0.2",
        default=None,
    )
    each: Fraction | None = setting(
        "The most that one of their questions may cost.", MONEY, example="0.02", default=None
    )
    least: Fraction | None = setting(
        "The least that one of their questions costs (see `[privacy]`). Where several apply, the largest does.",
        LEAST,
        example="0.001",
        default=None,
    )
    slack: Fraction | None = setting(
        "The most δ of their own that their questions may spend. Default: the dataset's `slack`.",
        kind.number(least=0, below=1),
        example="1e-7",
        default=None,
    )
    tables: tuple[str, ...] | None = setting(
        "The protected tables they may ask. An analyst has their own list and those of their groups; where "
        "none of them has a list, all tables. Public tables are everybody's.",
        kind.names,
        example='["visits"]',
        default=None,
    )

    @classmethod
    def named(cls, name: object) -> str:
        return name_of(name)

    def bound(self, holder: str, privacy: Privacy) -> Limit:
        """This limit on the ledger's grid."""
        slack = privacy.own_delta if self.slack is None else self.slack
        spend = privacy.budget if self.limit is None else self.limit
        total = Amount.at_most(spend, slack, privacy.currency)
        each = None if self.each is None else Amount.at_most(self.each, slack, privacy.currency)
        return Limit(holder=holder, total=total, each=each)


@declared
class Analyst(Group):
    """One analyst; under the name `*`, anybody who is not named, each with such a limit of their own."""

    groups: tuple[str, ...] = setting(
        "The groups the analyst belongs to; their limits bind too.", kind.labels, example='["research"]', default=()
    )


def name_of(name: object) -> str:
    """The one spelling of an analyst's or a group's name."""
    found: str = kind.name.read(name)
    return found
