"""The program that the accounting commands speak of: one mechanism, run on a sample, a number of times; its options.

Numbers are read as typed, so 0.1 is a tenth and 256/60000 works.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

from tacit.base import InputError, Number, Relation, Sensitivity, between, exact, positive, whole
from tacit.cli.options import argument, option
from tacit.loss import PLD, Loss, Pure
from tacit.loss.pld import probability
from tacit.mechanism.gaussian import DiscreteGaussian, Gaussian
from tacit.mechanism.laplace import DiscreteLaplace, Laplace

__all__ = [
    "KINDS",
    "AccountedKind",
    "AccountedProgram",
    "Accuracy",
    "Clip",
    "Delta",
    "EpsilonEach",
    "MechanismName",
    "MechanismNameOrNone",
    "Rate",
    "RelationName",
    "Sampling",
    "Scale",
    "SensitivityOf",
    "Sigma",
    "Steps",
    "Unit",
    "mechanism",
    "plain",
]

SAMPLINGS = ("poisson", "fixed")


@dataclass(frozen=True)
class AccountedKind:
    """What the command line calls a mechanism: the option that sets it, what to call it, and whether a δ is needed.

    `single` is noise on one number; otherwise the sensitivity bounds a vector in the norm of the noise.
    """

    option: str
    noun: str
    build: Callable[[Fraction], Any] | None = None
    pure: bool = False
    single: bool = False

    def loss(self, value: Fraction, sensitivity: Fraction, about: dict[str, Any]) -> PLD:
        if self.build is None:
            return Pure(value, **about)
        found = self.build(value).loss(Sensitivity.scalar(sensitivity) if self.single else sensitivity, **about)
        assert isinstance(found, PLD)  # each of them has a curve
        return found


KINDS = {
    "gaussian": AccountedKind("sigma", "Gaussian noise", lambda sigma: Gaussian(sigma=sigma)),
    "laplace": AccountedKind("scale", "Laplace noise", lambda scale: Laplace(scale=scale), pure=True),
    "discrete-gaussian": AccountedKind(
        "sigma", "whole Gaussian noise on one number", lambda sigma: DiscreteGaussian(sigma=sigma), single=True
    ),
    "discrete-laplace": AccountedKind(
        "scale", "whole Laplace noise", lambda scale: DiscreteLaplace(scale=scale), pure=True
    ),
    "pure": AccountedKind("epsilon", "any pure mechanism", pure=True),
}


NUMBER = "NUMBER"

MechanismName = Annotated[str, argument("MECHANISM", f"One of {', '.join(KINDS)}.", show_default=False)]
MechanismNameOrNone = Annotated[
    str | None, argument("MECHANISM", f"None, or one of {', '.join(KINDS)}.", show_default=False)
]
Sigma = Annotated[str | None, option("--sigma", NUMBER, "Noise of gaussian, and of discrete-gaussian on one number.")]
Scale = Annotated[str | None, option("--scale", NUMBER, "Noise of laplace and discrete-laplace.")]
EpsilonEach = Annotated[str | None, option("--epsilon", NUMBER, "The ε of each run of a pure mechanism.")]
SensitivityOf = Annotated[
    str | None,
    option(
        "--sensitivity",
        NUMBER,
        "How far one unit moves the value: in l2 for gaussian, in l1 for laplace and discrete-laplace. Default: 1 "
        "under add_remove, 2 under replace.",
    ),
]
Clip = Annotated[
    str | None,
    option(
        "--clip",
        NUMBER,
        "The length that each unit's own vector is clipped to: a sensitivity of as much under add_remove, of "
        "twice as much under replace. A Poisson sample under replace needs it.",
    ),
]
Rate = Annotated[str, option("--rate", NUMBER, "The share of the data that a run sees, such as 256/60000.")]
Sampling = Annotated[
    str,
    option(
        "--sampling",
        "HOW",
        "poisson: each unit takes part by its own coin; fixed: a fixed number is drawn (for replace).",
    ),
]
Steps = Annotated[str, option("--steps", "COUNT", "How many times it runs.")]
Delta = Annotated[str | None, option("--delta", NUMBER, "The δ to state ε at. A pure mechanism needs none.")]
RelationName = Annotated[
    str, option("--relation", "NAME", "Who is hidden: add_remove (one unit is there or not) or replace.")
]
Unit = Annotated[str, option("--unit", "NOUN", "What one unit is called.")]
Accuracy = Annotated[float, option("--accuracy", NUMBER, "Relative width of the answer.")]


def plain(number: Fraction) -> str:
    """0.01 for a hundredth, 1/3 for a third, six digits of something unwieldy."""
    short = f"{float(number):.12g}"
    if Fraction(short) == number:
        return short
    return str(number) if number.denominator < 1000 else f"{float(number):.6g}"


def mechanism(name: str) -> AccountedKind:
    """The kind of this name, or an error that lists them."""
    if name not in KINDS:
        raise InputError(f'"{name}" is not a mechanism here: choose one of {", ".join(KINDS)}')
    return KINDS[name]


@dataclass(frozen=True)
class AccountedProgram:
    """`steps` runs of a mechanism with noise `value`, each on a sample that holds each unit with probability `rate`."""

    name: str
    value: Fraction
    sensitivity: Fraction | None
    clip: Fraction | None
    rate: Fraction
    sampling: str
    steps: int
    relation: Relation
    unit: str

    @classmethod
    def parse(
        cls,
        name: str,
        values: dict[str, str | None],
        sensitivity: str | None,
        clip: str | None,
        rate: str,
        sampling: str,
        steps: str,
        relation: str,
        unit: str,
    ) -> "AccountedProgram":
        """From what was typed. `values` holds --sigma, --scale and --epsilon: the mechanism takes exactly one."""
        kind = mechanism(name)
        for word, given in values.items():
            if (given is not None) != (word == kind.option):
                fix = f"add --{word} NUMBER" if given is None else f"leave it out, say --{kind.option} NUMBER"
                does = "needs" if given is None else "does not take"
                raise InputError(f"{name} {does} --{word}: {fix}")
        for word, given in {"sensitivity": sensitivity, "clip": clip}.items():
            if kind.build is None and given is not None:
                raise InputError(f"pure does not take --{word}: its epsilon already counts it")
        if sensitivity is not None and clip is not None:
            raise InputError(
                "say --clip or --sensitivity, not both: clipping to C is a sensitivity of C, or of 2C under replace"
            )
        neighbours = Relation(relation.replace("-", "_"))
        share, length = exact(rate, "--rate"), None if clip is None else positive(clip, "--clip")
        _check(name, sampling, neighbours, sampled=share != 1)
        if share != 1 and sampling == "poisson" and neighbours is Relation.REPLACE and length is None:
            raise _clip_missing(sensitivity)
        farthest = 1 if neighbours is Relation.ADD_REMOVE else 2
        moved = positive(sensitivity or farthest, "--sensitivity") if length is None else farthest * length
        return cls(
            name=name,
            value=positive(values[kind.option], f"--{kind.option}"),
            sensitivity=None if kind.build is None else moved,
            clip=length,
            rate=share if share == 1 else between(rate, "--rate", 0, 1),
            sampling=sampling,
            steps=whole(steps, "--steps", least=1),
            relation=neighbours,
            unit=unit,
        )

    @property
    def kind(self) -> AccountedKind:
        return KINDS[self.name]

    def with_value(self, value: Number) -> "AccountedProgram":
        return replace(self, value=positive(value, self.kind.option, toward="decimal"))

    def unsampled(self) -> PLD:
        return self.kind.loss(
            self.value, self.sensitivity or Fraction(1), {"relation": self.relation, "unit": self.unit}
        )

    def step(self) -> PLD:
        """One run."""
        whole_data = self.unsampled()
        if self.sampling == "fixed":
            return whole_data.sampled_without_replacement(self.rate)
        return whole_data.sampled(self.rate, clipped=self.clip is not None)

    def loss(self) -> Loss:
        """All runs."""
        return self.steps * self.step()

    def delta(self, given: str | None) -> Fraction:
        """--delta, which only a pure mechanism may leave out."""
        if given is None and not self.kind.pure:
            raise InputError(f"{self.name} needs --delta: without one its epsilon is infinite. Try --delta 1e-6")
        found = probability(exact(given or 0, "--delta"))
        if not found and not self.kind.pure:
            raise InputError(f"{self.name} has no finite epsilon at --delta 0: pass a small one such as 1e-6")
        return found

    def sentence(self, *, noise: bool = True) -> str:
        """The program in words."""
        times = f"{self.steps:,} × " if self.steps > 1 else ""
        set_to = f", {self.kind.option} {plain(self.value)}" if noise else ""
        moved = f", sensitivity {plain(self.sensitivity)}" if self.sensitivity else ""
        if self.clip and self.sensitivity:
            moved = f", clipped to {plain(self.clip)} (sensitivity {plain(self.sensitivity)})"
        how = {"poisson": "a Poisson sample", "fixed": "a sample of fixed size"}[self.sampling]
        sample = f", on {how} at rate {plain(self.rate)}" if self.rate != 1 else ""
        return f"{times}{self.kind.noun}{set_to}{moved}{sample}"

    def whom(self) -> str:
        """The neighbours in words."""
        return {"add_remove": "adding or removing", "replace": "replacing"}[self.relation.value] + f" one {self.unit}"

    def json(self) -> dict[str, object]:
        return {
            "mechanism": self.name,
            self.kind.option: float(self.value),
            **({"sensitivity": float(self.sensitivity)} if self.sensitivity else {}),
            **({"clip": float(self.clip)} if self.clip else {}),
            "rate": float(self.rate),
            "sampling": self.sampling,
            "steps": self.steps,
            "relation": self.relation.value,
            "unit": self.unit,
        }


def _clip_missing(sensitivity: str | None) -> InputError:
    """How far a replaced unit moves the value does not say how long its vector is, and the price depends on that."""
    moved = positive(sensitivity or 2, "--sensitivity")
    far, half = plain(moved), plain(moved / 2)
    return InputError(
        f"a Poisson sample under replace needs --clip, the length of one unit's own vector. A sensitivity of {far} is "
        f"--clip {half} if vectors are clipped to length {half}, so that one may become its opposite, and --clip {far} "
        f"for values in [0, {far}], which costs more"
    )


def _check(name: str, sampling: str, relation: Relation, *, sampled: bool) -> None:
    """Which kinds of sample go with which neighbours."""
    if sampling not in SAMPLINGS:
        raise InputError(f'--sampling must be one of {", ".join(SAMPLINGS)}, not "{sampling}"')
    if sampling == "fixed" and relation is not Relation.REPLACE:
        raise InputError("--sampling fixed makes the size public, so it goes with --relation replace: add that")
    if sampled and sampling == "poisson" and relation is Relation.REPLACE and name != "gaussian":
        raise InputError(
            f"a Poisson sample of {name} has no price under replace here: say --relation add_remove or --sampling fixed"
        )
