"""What a release costs in units that add up: the entries of a ledger.

An analyst picks the next question after seeing the last answer. Sums of ε, of ρ, of μ² and of δ stay valid then; whole
loss curves do not (see docs/theory/adaptive-composition.md). A `Cost` lies on a decimal grid, rounded up once when it
is made, so that adding a million of them, writing them down and reading them back never moves the total.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from tacit.base import InputError, LossError, Relation, same_neighbours
from tacit.base.number import Number, OptionalRatio, Ratio, between, default, exact, frozen, non_negative, whole
from tacit.loss.concentrated import ZCDP, MeanConcentrated, ShiftedZCDP
from tacit.loss.loss import Loss
from tacit.loss.mu import pure_mu_squared
from tacit.loss.pld import PLD, total_if_known
from tacit.loss.truncated import truncated_rho

__all__ = ["Charge", "Cost", "charge_of", "cost_at", "cost_of", "off_curve"]


class Charge(NamedTuple):
    """The exact numbers behind a cost: (ε, δ)-DP if `epsilon` is known, δ-approximate ρ-zCDP if `rho` is, δ-approximate
    μ-GDP if `mu_squared` is."""

    epsilon: Fraction | None
    rho: Fraction | None
    mu_squared: Fraction | None
    delta: Fraction


@frozen
class Cost:
    """(ε, δ)-DP, δ-approximate ρ-zCDP and δ-approximate μ-GDP at once, as far as each is known; `None` is a currency it
    cannot be paid in.

    Addition is composition, also when each mechanism and its parameters were chosen after seeing all earlier answers,
    provided the total is kept below a limit set in advance. A currency that one side lacks is lost. Numbers are rounded
    up to so many decimals: 12 for ε, 18 for ρ and μ², 30 for δ. Nothing that costs rounds to nothing.
    """

    epsilon: OptionalRatio = default(None)
    rho: OptionalRatio = default(None)
    mu_squared: OptionalRatio = default(None)
    delta: Ratio = default(Fraction(0))
    relation: Relation = Relation.ADD_REMOVE
    unit: str = "row"

    DECIMALS: ClassVar[dict[str, int]] = {"epsilon": 12, "rho": 18, "mu_squared": 18, "delta": 30}

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.from_json(self.relation))
        if self.epsilon is None and self.rho is None and self.mu_squared is None:
            raise InputError("a cost needs epsilon, rho or mu_squared, or several of them: none was given")
        for name, decimals in self.DECIMALS.items():
            value = getattr(self, name)
            if value is not None:
                grid = 10**decimals
                scaled = non_negative(value, name, toward="up") * grid
                object.__setattr__(self, name, Fraction(-(-scaled.numerator // scaled.denominator), grid))

    @classmethod
    def zero(cls, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> "Cost":
        """Nothing spent, in every currency: where a sum starts."""
        return cls(epsilon=Fraction(0), rho=Fraction(0), mu_squared=Fraction(0), relation=relation, unit=unit)

    @property
    def _numbers(self) -> Charge:
        return Charge(self.epsilon, self.rho, self.mu_squared, self.delta)

    def _with(self, numbers: Iterable[Fraction | None]) -> "Cost":
        """Other numbers for the same neighbours."""
        amounts = dict(zip(self.DECIMALS, numbers, strict=True))
        return Cost(**amounts, relation=self.relation, unit=self.unit)  # type: ignore[arg-type]  # delta has a number

    def _beside(self, other: "Cost") -> Iterator[tuple[Fraction | None, Fraction | None]]:
        same_neighbours((self.relation, self.unit), (other.relation, other.unit))
        return zip(self._numbers, other._numbers, strict=True)

    def __add__(self, other: object) -> "Cost":
        if not isinstance(other, Cost):
            return NotImplemented
        return self._with(None if a is None or b is None else a + b for a, b in self._beside(other))

    def __mul__(self, times: int) -> "Cost":
        n = whole(times, "times")
        return self._with(None if amount is None else n * amount for amount in self._numbers)

    __rmul__ = __mul__

    def within(self, limit: "Cost") -> bool:
        """Whether this fits a limit: below it in every currency that the limit names, and in δ."""
        return all(top is None or (spent is not None and spent <= top) for spent, top in self._beside(limit))

    def left(self, limit: "Cost") -> "Cost":
        """What the limit still allows after this, at least zero, in the currencies that the limit names."""
        return self._with(
            None if top is None else Fraction(0) if spent is None else max(Fraction(0), top - spent)
            for spent, top in self._beside(limit)
        )

    def json(self) -> dict[str, Any]:
        """Plain data; numbers are exact decimal strings. `mu_squared` is there where it is known."""
        numbers = zip(self.DECIMALS, self._numbers, strict=True)
        plain = {name: None if value is None else _decimal(value) for name, value in numbers}
        if self.mu_squared is None:
            del plain["mu_squared"]  # costs were stored before there was this currency
        return {**plain, "relation": self.relation.json(), "unit": self.unit}

    @classmethod
    def from_json(cls, data: Any) -> "Cost":
        """The inverse of `json`; a number that is not on the grid, or not a string, is refused."""
        names = {*cls.DECIMALS, "relation", "unit"}
        if not isinstance(data, dict) or {*data, "mu_squared"} != names:
            raise InputError(f"a stored cost has exactly the fields {', '.join(sorted(names))}")
        values: dict[str, Fraction] = {}
        for name in cls.DECIMALS:
            text = data.get(name)
            if text is None and name != "delta":
                continue
            if not isinstance(text, str):
                raise InputError(f"{name} of a stored cost must be a decimal string, not {text!r}")
            values[name] = exact(text, name)
        relation, unit = Relation.from_json(data["relation"]), data["unit"]
        if not isinstance(unit, str) or not unit:
            raise InputError(f"unit of a stored cost must be a name such as 'row', not {unit!r}")
        cost = cls(
            **{name: values.get(name) for name in ("epsilon", "rho", "mu_squared")},
            delta=values["delta"],
            relation=relation,
            unit=unit,
        )
        if any(getattr(cost, name) != value for name, value in values.items()):
            raise InputError("a stored cost has more decimals than the grid: it was not written by this program")
        return cost

    def __str__(self) -> str:
        numbers = zip(self.DECIMALS, self._numbers, strict=True)
        known = [f"{name} {_decimal(value)}" for name, value in numbers if value is not None]
        return f"{', '.join(known)} for {self.relation.value} of one {self.unit}"


def _decimal(value: Fraction) -> str:
    """A number on a decimal grid, written out exactly."""
    digits = Cost.DECIMALS["delta"]
    text = str(value.numerator * (10**digits // value.denominator)).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


def charge_of(loss: Loss | Cost) -> Charge:
    """The currencies that this loss has, exactly; an error if it has none."""
    if isinstance(loss, Cost):
        return loss._numbers
    if isinstance(loss, MeanConcentrated):
        loss = loss.shifted()
    if isinstance(loss, ShiftedZCDP):
        loss = loss.zcdp()
    if isinstance(loss, ZCDP):
        return Charge(None, loss.rho, loss.mu_squared, loss.slack)
    if isinstance(loss, PLD):
        bounds = [None if part.bound is None else count * part.bound for part, count in loss.parts]
        rhos = [None if part.rho is None else count * part.rho for part, count in loss.parts]
        squares = [None if part.mu_squared is None else count * part.mu_squared for part, count in loss.parts]
        epsilon, rho, square = total_if_known(bounds), total_if_known(rhos), total_if_known(squares)
        if epsilon is not None or rho is not None:
            return Charge(epsilon, rho, square, loss.slack)
        odd = sorted({part.kind for part, _ in loss.parts if part.bound is None and part.rho is None})
        what = f"{' and '.join(odd)} has" if odd else "this mixture has"
    else:
        what = f"{type(loss).__name__} has"
    raise LossError(
        f"{what} neither an epsilon nor a rho that adds up, so a ledger cannot hold it as it is: "
        "choose a delta for the finished program and use cost_at(loss, delta)"
    )


def off_curve(loss: Loss) -> bool:
    """Whether its cost is read off its loss curve, which one release of tacit may follow more closely than another."""
    try:
        charge_of(loss)
    except LossError:
        return True
    return False


def cost_of(loss: Loss) -> Cost:
    """The additive cost of a loss: Σε and Σδ where every mechanism has an ε, Σρ and Σμ² where every one has one.

    (ε, δ)-DP counts as δ-approximate ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4 and section 8), and in μ² as
    randomised response does (docs/theory/gaussian-dp.md).
    """
    return Cost(**charge_of(loss)._asdict(), **loss.neighbours)


def cost_at(loss: Loss, delta: Number) -> Cost:
    """The cost of one finished program, all of whose parameters were fixed before it ran, as (ε(δ), δ).

    This is how a program that only its whole loss curve describes, such as training on random batches, enters a
    ledger: once, as a single (ε, δ)-DP mechanism. In ρ it costs its own ρ where it has one, else what is left when the
    top δ of its loss is cut off, and never more than ε²/2; in μ² its own where it has one, and never more than that of
    a pure ε with the δ apart.
    """
    chosen = between(delta, "delta", 0, 1)
    found = loss.epsilon(chosen)
    if not found.rigorous:
        raise LossError("this epsilon is an approximation, which a ledger cannot hold: use a loss with a proven bound")
    if not found.upper < float("inf"):
        raise LossError(f"at delta = {float(chosen):g} this loss has no finite epsilon: choose a larger delta")
    epsilon = Fraction(found.upper)
    return Cost(
        epsilon=epsilon,
        rho=min([epsilon**2 / 2, *_rhos(loss, chosen)]),
        mu_squared=min([pure_mu_squared(epsilon), *_mu_squares(loss, chosen)]),
        delta=chosen,
        **loss.neighbours,
    )


def _mu_squares(loss: Loss, delta: Fraction) -> list[Fraction]:
    """The μ² that a finished program has of its own, with a δ of at most this."""
    with suppress(LossError):
        known = charge_of(loss)
        if known.mu_squared is not None and known.delta <= delta:
            return [known.mu_squared]
    return []


def _rhos(loss: Loss, delta: Fraction) -> list[Fraction]:
    """Other ρ for which a finished program is δ-approximate ρ-zCDP; none where its curve cannot be followed."""
    with suppress(LossError):
        known = charge_of(loss)
        if known.rho is not None and known.delta <= delta:
            return [known.rho]
    with suppress(LossError):
        return [truncated_rho(loss, delta)]
    return []
